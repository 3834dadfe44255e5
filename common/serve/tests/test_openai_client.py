#!/usr/bin/env python3
"""test_openai_client.py: the official `openai` Python client, unmodified, against the server.

The fake backend (harness.py) gives answers that are known, the embedded model those that are sampled.
"""
# servelab-test: waits
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import MODEL_FILE, FakeServer, RealServer, equal, names, run_tests, wait_until  # noqa: E402

try:
    import openai
except ImportError:
    print("ok 1 - the openai client # SKIP the package openai isn't installed; `make deps-test` does that\n1..1")
    sys.exit(0)


def client(s, **kw):
    return openai.OpenAI(base_url=f"http://127.0.0.1:{s.port}/v1", api_key="none", max_retries=0, timeout=60, **kw)


def user(text):
    return [{"role": "user", "content": text}]


def chat_whole():
    r = C.chat.completions.create(model="fake", messages=user("p"))
    equal((r.choices[0].message.role, r.choices[0].message.content, r.choices[0].finish_reason), ("assistant", "hello", "stop"))
    equal((r.usage.prompt_tokens, r.usage.completion_tokens, r.usage.total_tokens), (1, 5, 6))
    assert r.id.startswith("chatcmpl-") and r.object == "chat.completion" and r.model == "fake"


def chat_stream():
    chunks = list(C.chat.completions.create(model="fake", messages=user("p"), stream=True))
    equal([c.choices[0].delta.content for c in chunks], list("hello") + [None])
    equal([c.choices[0].delta.role for c in chunks], ["assistant"] + [None] * 5)
    equal(chunks[-1].choices[0].finish_reason, "stop")
    equal({c.usage for c in chunks}, {None})


def chat_stream_with_usage():
    chunks = list(C.chat.completions.create(model="fake", messages=user("p"), stream=True,
                                            stream_options={"include_usage": True}, max_completion_tokens=3))
    equal((chunks[-1].choices, chunks[-1].usage.completion_tokens), ([], 3))
    equal(chunks[-2].choices[0].finish_reason, "length")


def chat_stream_helper():
    with C.chat.completions.stream(model="fake", messages=user("p")) as stream:
        kinds = [event.type for event in stream]
    equal(kinds.count("content.delta"), 5)
    equal(stream.get_final_completion().choices[0].message.content, "hello")


def completions():
    r = C.completions.create(model="fake", prompt="p", stop="l")
    equal((r.choices[0].text, r.choices[0].finish_reason, r.object), ("he", "stop", "text_completion"))
    r = C.completions.create(model="fake", prompt=[1, 2, 3], stop=["x", "lo"], stream=True)
    equal("".join(c.choices[0].text for c in r), "hel")
    equal(C.completions.create(model="fake", prompt=["p"], extra_body={"ignore_eos": True}, max_tokens=9).usage.completion_tokens, 9)


def content_parts_and_roles():
    S.tell("echo")
    parts = [{"type": "text", "text": "xy"}, {"type": "text", "text": "z"}]
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": parts}, {"role": "assistant", "content": "t"}]
    equal(C.chat.completions.create(model="fake", messages=messages, max_tokens=9).choices[0].message.content, "tzyxs")
    S.tell("say hello")


def models():
    equal([m.id for m in C.models.list()], ["fake"])
    equal(C.models.retrieve("fake").owned_by, "servelab")


def raises(kind, call):
    try:
        call()
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__}")


def errors_are_the_clients_own():
    e = raises(openai.BadRequestError, lambda: C.chat.completions.create(model="fake", messages=user("p"), top_p=7))
    equal((e.status_code, e.param, e.type), (400, "top_p", "invalid_request_error"))
    assert "top_p" in e.message
    e = raises(openai.BadRequestError, lambda: C.chat.completions.create(model="fake", messages=user("p"), top_logprobs=2))
    equal(e.param, "top_logprobs")
    e = raises(openai.BadRequestError, lambda: C.completions.create(model="fake", prompt="x" * 500))
    equal(e.code, "context_length_exceeded")
    raises(openai.NotFoundError, lambda: C.completions.create(model="gpt-9", prompt="x"))
    raises(openai.NotFoundError, lambda: C.models.retrieve("nope"))
    S.tell("fail 1")
    raises(openai.InternalServerError, lambda: C.completions.create(model="fake", prompt="x"))


def several_answers_with_their_logprobs():
    r = C.chat.completions.create(model="fake", messages=user("p"), n=2, logprobs=True, top_logprobs=1, temperature=0)
    for choice in r.choices:
        tokens = choice.logprobs.content
        equal("".join(t.token for t in tokens[:5]), "hello")
        assert all(t.logprob == t.top_logprobs[0].logprob for t in tokens)
    r = C.completions.create(model="fake", prompt=["x", "y"], logprobs=1, temperature=0)
    equal([(c.index, c.text, c.logprobs.text_offset) for c in r.choices],
          [(i, "hello", [0, 1, 2, 3, 4, 5]) for i in range(2)])


def a_tool_is_called():
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {
        "a": {"type": "integer"}, "b": {"type": "integer"}}}}}
    S.tell('say {"tool":"add","args":[1,2]}')
    ask = dict(model="fake", messages=user("p"), tools=[tool])
    made = C.chat.completions.create(**ask).choices[0]
    equal((made.finish_reason, made.message.tool_calls[0].function.arguments), ("tool_calls", '{"a":1,"b":2}'))
    with C.chat.completions.stream(**ask) as stream:
        equal(stream.get_final_completion().choices[0].message.tool_calls[0].function.name, "add")
    S.tell("say hello")
    messages = user("p") + [made.message, {"role": "tool", "tool_call_id": made.message.tool_calls[0].id, "content": "3"}]
    equal(C.chat.completions.create(model="fake", messages=messages, tools=[tool]).choices[0].message.content, "hello")


def error_within_a_stream_is_raised():
    S.tell("allow 2")
    stream = iter(C.chat.completions.create(model="fake", messages=user("p"), stream=True))
    equal([next(stream).choices[0].delta.content for _ in range(2)], ["h", "e"])
    S.tell("started 3")
    S.tell("fail 0")
    S.tell("open")
    e = raises(openai.APIError, lambda: next(stream))
    assert "fake backend fails" in e.message


def retries_are_attempts():
    S.tell("fail 1")
    retrying = openai.OpenAI(base_url=f"http://127.0.0.1:{S.port}/v1", api_key="none", max_retries=2, timeout=60)
    r = retrying.completions.with_raw_response.create(model="fake", prompt="p", extra_headers={"X-Request-Id": "retried"})
    equal((r.headers["X-Attempt"], r.parse().choices[0].text), ("2", "hello"))
    equal((names(S.settled("retried"))[-1], names(S.record("retried", 1))[-1]), ("response_finished", "request_failed"))


def cancel_in_the_middle():
    S.tell("allow 2")
    stream = C.chat.completions.create(model="fake", messages=user("p"), stream=True, extra_headers={"X-Request-Id": "left"})
    equal(next(iter(stream)).choices[0].delta.content, "h")
    S.tell("started 3")
    stream.response.close()
    wait_until(lambda: S.tell("allow 1")["running"] == 0, "the position is free")
    equal(names(S.settled("left"))[-1], "request_cancelled")
    S.tell("open")
    chat_whole()


def seeds_repeat_an_answer():
    with RealServer() as s:
        c = client(s)

        def ask(seed, temperature=1.5):
            r = c.completions.create(model=s.model, prompt="key K7Q2 = 4815", max_tokens=40, temperature=temperature,
                                     top_p=0.95, seed=seed, extra_body={"ignore_eos": True})
            return r.choices[0].text
        first = ask(1)
        equal([ask(1), ask(1)], [first, first])
        assert any(ask(seed) != first for seed in range(2, 8)), "other seeds give other answers"
        equal(len({ask(seed, 0) for seed in range(4)}), 1)
        equal(len({ask(openai.NOT_GIVEN) for _ in range(6)}) > 1, True)


def the_embedded_model_streams():
    with RealServer() as s:
        c = client(s)
        whole = c.chat.completions.create(model=s.model, messages=user("12+30="), max_tokens=8, temperature=0)
        chunks = c.chat.completions.create(model=s.model, messages=user("12+30="), max_tokens=8, temperature=0, stream=True)
        equal("".join(k.choices[0].delta.content or "" for k in chunks), whole.choices[0].message.content)
        assert whole.choices[0].message.content, "an answer"


FAKE = [chat_whole, chat_stream, chat_stream_with_usage, chat_stream_helper, completions, content_parts_and_roles, models,
        errors_are_the_clients_own, several_answers_with_their_logprobs, a_tool_is_called,
        error_within_a_stream_is_raised, retries_are_attempts, cancel_in_the_middle]
REAL = [seeds_repeat_an_answer, the_embedded_model_streams]

if __name__ == "__main__":
    with FakeServer() as S:
        C = client(S)
        status = run_tests(FAKE + REAL)
    sys.exit(status)
