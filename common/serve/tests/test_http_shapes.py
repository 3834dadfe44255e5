#!/usr/bin/env python3
"""test_http_shapes.py: what goes over the wire: OpenAI's shapes, errors that name their field, records and their routes.

Over the fake backend (harness.py).
"""
# servelab-test: waits
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import (SERVELAB, FakeServer, equal, names, read_to_end, read_until, run_tests, stamps,  # noqa: E402
                     wait_until)

CLIENT_EVENTS = [{"event": e, "clock": "browser", "t_ns": t, "source": "client", "clock_api": "CLOCK_MONOTONIC"}
                 for e, t in (("request_submitted", 1000), ("first_byte_received", 2000), ("final_byte_received", 3000))]


def checked(record):
    """The record's numbers, as `servelab record check` sees them."""
    out = subprocess.run([SERVELAB, "record", "check", "--json", "-"], input=json.dumps(record), capture_output=True,
                         text=True)
    equal(out.returncode, 0, f"record check: {out.stderr}")
    return json.loads(out.stdout)


def completion_reason(record):
    return checked(record)["completion_reason"]


# ---- shapes ----------------------------------------------------------------------------------------------------------


def first_chunk_carries_role_and_content():
    r = S.chat(stream=True)
    equal(r.status, 200)
    assert r.headers["Content-Type"].startswith("text/event-stream")
    chunks = r.chunks()
    equal(chunks[0]["choices"][0]["delta"], {"role": "assistant", "content": "h"})
    equal([c["choices"][0]["delta"] for c in chunks[1:]], [{"content": x} for x in "ello"] + [{}])
    equal([c["choices"][0]["finish_reason"] for c in chunks], [None] * 5 + ["stop"])
    equal({(c["object"], c["model"], c["id"]) for c in chunks},
          {("chat.completion.chunk", "fake", "chatcmpl-" + r.headers["X-Request-Id"])})
    assert all("usage" not in c for c in chunks)
    equal(r.events()[-1], "[DONE]")


def completions_stream():
    r = S.complete(stream=True)
    chunks = r.chunks()
    equal("".join(c["choices"][0]["text"] for c in chunks), "hello")
    equal({c["object"] for c in chunks}, {"text_completion"})


def whole_replies():
    r = S.chat().json()
    equal(r["object"], "chat.completion")
    equal(r["choices"][0]["message"], {"role": "assistant", "content": "hello"})
    equal(r["choices"][0]["finish_reason"], "stop")
    equal(r["usage"], {"prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 6})
    r = S.complete("abc", max_tokens=2).json()
    equal((r["object"], r["choices"][0]["text"], r["choices"][0]["finish_reason"]), ("text_completion", "he", "length"))


def usage_is_the_servers_count():
    r = S.complete([97, 98, 99], stream=True, stream_options={"include_usage": True})
    chunks = r.chunks()
    assert all(c["usage"] is None for c in chunks[:-1])
    equal(chunks[-1]["choices"], [])
    equal(chunks[-1]["usage"], {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8})
    record = S.settled(r.headers["X-Request-Id"])
    equal(sum(e["tokens"] for e in stamps(record, "token_sent")), 5)
    equal(record["workload"]["prompt_tokens"], 3)


def closing_chunks_are_no_tokens():
    r = S.complete(stream=True, stream_options={"include_usage": True})
    record = S.settled(r.headers["X-Request-Id"])
    equal([e["tokens"] for e in stamps(record, "token_sent")], [1] * 5)
    assert stamps(record, "token_sent")[-1]["t_ns"] < stamps(record, "response_finished")[0]["t_ns"]


def the_achieved_length_divides():
    r = S.complete(stream=True, max_tokens=64)
    record = S.settled(r.headers["X-Request-Id"])
    equal((record["workload"]["max_output_tokens"], record["workload"]["output_tokens"]), (64, 5))
    sent = [e["t_ns"] for e in stamps(record, "token_sent")]
    tpot_ns = checked(record)["tpot_ns"]
    assert abs(tpot_ns - (sent[-1] - sent[0]) / 4) <= 1, (tpot_ns, sent)


def accepted_is_stamped_before_the_body_is_there():
    body = json.dumps({"model": "fake", "prompt": "p"}).encode()
    sock = S.connect()
    sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow-body\r\nContent-Length: %d\r\n\r\n" % len(body))
    wait_until(lambda: S.record("slow-body"), "the header's record")
    equal(names(S.record("slow-body")), ["request_accepted"])
    time.sleep(0.1)
    sock.sendall(body)
    read_until(sock, b"}}\n")
    sock.close()
    record = S.settled("slow-body")
    accepted, tokenized = (stamps(record, e)[0]["t_ns"] for e in ("request_accepted", "tokenization_finished"))
    assert tokenized - accepted >= 100e6, "the wait for the body belongs to the request"


def empty_answer():
    S.tell("say ")
    for stream in (False, True):
        r = S.chat(stream=stream)
        equal(r.status, 200)
        record = S.settled(r.headers["X-Request-Id"])
        assert not {"first_token", "token_sent"} & set(names(record)), names(record)
        equal(record["workload"]["output_tokens"], 0)
    S.tell("say hello")


def one_token_keeps_its_record():
    r = S.complete(stream=True, max_tokens=1, headers={"X-Request-Id": "one-token"})
    S.settled("one-token")
    equal(S.post("/v1/records/one-token/events", {"events": CLIENT_EVENTS}).status, 200)
    numbers = checked(S.record("one-token"))
    equal((numbers["tpot_ns"], numbers["client_ttft_ns"], numbers["e2e_ns"]), (None, 1000, 2000))
    equal(r.status, 200)


def a_piece_says_how_many_tokens_it_carries():
    S.tell("say a\\xe2\\x82\\xacb")
    r = S.complete(stream=True)
    equal([c["choices"][0]["text"] for c in r.chunks()], ["a", "€", "b", ""])
    record = S.settled(r.headers["X-Request-Id"])
    equal([e["tokens"] for e in stamps(record, "token_sent")], [1, 3, 1])
    S.tell("say hello")


def invalid_bytes_become_replacements():
    S.tell("say a\\xff\\xe2\\x82b\\xc3")
    for stream in (False, True):
        r = S.complete(stream=stream)
        equal(r.status, 200)
        text = "".join(c["choices"][0]["text"] for c in r.chunks()) if stream else r.json()["choices"][0]["text"]
        equal(text, "a\ufffd\ufffdb\ufffd")
    S.tell("say hello")


def stop_strings_are_cut_and_counted():
    S.tell("say one END two")
    for stop in ("END", ["zzz", "END"], " END"):
        r = S.complete(stop=stop, stream=True, stream_options={"include_usage": True})
        text = "".join(c["choices"][0]["text"] for c in r.chunks() if c["choices"])
        equal(text, "one" if stop == " END" else "one ", f"stop={stop}")
        equal(r.chunks()[-1]["usage"]["completion_tokens"], 7)
        record = S.settled(r.headers["X-Request-Id"])
        equal(sum(e["tokens"] for e in stamps(record, "token_sent")), 7)
        equal(record["outcome"]["finish_reason"], "stop")
    S.tell("say hello")


def continuous_usage_counts_up_and_obfuscation_pads():
    options = {"include_usage": True, "continuous_usage_stats": True, "include_obfuscation": True}
    for ask in (S.chat, S.complete):
        chunks = ask(stream=True, stream_options=options).chunks()
        so_far = [c["usage"]["completion_tokens"] for c in chunks]
        equal(so_far, [1, 2, 3, 4, 5, 5, 5])
        assert all(c["usage"]["total_tokens"] == c["usage"]["prompt_tokens"] + n for c, n in zip(chunks, so_far))
        equal([len(c.get("obfuscation", "")) for c in chunks], [15] * 5 + [0, 0])
    chunks = S.complete(stream=True, stream_options={"include_usage": True, "include_obfuscation": False}).chunks()
    assert all(c["usage"] is None and "obfuscation" not in c for c in chunks[:-1])


def more_than_four_stops():
    S.tell("say one END two")
    equal(S.complete(stop=[f"s{i}" for i in range(63)] + ["END"]).json()["choices"][0]["text"], "one ")
    S.tell("say hello")
    r = S.complete(stop=["x"] * 4096)
    equal((r.status, r.error()["param"]), (400, "stop"))


def penalties_and_bias_reach_the_sampler():
    def text(prompt="p", **fields):
        return S.complete(prompt, temperature=0, **fields).json()["choices"][0]["text"]
    equal(text(logit_bias={str(ord("z")): 30}, max_tokens=3), "zzz")
    equal(text(logit_bias={str(ord("l")): -100}), "he\0\0o")
    equal(text("h", repetition_penalty=100, logit_bias={str(ord("z")): 1}), "zello", "the prompt's h is penalised")
    equal(text("h", presence_penalty=2, logit_bias={str(ord("z")): 19}), "helzo", "the second l is, not the prompt's h")
    equal(text(frequency_penalty=2, logit_bias={str(ord("z")): 19}), "helzo")
    for fields in ({"top_k": 1}, {"min_p": 1}, {"top_k": 1, "min_p": 0.5, "top_p": 0.5}):
        equal(S.complete(temperature=2, **fields).json()["choices"][0]["text"], "hello", f"{fields}")
    r = S.complete(min_tokens=8, temperature=0, headers={"X-Request-Id": "min-tokens"}).json()
    equal((r["choices"][0]["text"], r["usage"]["completion_tokens"]), ("hello\0\0\0", 8))
    equal(S.settled("min-tokens")["workload"]["decoding"], "greedy +")
    S.tell("say a.b.c")
    equal(text(stop=".", min_tokens=2), "a.b")
    S.tell("say hello")


def ignore_eos_reaches_the_engine():
    r = S.complete(max_tokens=9, ignore_eos=True).json()
    equal((r["usage"]["completion_tokens"], r["choices"][0]["finish_reason"]), (9, "length"))


def null_is_an_absent_field():
    equal(S.chat(stream=False, stream_options=None, max_tokens=4, stop=None, tools=None).status, 200)
    equal(S.complete(stream_options=None, logprobs=None, suffix=None).status, 200)
    S.complete(headers={"X-Request-Id": "null-1"})
    half = {"events": CLIENT_EVENTS, "attempt": None, "quality": None, "statement": None}
    equal(S.post("/v1/records/null-1/events", half).status, 200)


def four_shapes_of_a_prompt():
    S.tell("echo")
    for prompt in ("xyz", ["xyz"], [120, 121, 122], [[120, 121, 122]]):
        r = S.complete(prompt, max_tokens=3).json()
        equal((r["choices"][0]["text"], r["usage"]["prompt_tokens"]), ("zyx", 3), f"{prompt}")
    S.tell("say hello")


def special_tokens_are_markers_in_a_raw_prompt_and_text_in_a_message():
    text = "<|im_start|>x<|im_end|>"
    equal(S.complete(text).json()["usage"]["prompt_tokens"], 3)
    assert S.chat(text).json()["usage"]["prompt_tokens"] > 15


# ---- errors ----------------------------------------------------------------------------------------------------------


def errors_name_their_field():
    for fields, param in (({"foo": 1}, "foo"), ({"max_tokens": "8"}, "max_tokens"), ({"stop": ["a", 2]}, "stop[1]"),
                          ({"prompt": [1, "x"]}, "prompt[1]"), ({"prompt": [99999]}, "prompt[0]"), ({"n": 0}, "n"), ({"n": 2, "best_of": 4}, "best_of"), ({"top_k": -5}, "top_k"),
                          ({"stream_options": {"include_usage": True}}, "stream_options")):
        r = S.complete(**fields)
        equal(r.status, 400, f"{fields}")
        error = r.error()
        equal(set(error), {"message", "type", "param", "code"})
        equal((error["param"], error["type"]), (param, "invalid_request_error"))
        assert param in error["message"], error


def malformed_json_has_a_position():
    r = S.post("/v1/completions", b'{"model": "fake",\n "prompt": }')
    equal(r.status, 400)
    assert "line 2" in r.error()["message"], r.error()
    for body in (b"", b"\xff\xfe", b'{"model": "fa\\u0000ke", "prompt": "x"}', b'{"a":1}{"b":2}', b"[" * 100000,
                 b'{"model":"fake","model":"fake","prompt":"x"}'):
        equal(S.post("/v1/completions", body).status, 400, repr(body[:40]))


def absolute_targets():
    for target, status in (("http://127.0.0.1/health", 200), ("HTTP://any.example:80/v1/models/fake", 200),
                           ("https://x/v1/records?limit=1", 200), ("http://x/v1/nope", 404), ("ftp://x/health", 404)):
        equal(S.request("GET", target).status, status, target)
    equal(S.request("POST", "http://x/health").status, 405)


def other_statuses():
    for method, path, status in (("GET", "/v1/completions", 405), ("POST", "/v1/models", 405), ("DELETE", "/health", 405),
                                 ("PUT", "/v1/records/x/events", 405), ("POST", "/v1/records", 405),
                                 ("POST", "/v1/nope", 404), ("GET", "/v1/nope", 404), ("GET", "/nope.html", 404),
                                 ("POST", "/", 405), ("PUT", "/", 405), ("PATCH", "/index.html", 405), ("DELETE", "/app.js", 405),
                                 ("PUT", "/?a=b", 405), ("TRACE", "/v1/models/fake", 405), ("PUT", "/nope", 404),
                                 ("PUT", "/../README.md", 404), ("PUT", "/v1/nope", 404), ("GET", "/v1/records/", 404)):
        r = S.request(method, path)
        equal(r.status, status, f"{method} {path}")
        assert r.error()["message"]
        if status == 405:
            assert r.headers["Allow"] in ("GET, HEAD, OPTIONS", "POST, OPTIONS")
    r = S.post("/v1/completions", {"model": "gpt-9", "prompt": "x"})
    equal((r.status, r.error()["code"], r.error()["param"]), (404, "model_not_found", "model"))


def context_length_is_named():
    r = S.complete("x" * 300)
    equal((r.status, r.error()["code"], r.error()["param"]), (400, "context_length_exceeded", "prompt"))
    assert "This model's maximum context length is 256 tokens" in r.error()["message"], r.error()
    assert "256" in r.error()["message"] and "300" in r.error()["message"], r.error()
    for name in ("max_tokens", "max_completion_tokens"):
        r = S.chat("x" * 250, **{name: 7})
        equal((r.status, r.error()["code"], r.error()["param"]), (400, "context_length_exceeded", name))
    equal(S.chat("x" * 250, max_tokens=6).status, 200)
    equal(S.complete("x" * 255, max_tokens=None).json()["usage"]["completion_tokens"], 1)


def empty_prompt():
    r = S.complete("")
    equal((r.status, r.error()["param"]), (400, "prompt"))


def bodies_are_bounded():
    big = b'{"model":"fake","prompt":"' + b"x" * (2 * 1024 * 1024) + b'"}'
    s = S.connect()
    s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(big))
    assert b" 413 " in s.recv(65536), "refused before the body is sent"
    s.close()
    s = S.connect()
    s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    for i in range(0, len(big), 60000):
        part = big[i:i + 60000]
        s.sendall(b"%x\r\n%s\r\n" % (len(part), part))
    s.sendall(b"0\r\n\r\n")
    assert b" 413 " in s.recv(65536)
    s.close()
    equal(S.post("/v1/records/x/events", b"[" + b" " * 70000 + b"]").status, 413)


# ---- records ---------------------------------------------------------------------------------------------------------


def records_are_joined():
    r = S.chat(stream=True, headers={"X-Request-Id": "join-1", "X-Attempt": "3"})
    equal((r.headers["X-Request-Id"], r.headers["X-Attempt"]), ("join-1", "3"))
    server_half = S.settled("join-1")
    equal(server_half["outcome"]["delivered"], False)
    equal(names(server_half)[:4], ["request_accepted", "tokenization_finished", "request_admitted", "first_token"])
    r = S.post("/v1/records/join-1/events", {"events": CLIENT_EVENTS, "quality": {"check": "sum/1", "verdict": "passed"}})
    equal((r.status, r.json()["joined"]), (200, True))
    record = S.record("join-1")
    equal((record["attempt"], record["outcome"]["delivered"], record["quality"]["verdict"]), (3, True, "passed"))
    equal(completion_reason(record), "delivered")
    equal(S.record("join-1", 3), record)
    equal(S.record("join-1", 2), None)
    for path, status in (("join-2", 404), ("join-2?if_known=1", 204), ("join-2/intervals?if_known=1", 204),
                         ("join-1?if_known=1", 200)):
        equal(S.get("/v1/records/" + path).status, status, path)
    listed = S.get("/v1/records").json()["data"]
    assert {"request_id": "join-1", "attempt": 3} == {k: listed[0][k] for k in ("request_id", "attempt")}, listed[0]
    equal(S.get("/v1/records/join-1/intervals").json()["request_id"], "join-1")


def a_half_that_does_not_fit_is_refused():
    S.complete(headers={"X-Request-Id": "refuse-1"})
    url = "/v1/records/refuse-1/events"
    equal(S.post(url, {"events": CLIENT_EVENTS}).status, 200)
    equal(S.post(url, {"events": CLIENT_EVENTS}).status, 200, "the same again")
    moved = [dict(CLIENT_EVENTS[0], t_ns=999)]
    equal(S.post(url, {"events": moved}).status, 409)
    for body, field in (({"events": [dict(CLIENT_EVENTS[0], t_ns="1000")]}, "events[0].t_ns"),
                        ({"events": [dict(CLIENT_EVENTS[0], clock="server")]}, "events[0].clock"),
                        ({"events": [dict(CLIENT_EVENTS[0], event="first_token", clock="server")]}, "events[0].event"),
                        ({"events": CLIENT_EVENTS * 9}, "events"), ({"event": []}, "event"), ({"attempt": 0}, "attempt")):
        r = S.post(url, body)
        equal((r.status, r.error()["param"]), (400, field), f"{body}")
    equal(S.post(url, b"{").status, 400)
    equal(S.post("/v1/records/unknown/events", {"events": []}).status, 404)
    equal(S.post(url, {"attempt": 9, "events": []}).status, 404)
    equal(S.get("/v1/records/refuse-1?attempt=x").status, 400)
    for r in (S.get("/v1/records/refuse-1?attempt=7"), S.get("/v1/records/refuse-1/intervals?attempt=7"),
              S.post("/v1/records/refuse-1/events", {"attempt": 7, "events": []})):
        equal((r.status, "there is no record of attempt 7 of refuse-1 " in r.error()["message"]), (404, True), r.body)


def request_ids_are_checked():
    for bad in ("a b", "x" * 64, ".hidden", "a/b", "é".encode().decode("latin-1"), '"'):
        r = S.complete(headers={"X-Request-Id": bad})
        equal((r.status, r.error()["param"]), (400, "X-Request-Id"), bad)
    for bad in ("0", "-1", "1.5", "x", "99999999"):
        r = S.complete(headers={"X-Attempt": bad})
        equal((r.status, r.error()["param"]), (400, "X-Attempt"), bad)


def attempts_are_told_apart():
    attempts = [S.complete(headers={"X-Request-Id": "again"}).headers["X-Attempt"] for _ in range(3)]
    equal(attempts, ["1", "2", "3"])
    r = S.complete(headers={"X-Request-Id": "again", "X-Attempt": "2"})
    equal((r.status, r.error()["param"]), (409, "X-Attempt"))
    equal([S.record("again", n)["attempt"] for n in (1, 2, 3)], [1, 2, 3])


def refused_requests_leave_a_record():
    r = S.complete(headers={"X-Request-Id": "refused"}, foo=1)
    equal(r.status, 400)
    record = S.settled("refused")
    equal(names(record), ["request_accepted", "request_rejected"])
    equal((record["outcome"]["http_status"], record["outcome"]["delivered"]), (400, False))
    assert "foo" in record["outcome"]["error"]
    equal(completion_reason(record), "rejected")


def error_within_a_stream():
    S.tell("allow 2")
    sock = S.connect()
    S.send_completion(sock, stream=True, headers=["X-Request-Id: in-band", "Connection: close"])
    data = read_until(sock, b"data: ", 2)
    S.tell("started 3")
    S.tell("fail 0")  # the one that waits at the gate
    S.tell("open")
    data += read_to_end(sock)
    sock.close()
    assert data.startswith(b"HTTP/1.1 200 ") and data.endswith(b"0\r\n\r\n"), data
    events = [json.loads(line[6:]) for line in data.split(b"\n") if line.startswith(b"data: ")]
    equal([e["choices"][0]["text"] for e in events[:2]], ["h", "e"])
    equal((len(events), events[2]["error"]["type"]), (3, "server_error"))
    assert "fake backend fails" in events[2]["error"]["message"]
    record = S.settled("in-band")
    equal((record["outcome"]["http_status"], record["outcome"]["delivered"]), (200, False))
    S.post("/v1/records/in-band/events", {"events": CLIENT_EVENTS})
    equal(completion_reason(S.record("in-band")), "in_band_error")


def fault_before_the_first_content_is_a_500():
    for stream in (True, False):
        S.tell("fail 1")
        request_id = f"fault-{stream}"
        r = S.complete(stream=stream, headers={"X-Request-Id": request_id})
        equal((r.status, r.error()["type"]), (500, "server_error"))
        record = S.settled(request_id)
        equal(names(record)[-1], "request_failed")
        equal(completion_reason(record), "internal_error")
    S.tell("nan 2")
    equal(S.complete(stream=False).status, 500, "NaN in the middle of a whole reply")
    equal(S.complete().status, 200, "and the server goes on")


# ---- the page's files ------------------------------------------------------------------------------------------------


def page_files():
    r = S.get("/")
    equal((r.status, r.headers["Cross-Origin-Opener-Policy"], r.headers["Cross-Origin-Embedder-Policy"]),
          (200, "same-origin", "require-corp"))
    assert r.body.lower().startswith(b"<!doctype html>")
    equal(S.get("/index.html").body, r.body)
    equal(S.get("/app.js").headers["Content-Type"], "text/javascript; charset=utf-8")
    head = S.request("HEAD", "/")
    equal((head.status, head.body, int(head.headers["Content-Length"])), (200, b"", len(r.body)))


def no_way_out_of_the_page():
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..%2fREADME.md", "/.git/config",
                 "/tests/mock_server.py", "/page.c", "/a" * 3000):
        r = S.get(path)
        assert r.status in (404, 414, 431, 400), f"{path}: {r.status}"
        assert b"root:" not in r.body


def health_and_models():
    health = S.get("/health").json()
    equal((health["status"], health["waiting"], health["running"], health["backend"]), ("ok", 0, 0, "fake"))
    model = S.get("/v1/models").json()["data"][0]
    equal((model["id"], model["object"], model["context_length"]), ("fake", "model", 256))


TESTS = [first_chunk_carries_role_and_content, completions_stream, whole_replies, usage_is_the_servers_count,
         closing_chunks_are_no_tokens, the_achieved_length_divides,
         accepted_is_stamped_before_the_body_is_there, empty_answer, one_token_keeps_its_record,
         a_piece_says_how_many_tokens_it_carries, invalid_bytes_become_replacements,
         stop_strings_are_cut_and_counted, more_than_four_stops, continuous_usage_counts_up_and_obfuscation_pads,
         penalties_and_bias_reach_the_sampler, ignore_eos_reaches_the_engine, null_is_an_absent_field,
         four_shapes_of_a_prompt, special_tokens_are_markers_in_a_raw_prompt_and_text_in_a_message, errors_name_their_field,
         malformed_json_has_a_position, absolute_targets, other_statuses, context_length_is_named, empty_prompt, bodies_are_bounded,
         records_are_joined, a_half_that_does_not_fit_is_refused, request_ids_are_checked, attempts_are_told_apart,
         refused_requests_leave_a_record, error_within_a_stream, fault_before_the_first_content_is_a_500, page_files,
         no_way_out_of_the_page, health_and_models]

if __name__ == "__main__":
    with FakeServer() as S:
        status = run_tests(TESTS)
        wait_until(lambda: S.counters()["active"] == 0, "no exchange is left behind")
    sys.exit(status)
