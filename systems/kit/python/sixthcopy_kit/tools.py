"""The least that calls a tool of a tool server, over plain JSON and over MCP (docs/tool-servers.md): what to POST,
and what an answer claims. The POST itself belongs to the library under test."""

from __future__ import annotations

import http.client
import itertools
import json
from typing import Any, Dict, Mapping, NamedTuple, Optional
from urllib.parse import urlsplit

from .calls import Call, Tool
from .claims import Claim, failed, partial, unknown

_STATELESS, _SESSIONS = "2026-07-28", "2025-11-25"  # protocol versions without and with sessions
_META = "io.modelcontextprotocol/"
_ids = itertools.count(1)


class Request(NamedTuple):
    url: str
    headers: Dict[str, str]
    body: bytes


def request(call: Call, key: Optional[str] = None, headers: Optional[Mapping[str, str]] = None) -> Request:
    """The POST that makes a call. A key goes into the argument idempotency_key where the tool takes one, and in
    any case into the header Idempotency-Key."""
    tool, args = call.tool, dict(call.args)
    sent = {"Content-Type": "application/json", **(headers or {})}
    if key is not None:
        sent["Idempotency-Key"] = key
        if tool.takes_key:
            args["idempotency_key"] = key
    if tool.transport == "json":
        body: Dict[str, Any] = {"arguments": args, "call_id": call.id, "request_id": str(next(_ids))}
        return Request(f"{tool.address.rstrip('/')}/tools/{tool.name}", sent, json.dumps(body).encode())
    if tool.transport not in ("mcp", "mcp-sessions"):
        raise ValueError(f"tool {tool.name} has transport {tool.transport!r}; request makes json, mcp and mcp-sessions")
    sent["Accept"] = "application/json, text/event-stream"
    meta: Dict[str, Any] = {"sixthcopy/call_id": call.id}
    if tool.transport == "mcp-sessions":
        sent.update({"Mcp-Session-Id": _session(call, tool), "Mcp-Protocol-Version": _SESSIONS})
    else:  # without these the server takes it for an older protocol, in which a disconnect cancels nothing
        sent.update({"Mcp-Protocol-Version": _STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": tool.name})
        meta.update({_META + "protocolVersion": _STATELESS, _META + "clientCapabilities": {}})
    params = {"name": tool.name, "arguments": args, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": next(_ids), "method": "tools/call", "params": params}
    return Request(tool.address, sent, json.dumps(body).encode())


def read(status: int, body: bytes, call: Call) -> Claim:
    """What the last answer of the tool claims. "Not executed" and "refused" are believed where the contract says
    that errors are typed; a 4xx that no tool wrote is a refusal, save those that speak of time or of another
    request; whatever else is no success may have happened."""
    answer = _answer(body)
    said = answer.get("status", "")
    receipts = [str(r) for r in answer.get("receipts") or []]
    detail = f"HTTP {status}: {said or 'no status'}: {answer.get('message') or ''}"[:500]
    if said == "done":
        return Claim("done", tuple(receipts), detail)
    if said == "partial":
        return partial(*receipts)
    if said in ("not_executed", "refused") and call.tool.contract.get("errors_typed"):
        return failed(detail)
    if not answer and 400 <= status < 500 and status not in (408, 409, 425, 429):
        return failed(detail)
    return Claim("unknown", tuple(receipts), detail)


def _answer(body: bytes) -> Dict[str, Any]:
    """The answer of the tool: the body, or the structured content of the result in it. Empty: there is none."""
    found = _json(body)
    for line in body.split(b"\n"):
        if line.startswith(b"data:"):
            event = _json(line[5:])
            if "result" in event or "error" in event:
                found = event
    if "error" in found and "jsonrpc" in found:
        return {"status": "unknown", "message": str(found["error"].get("message"))}
    result = found.get("result")
    if isinstance(result, dict):
        texts = [part.get("text", "") for part in result.get("content") or [] if isinstance(part, dict)]
        return {"message": "".join(texts), **(result.get("structuredContent") or {})}
    return found


def _json(text: bytes) -> Dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _session(call: Call, tool: Tool) -> str:
    """The session with a tool server, opened once a trial by a handshake that is not the library's."""
    known: Dict[str, str] = call.trial.sessions
    if tool.address not in known:
        sent = call.sent  # the handshake is nothing of the call
        params = {"protocolVersion": _SESSIONS, "capabilities": {}, "clientInfo": {"name": "sixthcopy-kit", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": next(_ids), "method": "initialize", "params": params}
        known[tool.address] = _post(tool.address, hello, {}) or ""
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        _post(tool.address, ready, {"Mcp-Session-Id": known[tool.address], "Mcp-Protocol-Version": _SESSIONS})
        call.sent = sent
    return known[tool.address]


def _post(url: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Optional[str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    try:
        accept = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        connection.request("POST", parts.path or "/", json.dumps(body), {**accept, **headers})
        answer = connection.getresponse()
        answer.read()
        return answer.getheader("Mcp-Session-Id")
    finally:
        connection.close()
