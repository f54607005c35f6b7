"""A trial, its tools, and a call that is handed to the system."""

from __future__ import annotations

import os
import select
import threading
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple, TypeVar, Union

from .wire import SECOND, Words, as_datetime, format_time

T = TypeVar("T")
Ref = Tuple[str, int]  # turn id, ordinal of the call


class Cancelled(BaseException):
    """The call was cancelled, its goal withdrawn or denied, or its trial closed. No Exception, so that no
    retry layer takes it for a failed attempt."""


@dataclass(frozen=True)
class Tool:
    """A tool as the system is given it; contract is what its provider advertises."""

    name: str
    address: str
    transport: str  # mcp, mcp-sessions, json, provider
    takes_key: bool = False
    takes_reference: bool = False
    read_only: bool = False
    annotations: Mapping[str, Any] = field(default_factory=dict)
    contract: Mapping[str, Any] = field(default_factory=dict)
    arguments: Tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Tool:
        known = {name: given[name] for name in cls.__dataclass_fields__ if name in given}
        known["arguments"] = tuple(known.get("arguments", ()))
        return cls(**known)


class Trial:
    """An open trial."""

    def __init__(self, start: Mapping[str, Any], now: int, words: Words) -> None:
        self.variant: str = start.get("policy", "")
        self.state_dir: str = start.get("state_dir", "")
        self.restarted: bool = start.get("restarted", False)
        self.tools: Dict[str, Tool] = {t["name"]: Tool.of(t) for t in start.get("tools") or []}
        self.providers: Dict[str, str] = start.get("providers") or {}
        self.model: str = start.get("model", "")
        self.knobs: Dict[str, Any] = start.get("knobs") or {}
        self._made: Dict[Any, Any] = {}
        self.sessions: Dict[str, str] = {}  # with tool servers, by address

        # Guarded by changed.
        self.changed = threading.Condition()
        self.began = self.now_ns = now
        self.open: Optional[Call] = None  # in work
        self.stopped: Set[Ref] = set()  # calls that are not to go on
        self.closed = False
        self.proceeds: List[str] = []  # answers to `at` that nobody has taken yet
        self.words = words
        self.wake_fd, self._wake_write = os.pipe()
        os.set_blocking(self.wake_fd, False)
        os.set_blocking(self._wake_write, False)

    def once(self, make: Callable[[Trial], T]) -> T:
        """What make returns, made at the first call of the trial and dropped with it: a client, a session."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    @property
    def now(self) -> datetime:
        """Virtual time, as the last order told it."""
        return as_datetime(self.now_ns)

    @property
    def call_timeout(self) -> Optional[float]:
        """The time-out of a call in seconds that the trial asks for, None for none."""
        ms = self.knobs.get("call_timeout_ms", 0)
        return ms / 1000 if ms else None

    def ring(self) -> None:
        """Wakes whoever waits; called with changed held."""
        self.changed.notify_all()
        try:
            os.write(self._wake_write, b"x")
        except BlockingIOError:
            pass  # it is awake

    def drain(self) -> None:
        """Takes the rings; whoever waits looks at what has changed after it."""
        try:
            while os.read(self.wake_fd, 4096):
                pass
        except BlockingIOError:
            pass

    def release(self) -> None:
        os.close(self.wake_fd)
        os.close(self._wake_write)

    def stop(self, ref: Ref) -> None:
        """Ends a call, in work or still queued; called with changed held."""
        self.stopped.add(ref)
        self.ring()


class Call:
    """A call that was given in a turn, or the repair of one."""

    def __init__(self, trial: Trial, turn: Mapping[str, Any], given: Mapping[str, Any], ref: Ref, repair: bool) -> None:
        self.trial = trial
        self.turn = turn  # as handed over; a repair after a restart knows its id only
        self.id: str = given["id"]  # the same again when the turn is redelivered
        self.name: str = given["tool"]
        self.args: Dict[str, Any] = given.get("args") or {}
        self.ref = ref
        self.repair = repair
        self.redelivered: bool = bool(turn.get("redelivered", False))  # an earlier process had it
        self.sent = False  # something of it has been written to a socket

    @property
    def tool(self) -> Tool:
        if self.name not in self.trial.tools:
            raise ValueError(f"tool {self.name} is not offered; offered: {', '.join(sorted(self.trial.tools))}")
        return self.trial.tools[self.name]

    @property
    def now(self) -> datetime:
        return self.trial.now

    @property
    def timeout(self) -> Optional[float]:
        """The time-out in seconds that the trial asks of every call, for the library's own setting."""
        return self.trial.call_timeout

    @property
    def cancelled(self) -> bool:
        return self.trial.closed or self.ref in self.trial.stopped

    def check(self) -> None:
        """Raises Cancelled if the call is not to go on."""
        if self.cancelled:
            raise Cancelled

    def wait(self, until: Union[datetime, float], why: str = "back-off") -> None:
        """Sleeps until a virtual time, or for so many seconds; raises Cancelled if the call ends first."""
        if isinstance(until, datetime):
            until = (until - self.now).total_seconds()
        self.sleep_until(self.trial.now_ns + round(until * SECOND), why)

    def sleep_until(self, until: int, why: str) -> None:
        self.check()
        if not self.say_wait(until, why):
            return
        with self.trial.changed:
            self.trial.changed.wait_for(lambda: self.cancelled or self.trial.now_ns >= until)
        self.withdraw(why)
        self.check()

    def poll(self, fd: int, events: int, until: Optional[int], say: bool) -> bool:
        """Waits for a file descriptor until a virtual time (None: for ever), and reports whether it came to be
        ready before. With say, the wait is told to the harness even if the descriptor is ready at once."""
        self.check()
        poll = select.poll()
        poll.register(fd, events)
        if not say and poll.poll(0):
            return True
        if until is not None and not self.say_wait(until, "time-out"):
            return False
        poll.register(self.trial.wake_fd, select.POLLIN)
        ready = False
        while not ready and not self.cancelled and (until is None or self.trial.now_ns < until):
            ready = any(f == fd for f, _ in poll.poll())
            self.trial.drain()
        if until is not None:
            self.withdraw("time-out")
        self.check()
        # Where both are there, time had passed first: what is held until then comes after the clock.
        return until is None or self.trial.now_ns < until

    def at(self, event: str, detail: str = "") -> None:
        """Announces an event and returns when the harness says `proceed`; nothing unless the trial asks for
        events. A kill strikes here."""
        trial = self.trial
        if not trial.knobs.get("events"):
            return
        trial.words.say("at", event=event, turn=self.ref[0], call=self.ref[1], detail=detail)
        with trial.changed:
            trial.changed.wait_for(lambda: trial.closed or event in trial.proceeds)
            if event in trial.proceeds:
                trial.proceeds.remove(event)

    def say_wait(self, until: int, why: str) -> bool:
        """Says a wait, unless it is over already; reports whether it did."""
        with self.trial.changed:
            if until <= self.trial.now_ns:
                return False
            self.trial.words.say("wait", turn=self.ref[0], call=self.ref[1], until=format_time(until), why=why)
            return True

    def withdraw(self, why: str) -> None:
        """Withdraws a wait, also one that is over: the harness may have heard of it after it had moved the clock."""
        if not self.trial.closed:
            self.trial.words.say("wait", turn=self.ref[0], call=self.ref[1], why=why)

