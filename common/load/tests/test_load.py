#!/usr/bin/env python3
"""test_load.py: `servelab load` against the real server over a fake backend, and against scripted servers: those of other
makers, and those that misbehave.
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


CLIENT_AHEAD_NS = 97531246801357  # of CLOCK_MONOTONIC (load/client.h)


def load(url, *args):
    """64 tokens at most, because the fake model's context has 256 only; the last --max-tokens counts."""
    command = [SERVELAB, "load", "--url", url, "--max-tokens", "64", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


class ScriptedServer:
    """One connection after the other; a completion gets the given parts, numbers are pauses in seconds."""

    def __init__(self, parts, head=b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
                 other=b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"):
        self.parts, self.head, self.other = parts, head, other
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def serve(self):
        while True:
            try:
                sock = self.listener.accept()[0]
            except OSError:
                return
            request, most = b"", float("inf")
            while len(request) < most:  # all of it: a close with something unread may lose the reply
                part = sock.recv(65536)
                if not part:
                    break
                request += part
                head, end, _ = request.lower().partition(b"\r\n\r\n")
                if end:
                    most = len(head) + 4 + int((head.partition(b"content-length:")[2] or b"0").split()[0])
            if b"/completions" in request.split(b"\r\n")[0]:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.sendall(self.head)
                try:
                    for part in self.parts:
                        if isinstance(part, bytes):
                            sock.sendall(part)
                        else:
                            time.sleep(part)
                except OSError:  # the client has gone
                    pass
            else:
                try:
                    if self.other:
                        sock.sendall(self.other)
                    else:
                        sock.recv(1)  # until the client goes away
                except OSError:
                    pass
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
    """Runs load against a script; returns its exit status, the record and its output."""
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


def the_clients_zero_is_not_the_servers():
    with FakeServer() as s, tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "r.json")
        for _ in range(2):  # the offset is the same in each process
            before = time.monotonic_ns()
            equal(load(f"http://127.0.0.1:{s.port}", "--prompt", "p", "--record", file).returncode, 0)
            with open(file) as f:
                record = json.load(f)
            ahead = CLIENT_AHEAD_NS
            assert before <= at(record, "request_submitted") - ahead <= at(record, "request_accepted"), record
            assert at(record, "first_token") <= at(record, "first_byte_received") - ahead <= time.monotonic_ns(), record
            assert abs(at(record, "request_accepted") - at(record, "request_submitted")) > 3600e9, "an hour, which can't be true"


def a_captured_record_is_left_to_annotate():
    with FakeServer() as s, tempfile.TemporaryDirectory() as folder:
        whole, blank = os.path.join(folder, "whole.json"), os.path.join(folder, "blank.json")
        r = load(f"http://127.0.0.1:{s.port}", "--prompt", "p", "--record", whole, "--annotate", blank)
        equal(r.returncode, 0, r.stderr)
        assert f"record check {blank}" in r.stdout, r.stdout
        for answer in ("client_ttft", "server_log", "experienced"):
            assert answer not in r.stdout, f"what the reader is to find is printed: {r.stdout}"
        with open(whole) as f, open(blank) as g:
            whole, blank = json.load(f), json.load(g)
        equal(whole["statement"], None, "a statement is for the reader to write")
        six = ("request_submitted", "request_accepted", "request_admitted", "first_token", "first_byte_received", "final_byte_received")
        equal({e["event"] for e in blank["events"] if e["source"] == "TODO"}, set(six))
        equal((blank["provenance"], blank["statement"]), ("TODO", "TODO"))
        check = subprocess.run([SERVELAB, "record", "check", "-"], input=json.dumps(blank), capture_output=True, text=True)
        assert check.returncode == 2 and "TODO" in check.stderr, check
        for kept, event in zip(whole["events"], blank["events"]):
            event["source"] = kept["source"]
        blank["statement"] = None
        equal({**whole, "provenance": "TODO"}, blank, "nothing else is changed")
        equal(load(f"http://127.0.0.1:{s.port}", "--prompt", "p", "--annotate", os.path.join(folder, "none", "x")).returncode, 2)


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


# ---- with servers of other makers ------------------------------------------------------------------------------------


def usage(**counts):
    return b"data: " + json.dumps({"choices": [], "usage": {"prompt_tokens": 3, **counts}}).encode() + b"\n\n"


def checked(record):
    r = subprocess.run([SERVELAB, "record", "check", "--json", "-"], input=json.dumps(record), capture_output=True, text=True)
    equal(r.returncode, 0, r.stderr)
    return json.loads(r.stdout)


def a_foreign_answer_is_delivered_by_the_clients_events():
    status, record, said = against([chunk({"content": "a"}), 0.02, chunk({"content": "b"}), chunk(finish="stop"), DONE])
    equal((status, record["outcome"]["delivered"]), (0, True), said)
    equal(names(record), ["request_submitted", "first_byte_received", "final_byte_received"])
    numbers = checked(record)
    equal((numbers["completion"], numbers["completion_reason"], numbers["server_ttft_ns"]), ("completed", "delivered", None))
    assert "plausible   yes" in said, said
    without = checked(against([chunk({"content": "a"}), DONE])[1])
    equal((without["completion"], without["completion_reason"]), ("incomplete", "no_finish_reason"))
    cut = checked(against([chunk({"content": "a"}), chunk(finish="length"), DONE])[1])
    equal((cut["completion"], cut["completion_reason"]), ("incomplete", "truncated"))
    broken = against([chunk({"content": "a"})])[1]
    equal(broken["outcome"]["delivered"], False)


def reasoning_is_told_apart_from_the_answer():
    for field in ("reasoning_content", "reasoning"):
        parts = [chunk({"role": "assistant", "content": ""}), chunk({field: "Let me "}), 0.1, chunk({field: "see."}), 0.2,
                 chunk({"content": "42"}), chunk(finish="stop"), usage(completion_tokens=4), DONE]
        status, record, said = against(parts)
        equal(status, 0, said)
        assert said.startswith("42\n"), said
        first, submitted = at(record, "first_byte_received"), at(record, "request_submitted")
        client = record["client"]
        equal((client["answer_chunks"], client["reasoning_chunks"]), (1, 2))
        assert client["answer_ttft_ns"] >= 300e6 and client["answer_ttft_ns"] > first - submitted, record
        span = at(record, "final_byte_received") - first
        assert abs(checked(record)["tpot_ns"] - span / 3) <= 1, "over all that was streamed"
        assert "reasoning" in record["statement"] and "the answer itself began after" in record["statement"]
    record = against([chunk({"reasoning": "hm"}), chunk(finish="length"), DONE])[1]
    equal((record["client"]["answer_ttft_ns"], record["client"]["answer_chunks"]), (None, 0))
    equal((record["outcome"]["delivered"], checked(record)["completion_reason"]), (True, "truncated"))


def pings_comments_and_blanks_are_no_text():
    pings = b": ping\n\n:\n\nevent: ping\ndata: not JSON\n\ndata:\n\ndata:  \n\ndata: {\"type\": \"ping\"}\n\n"
    status, record, said = against([pings, 0.1, pings + chunk({"content": "a"}), pings, chunk(finish="stop") + DONE + pings])
    equal(status, 0, said)
    assert at(record, "first_byte_received") - at(record, "request_submitted") >= 100e6


def every_form_of_done():
    for done in (b"data: [DONE] \n\n", b"data:[DONE]\n\n", b"data: [DONE]\r\n\r\n", b"data: [DONE]\n", b"data: [DONE]",
                 DONE + DONE, DONE + b": bye"):
        status, record, said = against([chunk({"content": "a"}) + chunk(finish="stop") + done])
        equal((status, record["outcome"]["delivered"]), (0, True), f"{done}: {said}")


def a_character_split_over_two_chunks_is_joined():
    halves = [b'data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}\n\n' % half
              for half in (b"a\\ud83d", b"\\ude00b")]
    status, record, said = against([*halves, chunk(finish="stop"), DONE])
    equal((status, record["outcome"]["delivered"]), (0, True), said)
    assert said.startswith("a\U0001f600b\n"), said
    assert against([halves[0], chunk(finish="stop"), DONE])[2].startswith("a\ufffd\n")


def a_nul_in_an_answer_is_text():
    for text in ("a\0b", "\0"):
        status, record, said = against([chunk({"content": text}), chunk(finish="stop"), DONE])
        equal((status, record["outcome"]["delivered"]), (0, True), said)
        assert said.startswith(text + "\n"), said
    for error in ({"message": "it\0broke"}, "it\0broke"):
        status, record, said = against([b"data: " + json.dumps({"error": error}).encode() + b"\n\n", DONE])
        equal(status, 1, said)
        assert record["outcome"]["error"].startswith("the server says: it"), record


def errors_in_every_form():
    for body in ({"error": {"message": "it broke"}}, {"error": "it broke"}, {"object": "error", "message": "it broke"}):
        status, record, said = against([b"data: " + json.dumps(body).encode() + b"\n\n", DONE])
        equal((status, record["outcome"]["delivered"]), (1, False))
        assert "it broke" in record["outcome"]["error"], record


# ---- with servers that misbehave -------------------------------------------------------------------------------------


def no_error_in_every_form():
    for none in (None, False, ""):
        status, record, said = against([chunk({"content": "a"}, error=none), chunk(finish="stop", error=none), DONE])
        equal((status, record["outcome"]["delivered"]), (0, True), said)


def a_servers_words_do_not_steer_the_terminal():
    status, record, said = against([b'data: {"error": {"message": "a\\u001b[31mb\\u202ec\\u009bd \xe6\x97\xa5"}}\n\n'])
    equal((status, "load" in said, "a?[31mb?c?d \u65e5" in said), (1, True, True), said)
    assert not set("\x1b\u202e\x9b") & set(said), repr(said)


def role_and_empty_chunks_are_no_first_content():
    status, record, said = against([chunk({"role": "assistant"}), chunk({"content": ""}), 0.3, chunk({"content": "late"}),
                                    chunk(finish="stop"), DONE])
    equal(status, 0, said)
    assert at(record, "first_byte_received") - at(record, "request_submitted") >= 300e6, record


def empty_answer_has_no_first_byte():
    status, record, _ = against([chunk({"role": "assistant"}), chunk(finish="stop"), DONE])
    equal(names(record), ["request_submitted", "final_byte_received"])


def error_within_the_stream():
    status, record, said = against([chunk({"content": "half"}), b'data: {"error": {"message": "it broke"}}\n\n'])
    equal(status, 1)
    assert "it broke" in said and "it broke" in record["outcome"]["error"]


def stream_without_an_end():
    for end in (b"", b"data: {\"choices\": [", chunk({"content": " more"})):
        status, record, said = against([chunk({"content": "half"}), end])
        equal(status, 1, repr(end))
        assert "broke off" in said and at(record, "final_byte_received") is None, said
    equal(against([chunk({"content": "x"}), DONE])[0], 0, "[DONE] alone is an end")
    equal(against([chunk({"content": "x"}), chunk(finish="stop")])[0], 0, "so is a finish reason alone")


def an_answer_that_does_not_end():
    many = chunk({"content": "x" * (1 << 20)})
    status, record, said = against([many] * 80, "--json")
    equal(status, 1)
    assert "more than 64 MiB of text" in said and "MiB" in record["outcome"]["error"], said[:300]
    assert at(record, "final_byte_received") is None


def connection_that_breaks():
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    part = chunk({"content": "half"})
    status, record, said = against([b"%x\r\n%s\r\n" % (len(part), part)], head=head)
    equal(status, 1)
    assert "the connection broke" in said and at(record, "final_byte_received") is None


def every_byte_in_a_read_by_itself():
    stream = (b": a comment\r\n\r\n" + chunk({"content": "naïve "}).replace(b"\n", b"\r\n") + b"data:" +
              json.dumps({"choices": [{"delta": {"content": "日本 "}}]}, ensure_ascii=False).encode() + b"\r\r" +
              b'event: x\nid: 4\ndata: {"choices":\ndata: [{"delta":{"content":"two lines"}}]}\n\n:\n' +
              chunk(finish="stop") + DONE)
    status, record, said = against([stream[i:i + 1] for i in range(len(stream))])
    equal(status, 0, said)
    assert said.startswith("naïve 日本 two lines\n"), said


def usage_is_taken_from_the_server():
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    status, record, _ = against([chunk({"content": "two tokens in one chunk"}), chunk(finish="stop"),
                                 b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n", DONE])
    equal((record["workload"]["prompt_tokens"], record["workload"]["output_tokens"]), (7, 5))


def a_server_that_does_not_stream():
    body = json.dumps({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}).encode()
    status, record, said = against([body], head=b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
    equal(status, 0, said)


def a_stream_of_another_type_is_one():
    for kind in (b"", b"Content-Type: application/json\r\n"):
        status, record, said = against([chunk({"content": "a"}), chunk(finish="stop"), DONE],
                                       head=b"HTTP/1.1 200 OK\r\n" + kind + b"Connection: close\r\n\r\n")
        equal((status, record["outcome"]["delivered"]), (0, True), said)


def a_page_is_no_completion():
    html = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
    for body in (b"<html>log in</html>", b"[1, 2]", b'{"object": "list"}'):
        status, record, said = against([body], head=html)
        equal((status, record["outcome"]["delivered"]), (1, False))
        assert "neither a stream of events nor a completion in JSON" in said and "--url" in said, said
    status, record, said = against([b"x" * (1 << 20)] * 80, head=html)
    equal(status, 1)
    assert "more than 64 MiB" in said, said


def a_server_that_hangs_or_goes_leaves_a_record():
    status, record, said = against([2], "--timeout-s", "1", head=b"")
    equal((status, checked(record)["completion_reason"]), (1, "timed_out"), said)
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        def answer_once():
            sock = listener.accept()[0]
            listener.close()
            asked = b""
            while not asked.endswith(b'"include_usage":true}}'):
                asked += sock.recv(65536)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" +
                         chunk({"content": "a"}) + chunk(finish="stop") + DONE)
            sock.close()
        threading.Thread(target=answer_once, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        r = load(url, "--model", "m", "--prompt", "p", "--requests", "3", "--out", folder)
        equal(r.returncode, 1, r.stderr)
        with open(os.path.join(folder, "records.jsonl")) as f:
            equal([json.loads(line)["outcome"]["delivered"] for line in f], [True, False, False])


def a_server_that_keeps_records_and_goes_after_its_status_leaves_the_clients_half():
    """Whatever becomes of the server's half: no record is lost, and it says how the answer ended."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Attempt: 1\r\nConnection: close\r\n\r\n"
    half, whole = [chunk({"content": "a"})], [chunk({"content": "a"}), chunk(finish="stop"), DONE]
    refuses = b"HTTP/1.1 500 No\r\nConnection: close\r\n\r\n" + b'{"error": {"message": "no room"}}'
    for parts, other, reason, said in ((half, b"", "not_delivered", "broke off"), ([*half, 3], b"", "timed_out", "timed_out"),
                                       (whole, b"", "delivered", "/events"), (whole, refuses, "delivered", "no room"),
                                       (whole, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", "delivered", "no record")):
        with ScriptedServer(parts, head=head, other=other) as s, tempfile.TemporaryDirectory() as folder:
            r = load(s.url, "--model", "m", "--prompt", "p", "--timeout-s", "1", "--out", folder)
            with open(os.path.join(folder, "records.jsonl")) as f:
                record = json.loads(f.read())
            equal(r.returncode, 0 if reason == "delivered" else 1, r.stderr)
            equal(checked(record)["completion_reason"], reason)
            assert "a\n" in r.stdout and "completion" in r.stdout, r.stdout
            assert said in r.stderr and "lacks the server's half" in r.stderr, r.stderr


def a_server_that_takes_no_connection_is_told_from_one_that_is_slow():
    """Its queue of connections is full. --timeout-s is 600 s, and a connection may take 10 of them."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        url, waiting = f"http://127.0.0.1:{listener.getsockname()[1]}", []
        for _ in range(4):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(listener.getsockname())
        with tempfile.TemporaryDirectory() as folder:
            r = load(url, "--model", "m", "--prompt", "p", "--out", folder)
            assert "timed_out: the server took no connection within 10 s" in r.stderr, r.stderr
            with open(os.path.join(folder, "records.jsonl")) as f:
                equal(checked(json.loads(f.read()))["completion_reason"], "timed_out")
        r = load(url, "--prompt", "p", "--timeout-s", "1")
        equal(r.returncode, 2)
        assert "takes no connection within 1 s" in r.stderr, r.stderr
        for sock in waiting:
            sock.close()
    assert "to connect, at most 10" in " ".join(subprocess.run([SERVELAB, "load", "--help"], capture_output=True, text=True).stdout.split())


def what_a_server_says_when_asked_for_its_models():
    """None of it is a reason to wait for --timeout-s, 600 s by default."""
    ok = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    for other, parts in ((b"", ["--url", "doesn't answer"]), (b"HTTP/1.1 401 No\r\nConnection: close\r\n\r\n", ["--url", "HTTP 401", "--model"]),
                         (ok + b"<html>", ["--model", "name it"]), (ok + b'{"data":[{"id":5}]}', ["--model", "name it"]),
                         (ok + b"x" * (65 << 20), ["--url", "more than 64 MiB"])):
        with ScriptedServer([], other=other) as s:
            for args in (["--prompt", "p"], ["--arrivals-ms", "0"])[:1 if not other else 2]:
                r = subprocess.run([SERVELAB, "load", "--url", s.url, *args], capture_output=True, text=True, timeout=60)
                equal(r.returncode, 2, r.stderr)
                assert all(part in r.stderr for part in parts), r.stderr


def garbage():
    for parts in ([b"data: {\n\n"], [b"\x00\xff" * 1000], [b"data: [1,2]\n\ndata: 7\n\ndata: null\n\n"]):
        equal(against(parts)[0], 1, repr(parts)[:60])
    with ScriptedServer([], head=b"SMTP ready\r\n\r\n") as s:
        equal(load(s.url, "--model", "m", "--prompt", "p").returncode, 2)


TESTS = [both_halves_are_joined_and_printed, the_clients_zero_is_not_the_servers, a_captured_record_is_left_to_annotate,
         several_requests, prompts_of_three_kinds, refusals_and_faults_are_records,
         bad_usage_is_named, a_foreign_answer_is_delivered_by_the_clients_events, reasoning_is_told_apart_from_the_answer,
         pings_comments_and_blanks_are_no_text, every_form_of_done, a_character_split_over_two_chunks_is_joined,
         a_nul_in_an_answer_is_text, errors_in_every_form, no_error_in_every_form, a_servers_words_do_not_steer_the_terminal,
         role_and_empty_chunks_are_no_first_content, empty_answer_has_no_first_byte,
         error_within_the_stream, stream_without_an_end, an_answer_that_does_not_end, connection_that_breaks,
         every_byte_in_a_read_by_itself, usage_is_taken_from_the_server, a_server_that_does_not_stream, a_stream_of_another_type_is_one, a_page_is_no_completion, a_server_that_hangs_or_goes_leaves_a_record,
         a_server_that_takes_no_connection_is_told_from_one_that_is_slow,
         a_server_that_keeps_records_and_goes_after_its_status_leaves_the_clients_half,
         what_a_server_says_when_asked_for_its_models, garbage]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
