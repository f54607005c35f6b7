"""The adapter of the kit's tests: each tool is one thing that a library does."""

import asyncio
import http.client
import sys
import time
from urllib.parse import urlsplit

import sixthcopy_kit as kit


def post(call, timeout=None):
    url, headers, body = kit.request(call)
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    connection.request("POST", parts.path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def retrying(call, timeout=None):
    """A naive retry layer: every Exception is worth another attempt."""
    while True:
        try:
            return post(call, timeout)
        except Exception as error:
            last = error
            time.sleep(10)
        if call.args.get("give_up"):
            raise last


def sync(call):
    print("a library prints")
    if call.name == "sleep":
        before = time.monotonic(), time.time()
        time.sleep(90)
        return kit.done(f"{time.monotonic() - before[0] >= 90}", f"{time.time() - before[1] >= 90}")
    if call.name == "raise":
        raise KeyError("nothing")
    try:
        status, body = retrying(call, call.timeout) if call.name == "retry" else post(call, call.timeout)
    except OSError as error:
        return kit.raised(error)
    return kit.read(status, body, call)


async def tardy(call):
    if call.name == "sleep":
        await asyncio.sleep(90)
        return kit.done()
    url, headers, body = kit.request(call)
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    try:
        writer.write(f"POST {parts.path} HTTP/1.0\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = await asyncio.wait_for(reader.read(), call.timeout)
    except asyncio.TimeoutError:
        return kit.unknown("timed out")
    finally:
        writer.close()
    return kit.read(200, answer.split(b"\r\n\r\n", 1)[1], call)


kit.main(tardy if "async" in sys.argv else sync, versions={"python": sys.version.split()[0]})
