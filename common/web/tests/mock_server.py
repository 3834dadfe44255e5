#!/usr/bin/env python3
"""mock_server.py: a scripted server: serves the page's files and plays answers, right ones and broken ones.

Offers MockServer (in tests) and a command line (to look at the page without a model):
  python3 common/web/tests/mock_server.py --port 8010
It speaks the routes the page uses. The last line of the prompt names the script (see SCRIPTS). Its records carry
its own clock's events; its intervals are computed here, so no test of the product's numbers may rest on them.
"""

import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WEB = Path(__file__).resolve().parent.parent
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}


HOLD = object()  # in a script: wait for server.go


def chunk(text=None, finish=None, role=None, usage=None):
    delta = {}
    if role:
        delta["role"] = role
    if text is not None:
        delta["content"] = text
    choices = [] if usage else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c", "object": "chat.completion.chunk", "choices": choices, "usage": usage}


def sse(obj):
    return b"data: " + (obj if isinstance(obj, bytes) else json.dumps(obj, ensure_ascii=False).encode()) + b"\n\n"


WORDS = (
    "The answer arrives piece by piece, and each piece is a token or a few. What a person feels first is the wait "
    "for the first of them; what they remember is when the last one came. Two questions, two numbers. "
).split(" ")


def plain(reading_s=1.2, tokens=60, per_token_s=0.03):
    yield reading_s
    for i in range(tokens):
        yield sse(chunk(WORDS[i % len(WORDS)] + " "))
        yield per_token_s
    yield sse(chunk(finish="stop"))
    yield sse(chunk(usage={"prompt_tokens": 2048, "completion_tokens": tokens, "total_tokens": 2048 + tokens}))
    yield sse(b"[DONE]")


def role_first():  # a role-only and an empty chunk, 300 ms before the first content
    yield sse(chunk(role="assistant"))
    yield sse(chunk(""))
    yield 0.3
    yield sse(chunk("late"))
    yield sse(chunk(finish="stop"))
    yield sse(b"[DONE]")


def late_usage():  # usage and [DONE] come after the last text, when the test says so
    yield sse(chunk("one "))
    yield 0.05
    yield sse(chunk("two"))
    yield HOLD
    yield sse(chunk(finish="stop"))
    yield sse(chunk(usage={"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}))
    yield sse(b"[DONE]")


def bytewise():  # every byte in a separate write; CRLF, comments, no space, several data lines, split UTF-8
    body = b": a comment\r\n\r\n" + sse(chunk("naïve ")).replace(b"\n", b"\r\n")
    body += b"data:" + json.dumps(chunk("日本 "), ensure_ascii=False).encode() + b"\r\r"
    body += b'event: x\nid: 4\ndata: {"choices":\ndata: [{"delta":{"content":"two lines "}}]}\n\n'
    body += b"data: " + b'{"choices":[{"delta":{"content":"bad \xff byte"}}]}' + b"\n\n:\n"
    body += sse(chunk(finish="stop")) + sse(b"[DONE]")
    for i in range(len(body)):
        yield body[i : i + 1]


def in_band():  # HTTP 200, then an error inside the stream
    yield sse(chunk("half an "))
    yield sse({"error": {"message": "the engine lost its memory", "type": "server_error"}})


def no_end():  # neither finish_reason nor [DONE]
    yield sse(chunk("this sentence has no"))


def no_done():  # a finish reason but no [DONE]: complete
    yield sse(chunk("fine"))
    yield sse(chunk(finish="stop"))


def not_json():
    yield sse(chunk("good "))
    yield sse(b'{"choices": [')
    yield sse(chunk("after"))
    yield sse(chunk(finish="stop"))
    yield sse(b"[DONE]")


def empty():  # no content at all
    yield sse(chunk(role="assistant"))
    yield sse(chunk(finish="stop"))
    yield sse(b"[DONE]")


def broken():  # the connection dies inside a chunk
    yield sse(chunk("the line goes "))
    yield 0.1
    yield b'data: {"choices"'
    raise ConnectionAbortedError


def held():  # reads the prompt until the test says go
    yield HOLD
    yield from plain(reading_s=0)


def long():
    yield from plain(reading_s=4.4, tokens=240, per_token_s=0.014)


def quick():
    yield from plain(reading_s=0.06, tokens=180, per_token_s=0.025)


SCRIPTS = {
    "plain": plain,
    "role-first": role_first,
    "late-usage": late_usage,
    "bytewise": bytewise,
    "in-band": in_band,
    "no-end": no_end,
    "no-done": no_done,
    "not-json": not_json,
    "empty": empty,
    "broken": broken,
    "held": held,
    "unread": no_done,
    "long": long,
    "quick": quick,
    "refuse": None,
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise the second write waits 40 ms for an acknowledgement

    def log_message(self, *args):
        pass

    def parse_request(self):
        if self.server.stopped:  # a kept connection ends with the server, too
            self.close_connection = True
            return False
        return super().parse_request()

    def answer(self, status, body, kind="application/json"):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        if self.server.isolated:
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        records = self.server.records
        if path == "/v1/models":
            return self.answer(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        if path == "/v1/presets":
            return self.answer(200, {"presets": self.server.presets})
        if path.startswith("/v1/records/"):
            rid, _, what = path[len("/v1/records/") :].partition("/")
            if rid not in records:
                self.server.asked_unknown.set()
                if "if_known=1" in self.path:
                    return self.answer(204, b"")
                return self.answer(404, {"error": {"message": f"no record {rid}"}})
            if what != "intervals":
                return self.answer(200, records[rid])
            self.answer(200, {**intervals(records[rid]), **self.server.lies})
            self.server.measured.append(rid)
            return None
        file = WEB / (path.lstrip("/") or "index.html")
        if file.is_file() and WEB in file.resolve().parents and file.suffix in TYPES:
            return self.answer(200, file.read_bytes(), TYPES[file.suffix])
        return self.answer(404, {"error": {"message": f"no route {path}"}})

    def do_POST(self):
        self.accepted_ns = time.monotonic_ns()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/events"):
            rid = self.path.split("/")[3]
            if rid not in self.server.records:
                return self.answer(404, {"error": {"message": f"no record {rid}"}})
            self.server.records[rid]["events"] += body["events"]
            return self.answer(200, self.server.records[rid])
        prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
        self.server.bodies.append(body)
        self.play(prompt.strip().rsplit("\n", 1)[-1])

    def event(self, record, name, t_ns=None, **more):
        record["events"].append(
            {
                "event": name,
                "clock": "server",
                "t_ns": t_ns or time.monotonic_ns(),
                "source": "server_log",
                "clock_api": "CLOCK_MONOTONIC",
                **more,
            }
        )

    def play(self, name):
        if name == "unread":  # the request waits in the server's socket, as on a busy machine
            self.server.read.wait(60)
        rid = self.headers.get("X-Request-Id", "r-0001")
        record = self.server.records[rid] = new_record(rid)
        self.event(record, "request_accepted", self.accepted_ns)
        if SCRIPTS.get(name, plain) is None:
            record["outcome"].update(http_status=400)
            self.event(record, "request_rejected")
            return self.answer(
                400,
                {
                    "error": {
                        "message": "max_tokens takes a whole number from 1 to 2048, not 4096",
                        "param": "max_tokens",
                    }
                },
            )
        time.sleep(0.004)
        self.event(record, "request_admitted")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self.stream(record, SCRIPTS.get(name, plain)())
        except ConnectionAbortedError:
            self.event(record, "request_failed")
            self.close_connection = True
        except OSError:
            self.event(record, "request_cancelled")
            self.close_connection = True

    def stream(self, record, pieces):
        sent = False
        for piece in pieces:
            if piece is HOLD:
                while not self.server.go.wait(0.1):
                    self.write(b":\n")  # a comment finds out whether the client is still there
                continue
            if isinstance(piece, float) or isinstance(piece, int):
                time.sleep(piece)
                continue
            if not sent and b"content" in piece:
                sent = True
                self.event(record, "first_token")
            if b"content" in piece:
                self.event(record, "token_sent", tokens=1)
                record["workload"]["output_tokens"] += 1
            if b'"finish_reason": "stop"' in piece:
                record["outcome"]["finish_reason"] = "stop"
            if b'"error"' in piece:
                record["outcome"]["error"] = "the engine lost its memory"
            self.write(piece)
        self.wfile.write(b"0\r\n\r\n")
        record["outcome"].update(delivered=True, http_status=200)
        self.event(record, "response_finished")

    def write(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def new_record(rid):
    return {
        "schema": "servelab.request-record.v1",
        "request_id": rid,
        "attempt": 1,
        "workload": {
            "model": "scripted",
            "prompt_tokens": 2048,
            "max_output_tokens": 256,
            "output_tokens": 0,
            "decoding": "greedy",
        },
        "events": [],
        "outcome": {"delivered": False, "http_status": None, "finish_reason": None, "error": None},
        "quality": {"check": None, "verdict": "not_evaluated"},
        "structure": {"check": None, "verdict": "not_required"},
        "resources": {"gpu_seconds": None, "joules": None},
        "statement": "",
    }


def intervals(r):
    t = {}
    for e in r["events"]:
        t.setdefault(e["event"], e["t_ns"])
    between = lambda a, b: t[b] - t[a] if a in t and b in t else None  # noqa: E731
    sent = [e["t_ns"] for e in r["events"] if e["event"] == "token_sent"]
    n = r["workload"]["output_tokens"]
    o = r["outcome"]
    reason = (
        "cancelled"
        if "request_cancelled" in t
        else (
            "rejected"
            if "request_rejected" in t
            else (
                "internal_error"
                if "request_failed" in t
                else (
                    "in_band_error"
                    if o["error"]
                    else (
                        "not_delivered"
                        if len({"first_byte_received", "first_token"} - set(t))
                        else "no_finish_reason" if not o["finish_reason"] else "delivered"
                    )
                )
            )
        )
    )
    return {
        "request_id": r["request_id"],
        "client_ttft_ns": between("request_submitted", "first_byte_received"),
        "server_ttft_ns": between("request_accepted", "first_token"),
        "queue_delay_ns": between("request_accepted", "request_admitted"),
        "e2e_ns": between("request_submitted", "final_byte_received"),
        "tpot_ns": (sent[-1] - sent[0]) // (n - 1) if n > 1 else None,
        "tpot_boundary": "token_sent" if n > 1 else None,
        "completion": "completed" if reason == "delivered" else "incomplete",
        "completion_reason": reason,
        "quality": r["quality"]["verdict"],
        "structure": r["structure"]["verdict"],
        "useful": False,
    }


class MockServer:
    def __init__(self, port=0):
        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.http.daemon_threads = True
        self.http.records, self.http.bodies = {}, []
        self.http.isolated = True  # whether the page is served with the headers that give it a fine clock
        self.http.stopped = False
        self.http.go, self.http.read = threading.Event(), threading.Event()  # what "held" and "unread" wait for
        self.http.asked_unknown = threading.Event()  # a record was asked for that isn't there
        self.http.measured = []  # ids whose intervals were fetched
        self.http.lies = {}  # members of the intervals to falsify
        filler = "\n".join(
            f"log {i:03d} the lamp in room {i % 37} was {'lit' if i % 3 else 'dark'} at noon" for i in range(140)
        )
        self.http.presets = [
            {
                "name": n,
                "title": n,
                "prompt": f"{filler}\n{n}",
                "expected": None,
                "check": None,
                "prompt_tokens": 2048,
                "max_tokens": 256,
            }
            for n in ("long", "quick", "in-band", "refuse")
        ]
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"

    def start(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def stop(self):
        self.http.stopped = True
        self.http.shutdown()
        self.http.server_close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8010)
    parser.add_argument("--port-file", help="the port is written there")
    parser.add_argument("--hold", action="store_true", help="never answer: the prompt is read for ever")
    args = parser.parse_args()
    server = MockServer(args.port)
    if args.hold:
        server.http.presets[0]["prompt"] = "held"
    print(f"open {server.url}  (Ctrl-C ends it)", flush=True)
    if args.port_file:
        Path(args.port_file).write_text(str(server.port), encoding="ascii")
    server.http.serve_forever()
