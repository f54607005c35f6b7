"""Carries out operations with real SDKs: one JSON line each on stdin, one JSON line each on stdout.

Operations run at the same time, each on a thread. A family of SDKs is one module, FAMILY_ops.py, imported
when its first operation comes, with

    run(call) -> (answer, headers)   the answer of the SDK as JSON-able values, its headers if it shows them
    error(exception) -> dict         type, status, code, message of one of its own exceptions; None: not its own
"""

import importlib
import importlib.metadata
import json
import sys
import threading
import traceback


class Call:
    """An operation: client (SDK's name), base (the provider's URL), op, args, options."""

    _kept = {}
    _lock = threading.Lock()

    def __init__(self, line):
        self.client, self.base, self.op = line["client"], line["base"], line["op"]
        self.args, self.options = line.get("args") or {}, line.get("options") or {}
        self.session = line.get("session") or ""

    def keep(self, make):
        """The SDK's client object: one for each operation, or one for all operations of a session."""
        if not self.session:
            return make()
        with self._lock:
            at = (self.client, self.base, self.session)
            if at not in self._kept:
                self._kept[at] = make()
            return self._kept[at]


def carry_out(line):
    if line["op"] == "version":
        return {"ok": importlib.metadata.version(line["args"]["package"])}
    family = importlib.import_module(line["family"] + "_ops")
    try:
        answer, headers = family.run(Call(line))
    except Exception as e:
        known = family.error(e)
        if known is None:
            traceback.print_exc()
            known = {"type": type(e).__name__, "message": str(e)}
        return {"error": known}
    return {"ok": answer, "headers": {k.lower(): str(v) for k, v in (headers or {}).items()}}


def main():
    out = threading.Lock()

    def work(line):
        try:
            answer = carry_out(line)
        except BaseException as e:  # a line of ours that is wrong; the test shows it
            traceback.print_exc()
            answer = {"error": {"type": "harness", "message": f"{type(e).__name__}: {e}"}}
        with out:
            print(json.dumps({"id": line["id"], **answer}, default=str), flush=True)

    for text in sys.stdin:
        threading.Thread(target=work, args=(json.loads(text),), daemon=True).start()


main()
