"""mock_openai.py: a scripted server of OpenAI's shapes for load tests: many connections, each answer written at stated
times, and its own stamps (CLOCK_MONOTONIC, the client's clock) of when a request had come and when a part was sent. So a
test can say exactly between which two instants a stamp of the client must lie, however busy the machine is.

  with MockServer(lambda request: answer(["a", "b"], first_s=0.1)) as s: ... s.url, s.requests
A script is a list: bytes are sent, numbers are pauses in seconds, CLOSE ends the connection, Reply(status) is an answer that
is no stream. It keeps no records, but says that it does when `records` is given: the bytes of each, or SILENT, which never
answers about one, or a function of the id and the half that was posted, which gives the bytes. `models`, `health` and `presets` are JSON, Reply, SILENT, CLOSE or a function of the path that gives one.
"""
import asyncio
import json
import resource
import threading
import time

CLOSE, SILENT = object(), object()
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Reply:
    def __init__(self, status, body=b"", headers=()):
        self.status, self.body, self.headers = status, body, headers


class Request:
    """What the server saw. Times in ns of CLOCK_MONOTONIC."""

    def __init__(self, number, connection, head, body):
        self.number, self.connection, self.body = number, connection, json.loads(body)
        self.path = head[0].split()[1]
        self.headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in head[1:])}
        self.received_ns = time.monotonic_ns()
        self.sent_ns = []      # one for each part of bytes, before it was sent
        self.gone_ns = None    # the client closed before the answer was over

    @property
    def id(self):
        return self.headers["x-request-id"]


def chunk(text=None, finish=None, **more):
    choice = {"index": 0, "text": text or "", "delta": {"content": text} if text else {}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n"


def usage(prompt, output):
    counts = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    return b"data: " + json.dumps({"choices": [], "usage": counts}).encode() + b"\n\n"


def prompt_length(request):
    prompt = request.body.get("prompt", "")
    return len(prompt) if isinstance(prompt, list) else len(prompt.split())


def answer(request, texts, first_s=0.0, gap_s=0.0, before=(), after_s=0.0, tokens=None, finish="stop"):
    """Texts, a pause before the first, one between two; then, after_s later, finish, usage and [DONE]."""
    parts = [*before, first_s]
    for i, text in enumerate(texts):
        parts += ([gap_s] if i else []) + [chunk(text)]
    end = chunk(finish=finish) + usage(prompt_length(request), len(texts) if tokens is None else tokens) + b"data: [DONE]\n\n"
    return parts + [after_s, end]


class MockServer:
    def __init__(self, script, models=None, health=None, presets=None, records=None):
        self.script, self.records = script, records
        self.fixed = {"/v1/models": models or {"object": "list", "data": [{"id": "mock", "object": "model", "owned_by": "mock"}]},
                      "/health": health, "/v1/presets": presets, "/v1/records": records and {"data": []}}
        self.requests, self.gets, self.open_now, self.open_most = [], [], 0, 0
        self.connections = self.posts = 0
        self.halves = {}  # as posted, by the id
        self.changed = threading.Condition()
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        assert self.ready.wait(60)
        return self

    def __exit__(self, *exc):
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join(60)

    def wait_for(self, condition, what):
        """Until a request came or ended so that condition() holds."""
        with self.changed:
            assert self.changed.wait_for(condition, 60), f"waited 60 s for: {what}"

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.main())

    async def main(self):
        self.stopping = asyncio.Event()
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=4096)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self.ready.set()
        await self.stopping.wait()
        server.close()
        tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for t in tasks:
            t.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def note(self, change):
        with self.changed:
            change()
            self.changed.notify_all()

    async def serve(self, reader, writer):
        self.connections += 1
        connection = self.connections
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().rstrip("\r\n").split("\r\n")
                length = next((int(h.split(":")[1]) for h in head if h.lower().startswith("content-length:")), 0)
                body = await reader.readexactly(length)
                if head[0].startswith("GET"):
                    await self.get(head[0].split()[1], writer)
                elif self.records and "/v1/records/" in head[0]:
                    self.posts += 1
                    if self.records is SILENT:
                        await reader.read(1)  # until the client goes away
                        return
                    self.halves[head[0].split("/")[3]] = json.loads(body)
                    await self.reply(writer, Reply(200, b"{}"))
                elif not await self.complete(Request(len(self.requests), connection, head, body), reader, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def get(self, path, writer):
        self.gets.append(path)
        if self.records and path.startswith("/v1/records/"):
            number = path.split("?")[0].split("/")[-1]
            records = self.records(number, self.halves[number]) if callable(self.records) else self.records
            return await self.reply(writer, Reply(200, records))
        found = self.fixed.get(path.split("?")[0])
        found = found(path) if callable(found) else found
        if found is SILENT:
            return await asyncio.sleep(3600)  # __exit__ cancels it
        if found is CLOSE:
            return writer.transport.abort()
        if isinstance(found, Reply):
            return await self.reply(writer, found)
        await self.reply(writer, Reply(200 if found else 404, json.dumps(found or {}).encode()))

    async def reply(self, writer, r):
        more = "".join(f"{k}: {v}\r\n" for k, v in r.headers)
        writer.write(f"HTTP/1.1 {r.status} x\r\nContent-Type: application/json\r\nContent-Length: {len(r.body)}\r\n{more}\r\n"
                     .encode() + r.body)
        await writer.drain()

    async def complete(self, request, reader, writer):
        """False: the connection ends with it."""
        parts = self.script(request)

        def came():
            self.requests.append(request)
            self.open_now += 1
            self.open_most = max(self.open_most, self.open_now)
        self.note(came)
        try:
            return await self.play(request, parts, reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            request.gone_ns = time.monotonic_ns()
            raise
        finally:
            def went():
                self.open_now -= 1
            self.note(went)

    async def pause(self, request, seconds, reader):
        """A pause that ends when the client goes away."""
        closed = asyncio.ensure_future(reader.read(1))
        done, _ = await asyncio.wait([closed], timeout=seconds)
        if done:
            request.gone_ns = time.monotonic_ns()
            raise ConnectionError("the client went away")
        closed.cancel()
        await asyncio.gather(closed, return_exceptions=True)  # one reader at a time

    async def play(self, request, parts, reader, writer):
        begun = False
        for part in parts:
            if isinstance(part, Reply):
                await self.reply(writer, part)
                return True
            if part is CLOSE:
                writer.transport.abort() if not begun else writer.close()
                return False
            if isinstance(part, (int, float)):
                if part > 0:
                    await self.pause(request, part, reader)
                continue
            if not begun:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n" +
                             (b"X-Attempt: 1\r\n\r\n" if self.records else b"\r\n"))
            begun = True
            request.sent_ns.append(time.monotonic_ns())
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True
