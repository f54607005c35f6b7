"""Warm start: the process that has imported everything forks one child for each process that the harness wants
(systems/warm.go is the other side).

The harness hands a socket over by the variable SIXTHCOPY_WARM. It asks {"fork": MARK} with the child's stdin,
stdout and stderr, and is answered {"pid": N}; or {"reap": N}, and is answered {"status": N}. A dead child is
reaped only when asked, so that its id stays its own. Nothing may be connected, and no thread begun, while the
adapter is imported: only the forking thread lives on in a child.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
import threading
from typing import Any, Iterator

FD_VAR, MARK_VAR = "SIXTHCOPY_WARM", "SIXTHCOPY_PROCESS"
_PR_SET_PDEATHSIG = 1


def serve() -> None:
    """Forks children until the harness is gone; returns in each of them. Without a harness that asks for it, it
    returns at once."""
    number = os.environ.pop(FD_VAR, None)
    if number is None:
        return
    control = socket.socket(fileno=int(number))
    os.set_inheritable(control.fileno(), False)
    threads = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    if threads:
        sys.exit(f"sixthcopy_kit: warm start forks, but {', '.join(threads)} runs; start threads in open=, or leave warm out of the manifest")
    gc.collect()
    gc.freeze()  # what is there stays shared with the children
    _answer(control, ready=True)
    while True:
        text, fds, _, _ = socket.recv_fds(control, 4096, 3)
        if not text:
            os._exit(0)
        order = json.loads(text)
        if "reap" in order:
            _answer(control, status=os.waitpid(order["reap"], 0)[1])
            continue
        pid = os.fork()
        if pid == 0:
            control.close()
            _become(order["fork"], fds)
            return
        try:
            os.setpgid(pid, pid)  # here too: the harness may kill the group as soon as it knows of it
        except OSError:
            pass  # it has ended
        for fd in fds:
            os.close(fd)
        _answer(control, pid=pid)


def _answer(control: socket.socket, **said: Any) -> None:
    control.sendall(json.dumps(said).encode())


def _become(mark: str, fds: list[int]) -> None:
    """Makes the forked child what a process started for itself would be."""
    parent = os.getppid()
    os.setpgid(0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0 or os.getppid() != parent:
        os._exit(1)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    _mark(libc, mark)


def _until_null(pointers: Any) -> Iterator[int]:
    index = 0
    while pointers[index]:
        yield pointers[index]
        index += 1


def _mark(libc: ctypes.CDLL, mark: str) -> None:
    """Sets the mark by which the harness knows this process and all that it starts: in the environment, and where
    the kernel shows it of a process that was not executed anew."""
    environ = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
    name = MARK_VAR.encode() + b"="
    for address in _until_null(environ):
        entry = ctypes.string_at(address)
        if entry.startswith(name) and len(entry) == len(name) + len(mark):
            ctypes.memmove(address, name + mark.encode(), len(entry))
    os.environ[MARK_VAR] = mark
