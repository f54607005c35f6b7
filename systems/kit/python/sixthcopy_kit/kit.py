"""The loop of an adapter: orders are read on a thread of their own, calls run on the main thread."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import threading
import traceback
from collections import deque
from typing import Any, Awaitable, BinaryIO, Callable, Deque, Dict, Iterable, Mapping, Optional, Union

from . import aio, virtual, warm
from .calls import Call, Cancelled, Ref, Trial
from .claims import Claim, failed, unknown
from .wire import VERSION, Words, parse_time

CallFunction = Callable[[Call], Union[Claim, Awaitable[Claim]]]


def main(
    call: CallFunction,
    *,
    versions: Optional[Mapping[str, str]] = None,
    can: Iterable[str] = (),
    open: Optional[Callable[[Trial], None]] = None,
    close: Optional[Callable[[Trial], None]] = None,
) -> None:
    """Drives the adapter until stdin ends, then exits: with 0, or with 1 when the harness sent what the
    contract does not know. `call` may be a coroutine function. `open` and `close` see a trial before its
    first call and after its last; nothing of it may be left in the process then. `can` are abilities beside
    those that the kit gives: "events" asks for "at"."""
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"  # all that is called is on loopback
    virtual.install()
    warm.serve()  # returns in a forked child, or at once
    orders, out = _take_over()
    sys.exit(_Kit(call, versions or {}, can, open, close, out).run(orders))


def _take_over() -> tuple[BinaryIO, BinaryIO]:
    """Keeps stdin and stdout for the protocol: what a library prints goes to stderr, and it reads nothing."""
    orders, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return orders, out


class _Kit:
    def __init__(
        self, call: CallFunction, versions: Mapping[str, str], can: Iterable[str],
        open: Optional[Callable[[Trial], None]], close: Optional[Callable[[Trial], None]], out: BinaryIO,
    ) -> None:
        self.call, self.open, self.close = call, open, close
        self.versions = dict(versions)
        self.can = sorted({"cancel", "clock", "decide", "repair", "reset", "timeout", "turn", "wait", *can})
        self.words = Words(out)
        self.trial: Optional[Trial] = None
        self.jobs: Deque[Callable[[], bool]] = deque()  # of the main thread; each reports whether to go on
        self.ready = threading.Condition()
        self.status = 0
        # Of the trial.
        self.seq = 0  # of the last order
        self.owed = 0  # jobs of the trial that are not done
        self.turns: Dict[str, Mapping[str, Any]] = {}
        self.outcomes: Dict[Ref, str] = {}

    def run(self, orders: BinaryIO) -> int:
        threading.Thread(target=self.listen, args=(orders,), name="orders", daemon=True).start()
        while True:
            with self.ready:
                self.ready.wait_for(lambda: self.jobs)
                job = self.jobs.popleft()
            if not job():
                return self.status

    def put(self, job: Callable[[], bool]) -> None:
        with self.ready:
            self.jobs.append(job)
            self.ready.notify()

    # On the thread that reads orders.

    def listen(self, orders: BinaryIO) -> None:
        try:
            for line in orders:
                self.take(json.loads(line))
        except Exception as error:
            self.status = 1
            self.words.say("error", detail=f"kit: {type(error).__name__}: {error}")
            traceback.print_exc()
        if self.trial is not None:
            self.end(self.trial)
        self.put(lambda: False)

    def take(self, order: Mapping[str, Any]) -> None:
        type, seq, now = order["type"], order["seq"], parse_time(order["now"])
        if type == "start":
            self.start(order["start"], seq, now)
            return
        trial = self.trial
        if trial is None:
            raise ValueError(f"order {seq} ({type}) before start")
        if type == "reset":
            self.trial = None
            self.end(trial)
            self.put(lambda: self.reset(trial, seq))
            return
        with trial.changed:
            trial.now_ns = max(trial.now_ns, now)
            self.seq = seq
            if type not in ("clock", "proceed"):
                self.owed += 1
            # The acknowledgement leaves before anything that the order sets off.
            self.words.say("ack", seq=seq)
            self.carry_out(type, order, trial)
            if type not in ("clock", "proceed"):
                self.put(lambda: self.rest(trial))  # whatever it set off, `idle` follows
            trial.ring()

    def carry_out(self, type: str, order: Mapping[str, Any], trial: Trial) -> None:
        if type == "turn":
            turn = order["turn"]
            self.turns[turn["id"]] = turn
            for given in turn.get("calls") or []:
                self.hand(Call(trial, turn, given, (turn["id"], given["ordinal"]), repair=False))
        elif type == "repair":
            part = order["repair"]
            turn = self.turns.get(part["turn"], {"id": part["turn"]})
            self.hand(Call(trial, turn, part["call"], (part["turn"], part["ordinal"]), repair=True))
        elif type == "cancel":
            trial.stop((order["cancel"]["turn"], order["cancel"]["ordinal"]))
        elif type == "decide":
            if order["decide"]["decision"] != "approved":
                trial.stop((order["decide"]["turn"], order["decide"]["ordinal"]))
        elif type == "proceed":
            trial.proceeds.append(order["proceed"]["event"])
        elif type not in ("clock", "event"):
            raise ValueError(f"order type {type!r} is not known")

    def hand(self, call: Call) -> None:
        call.trial.stopped.discard(call.ref)
        self.put(lambda: self.work(call))

    def start(self, start: Mapping[str, Any], seq: int, now: int) -> None:
        if self.trial is not None:
            raise ValueError(f"order {seq}: start while a trial is open; a reset comes first")
        if start["wire"] != VERSION:
            raise ValueError(f"order {seq}: wire version is {start['wire']}, expected {VERSION}")
        self.trial = trial = Trial(start, now, self.words)
        self.seq, self.owed, self.turns, self.outcomes = seq, 0, {}, {}
        self.put(lambda: self.begin(trial, seq))

    def end(self, trial: Trial) -> None:
        with trial.changed:
            trial.closed = True
            trial.ring()

    # On the main thread.

    def begin(self, trial: Trial, seq: int) -> bool:
        virtual.enter(trial)
        if self.open is not None:
            self.open(trial)
        self.words.say("started", wire=VERSION, versions=self.versions, can=self.can, kill="the process group")
        self.words.say("ack", seq=seq)
        return True

    def reset(self, trial: Trial, seq: int) -> bool:
        virtual.enter(None)
        if self.close is not None:
            self.close(trial)
        trial.release()
        self.words.say("ack", seq=seq)
        return True

    def work(self, call: Call) -> bool:
        trial = call.trial
        if trial.closed:
            return True
        claim = failed("cancelled before it began") if call.cancelled else self.carried_out(call)
        if not trial.closed:
            self.outcomes[call.ref] = claim.outcome
            self.words.say(
                "claim", turn=call.ref[0], call=call.ref[1], outcome=claim.outcome,
                receipts=list(claim.receipts), detail=claim.detail,
            )
        return True

    def carried_out(self, call: Call) -> Claim:
        call.trial.open = call
        try:
            result = aio.run(call, self.call) if inspect.iscoroutinefunction(self.call) else self.call(call)
        except (Cancelled, asyncio.CancelledError):
            return unknown("the call was cancelled")
        except Exception as error:
            traceback.print_exc()
            return unknown(f"the adapter raised {type(error).__name__}: {error}")
        finally:
            call.trial.open = None
        if not isinstance(result, Claim):
            return unknown(f"the adapter returned {result!r}, expected a Claim")
        return result

    def rest(self, trial: Trial) -> bool:
        with trial.changed:
            self.owed -= 1
            if self.owed == 0 and not trial.closed:
                unknowns = sum(outcome == "unknown" for outcome in self.outcomes.values())
                self.words.say("finished", escalations=unknowns)
                self.words.say("idle", seq=self.seq)
        return True
