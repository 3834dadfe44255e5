#!/usr/bin/env python3
"""test_framing.py: each shape of framing_shapes.json gets what it must, and no request that hides in a body ever runs.

A shape is a header, a body and what must happen. In both, $BODY is a good completion request's body, $HIDDEN a whole
request, $N the number of bytes in the body, and $X the number of bytes in $BODY, in hexadecimal.
    4xx, 505      this error, then the connection is closed
    200           the request is served, and so is a GET /health that follows it on the connection
    "400 open"    this error, because the body is no JSON; the GET /health that follows is served
"""
# servelab-test: waits
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import FakeServer, equal, names, read_to_end, readable, run_tests, wait_until  # noqa: E402

BODY = '{"model":"fake","prompt":"x"}'
HIDDEN = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: $ID\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}"
NEXT = "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "framing_shapes.json")) as f:
    SHAPES = json.load(f)


def hidden_id(shape):
    return f"h{SHAPES.index(shape):05d}"


def message(shape):
    hidden = HIDDEN.replace("$ID", hidden_id(shape))
    body = shape["body"].replace("$BODY", BODY).replace("$HIDDEN", hidden).replace("$X", f"{len(BODY):x}")
    return (shape["head"].replace("$N", str(len(body.encode("latin-1")))) + body).encode("latin-1")


def exchange(server, data, in_parts):
    sock = server.connect()
    for part in ([data[i:i + 1] for i in range(len(data))] if in_parts else [data]):
        sock.sendall(part)
    reply = read_to_end(sock)
    sock.close()
    return reply


def is_ours(reply, status):
    """One header, and our JSON (no body after HEAD, which the caller knows)."""
    head, body = reply.split(b"\r\n\r\n")
    return (head.startswith(b"HTTP/1.1 %d " % status) and head.count(b"HTTP/1.1 ") == 1
            and b"\r\nContent-Type: application/json\r\n" in head
            and (not body or json.loads(body)["error"]["message"] and b"\r\nContent-Length: %d" % len(body) in head))


def check(server, shape, in_parts):
    served = "$BODY" in shape["body"] or shape["want"] == "400 open"
    data = message(shape) + (NEXT.encode() if served else b"")
    reply = exchange(server, data, in_parts)
    what = f"{shape['name']}{' byte by byte' if in_parts else ''}: {reply!r}\n"
    status = int(str(shape["want"]).split()[0])
    assert reply.startswith(b"HTTP/1.1 %d " % status), what
    if served:
        equal(reply.count(b"HTTP/1.1 "), 2, what)
        assert b'"status":"ok"' in reply, what
    else:
        assert b" 200 " not in reply and b"hello" not in reply, what
        assert is_ours(reply, status) and b"\r\nConnection: close\r\n" in reply, what
    equal(server.record(hidden_id(shape)), None, what)


def every_shape_in_one_piece():
    assert len(SHAPES) >= 60 and len({s["name"] for s in SHAPES}) == len(SHAPES)
    failures = []
    with FakeServer() as s:
        for shape in SHAPES:
            try:
                check(s, shape, in_parts=False)
            except AssertionError as e:
                failures.append(str(e))
        equal(s.complete().status, 200)
        wait_until(lambda: s.counters()["active"] == 0, "no exchange is left behind")
    assert not failures, "\n".join(failures)


def every_shape_byte_by_byte():
    with FakeServer() as s:
        for shape in SHAPES:
            check(s, shape, in_parts=True)
        equal(s.complete().status, 200)


def a_refusal_is_our_json_with_one_header():
    with FakeServer(cors="http://a.b") as s:
        for header in ("", "Host: x\r\nHost: y\r\n", "Host: x\r\nContent-Length : 4\r\n", "Host: x\r\nX: a\nY: b\r\n",
                       *(f"Host: x\r\nContent-Length: {n}\r\n" for n in ("", "x", "-5", "4 3", "0x4", "9" * 30))):
            reply = exchange(s, f"GET /health HTTP/1.1\r\n{header}\r\n".encode(), False)
            equal(reply.count(b"HTTP/1.1 "), 1, header)
            head, body = reply.split(b"\r\n\r\n")
            equal(json.loads(body)["error"]["type"], "invalid_request_error", header)
            assert b"Content-Length: %d" % len(body) in head, head
            assert b"Access-Control-Allow-Origin: http://a.b" in head, head


def a_refusal_is_for_its_own_connection():
    """Others in their header, or in the engine, must not be hit."""
    with FakeServer() as s:
        s.tell("allow 0")
        engine, quiet, header, bad = (s.connect() for _ in range(4))
        s.send_completion(engine, headers=["Connection: close"])
        s.tell("started 1")
        header.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n")
        quiet.sendall(b"GET /he")
        for text in (b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
            bad = s.connect()
            bad.sendall(text)
            assert read_to_end(bad).count(b"HTTP/1.1 ") == 1
        header.sendall(b"\r\n")
        quiet.sendall(b"alth HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        s.tell("open")
        for sock, want in ((header, b'"status":"ok"'), (quiet, b'"status":"ok"'), (engine, b"hello")):
            reply = read_to_end(sock)
            assert want in reply and reply.count(b"HTTP/1.1 ") == 1, reply
        equal(s.complete().status, 200)


def a_bad_body_has_the_same_record_however_it_comes():
    head = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: %s\r\n%sTransfer-Encoding: chunked\r\n\r\n"
    get = "GET /version HTTP/1.1\r\nHost: x\r\n\r\n"
    post = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}"
    bodies = ("zz\r\n", "2\r\n{}x", "2\r\n{}\r\n;\r\n", "2;" + "x" * 1100, "f" * 17 + "\r\n", "2\r\n{}\r\n0\r\nX : y\r\n")
    with FakeServer() as s:
        for number, body in enumerate(bodies):
            found = []
            for before in ("", get, post + get):
                for extra in ("", "Expect: 100-continue\r\n", "Connection: close\r\n"):
                    name = f"b{number}-{len(found)}-"
                    whole = [before + head % (name + "whole", extra) + body]
                    halves = [before, head % (name + "halves", extra), body]
                    bytewise = before + head % (name + "bytes", extra) + body
                    for parts in (whole, halves, bytewise):
                        sock = s.connect()
                        for part in parts:
                            sock.sendall(part.encode())
                        reply = read_to_end(sock)
                        sock.close()
                        request_id = name + ("whole" if parts is whole else "halves" if parts is halves else "bytes")
                        assert b"\r\nX-Request-Id: %s\r\n" % request_id.encode() in reply, (parts, reply)
                        equal(reply.count(b"HTTP/1.1 200 "), before.count("HTTP/1.1"), (parts, reply))
                        record = s.settled(request_id)
                        found.append((names(record), record["outcome"]["http_status"], record["outcome"]["error"]))
            equal(found, found[:1] * 27, body)
            assert found[0][1] in (400, 413) and found[0][0][-1] == "request_rejected", found[0]
        equal(s.complete().status, 200)
        wait_until(lambda: s.counters()["active"] == 0, "no exchange is left behind")


def what_came_before_is_answered_first():
    """Good requests and one at fault in one piece: each of the good ones has its reply, and then there is the error. A
    client that said "close", or spoke HTTP/1.0, gets none after that."""
    good = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    post = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}"
    bad = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length : 4\r\n\r\n" + HIDDEN.replace("$ID", "hidden")
    with FakeServer() as s:
        for before, replies in ((good, 1), (good * 3, 3), (post, 1), (post + good, 2), (good + post * 2, 3)):
            reply = exchange(s, (before + bad).encode(), False)
            equal((reply.count(b"HTTP/1.1 200 "), reply.count(b"HTTP/1.1 ")), (replies, replies + 1), reply)
            assert reply.rindex(b"HTTP/1.1 400 ") > reply.rindex(b"HTTP/1.1 200 ") and b"ambiguous_length" in reply, reply
        for before in (good.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"), "GET /health HTTP/1.0\r\n\r\n",
                       "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"):
            reply = exchange(s, (before + bad).encode(), False)
            equal((reply.count(b"HTTP/1."), reply.count(b"HTTP/1.1 4")), (1, 0), reply)
        equal(s.record("hidden"), None)
        wait_until(lambda: s.counters()["active"] == 0, "no exchange is left behind")


def lines_without_end():
    """In the header and the trailer the library would say 414 or 431, in HTML; between chunks, 500."""
    chunked = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    long = "a" * 40000
    with FakeServer() as s:
        for text, status in ((chunked + "1;" + long, 400), (chunked + "1;" + "1" * 2000, 400), (chunked + "1" * 2000, 413), (chunked + "0\r\nX: " + long, 431),
                             ("GET / HTTP/1.1\r\nX: " + long, 431), ("GET /" + long, 414)):
            for end in ("", "\r\n\r\n"):
                reply = exchange(s, (text + end).encode(), False)
                assert is_ours(reply, status), (text[:100], reply)
        equal(s.complete().status, 200)


BODY_IN_CHUNKS = f"{len(BODY):x};{'e' * 1000}\r\n{BODY}\r\n0\r\n"


def completion(target="", header="", trailer="", before=""):
    return (f"{before}POST /v1/completions{target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
            f"{header}\r\n{BODY_IN_CHUNKS}{trailer}\r\n")


# Ways to fill the memory in which the library keeps a request's header: bytes, arguments, fields, cookies (with a copy).
FILLED = {
    "a long target": lambda k: completion(target="?" + "a" * k),
    "many arguments": lambda k: completion(target="?" + "a&" * k),
    "many empty arguments": lambda k: completion(target="?" + "&" * k),
    "many fields": lambda k: completion(header="X: y\r\n" * k),
    "a long field": lambda k: completion(header="X: " + "y" * k + "\r\n"),
    "a long name": lambda k: completion(header="X" * k + ": y\r\n"),
    "many cookies": lambda k: completion(header="Cookie: " + "a=b;" * k + "\r\n"),
    "many empty cookies": lambda k: completion(header="cookie:" + "," * k + "\r\n"),
    "a long cookie": lambda k: completion(header="Cookie: a=" + "b" * k + "\r\n"),
    "many fields with a cookie": lambda k: completion(header="Cookie: a\r\n" * k),
    "many trailers": lambda k: completion(trailer="X: y\r\n" * k),
    "a long trailer": lambda k: completion(trailer="X: " + "y" * k + "\r\n"),
    "empty lines before": lambda k: completion(before="\r\n" * k),
    "all at once": lambda k: completion("?" + "a&" * k, "Cookie: " + "a=b;" * k + "\r\n" + "X: y\r\n" * k, "X: y\r\n" * k),
    "a preflight, whose reply repeats it": lambda k: (
        "OPTIONS /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nOrigin: http://a.b\r\n"
        f"Access-Control-Request-Headers: {'a' * k}\r\n\r\n"),
}


def headers_of_every_length():
    """The longest that passes is served, with its body and its reply in what memory is left; one more is refused by us."""
    with FakeServer(cors="http://a.b") as s:
        for name, fill in FILLED.items():
            passes, refused = 1, 40000
            while refused - passes > 1:
                k = (passes + refused) // 2
                reply = exchange(s, fill(k).encode(), False)
                if reply.startswith(b"HTTP/1.1 20"):
                    passes = k
                else:
                    refused = k
                    assert is_ours(reply, 431) or is_ours(reply, 414), (name, k, reply[:300])
            assert passes > 50, (name, passes)


# What libmicrohttpd 0.9.75 answers by itself (transmit_error_response_* in its connection.c), and its neighbours.
LIBRARY_ANSWERS = {
    400: ["GET\r\n\r\n", "GET /health\r\n\r\n", "GET  HTTP/1.1\r\n\r\n", "GET / /health HTTP/1.1\r\nHost: x\r\n\r\n",
          "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
          "GET / HTTP/11\r\n\r\n", "GET / HTTP/1.10\r\nHost: x\r\n\r\n", "GET / FTP/1.1\r\nHost: x\r\n\r\n",
          "POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
          "POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
          "POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",  # others say 501
          "POST /tokenize HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],  # and 411
    413: [f"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: {2 ** 64}\r\n\r\n",
          "POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n"],
    505: ["GET / HTTP/0.9\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    404: ["CONNECT x:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
    405: ["TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
}


def the_library_answers_nothing_by_itself():
    """414, 431 and 500 (no memory for the body or the reply) are in headers_of_every_length and lines_without_end."""
    with FakeServer() as s:
        for status, texts in LIBRARY_ANSWERS.items():
            for text in texts:
                for in_parts in (False, True):
                    reply = exchange(s, text.encode(), in_parts)
                    assert is_ours(reply, status), (text, in_parts, reply)
        for header in ("Expect: something", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings", "TE: trailers"):  # not asked for
            reply = exchange(s, f"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n\r\n".encode(), False)
            assert reply.startswith(b"HTTP/1.1 200 "), (header, reply)


def a_head_at_fault_gets_no_body():
    long = "a" * 40000
    chunked = "HEAD / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with FakeServer() as s:
        for text, status in (("HEAD / HTTP/1.1\r\n\r\n", 400), ("HEAD  / HTTP/1.1\r\n\r\n", 400), ("HEAD /\0 HTTP/1.1\r\n\r\n", 400),
                             ("HEAD /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 404), ("HEAD / HTTP/2.0\r\n\r\n", 505),
                             ("HEAD /" + long, 414), (f"HEAD /?{'&' * 400} HTTP/1.1\r\n", 414), ("HEAD / HTTP/1.1\r\nX: " + long, 431),
                             (chunked + "x\r\n", 400), (chunked + "1\r\nab\r\n", 400), (chunked + "0\r\nX\r\n", 400),
                             (f"HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: {9 ** 30}\r\n\r\n", 413)):
            for before in ("", "\r\n", "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"):
                for in_parts in (False, True) if len(text) < 1000 else (False,):
                    reply = exchange(s, (before + text).encode(), in_parts)
                    reply = reply[reply.rindex(b"HTTP/1.1 "):]
                    assert is_ours(reply, status) and reply.endswith(b"\r\n\r\n"), (text[:100], before, reply)
                    assert b"\r\nContent-Length: 0" not in reply, reply
        for text in ("GET / HTTP/1.1\r\n\r\n", "HEADER / HTTP/1.1\r\n\r\n", "head / HTTP/1.1\r\n\r\n"):
            assert exchange(s, text.encode(), False).endswith(b"}\n"), text


def a_descriptor_that_is_used_again_starts_clean():
    """The server's next connection has the descriptor of the one that ended, but nothing of what it sent."""
    chunked = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5"
    with FakeServer() as s:
        wait_until(lambda: s.counters()["active"] == 0, "the server is idle")
        folder = f"/proc/{s.process.pid}/fd"
        quiet = len(os.listdir(folder))
        for half in ("GE", "\r", NEXT[:-2], HIDDEN[:-3], chunked, chunked + "\r\nab", "GET / HTTP/9.9\r\n\r\n"):
            sock = s.connect()
            sock.sendall(half.encode())
            wait_until(lambda: len(os.listdir(folder)) > quiet or readable(sock, 0), "the connection is open or refused")
            sock.close()
            wait_until(lambda: len(os.listdir(folder)) == quiet, "the descriptor is closed")
            reply = exchange(s, NEXT.encode(), False)
            assert reply.startswith(b"HTTP/1.1 200 ") and reply.count(b"HTTP/1.1 ") == 1, (half, reply)
            wait_until(lambda: len(os.listdir(folder)) == quiet, "the descriptor is closed")


def a_fault_in_a_body_is_in_the_record():
    with FakeServer() as s:
        sock = s.connect()
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: half\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{")
        wait_until(lambda: s.record("half"), "the header is read")
        sock.sendall(b"    \n")
        reply = read_to_end(sock)
        assert reply.startswith(b"HTTP/1.1 400 ") and reply.count(b"HTTP/1.1 ") == 1, reply
        record = s.settled("half")
        equal((names(record)[-1], record["outcome"]["http_status"]), ("request_rejected", 400))


TESTS = [every_shape_in_one_piece, every_shape_byte_by_byte, a_refusal_is_our_json_with_one_header,
         a_refusal_is_for_its_own_connection, a_bad_body_has_the_same_record_however_it_comes,
         what_came_before_is_answered_first, lines_without_end, headers_of_every_length,
         the_library_answers_nothing_by_itself, a_head_at_fault_gets_no_body,
         a_descriptor_that_is_used_again_starts_clean, a_fault_in_a_body_is_in_the_record]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
