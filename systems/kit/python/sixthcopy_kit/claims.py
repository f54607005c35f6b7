"""What a system says of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Tuple

from . import virtual


@dataclass(frozen=True)
class Claim:
    outcome: str  # done, failed, unknown, partial, deferred
    receipts: Tuple[str, ...] = ()  # object ids
    detail: str = ""  # for the reader


def done(*receipts: str) -> Claim:
    """Claims that all effects of the call exist; receipts are their object ids."""
    return Claim("done", receipts)


def partial(*receipts: str) -> Claim:
    """Claims that what receipts names exists, and that the rest does not."""
    return Claim("partial", receipts)


def failed(detail: str) -> Claim:
    """Claims that nothing happened and that nothing will."""
    return Claim("failed", (), detail)


def unknown(detail: str) -> Claim:
    """Claims that the call may have happened: the honest word after a lost connection, a time-out or a 5xx."""
    return Claim("unknown", (), detail)


def deferred(detail: str = "") -> Claim:
    """Claims that another worker has the call and will claim."""
    return Claim("deferred", (), detail)


def refused(error: BaseException) -> bool:
    """Reports whether an error proves that nothing happened: it is, or was made of, a refused dial, and nothing of
    the call had been sent before, by an earlier attempt or an earlier process."""
    call = virtual.open_call()
    if call is not None and (call.sent or call.redelivered):
        return False
    return any(isinstance(e, ConnectionRefusedError) for e in _sources(error))


def raised(error: BaseException) -> Claim:
    """The claim after an error of a library that says nothing better: failed if the dial was refused and nothing
    had been sent before, else unknown."""
    text = f"{type(error).__name__}: {error}"
    return failed(text) if refused(error) else unknown(text)


def _sources(error: BaseException) -> Iterator[BaseException]:
    """The error, what it was raised from, and what libraries keep of it in `reason` and `args`."""
    todo, seen = [error], set()
    while todo:
        e = todo.pop()
        if id(e) in seen:
            continue
        seen.add(id(e))
        yield e
        kept = [e.__cause__, e.__context__, getattr(e, "reason", None), *e.args]
        todo += [k for k in kept if isinstance(k, BaseException)]
