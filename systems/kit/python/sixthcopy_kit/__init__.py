"""Makes an adapter of a Python system one function.

An adapter is a process that speaks the wire contract (docs/wire-contract.md) on stdin and stdout. The kit
reads the orders, acknowledges them, keeps virtual time and says `idle` and `finished`; the adapter carries
one call out and returns what it claims of it:

    import sixthcopy_kit as kit

    def call(c: kit.Call) -> kit.Claim:
        url, headers, body = kit.request(c)
        try:
            answer = requests.post(url, headers=headers, data=body, timeout=c.timeout)
        except requests.RequestException as error:
            return kit.raised(error)
        return kit.read(answer.status_code, answer.content, c)

    kit.main(call)

Calls run one after another on the main thread. While one runs, `time.sleep` and the time-outs of sockets
pass in virtual time (sixthcopy_kit.virtual), so that an unmodified library waits for nothing real.
"""

from .claims import Claim, deferred, done, failed, partial, raised, refused, unknown
from .calls import Call, Cancelled, Tool, Trial
from .kit import main
from .tools import Request, read, request

__all__ = [
    "Call", "Cancelled", "Claim", "Request", "Tool", "Trial", "deferred", "done", "failed", "main", "partial",
    "raised", "read", "refused", "request", "unknown",
]
