#!/usr/bin/env python3
"""test_routes.py: OPTIONS and CORS, HEAD, /version, /tokenize and /detokenize; and that a long body holds nobody up.

Over the fake backend (harness.py).
"""
# servelab-test: waits
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import SERVELAB, FakeServer, equal, names, read_to_end, run_tests  # noqa: E402

ORIGIN = "http://127.0.0.1:3000"
GETS = ("/", "/health", "/version", "/metrics", "/v1/models", "/v1/models/fake", "/v1/presets", "/v1/records")


# ---- OPTIONS, CORS ---------------------------------------------------------------------------------------------------


def cors(r):
    return {k.lower(): v for k, v in r.headers.items() if k.lower().startswith("access-control-")}


def options_names_the_methods():
    for path, allow in (("/health", "GET, HEAD, OPTIONS"), ("/v1/completions", "POST, OPTIONS"), ("/tokenize", "POST, OPTIONS"),
                        ("/", "GET, HEAD, OPTIONS"), ("/v1/records/x/events", "POST, OPTIONS"),
                        ("*", "GET, HEAD, POST, OPTIONS"), ("http://x/version", "GET, HEAD, OPTIONS")):
        r = S.request("OPTIONS", path)
        equal((r.status, r.headers["Allow"], r.body), (204, allow, b""), path)
    for path in ("/v1/nope", "/nope"):
        equal(S.request("OPTIONS", path).status, 404)


def preflight(s, **headers):
    return s.request("OPTIONS", "/v1/chat/completions",
                     headers={"Origin": ORIGIN, "Access-Control-Request-Method": "POST", **headers})


def without_the_flag_no_reply_lets_another_origin_in():
    for r in (preflight(S), S.request("GET", "/health", headers={"Origin": ORIGIN}), S.chat(headers={"Origin": ORIGIN})):
        equal(cors(r), {})


def with_the_flag_every_reply_does():
    with FakeServer(cors=ORIGIN) as s:
        r = preflight(s, **{"Access-Control-Request-Headers": "authorization,content-type,x-stainless-lang"})
        equal(cors(r), {"access-control-allow-origin": ORIGIN, "access-control-allow-methods": "POST, OPTIONS",
                        "access-control-allow-headers": "authorization,content-type,x-stainless-lang",
                        "access-control-max-age": "600", "access-control-expose-headers": "X-Request-Id, X-Attempt, Retry-After"})
        for r, status in ((s.chat(), 200), (s.chat(stream=True), 200), (s.complete(foo=1), 400), (s.get("/v1/nope"), 404),
                          (s.request("PUT", "/health"), 405), (s.get("/"), 200), (s.request("HEAD", "/health"), 200),
                          (s.post("/tokenize", b"x", {"Content-Length": "9999999"}), 413)):
            equal(r.status, status)
            equal((r.headers["Access-Control-Allow-Origin"], r.headers["Vary"]), (ORIGIN, "Origin"), status)
        for n in (8192, 8193):  # they come back in a reply whose header has little room
            r = preflight(s, **{"Access-Control-Request-Headers": "a" * n})
            equal(r.status, 204 if n == 8192 else 431)
            assert n == 8192 or r.error()["param"] == "Access-Control-Request-Headers", r.body
        equal(preflight(S, **{"Access-Control-Request-Headers": "a" * 8193}).status, 204)
    with FakeServer(cors="*") as s:
        r = s.get("/health")
        equal((r.headers["Access-Control-Allow-Origin"], r.headers["Vary"]), ("*", None))


def a_wrong_origin_is_bad_usage():
    model = os.path.join(os.path.dirname(__file__), "../../model/embedded/servelab-tiny.gguf")
    for origin in ("127.0.0.1:3000", "http://", "http://x/", "https://x/path", "ftp://x", "null", "http://a b", "**",
                   "http://x\r\nX-Evil: 1", "http://" + 294 * "x"):
        out = subprocess.run([SERVELAB, "serve", "--model", model, "--port", "0", "--cors", origin], capture_output=True,
                             text=True, timeout=60)
        equal(out.returncode, 2, f"{origin!r}: {out.stderr}")
        assert "--cors" in out.stderr, out.stderr


# ---- HEAD, /version --------------------------------------------------------------------------------------------------


def head_wherever_get_is():
    S.complete(headers={"X-Request-Id": "head-1"})
    S.settled("head-1")
    for path in GETS + ("/v1/records/head-1", "/v1/records/head-1/intervals", "/v1/records/nobody", "/v1/models/other", "/nope"):
        get, head = S.get(path), S.request("HEAD", path)
        equal((head.status, head.body), (get.status, b""), path)
        equal(head.headers["Content-Type"], get.headers["Content-Type"], path)
        if path not in ("/health", "/metrics", "/v1/records"):  # these may change in between
            equal(head.headers["Content-Length"], str(len(get.body)), path)
    for path in ("/v1/completions", "/tokenize"):
        equal(S.request("HEAD", path).status, 405)


def version():
    version = S.get("/version").json()["version"]
    assert all(part.isdigit() for part in version.split(".")), version


# ---- /tokenize, /detokenize ------------------------------------------------------------------------------------------


def text_to_ids_and_back():
    for text in ("abc", "", "a\0b", "é\n", "<|im_start|>x"):
        r = S.post("/tokenize", {"model": "fake", "prompt": text, "add_special_tokens": False})
        equal(r.status, 200, r.body)
        ids = r.json()["tokens"]
        equal(r.json(), {"count": len(ids), "max_model_len": 256, "tokens": ids, "token_strs": None})
        equal(S.post("/detokenize", {"model": "fake", "tokens": ids}).json(), {"prompt": text})
    equal(S.post("/tokenize", {"prompt": "hi", "return_token_strs": True}).json()["token_strs"], ["h", "i"])


def ids_are_what_a_completion_reads():
    for fields, ask in (({"prompt": "some text"}, lambda: S.complete("some text")),
                        ({"messages": [{"role": "user", "content": "a\0b"}]}, lambda: S.chat("a\0b"))):
        equal(S.post("/tokenize", fields).json()["count"], ask().json()["usage"]["prompt_tokens"])


def what_is_wrong_with_them():
    user = [{"role": "user", "content": "x"}]
    for path, fields, status, param in (
            ("/tokenize", {}, 400, "prompt"), ("/tokenize", {"prompt": 1}, 400, "prompt"),
            ("/tokenize", {"prompt": "x", "messages": user}, 400, "prompt"), ("/tokenize", {"prompt": "x", "foo": 1}, 400, "foo"),
            ("/tokenize", {"prompt": "x", "model": "other"}, 404, "model"), ("/tokenize", {"prompt": "x", "model": 1}, 400, "model"),
            ("/tokenize", {"prompt": "x", "add_special_tokens": 1}, 400, "add_special_tokens"),
            ("/tokenize", {"messages": []}, 400, "messages"), ("/tokenize", {"messages": "x"}, 400, "messages"),
            ("/tokenize", {"messages": [{"role": "user"}]}, 400, "messages[0].content"),
            ("/tokenize", {"messages": user, "add_generation_prompt": False}, 400, "add_generation_prompt"),
            ("/tokenize", {"messages": user, "continue_final_message": True}, 400, "continue_final_message"),
            ("/detokenize", {}, 400, "tokens"), ("/detokenize", {"tokens": "x"}, 400, "tokens"),
            ("/detokenize", {"tokens": [1, "x"]}, 400, "tokens[1]"), ("/detokenize", {"tokens": [1, -1]}, 400, "tokens[1]"),
            ("/detokenize", {"tokens": [1.5]}, 400, "tokens[0]"), ("/detokenize", {"tokens": [10**17]}, 400, "tokens[0]"),
            ("/detokenize", {"tokens": [99999]}, 400, "tokens[0]"), ("/detokenize", {"tokens": [], "foo": 1}, 400, "foo"),
            ("/detokenize", {"tokens": [], "model": "other"}, 404, "model")):
        r = S.post(path, fields)
        equal((r.status, r.error()["param"]), (status, param), f"{path} {fields}")
    for path in ("/tokenize", "/detokenize"):
        for body in (b"", b"[]", b"3", b'{"prompt": "x"', b'{"prompt": "\xff"}', b'{"model": "\\u0000"}'):
            equal(S.post(path, body).status, 400, f"{path} {body}")
        equal(S.get(path).status, 405)
        equal(S.post(path, b" ", {"Content-Length": str(2 * 1024 * 1024 + 1)}).status, 413)


# ---- what schemathesis found (check_openapi.py) ------------------------------------------------------------------------


def a_tiny_top_p_is_above_zero():
    equal(S.complete(top_p=5e-324, temperature=1).status, 200)
    equal(S.complete(top_p=0).status, 400)


def an_id_that_no_record_can_have():
    for path in ("%C2%84", "%C2%84/intervals", ".x", "a" * 64):
        for query in ("", "?if_known=1"):
            equal(S.get(f"/v1/records/{path}{query}").status, 404, path + query)
    equal(S.get("/v1/records/x?if_known=1").status, 204)


# ---- long bodies -----------------------------------------------------------------------------------------------------

LONG = {"model": "fake", "prompt": [0] * 600000, "max_tokens": 1}
ROUTES = (("/v1/completions", LONG), ("/tokenize", {"prompt": "x" * 1000000}), ("/detokenize", {"tokens": [97] * 500000}))


def send_long(path, fields, request_id):
    sock = S.connect()
    body = json.dumps(fields).encode()
    sock.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: %s\r\nContent-Length: %d\r\n\r\n"
                 % (path.encode(), request_id, len(body)) + body)
    return sock


def others_are_served_while_a_long_body_is_read():
    for path, fields in ROUTES:
        S.tell("hold")
        sock = send_long(path, fields, b"long-1")
        S.tell("reading")  # it is there completely, and being read
        equal("".join(c["choices"][0]["text"] for c in S.complete(stream=True).chunks()), "hello")
        equal(S.get("/health").status, 200)
        S.tell("read")
        answer = read_to_end(sock)
        sock.close()
        if fields is LONG:
            assert b" 400 " in answer and b"context length is 256 tokens; the prompt alone has 600000" in answer, answer[:600]
            equal(names(S.settled("long-1")), ["request_accepted", "tokenization_finished", "request_rejected"])
        else:
            assert b" 200 OK" in answer and len(answer) > 400000, answer[:300]


def a_client_that_leaves_while_its_body_is_read():
    S.tell("hold")
    sock = send_long("/v1/completions", dict(LONG, prompt=" " * 100000), b"long-2")
    S.tell("reading")
    sock.close()
    S.tell("read")
    S.settled("long-2")


def a_server_that_stops_while_bodies_are_read():
    with FakeServer() as s:
        s.tell("hold")
        socks = []
        for i in range(3):
            socks.append(s.connect())
            s.send_completion(socks[-1], prompt="x" * 100000)
        s.tell("reading")
    for sock in socks:
        sock.close()


TESTS = [options_names_the_methods, without_the_flag_no_reply_lets_another_origin_in, with_the_flag_every_reply_does,
         a_wrong_origin_is_bad_usage, head_wherever_get_is, version, text_to_ids_and_back, ids_are_what_a_completion_reads,
         what_is_wrong_with_them, a_tiny_top_p_is_above_zero, an_id_that_no_record_can_have, others_are_served_while_a_long_body_is_read, a_client_that_leaves_while_its_body_is_read,
         a_server_that_stops_while_bodies_are_read]

if __name__ == "__main__":
    with FakeServer() as S:
        status = run_tests(TESTS)
    sys.exit(status)
