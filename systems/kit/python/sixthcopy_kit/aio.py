"""An event loop in virtual time, for adapters whose call is a coroutine function: asyncio.sleep, call_later and
every time-out that is built on them pass when the harness moves the clock."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any, Awaitable, Callable, List, Optional, Tuple

from . import virtual
from .calls import Call
from .wire import SECOND


class _Selector(selectors.DefaultSelector):
    """Waits for descriptors in real time, and for timers in virtual time."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call
        self.cancel: Optional[Callable[[], object]] = None  # of the call's task; once
        self.register(call.trial.wake_fd, selectors.EVENT_READ)

    def select(self, timeout: Optional[float] = None) -> List[Tuple[selectors.SelectorKey, int]]:
        trial = self.call.trial
        if self.call.cancelled and self.cancel is not None:
            self.cancel()
            self.cancel, timeout = None, 0
        ready = self._look(0)
        if ready or timeout is not None and timeout <= 0:
            return ready
        until = None if timeout is None else trial.now_ns + max(1, round(timeout * SECOND))
        why = "time-out" if virtual.asked() else "back-off"
        said = until is not None and self.call.say_wait(until, why)
        while not ready and not self.call.cancelled and (until is None or trial.now_ns < until):
            ready = self._look(None)
        if said:
            self.call.withdraw(why)
        return ready

    def _look(self, timeout: Optional[float]) -> List[Tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout)
        wake = self.call.trial.wake_fd
        if any(key.fd == wake for key, _ in ready):
            self.call.trial.drain()
        return [(key, events) for key, events in ready if key.fd != wake]


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, call: Call) -> None:
        self._trial = call.trial
        super().__init__(_Selector(call))

    def time(self) -> float:
        return (self._trial.now_ns - self._trial.began) / SECOND


def run(call: Call, function: Callable[[Call], Awaitable[Any]]) -> Any:
    """Carries a call out on a loop of its own. A cancel cancels its task."""
    loop = _Loop(call)
    asyncio.set_event_loop(loop)
    try:
        task = loop.create_task(_as_coroutine(function(call)))
        selector: _Selector = loop._selector  # type: ignore[attr-defined]
        selector.cancel = lambda: loop.call_soon(task.cancel)
        return loop.run_until_complete(task)
    finally:
        _end(loop)


async def _as_coroutine(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Cancels what the call left behind, and closes its loop."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    asyncio.set_event_loop(None)
    loop.close()
