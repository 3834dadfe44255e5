#!/usr/bin/env python3
"""test_http_hard.py: clients that trickle, leave, shut half, flood or talk nonsense; the bounded queue; draining; the log.

Over the fake backend (harness.py): whether a position is free is asked of the engine's counters, not guessed from time.
"""
# servelab-test: waits long
import json
import os
import re
import random
import socket
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import (PATIENCE_S, FakeServer, equal, names, read_to_end, read_until, readable, run_tests, wait_until)  # noqa: E402


FIN_WAIT2 = 5  # of Linux's TCP_INFO: the other side has acknowledged our end


def tcp_state(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


def drop(sock):
    """Ends a connection with a reset, as the machine of a crashed client does."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def is_408(reply):
    """One header, our JSON, and the connection ends with it."""
    head, body = reply.split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n") and b"\r\nConnection: close" in head, head
    assert b"\r\nContent-Length: %d" % len(body) in head, head
    equal(json.loads(body)["error"]["code"], "body_timeout")


# ---- connections that trickle ----------------------------------------------------------------------------------------


def slow_loris_header():
    with FakeServer(header_s=1) as s:
        loris = [s.connect() for _ in range(20)]
        began = time.monotonic()
        for sock in loris:
            sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\n")
        closed = False
        while not closed:  # a byte at a time keeps the library's own time-out from firing
            assert time.monotonic() - began < PATIENCE_S, "the trickling connections are still open"
            time.sleep(0.2)
            try:
                for sock in loris:
                    sock.sendall(b"X")
            except OSError:
                closed = True
        assert time.monotonic() - began >= 1
        equal(s.complete().status, 200)


def slow_body():
    with FakeServer(header_s=1) as s:
        sock = s.connect()
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow\r\nContent-Length: 1000\r\n\r\n{")
        is_408(read_to_end(sock))
        record = s.settled("slow")
        equal((names(record), record["outcome"]["http_status"]), (["request_accepted", "request_rejected"], 408))
        wait_until(lambda: s.counters()["active"] == 0, "the exchange is gone")


def a_body_of_one_byte_a_turn():
    """Each byte restarts the library's time-out, not ours. What comes after the 408 is not read."""
    with FakeServer(header_s=1) as s:
        sock = s.connect()
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        while not readable(sock, 0.2):
            sock.sendall(b" ")
        is_408(read_to_end(sock))
        wait_until(lambda: s.counters()["active"] == 0, "the exchange is gone")


def a_late_body_gets_no_second_answer():
    """A request that was refused when its header was read, and one whose client has closed its half."""
    with FakeServer(header_s=1) as s:
        big, half = s.connect(), s.connect()
        big.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n{")
        reply = read_to_end(big)
        assert reply.startswith(b"HTTP/1.1 413 ") and reply.count(b"HTTP/1.1") == 1, reply
        half.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: half\r\nContent-Length: 9\r\n\r\n{")
        half.shutdown(socket.SHUT_WR)
        equal(read_to_end(half), b"")
        equal(names(s.settled("half")), ["request_accepted", "request_cancelled"])


def idle_connection_is_closed_but_a_waiting_one_is_not():
    with FakeServer(header_s=1) as s:
        s.tell("allow 0")
        idle, waiting = s.connect(), s.connect()
        s.send_completion(waiting, headers=["Connection: close"])
        s.tell("started 1")
        equal(read_to_end(idle), b"")
        later = s.connect()  # its deadline is later than any that the waiting one could have
        equal(read_to_end(later), b"")
        assert not readable(waiting, 0), "a request in the engine has no deadline"
        s.tell("open")
        assert b"hello" in read_to_end(waiting)


# ---- clients that leave ----------------------------------------------------------------------------------------------


def reset_while_queued_and_while_decoding():
    with FakeServer() as s:
        s.tell("allow 2")
        runs, queued = s.connect(), s.connect()
        s.send_completion(runs, stream=True, headers=["X-Request-Id: runs"])
        read_until(runs, b"data: ", 2)
        s.send_completion(queued, stream=True, headers=["X-Request-Id: queued"])
        wait_until(lambda: s.counters()["waiting"] == 1, "the second request queues")
        equal(s.tell("started 3")["running"], 1)
        drop(queued)
        drop(runs)
        s.tell("allow 1")
        for request_id in ("runs", "queued"):
            equal(names(s.settled(request_id))[-1], "request_cancelled", request_id)
        assert "request_admitted" not in names(s.record("queued"))
        c = s.counters()
        equal((c["waiting"], c["running"], c["started"]), (0, 0, 3), "nothing is computed for them")
        wait_until(lambda: s.counters()["active"] == 0, "the exchanges are gone")
        s.tell("open")
        equal(s.complete().status, 200)


def half_closed_client_counts_as_gone():
    with FakeServer() as s:
        s.tell("allow 2")
        sock = s.connect()
        s.send_completion(sock, stream=True, headers=["X-Request-Id: half"])
        read_until(sock, b"data: ", 2)
        s.tell("started 3")  # before the end: the engine looks for it between two steps
        sock.shutdown(socket.SHUT_WR)
        wait_until(lambda: tcp_state(sock) == FIN_WAIT2, "the server's kernel has the end")
        s.tell("allow 1")
        equal(names(s.settled("half"))[-1], "request_cancelled")
        rest = read_to_end(sock)
        assert b"[DONE]" not in rest and not rest.endswith(b"0\r\n\r\n"), "cut off, and seen as cut off"
        equal(s.counters()["running"], 0)


def client_that_never_reads():
    """An answer that fits into the socket's buffers is sent; the server doesn't wait for it to be read."""
    with FakeServer(say="x" * 200) as s:
        sock = s.connect()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.send_completion(sock, stream=True, max_tokens=200, headers=["X-Request-Id: deaf"])
        wait_until(lambda: s.counters()["finished"] >= 200, "the answer is computed without a reader")
        equal(s.complete(max_tokens=1).status, 200, "another client is served meanwhile")
        drop(sock)
        s.settled("deaf")


def client_that_reads_a_byte_at_a_time():
    """It holds its connection and no more: no batch position, and nobody waits for it."""
    with FakeServer(say="x" * 200) as s:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        sock.settimeout(PATIENCE_S)
        sock.connect(("127.0.0.1", s.port))
        s.send_completion(sock, stream=True, max_tokens=200, headers=["X-Request-Id: sip", "Connection: close"])
        got = sock.recv(1)
        wait_until(lambda: s.counters()["finished"] >= 200, "the answer is computed while its client reads the first byte")
        wait_until(lambda: s.counters()["running"] == 0, "its batch position is free")
        equal(s.complete(max_tokens=1).status, 200, "another client is served meanwhile")
        for _ in range(500):
            got += sock.recv(1)
        got += read_to_end(sock)
        sock.close()
        text = b"".join(re.findall(rb'"text":"(x*)"', got))  # a reader that lags gets joined pieces
        equal((len(text), got.count(b"[DONE]")), (200, 1))
        equal(names(s.settled("sip"))[-1], "response_finished")


def a_long_answer_is_sent_while_its_client_pauses():
    """A client may take a minute for each part: all of it is in the kernel's buffers, and no time-out is for them."""
    with FakeServer(say="x" * 200) as s:
        sock = s.connect()
        s.send_completion(sock, stream=True, max_tokens=200, n=32, headers=["Connection: close"])
        assert readable(sock, PATIENCE_S)
        wait_until(lambda: s.counters()["active"] == 0, "the answer is sent")
        reply = read_to_end(sock)
        assert len(reply) > 300000 and b"[DONE]" in reply, len(reply)


def body_that_stops_half_way_at_every_route():
    with FakeServer(header_s=1) as s:
        socks = []
        for path in ("/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize", "/v1/records/x/events"):
            for length in (b"Content-Length: 50000\r\n\r\n" + b" " * 30000, b"Transfer-Encoding: chunked\r\n\r\n7530\r\n" + b" " * 30000):
                socks.append(s.connect())
                socks[-1].sendall(b"POST %s HTTP/1.1\r\nHost: x\r\n" % path.encode() + length)
        for sock in socks:
            is_408(read_to_end(sock))
        wait_until(lambda: s.counters()["active"] == 0, "the exchanges are gone")
        equal(s.complete().status, 200)


def client_leaves_after_its_header():
    with FakeServer() as s:
        for i in range(30):
            sock = s.connect()
            sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: h%d\r\nContent-Length: 90\r\n\r\n" % i)
            (drop if i % 2 else socket.socket.close)(sock)
        for i in range(30):
            wait_until(lambda: i % 2 or s.record(f"h{i}"), "the header was read")
            if s.record(f"h{i}"):  # a reset may overtake the header
                equal(names(s.settled(f"h{i}"))[-1], "request_cancelled")
        wait_until(lambda: s.counters()["active"] == 0, "the exchanges are gone")


# ---- floods ----------------------------------------------------------------------------------------------------------


def two_hundred_clients_on_one_position():
    """Each gets its own prompt back, backwards; a third leave before or while they are served."""
    with FakeServer() as s:
        s.tell("echo")
        failures, done = [], []

        def client(i):
            prompt = "client " + "".join("345678"[i // n % 6] for n in (36, 6, 1))  # "12" is one token
            try:
                if i % 3 == 2:
                    sock = s.connect()
                    s.send_completion(sock, prompt, stream=True, max_tokens=64)
                    if i % 2:
                        sock.recv(random.Random(i).randrange(1, 400))
                    drop(sock)
                    return
                r = s.complete(prompt, stream=i % 3 == 0, max_tokens=64, temperature=0)
                text = ("".join(c["choices"][0]["text"] for c in r.chunks()) if i % 3 == 0
                        else r.json()["choices"][0]["text"])
                equal(text, prompt[::-1])
                done.append(i)
            except Exception as e:
                failures.append(f"{i}: {type(e).__name__}: {e}")
        threads = [threading.Thread(target=client, args=(i,)) for i in range(200)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal(failures, [])
        equal(len(done), 134)
        wait_until(lambda: s.counters()["active"] == 0, "no exchange is left behind")
        c = s.counters()
        equal((c["waiting"], c["running"]), (0, 0))


def full_queue_is_429_with_a_record():
    with FakeServer(max_waiting=2) as s:
        s.tell("allow 0")
        socks = [s.connect() for _ in range(3)]
        s.send_completion(socks[0])
        s.tell("started 1")
        for sock in socks[1:]:
            s.send_completion(sock)
        wait_until(lambda: s.counters()["waiting"] == 2, "the queue is full")
        r = s.complete(headers={"X-Request-Id": "refused"})
        equal((r.status, r.error()["type"], r.error()["code"]), (429, "rate_limit_error", "queue_full"))
        assert r.headers["Retry-After"]
        record = s.settled("refused")
        equal((names(record)[-1], record["outcome"]["http_status"]), ("request_rejected", 429))
        s.tell("open")
        for sock in socks:
            assert b"hello" in read_until(sock, b"}}\n")
            sock.close()


def connections_come_and_go():
    with FakeServer() as s:
        for _ in range(3):
            socks = [s.connect() for _ in range(300)]
            equal(s.complete().status, 200)
            for sock in socks:
                sock.close()


# ---- nonsense --------------------------------------------------------------------------------------------------------

NONSENSE = [
    b"\x00\xff\xfe\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"GET\r\n\r\n", b"\r\n\r\n\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
    b"GET /health HTTP/1.1\r\n\r\n", b"BREW /coffee HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 100) for i in range(1000)) + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 200000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n bad folding\r\n\r\n", b"GET / HTTP/1.1\r\nHost x\r\n\r\n",
]


def malformed_http_is_refused_and_survived():
    with FakeServer() as s:
        for text in NONSENSE:
            sock = s.connect()
            try:
                sock.sendall(text)
                sock.shutdown(socket.SHUT_WR)
                reply = read_to_end(sock)
            except OSError:
                reply = b""
            sock.close()
            first = reply.split(b"\r\n")[0]
            assert b" 200 " not in first or text.startswith(b"GET / HTTP/1.1"), f"{text[:60]!r}: {first!r}"
        equal(s.complete().status, 200)
        wait_until(lambda: s.counters()["active"] == 0, "no exchange is left behind")


def a_body_that_ends_in_two_places_is_refused_and_closed():
    """What the proxy in front took for the body must not be served as the next request, nor the other way round."""
    hidden = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    with FakeServer() as s:
        for method, path in ((b"POST", b"/v1/completions"), (b"GET", b"/health"), (b"POST", b"/nope")):
            for headers in (b"Content-Length: 0\r\nContent-Length: 37", b"Content-Length: 37\r\ncontent-length: 0",
                            b"Content-Length: 0\r\nContent-Length: 0", b"Content-Length: 37\r\nTransfer-Encoding: chunked",
                            b"Transfer-Encoding: chunked\r\nContent-Length: 0",
                            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"):
                sock = s.connect()
                sock.sendall(b"%s %s HTTP/1.1\r\nHost: x\r\nX-Request-Id: two\r\n%s\r\n\r\n" % (method, path, headers))
                data = read_until(sock, b"}\n")
                try:
                    sock.sendall(b"0\r\n\r\n" + hidden)
                except OSError:  # closed already
                    pass
                data += read_to_end(sock)
                assert data.startswith(b"HTTP/1.1 400 ") and b"ambiguous_length" in data, (headers, data)
                equal(data.count(b"HTTP/1.1"), 1, f"{headers} closes")
                assert b"Connection: close" in data, data
        equal(s.record("two"), None)
        equal(s.complete().status, 200)


def mutated_requests_are_survived():
    """Fixed mutations of a good request, thirty at a time: any answer will do, as long as the server goes on."""
    body = json.dumps({"model": "fake", "prompt": "x", "max_tokens": 2, "stream": True}).encode()
    good = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: %d\r\nContent-Length: %d\r\n\r\n" + body
    rng = random.Random(7)
    with FakeServer() as s:
        for batch in range(10):
            socks = []
            for i in range(batch * 30, batch * 30 + 30):
                text = bytearray(good % (i, len(body)))
                for _ in range(rng.randrange(1, 6)):
                    at = rng.randrange(len(text))
                    what = rng.randrange(3)
                    if what == 0:
                        text[at] = rng.randrange(256)
                    elif what == 1:
                        del text[at:at + rng.randrange(1, 8)]
                    else:
                        text[at:at] = rng.choice([b"\r\n", b"\x00", b"chunked", b"\xff" * 9, b"Content-Length: 7\r\n"])
                socks.append(s.connect())
                try:
                    socks[-1].sendall(text)
                    socks[-1].shutdown(socket.SHUT_WR)
                except OSError:
                    pass
            for sock in socks:  # a connection that was shut half is closed within a second
                read_to_end(sock)
                sock.close()
        equal(s.complete().json()["choices"][0]["text"], "hello")
        wait_until(lambda: s.counters()["active"] == 0, "no exchange is left behind")


def keep_alive_and_pipelining():
    with FakeServer() as s:
        sock = s.connect()
        for i in range(3):
            s.send_completion(sock, stream=i % 2 == 0)
            data = read_until(sock, b"[DONE]\n\n\r\n0\r\n\r\n" if i % 2 == 0 else b"}}\n")
            assert data.startswith(b"HTTP/1.1 200"), data
        request = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        sock.sendall(request * 2)
        equal(read_until(sock, b"}\n", 2).count(b"HTTP/1.1 200"), 2)
        sock.close()
        old = s.connect()
        body = b'{"model":"fake","prompt":"x","stream":true}'
        old.sendall(b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        data = read_to_end(old)
        assert data.endswith(b"data: [DONE]\n\n") and b"chunked" not in data, "HTTP/1.0 knows no chunks"


def no_body_needs_no_100_continue():
    """The next request is behind the header. It is not taken for the body that a client asks for leave to send."""
    with FakeServer() as s:
        for first in (b"POST /v1/completions", b"POST /tokenize", b"GET /health"):
            for length in (b"", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n"):
                sock = s.connect()
                sock.sendall(first + b" HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n" + length + b"\r\n" +
                             (b"0\r\n\r\n" if b"chunked" in length else b"") +
                             b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                data = read_to_end(sock)
                said = [line for line in data.split(b"\r\n") if b"HTTP/1.1 " in line]
                equal(len(said) - (b"HTTP/1.1 100 Continue" in said), 2, (first, length))
                assert b'"version"' in data, data


# ---- draining, the log -----------------------------------------------------------------------------------------------


def draining_finishes_and_refuses():
    with FakeServer() as s:
        s.tell("allow 1")
        sock = s.connect()
        s.send_completion(sock, stream=True, headers=["Connection: close"])
        read_until(sock, b"data: ")
        s.tell("drain")
        r = s.complete(headers={"X-Request-Id": "late"})
        equal((r.status, r.error()["code"]), (503, "draining"))
        equal(names(s.settled("late"))[-1], "request_rejected")
        r = s.get("/health")
        equal((r.status, r.json()["status"]), (503, "draining"))
        s.tell("open")
        assert b"[DONE]" in read_to_end(sock)


def the_log_has_every_record_and_the_half_that_came():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log.jsonl")
        with FakeServer(log=path) as s:
            for i in range(20):
                s.complete(headers={"X-Request-Id": f"r{i}"}, max_tokens=2)
            event = {"event": "request_submitted", "clock": "browser", "t_ns": 5, "source": "client",
                     "clock_api": "CLOCK_MONOTONIC"}
            equal(s.post("/v1/records/r19/events", {"events": [event]}).json()["log_lacks_it"], False)
            s.complete(headers={"X-Request-Id": "last"})
        with open(path) as f:
            records = [json.loads(line) for line in f]
        equal(sorted(r["request_id"] for r in records), sorted([f"r{i}" for i in range(20)] + ["last"]))
        equal(names([r for r in records if r["request_id"] == "r19"][0])[-1], "request_submitted")


TESTS = [slow_loris_header, slow_body, a_body_of_one_byte_a_turn, a_late_body_gets_no_second_answer,
         idle_connection_is_closed_but_a_waiting_one_is_not,
         reset_while_queued_and_while_decoding, half_closed_client_counts_as_gone, client_that_never_reads,
         client_that_reads_a_byte_at_a_time, a_long_answer_is_sent_while_its_client_pauses, body_that_stops_half_way_at_every_route,
         client_leaves_after_its_header, two_hundred_clients_on_one_position, full_queue_is_429_with_a_record,
         connections_come_and_go, malformed_http_is_refused_and_survived,
         a_body_that_ends_in_two_places_is_refused_and_closed, mutated_requests_are_survived,
         keep_alive_and_pipelining, no_body_needs_no_100_continue, draining_finishes_and_refuses,
         the_log_has_every_record_and_the_half_that_came]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
