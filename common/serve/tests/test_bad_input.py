#!/usr/bin/env python3
"""test_bad_input.py: every field of a completion request with values of the wrong type, out of bounds, or too many; NUL,
duplicate keys, deep nesting, huge numbers. Each gets a 400 that names the field, and the server goes on.

Over the fake backend.
"""
# servelab-test: waits
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import FakeServer, equal, run_tests, wait_until  # noqa: E402

VALUES = {"string": ["", "x", "1", "x" * 5000], "number": [0, 1, -1, 0.5, 2 ** 31, 2 ** 53 + 1, 1e308, -1e308],
          "bool": [True, False], "array": [[], [1], ["x"], [[]], [None], [{}]], "object": [{}, {"x": 1}, {"type": "x"}]}

# field: the types that it may have. A value of another type is a 400 that names the field.
BOTH = {"model": "string", "stream": "bool", "stream_options": "object", "stop": "string array", "max_tokens": "number",
        "temperature": "number", "top_p": "number", "top_k": "number", "min_p": "number", "seed": "number",
        "min_tokens": "number", "logit_bias": "object", "presence_penalty": "number", "frequency_penalty": "number",
        "repetition_penalty": "number", "n": "number", "user": "string", "ignore_eos": "bool",
        "response_format": "object", "skip_special_tokens": "bool", "use_beam_search": "bool", "length_penalty": "number"}
CHAT = {"messages": "array", "max_completion_tokens": "number", "logprobs": "bool", "top_logprobs": "number",
        "tools": "array", "tool_choice": "string", "functions": "array", "parallel_tool_calls": "bool", "store": "bool",
        "metadata": "object", "modalities": "array"}
COMPLETIONS = {"prompt": "string array", "best_of": "number", "logprobs": "number bool", "echo": "bool", "suffix": "string"}


def post(path, **fields):
    return S.post(path, {"model": "fake", **fields})


def names_it(reply, field, what):
    assert reply.status == 400, f"{what}: {reply.status}"
    param = reply.error()["param"] or ""
    assert param == field or param.startswith((field + ".", field + "[")), f"{what}: names {param!r}"
    assert field in reply.error()["message"], f"{what}: {reply.error()}"


def every_field_with_every_type():
    asked = 0
    for path, fields, base in (("/v1/chat/completions", {**BOTH, **CHAT}, {"messages": [{"role": "user", "content": "x"}]}),
                               ("/v1/completions", {**BOTH, **COMPLETIONS}, {"prompt": "x"})):
        for field, types in fields.items():
            for kind, values in VALUES.items():
                for value in values:
                    r = post(path, **{**base, "max_tokens": 4, **({"stream": True} if field == "stream_options" else {}),
                                      field: value})
                    what = f"{path} {field}={value!r}"[:120]
                    asked += 1
                    if kind not in types.split():
                        names_it(r, field, what)
                    else:
                        assert r.status in (200, 400, 404), f"{what}: {r.status}"
    assert asked > 1000, asked


def out_of_bounds():
    for fields, field in (({"stop": ["x"] * 4096}, "stop"), ({"stop": "x" * 257}, "stop"), ({"stop": [""]}, "stop[0]"),
                          ({"n": 129}, "n"), ({"n": 10 ** 18}, "n"), ({"prompt": ["x"] * 2049}, "prompt"),
                          ({"prompt": ["x"] * 100, "n": 100}, "n"), ({"prompt": [[1] * 10, [10 ** 9]]}, "prompt[1][0]"),
                          ({"logit_bias": {str(i): 0 for i in range(1025)}}, "logit_bias"),
                          ({"logit_bias": {"1e1": 1}}, "logit_bias.1e1"), ({"logprobs": 21}, "logprobs"),
                          ({"top_k": 2 ** 31}, "top_k"), ({"min_tokens": 5, "max_tokens": 4}, "min_tokens"),
                          ({"min_tokens": 17}, "min_tokens"),
                          ({"max_tokens": 10 ** 15}, "max_tokens"), ({"temperature": 1e308}, "temperature"),
                          ({"seed": 2 ** 64}, "seed")):
        r = S.complete(**fields)
        equal((r.status, r.error()["param"]), (400, field), f"{fields}"[:80])
    assert "64" in S.complete(stop=["x"] * 4096).error()["message"]


def ten_thousand_messages():
    for n in (4097, 10000):
        r = post("/v1/chat/completions", messages=[{"role": "user", "content": "x"}] * n)
        equal((r.status, r.error()["param"]), (400, "messages"))
        assert "4096" in r.error()["message"] and str(n) in r.error()["message"]
    r = post("/v1/chat/completions", messages=[{"role": "user", "content": ""}] * 4095 + [{"role": "user", "content": "x"}])
    equal((r.status, r.json()["usage"]["prompt_tokens"]), (200, 1))


def json_that_no_reader_takes():
    for body in (b'{"model":"fake","prompt":"x","prompt":"x"}', b'{"model":"fake","prompt":"x","\\u0070rompt":"y"}',
                 b'{"model":"fake","prompt":' + b"[" * 65 + b"]" * 65 + b"}", b'{"a":' * 100000,
                 b'{"model":"fake","prompt":"x","n":1e400}', b'{"model":"fake","prompt":"x","n":-}',
                 b'{"model":"fake","prompt":"x","n":' + b"1" * 64 + b"}", b'{"model":"fake","prompt":"\x00"}',
                 b'{"model":"fake","prompt":"\xc0\x80"}', b'{"model":"fake","prompt":"\\ud800"}',
                 b'{"model":"fake","prompt":"x"}{}', b'{"model":"fake","prompt":"x",}', b"null", b"[]", b'"x"', b"7", b""):
        r = S.post("/v1/completions", body)
        equal((r.status, r.error()["type"]), (400, "invalid_request_error"), repr(body[:60]))


def nul_is_text_where_text_is_meant():
    S.tell("echo")
    r = S.complete("a\0b\0", max_tokens=9, temperature=0).json()
    equal((r["choices"][0]["text"], r["usage"]["prompt_tokens"]), ("\0b\0a", 4))
    equal(S.complete(["\0", "x\0"], max_tokens=1, echo=True, temperature=0).json()["choices"][1]["text"], "x\0\0")
    for content in ("a\0b", [{"type": "text", "text": "a\0"}, {"type": "text", "text": "b"}]):
        r = post("/v1/chat/completions", messages=[{"role": "user", "content": content}], temperature=0).json()
        equal((r["choices"][0]["message"]["content"], r["usage"]["prompt_tokens"]), ("b\0a", 3))
    equal(S.complete("b\0a", stop="\0", temperature=0).json()["choices"][0]["text"], "a")
    S.tell("say hello")


def nul_is_refused_elsewhere():
    message = {"role": "user", "content": "x"}
    for fields, field in (({"model": "fake\0"}, "model"), ({"user": "\0"}, "user"),
                          ({"messages": [dict(message, role="user\0")]}, "messages[0].role"),
                          ({"messages": [dict(message, name="\0")]}, "messages[0].name"),
                          ({"tools": [{"type": "function", "function": {"name": "a\0"}}]}, "tools[0].function.name"),
                          ({"tool_choice": "auto\0"}, "tool_choice")):
        r = post("/v1/chat/completions", **{"messages": [message], **fields})
        equal((r.status, r.error()["param"]), (400, field), f"{fields}")
    equal(S.post("/v1/completions", b'{"model":"fake","prompt":"x","a\\u0000":1}').status, 400)


def the_server_goes_on():
    equal(S.complete().json()["choices"][0]["text"], "hello")


def settings_that_change_nothing():
    """What clients send always is taken at these values; another value is a 400 that names the field."""
    both = (("length_penalty", 1, 2), ("use_beam_search", False, True), ("skip_special_tokens", True, False),
            ("spaces_between_special_tokens", True, False), ("stop_token_ids", [], [1]),
            ("include_stop_str_in_output", False, True), ("return_tokens_as_token_ids", False, True),
            ("detokenize", True, False), ("priority", 0, 1))
    chat = (("functions", [], [{}]), ("modalities", ["text"], ["audio"]), ("store", False, True), ("metadata", {}, {"a": "b"}),
            ("service_tier", "auto", "flex"), ("service_tier", "default", 1), ("add_generation_prompt", True, False),
            ("continue_final_message", False, True), ("chat_template_kwargs", {}, {"a": 1}))
    for path, base, fields in (("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, both + chat),
                               ("/v1/completions", {"prompt": "x"}, both + (("suffix", "", "x"),))):
        for field, neutral, other in fields:
            for value in (neutral, None):
                equal(post(path, **base, **{field: value}).status, 200, f"{path} {field}={value}")
            names_it(post(path, **base, **{field: other}), field, f"{path} {field}={other}")


TESTS = [every_field_with_every_type, settings_that_change_nothing, out_of_bounds, ten_thousand_messages, json_that_no_reader_takes,
         nul_is_text_where_text_is_meant, nul_is_refused_elsewhere, the_server_goes_on]

if __name__ == "__main__":
    with FakeServer() as S:
        status = run_tests(TESTS)
        wait_until(lambda: S.counters()["active"] == 0, "no exchange is left behind")
    sys.exit(status)
