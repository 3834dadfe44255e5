"""harness.py: servers to test against, HTTP by hand, and TAP. Standard library only.

FakeServer is `test_http --serve`: the product's server over a backend that computes nothing and has a gate (see
test_http.c for its commands). RealServer is `servelab serve` with the embedded model, or
with the GGUF file that SERVELAB_TEST_MODEL names.
"""
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
OBJ = os.environ.get("OBJ", os.path.join(TOP, "build/obj/gcc-release-solutions"))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
MODEL_FILE = os.environ.get("SERVELAB_TEST_MODEL", os.path.join(TOP, "common/model/embedded/servelab-tiny.gguf"))
PATIENCE_S = 60  # for what takes milliseconds on an idle machine


# ---- TAP -------------------------------------------------------------------------------------------------------------


def run_tests(tests):
    """Runs functions in order, prints TAP, returns the exit status. A test fails by raising."""
    wanted = os.environ.get("TEST_CASE")
    failed = 0
    chosen = [t for t in tests if not wanted or wanted in t.__name__]
    for number, test in enumerate(chosen, 1):
        try:
            test()
            print(f"ok {number} - {test.__name__}", flush=True)
        except Exception as e:  # an assertion, or what the test didn't expect: both are its failure
            failed += 1
            print(f"not ok {number} - {test.__name__}: {type(e).__name__}: {str(e)[:300]!r}", flush=True)
            traceback.print_exc(file=sys.stderr)
    print(f"1..{len(chosen)}")
    return 1 if failed else 0


def equal(got, want, what=""):
    assert got == want, f"{what} got {got!r}, want {want!r}"


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE_S} s for: {what}"
        time.sleep(0.005)


# ---- HTTP ------------------------------------------------------------------------------------------------------------


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def error(self):
        return self.json()["error"]

    def events(self):
        """The data of each server-sent event, as sent by us: one line of data an event."""
        parts = self.body.decode().split("\n\n")
        assert parts[-1] == "", f"the stream ends inside an event: {parts[-1]!r}"
        assert all(p.startswith("data: ") and "\n" not in p for p in parts[:-1]), parts
        return [p[6:] for p in parts[:-1]]

    def chunks(self):
        return [json.loads(e) for e in self.events() if e != "[DONE]"]


class Client:
    """What both servers are asked through."""

    port = None

    def request(self, method, path, body=None, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
            c.request(method, path, body, headers or {})
            r = c.getresponse()
            return Reply(r.status, r.headers, r.read())
        finally:
            c.close()

    def get(self, path, **kw):
        return self.request("GET", path, **kw)

    def post(self, path, body, headers=None):
        return self.request("POST", path, body, headers)

    def complete(self, prompt="p", headers=None, **fields):
        return self.post("/v1/completions", {"model": self.model, "prompt": prompt, **fields}, headers)

    def chat(self, text="p", headers=None, **fields):
        messages = [{"role": "user", "content": text}]
        return self.post("/v1/chat/completions", {"model": self.model, "messages": messages, **fields}, headers)

    def record(self, request_id, attempt=None):
        r = self.get(f"/v1/records/{request_id}" + (f"?attempt={attempt}" if attempt else ""))
        return r.json() if r.status == 200 else None

    def settled(self, request_id):
        """The record once the server is done with it."""
        ends = {"response_finished", "request_rejected", "request_cancelled", "request_failed"}
        found = []

        def done():
            found[:] = [self.record(request_id)]
            return found[0] and ends & set(names(found[0]))
        wait_until(done, f"the end of {request_id}")
        return found[0]

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def send_completion(self, sock, prompt="p", headers=(), **fields):
        body = json.dumps({"model": self.model, "prompt": prompt, **fields}).encode()
        head = ["POST /v1/completions HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
        sock.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)


def names(record):
    return [e["event"] for e in record["events"]]


def stamps(record, event):
    return [e for e in record["events"] if e["event"] == event]


def read_to_end(sock):
    data = b""
    while True:
        try:
            part = sock.recv(65536)
        except ConnectionResetError:
            return data
        if not part:
            return data
        data += part


def read_until(sock, text, times=1):
    data = b""
    while data.count(text) < times:
        part = sock.recv(65536)
        assert part, f"the connection ended before {text!r}: {data[-300:]!r}"
        data += part
    return data


# ---- servers ---------------------------------------------------------------------------------------------------------


class FakeServer(Client):
    model = "fake"

    def __init__(self, max_waiting=256, header_s=0, log=None, say="hello", positions=1, cors="", linger_s=0):
        program = os.path.join(OBJ, "common/serve/tests/test_http")
        assert os.path.exists(program), f"build it first: make {os.path.relpath(program, TOP)}"
        args = [program, "--serve", str(max_waiting), str(header_s)]
        self.process = subprocess.Popen(args + ([log] if log else []), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=dict(os.environ, FAKE_POSITIONS=str(positions), FAKE_CORS=cors, FAKE_LINGER=str(linger_s)))
        line = self.process.stdout.readline()
        assert line.startswith("port "), f"the fake server said {line!r}"
        self.port = int(line.split()[1])
        self.tell("say " + say)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.stdin.write("quit\n")
        self.process.stdin.close()
        status = self.process.wait(timeout=PATIENCE_S)
        if exc[0] is None:
            equal(status, 0, "exit status of the fake server")

    def tell(self, command):
        """Sends a command; returns the server's counters."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        assert words and words[0] == "ok", f"the fake server said {words!r} to {command!r}"
        return dict(zip(words[1::2], map(int, words[2::2])))

    def counters(self):
        return self.tell("finished 0")


class RealServer(Client):
    def __init__(self, *args, model_file=MODEL_FILE, **popen):
        self.folder = tempfile.TemporaryDirectory()
        port_file = os.path.join(self.folder.name, "port")
        command = [SERVELAB, "serve", "--model", model_file, "--port", "0", "--port-file", port_file, "--json", *args]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)
        self.ready = json.loads(self.process.stdout.readline() or "{}")
        assert self.ready.get("event") == "ready", f"{command} said: {self.process.stderr.read()}"
        with open(port_file) as f:
            self.port = int(f.read())
        self.model = self.ready["model"]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.status = self.process.wait(timeout=PATIENCE_S)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.process.stderr.close()
            self.folder.cleanup()
        if exc[0] is None:
            equal(self.status, 0, "exit status of the server")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.status = self.process.wait(timeout=PATIENCE_S)
        return self.status


def readable(sock, seconds):
    return bool(select.select([sock], [], [], seconds)[0])
