"""Virtual time for an unmodified library: while a call runs, `time.sleep` is a `wait` of the wire contract,
the time-out of a socket is one of why `time-out`, and `time.time` and `time.monotonic` move with the clock.
A cancelled call leaves the socket that it waits on closed.

kit.main installs it. A library that copies functions as it is imported (`from time import sleep`) needs
`virtual.install()` before its import.
"""

from __future__ import annotations

import select
import socket
import time
import weakref
from typing import Any, Callable, Optional

from .calls import Call, Cancelled, Trial
from .wire import SECOND

_real_sleep, _real_time, _real_monotonic = time.sleep, time.time, time.monotonic
_LEAST = SECOND // 1000  # nanoseconds that any sleep takes
_trial: Optional[Trial] = None  # that is open
_asked: weakref.WeakKeyDictionary[socket.socket, int] = weakref.WeakKeyDictionary()  # written to, and nothing read since: when
_passed = 0  # virtual nanoseconds of trials that are over: a monotonic clock does not run back
_installed = False


def enter(trial: Optional[Trial]) -> None:
    """Says which trial is open; None for none."""
    global _trial, _passed
    if _trial is not None:
        _passed += _trial.now_ns - _trial.began
    _trial = trial


def open_call() -> Optional[Call]:
    return None if _trial is None else _trial.open


def asked() -> bool:
    """Reports whether an answer is awaited."""
    return any(sock.fileno() >= 0 for sock in list(_asked))


def _sleep(seconds: float, /) -> None:
    call = open_call()
    if call is None:
        return _real_sleep(seconds)
    # A loop that sleeps for nothing takes its time too, and is seen by the harness.
    call.sleep_until(call.trial.now_ns + max(_LEAST, round(seconds * SECOND)), "back-off")


def _time() -> float:
    return _real_time() if _trial is None else _trial.now_ns / SECOND


def _monotonic() -> float:
    passed = _passed + (0 if _trial is None else _trial.now_ns - _trial.began)
    return _real_monotonic() + passed / SECOND


def _receiving(original: Callable[..., Any]) -> Callable[..., Any]:
    def receive(self: socket.socket, *args: Any, **kwargs: Any) -> Any:
        call = open_call()
        if call is not None and self.gettimeout() != 0:
            _await(call, self, select.POLLIN)
        _asked.pop(self, None)
        return original(self, *args, **kwargs)

    return receive


def _sending(original: Callable[..., Any]) -> Callable[..., Any]:
    def send(self: socket.socket, *args: Any, **kwargs: Any) -> Any:
        call = open_call()
        if call is not None and self.family != socket.AF_UNIX:
            if self.gettimeout() != 0:
                call.check()
            call.sent = True
            _asked[self] = call.trial.now_ns
        return original(self, *args, **kwargs)

    return send


def _await(call: Call, sock: socket.socket, events: int) -> None:
    timeout = sock.gettimeout()
    began = _asked.get(sock, call.trial.now_ns)  # from the request on: by now its answer may be there
    until = None if timeout is None else began + round(timeout * SECOND)
    try:
        ready = call.poll(sock.fileno(), events, until, say=sock in _asked)
    except Cancelled:
        sock.close()  # the disconnect; the library may take its time
        raise
    if not ready:
        raise socket.timeout("timed out")


def install() -> None:
    """Patches time and socket, once. Outside of calls they do what they did."""
    global _installed
    if _installed:
        return
    _installed = True
    time.sleep = _sleep  # type: ignore[assignment]
    time.time, time.monotonic = _time, _monotonic
    for name in ("recv", "recv_into"):
        setattr(socket.socket, name, _receiving(getattr(socket.socket, name)))
    for name in ("send", "sendall"):
        setattr(socket.socket, name, _sending(getattr(socket.socket, name)))
