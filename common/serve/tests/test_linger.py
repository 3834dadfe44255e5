#!/usr/bin/env python3
"""test_linger.py: a connection that ends while its client sends: behind a request that is refused before its body is there,
and behind the answer to a last one. The client reads the answer; it is cut at the bounds of http_gate.h; nothing of it stays,
and nobody waits for it.
"""
# servelab-test: waits
import array
import fcntl
import json
import os
import socket
import sys
import termios
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import PATIENCE_S, FakeServer, equal, names, read_to_end, readable, run_tests, wait_until  # noqa: E402

MB = 1024 * 1024
PART = b" " * 65536
BOUND = 16 * MB  # HTTP_LINGER_BYTES
POST = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
# What is refused before its body is there, by whom, and how.
REFUSED = {
    "a route: too large": (POST + b"Content-Length: 5242880\r\n\r\n", 413),
    "a route: too large for a record": (b"POST /v1/records/x/events HTTP/1.1\r\nHost: x\r\nContent-Length: 5242880\r\n\r\n", 413),
    "a route: the client didn't wait for 100": (POST + b"Content-Length: 5242880\r\nExpect: 100-continue\r\n\r\n", 413),
    "a route: too large in chunks": (CHUNKED + b"f00000\r\n" + b" " * (2 * MB + 1), 413),
    "a route: too large in chunks, with its end": (CHUNKED + b"200001\r\n" + b" " * (2 * MB + 1) + b"\r\n0\r\n\r\n", 413),
    "the gate: two lengths": (POST + b"Content-Length: 5242880\r\nContent-Length: 5242880\r\n\r\n", 400),
    "the gate: a length beyond any": (POST + b"Content-Length: 9999999999999999999\r\n\r\n", 413),
    "the gate: another version": (b"POST /v1/completions HTTP/2.0\r\nContent-Length: 5242880\r\n\r\n", 505),
    "the gate: %00": (b"POST /%00 HTTP/1.1\r\nHost: x\r\nContent-Length: 5242880\r\n\r\n", 404),
    "the gate: a target without end": (b"POST /", 414),
    "the gate: a header without end": (POST + b"X: ", 431),
    "the gate: a bad chunk": (CHUNKED + b"8000\r\n" + b" " * 0x8000 + b"\r\nzz\r\n", 400),
    "the gate: a chunk beyond any": (CHUNKED + b"5\r\n     \r\nffffffffffffffff\r\n", 413),
}


# What is answered, with nothing more to come: the library closes.
LAST = {
    "close": b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "HTTP/1.0": b"GET /version HTTP/1.0\r\n\r\n",
    "an error": b"GET /no HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "and a request at fault": b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET / HTTP/9\r\n",
    "a stream": POST + b"Connection: close\r\nContent-Length: 60\r\n\r\n" +
                b'{"model":"fake","prompt":"p","max_tokens":3,"stream":true}'.ljust(60),
}


def is_last_answer(reply, what):
    status, body = reply.partition(b"\r\n")[0], reply.partition(b"\r\n\r\n")[2]
    assert status == (b"HTTP/1.1 404 Not Found" if what == "an error" else b"HTTP/1.1 200 OK"), (what, reply)
    assert (b"[DONE]" if what == "a stream" else b"}\n") in body and reply.count(b"HTTP/1.1 ") == 1, (what, reply)


def is_refusal(reply, status, what):
    head, body = reply.split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status) and b"\r\nConnection: close" in head, (what, reply)
    assert b"\r\nContent-Length: %d" % len(body) in head, (what, reply)
    assert json.loads(body)["error"]["message"], (what, reply)


def wait_sent(sock):
    """Until the server's kernel has all that was sent. Its end may be there, too, but no reset: that would be an error."""
    def sent():
        left = array.array("i", [0])
        fcntl.ioctl(sock, termios.TIOCOUTQ, left)
        equal(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
        return left[0] == 0
    wait_until(sent, "the bytes have arrived")


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def five_megabytes_and_then_the_answer():
    with FakeServer() as s:
        quiet = descriptors(s)
        for what, (head, status) in REFUSED.items():
            for _ in range(20):  # of thirteen kinds: 260 times
                sock = s.connect()
                sock.sendall(head)
                sock.sendall(b" " * (5 * MB))
                is_refusal(read_to_end(sock), status, what)
                sock.close()
        wait_until(lambda: s.counters()["active"] == 0 and descriptors(s) == quiet, "nothing is left of them")


def part_after_part():
    """The answer is there before the first part. None of the 80 that follow is met by a reset."""
    with FakeServer() as s:
        quiet = descriptors(s)
        for what, (head, status) in 9 * list(REFUSED.items()):  # 117 times
            sock = s.connect()
            sock.sendall(head + (b"a" * 20000 if "without end" in what else b""))
            assert readable(sock, PATIENCE_S), what
            for _ in range(80):
                sock.sendall(PART)
                wait_sent(sock)
            is_refusal(read_to_end(sock), status, what)
            sock.close()
        wait_until(lambda: s.counters()["active"] == 0 and descriptors(s) == quiet, "nothing is left of them")


def after_the_last_answer():
    """The client sends on, at once or when the answer is there, and reads it whole."""
    with FakeServer() as s:
        quiet = descriptors(s)
        for what, head in 4 * list(LAST.items()):
            for waits in (False, True):
                sock = s.connect()
                sock.sendall(head)
                assert not waits or readable(sock, PATIENCE_S), what
                for _ in range(80):
                    sock.sendall(PART)
                    if waits:
                        wait_sent(sock)
                is_last_answer(read_to_end(sock), what)
                sock.close()
        wait_until(lambda: s.counters()["active"] == 0 and descriptors(s) == quiet, "nothing is left of them")


def the_record_says_so():
    with FakeServer(header_s=1) as s:
        def refused(name, head, why):
            sock = s.connect()
            sock.sendall(head.replace(b"Host: x\r\n", b"Host: x\r\nX-Request-Id: %s\r\n" % name.encode()))
            read_to_end(sock)
            sock.close()
            equal(s.settled(name)["outcome"]["error"], why)
        refused("late", POST + b"Content-Length: 9\r\n\r\n{", "the rest of the body did not come in time")
        refused("large", REFUSED["a route: too large in chunks"][0], "the body may have at most 2097152 bytes")
        refused("unclear", REFUSED["the gate: a bad chunk"][0], "a chunk must begin with its size in hexadecimal digits")
    with FakeServer() as s:
        sock = s.connect()
        sock.sendall(POST + b"X-Request-Id: big\r\nX-Attempt: 3\r\nContent-Length: 5242880\r\n\r\n" + PART)
        reply = read_to_end(sock)
        is_refusal(reply, 413, "too large")
        assert b"\r\nX-Request-Id: big\r\nX-Attempt: 3\r\n" in reply, reply
        sock.close()
        record = s.settled("big")
        equal((names(record), record["outcome"]["http_status"]), (["request_accepted", "request_rejected"], 413))


def send_for_ever(sock, part):
    """How many bytes, until the connection is cut."""
    sent = 0
    try:
        while True:
            sent += sock.send(part)
    except OSError:
        return sent


def one_that_never_stops_is_cut_at_the_bytes():
    with FakeServer(linger_s=3600) as s:
        quiet = descriptors(s)
        for head in [head for head, _ in REFUSED.values()] + list(LAST.values()):
            sock = s.connect()
            sock.sendall(head)
            sent = send_for_ever(sock, PART)
            # what is not read is in the buffers of both kernels
            assert BOUND < sent < BOUND + 16 * MB, sent
            sock.close()
        wait_until(lambda: descriptors(s) == quiet, "the descriptors are closed")
        wait_until(lambda: s.counters()["active"] == 0, "the exchanges are gone")


def one_that_trickles_or_waits_is_cut_at_the_seconds():
    with FakeServer(linger_s=1) as s:
        quiet = descriptors(s)
        socks = []
        for head in [head for head, _ in REFUSED.values()] + list(LAST.values()):
            for _ in range(2):
                socks.append(s.connect())
                socks[-1].sendall(head + (b"a" * 20000 if head[-1] != 10 else b""))
        for sock in socks:
            assert read_to_end(sock).startswith(b"HTTP/1.1 "), "it reads its answer and the end"
        while socks[::2]:
            for sock in socks[::2]:
                try:
                    sock.send(b" ")
                except OSError:
                    socks = [x for x in socks if x is not sock]
            time.sleep(0.05)
        wait_until(lambda: descriptors(s) == quiet, "the others' descriptors are closed, too")
        wait_until(lambda: s.counters()["active"] == 0, "the exchanges are gone")


def others_are_served_meanwhile():
    with FakeServer(linger_s=3600) as s:
        socks = [s.connect() for _ in range(8)]
        for sock in socks:
            sock.sendall(REFUSED["a route: too large"][0])
            assert readable(sock, PATIENCE_S)
        for _ in range(200):  # 12.5 MB each, below the bound
            for sock in socks:
                sock.sendall(PART)
            equal(s.get("/health").status, 200)
        equal(s.complete().status, 200)
        for sock in socks:
            is_refusal(read_to_end(sock), 413, "after 12.5 MB")


def a_late_body_lingers_too():
    with FakeServer(header_s=1, linger_s=3600) as s:
        for method in (b"POST", b"HEAD"):
            sock = s.connect()
            sock.sendall(method + POST[4:] + b"Content-Length: 1000000\r\n\r\n{")
            assert readable(sock, PATIENCE_S), "a 408"
            for _ in range(80):
                sock.sendall(PART)
                wait_sent(sock)
            reply = read_to_end(sock)
            if method == b"POST":
                is_refusal(reply, 408, reply)
            else:
                assert reply.startswith(b"HTTP/1.1 408 ") and reply.endswith(b"\r\n\r\n"), reply
                assert b"\r\nContent-Length: 0" not in reply, reply


def the_next_request_is_refused():
    """It is at fault, and waits until the one before it is answered. Then all of its bytes are read."""
    with FakeServer() as s:
        s.tell("allow 0")
        for before, state in ((0, "its body comes before"), (80, "and after the answer")):
            sock = s.connect()
            s.send_completion(sock)
            wait_until(lambda: s.counters()["running"] + s.counters()["waiting"] == 1, "the first request is in the engine")
            sock.sendall(REFUSED["the gate: two lengths"][0])
            sender = threading.Thread(target=sock.sendall, args=(PART * 80,))
            if before:
                sender.start()  # it waits when the buffers of both kernels are full
            s.tell("open")
            assert readable(sock, PATIENCE_S), state
            if not before:
                sender.start()
            reply = read_to_end(sock)
            sender.join()
            equal((reply.count(b"HTTP/1.1 "), reply.count(b"HTTP/1.1 400 ")), (2, 1), reply)
            sock.close()
            s.tell("allow 0")


def draining_hurries_it():
    with FakeServer(linger_s=3600) as s:
        quiet = descriptors(s)
        early, late, answered = s.connect(), s.connect(), s.connect()
        answered.sendall(LAST["close"])
        read_to_end(answered)
        early.sendall(REFUSED["a route: too large"][0])
        read_to_end(early)
        s.tell("drain")
        late.sendall(REFUSED["a route: too large"][0])
        read_to_end(late)
        wait_until(lambda: s.counters()["active"] == 0, "they are cut, long before the hour")
        wait_until(lambda: descriptors(s) == quiet, "the descriptors are closed")


def a_stop_does_not_wait():
    with FakeServer(linger_s=3600) as s:
        socks = [s.connect() for _ in REFUSED]
        for sock, (head, _) in zip(socks, REFUSED.values()):
            sock.sendall(head + (b"a" * 20000 if head[-1] != 10 else b""))
            read_to_end(sock)
        for head in LAST.values():
            socks.append(s.connect())
            socks[-1].sendall(head)
            read_to_end(socks[-1])
    # FakeServer waits for the process for a minute


TESTS = [five_megabytes_and_then_the_answer, part_after_part, after_the_last_answer, the_record_says_so, one_that_never_stops_is_cut_at_the_bytes,
         one_that_trickles_or_waits_is_cut_at_the_seconds, others_are_served_meanwhile, a_late_body_lingers_too,
         the_next_request_is_refused, draining_hurries_it, a_stop_does_not_wait]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
