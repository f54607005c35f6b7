"""Lines and times of the wire contract."""

from __future__ import annotations

import json
import re
import threading
from datetime import datetime, timedelta, timezone
from typing import Any, BinaryIO

VERSION = 1
SECOND = 1_000_000_000  # virtual time is counted in nanoseconds since 1970

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def parse_time(text: str) -> int:
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"time is {text!r}, expected one by RFC 3339")
    whole, fraction, zone = match.groups()
    moment = datetime.fromisoformat(whole + ("+00:00" if zone == "Z" else zone))
    return (moment - _EPOCH) // timedelta(seconds=1) * SECOND + int((fraction or "0").ljust(9, "0"))


def format_time(ns: int) -> str:
    moment = _EPOCH + timedelta(seconds=ns // SECOND)
    fraction = f".{ns % SECOND:09d}".rstrip("0").rstrip(".")
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"


def as_datetime(ns: int) -> datetime:
    return _EPOCH + timedelta(microseconds=ns // 1000)


class Words:
    """Writes words, whole lines from any thread. A broken pipe is no error here: stdin ends with it."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    def say(self, type: str, **fields: Any) -> None:
        word = {"type": type, **{name: value for name, value in fields.items() if value}}
        line = json.dumps(word, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        try:
            with self._lock:
                self._out.write(line)
                self._out.flush()
        except OSError:
            pass
