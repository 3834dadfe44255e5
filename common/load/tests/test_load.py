#!/usr/bin/env python3
"""test_load.py: `servelab load` against the real server over a fake backend, and against scripted servers that misbehave.

The cases M and their numbers are those of the serving-metrics list.
"""
# servelab-test: waits
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../serve/tests"))
from harness import SERVELAB, FakeServer, equal, names, run_tests  # noqa: E402


def load(url, *args):
    """64 tokens at most, because the fake model's context has 256 only; the last --max-tokens counts."""
    command = [SERVELAB, "load", "--url", url, "--max-tokens", "64", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


class ScriptedServer:
    """One connection after the other; a completion gets the given parts, numbers are pauses in seconds."""

    def __init__(self, parts, head=b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"):
        self.parts, self.head = parts, head
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def serve(self):
        while True:
            try:
                sock = self.listener.accept()[0]
            except OSError:
                return
            request = b""
            while b"\r\n\r\n" not in request:
                part = sock.recv(65536)
                if not part:
                    break
                request += part
            if b"/completions" in request.split(b"\r\n")[0]:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.sendall(self.head)
                for part in self.parts:
                    if isinstance(part, bytes):
                        sock.sendall(part)
                    else:
                        time.sleep(part)
            else:
                sock.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            sock.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


def chunk(delta=None, finish=None, **more):
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **more}, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def against(parts, *args, **kw):
    """Runs load against a script; returns its exit status, the record and what it said."""
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(parts, **kw) as s:
        path = os.path.join(folder, "record.json")
        r = load(s.url, "--model", "m", "--prompt", "p", "--record", path, *args)
        with open(path) as f:
            return r.returncode, json.load(f), r.stdout + r.stderr


def at(record, event):
    found = [e["t_ns"] for e in record["events"] if e["event"] == event]
    return found[0] if found else None


# ---- with our server -------------------------------------------------------------------------------------------------


def both_halves_are_joined_and_printed():
    with FakeServer() as s, tempfile.TemporaryDirectory() as folder:
        url = f"http://127.0.0.1:{s.port}/"
        record_file = os.path.join(folder, "r.json")
        r = load(url, "--prompt", "p", "--json", "--record", record_file)
        equal(r.returncode, 0, r.stderr)
        numbers = json.loads(r.stdout)
        equal((numbers["completion"], numbers["completion_reason"], numbers["tpot_boundary"]),
              ("completed", "delivered", "token_sent"))
        assert numbers["e2e_ns"] >= numbers["client_ttft_ns"] >= numbers["server_ttft_ns"] > 0, numbers
        with open(record_file) as f:
            record = json.load(f)
        equal([e["source"] for e in record["events"] if e["clock"] == "browser"], ["client"] * 3)
        equal(record["outcome"]["delivered"], True)
        text = load(url, "--prompt", "p").stdout
        assert text.startswith("hello\n") and "client_ttft" in text, text


def several_requests():
    with FakeServer() as s, tempfile.TemporaryDirectory() as folder:
        r = load(f"http://127.0.0.1:{s.port}", "--prompt", "p", "--requests", "5", "--json", "--out", folder)
        equal(r.returncode, 0, r.stderr)
        out = json.loads(r.stdout)
        equal((len(out["records"]), len({x["request_id"] for x in out["records"]})), (5, 5))
        with open(os.path.join(folder, "records.jsonl")) as f:
            equal(len([json.loads(line) for line in f]), 5)


def prompts_of_three_kinds():
    with FakeServer() as s, tempfile.TemporaryDirectory() as folder:
        s.tell("echo")
        url = f"http://127.0.0.1:{s.port}"
        text, ids = os.path.join(folder, "p.txt"), os.path.join(folder, "p.json")
        with open(text, "w") as f:
            f.write("say \"x\"\n\\ é")
        with open(ids, "w") as f:
            json.dump([ord(c) for c in "exact"], f)
        assert load(url, "--prompt", "xyz", "--completions").stdout.startswith("zyx\n")
        assert load(url, "--prompt-file", text, "--completions").stdout.startswith("é \\\n\"x\" yas\n")
        r = load(url, "--prompt-tokens-file", ids, "--max-tokens", "3", "--json")
        equal(r.returncode, 0, r.stderr)
        equal(json.loads(r.stdout)["completion_reason"], "truncated")
        with open(ids, "w") as f:
            f.write("[1, 2.5]")
        r = load(url, "--prompt-tokens-file", ids)
        equal(r.returncode, 2)
        assert "entry 1" in r.stderr


def refusals_and_faults_are_records():
    with FakeServer() as s:
        url = f"http://127.0.0.1:{s.port}"
        r = load(url, "--prompt", "p", "--max-tokens", "999", "--json")
        equal((r.returncode, json.loads(r.stdout)["completion_reason"]), (1, "rejected"))
        assert "context length" in r.stderr, r.stderr
        s.tell("fail 1")
        r = load(url, "--prompt", "p", "--json")
        equal((r.returncode, json.loads(r.stdout)["completion_reason"]), (1, "internal_error"))
        r = load(url, "--prompt", "p", "--preset", "first")
        equal(r.returncode, 2)
        r = load(url, "--preset", "first")
        equal(r.returncode, 2)
        assert "--preset" in r.stderr, r.stderr


def bad_usage_is_named():
    for args, part in ((["--prompt", "p"], "--url"), (["--url", "http://x"], "--prompt"), (["--nope"], "--nope"),
                       (["--url", "http://127.0.0.1:1", "--prompt", "p"], "servelab serve"),
                       (["--url", "http://127.0.0.1:1", "--prompt-file", "/nonexistent"], "/nonexistent"),
                       (["--url", "x", "--prompt", "p", "--temperature", "hot"], "--temperature"),
                       (["--url", "x", "--prompt", "p", "--requests", "0"], "--requests")):
        r = subprocess.run([SERVELAB, "load", *args], capture_output=True, text=True, timeout=60)
        equal(r.returncode, 2, f"{args}: {r.stderr}")
        assert part in r.stderr, f"{args}: {r.stderr}"


# ---- with servers that misbehave -------------------------------------------------------------------------------------


def m01_role_and_empty_chunks_are_no_first_content():
    status, record, said = against([chunk({"role": "assistant"}), chunk({"content": ""}), 0.3, chunk({"content": "late"}),
                                    chunk(finish="stop"), DONE])
    equal(status, 0, said)
    assert at(record, "first_byte_received") - at(record, "request_submitted") >= 300e6, record


def m02_empty_answer_has_no_first_byte():
    status, record, _ = against([chunk({"role": "assistant"}), chunk(finish="stop"), DONE])
    equal(names(record), ["request_submitted", "final_byte_received"])


def m15_error_within_the_stream():
    status, record, said = against([chunk({"content": "half"}), b'data: {"error": {"message": "it broke"}}\n\n'])
    equal(status, 1)
    assert "it broke" in said and "it broke" in record["outcome"]["error"]


def m15_stream_without_an_end():
    for end in (b"", b"data: {\"choices\": [", chunk({"content": " more"})):
        status, record, said = against([chunk({"content": "half"}), end])
        equal(status, 1, repr(end))
        assert "broke off" in said and at(record, "final_byte_received") is None, said
    equal(against([chunk({"content": "x"}), DONE])[0], 0, "[DONE] alone is an end")
    equal(against([chunk({"content": "x"}), chunk(finish="stop")])[0], 0, "so is a finish reason alone")


def m15_connection_that_breaks():
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    part = chunk({"content": "half"})
    status, record, said = against([b"%x\r\n%s\r\n" % (len(part), part)], head=head)
    equal(status, 1)
    assert "the connection broke" in said and at(record, "final_byte_received") is None


def m21_every_byte_in_a_read_of_its_own():
    stream = (b": a comment\r\n\r\n" + chunk({"content": "naïve "}).replace(b"\n", b"\r\n") + b"data:" +
              json.dumps({"choices": [{"delta": {"content": "日本 "}}]}, ensure_ascii=False).encode() + b"\r\r" +
              b'event: x\nid: 4\ndata: {"choices":\ndata: [{"delta":{"content":"two lines"}}]}\n\n:\n' +
              chunk(finish="stop") + DONE)
    status, record, said = against([stream[i:i + 1] for i in range(len(stream))])
    equal(status, 0, said)
    assert said.startswith("naïve 日本 two lines\n"), said


def m23_usage_is_taken_from_the_server():
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    status, record, _ = against([chunk({"content": "two tokens in one chunk"}), chunk(finish="stop"),
                                 b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n", DONE])
    equal((record["workload"]["prompt_tokens"], record["workload"]["output_tokens"]), (7, 5))


def a_server_that_does_not_stream():
    body = json.dumps({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}).encode()
    status, record, said = against([body], head=b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
    equal(status, 0, said)


def garbage():
    for parts in ([b"data: {\n\n"], [b"\x00\xff" * 1000], [b"data: [1,2]\n\ndata: 7\n\ndata: null\n\n"]):
        equal(against(parts)[0], 1, repr(parts)[:60])
    with ScriptedServer([], head=b"SMTP ready\r\n\r\n") as s:
        equal(load(s.url, "--model", "m", "--prompt", "p").returncode, 2)


TESTS = [both_halves_are_joined_and_printed, several_requests, prompts_of_three_kinds, refusals_and_faults_are_records,
         bad_usage_is_named, m01_role_and_empty_chunks_are_no_first_content, m02_empty_answer_has_no_first_byte,
         m15_error_within_the_stream, m15_stream_without_an_end, m15_connection_that_breaks,
         m21_every_byte_in_a_read_of_its_own, m23_usage_is_taken_from_the_server, a_server_that_does_not_stream, garbage]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
