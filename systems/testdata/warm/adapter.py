"""The adapter of the tests of warm start. Its calls leave processes behind, or tell what is shared."""

import os
import random
import signal
import sys
import threading
import time
import uuid

import sixthcopy_kit as kit

if "no-import" in sys.argv:
    import no_such_module  # noqa: F401
if "thread" in sys.argv:
    threading.Thread(target=time.sleep, args=(3600,), daemon=True, name="poller").start()


def leave(session, execute):
    """Forks a process that lives on, and returns its id."""
    ready, says = os.pipe()
    pid = os.fork()
    if pid:
        os.close(says)
        os.read(ready, 1)
        return str(pid)
    if session:
        os.setsid()
    os.write(says, b"x")
    if execute:
        os.execvp("sleep", ["sleep", "3600"])
    signal.pause()


def call(c):
    if c.name == "leave":
        return kit.done(str(os.getpid()), leave(False, False), leave(True, False), leave(True, True))
    return kit.done(str(os.getpid()), str(random.random()), str(uuid.uuid4()), os.environ["SIXTHCOPY_PROCESS"], str(os.getpgid(0) == os.getpid()))


kit.main(call)
