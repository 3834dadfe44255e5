#!/usr/bin/env python3
"""test_client_shapes.py: the requests that real clients send, and what must come back.

One shape for each kind of request of each client: method, path, the headers and fields that are its own. They were
written by hand after watching the clients; check_clients.py runs the clients themselves. Over the fake backend
(harness.py), whose answer is "hello".
"""
# servelab-test: waits
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import FakeServer, equal, names, run_tests  # noqa: E402

MESSAGES = [{"role": "user", "content": "1+2="}]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "1+2="}]}]
USAGE = {"include_usage": True}
OPENAI = {"Authorization": "Bearer none", "Accept-Encoding": "gzip, deflate", "User-Agent": "OpenAI/Python 3.57.0",
          "X-Stainless-Lang": "python", "X-Stainless-Async": "false", "X-Stainless-Retry-Count": "0"}
REQUESTS = {"Authorization": "Bearer ", "Accept": "*/*", "User-Agent": "python-requests/2.34.2"}
LANGCHAIN = {"frequency_penalty": 0, "presence_penalty": 0, "logprobs": None, "n": 1, "seed": None, "temperature": 0.7,
             "top_p": 1}

# ---- what must come back ---------------------------------------------------------------------------------------------


def whole(r, fields):
    answer = r.json()
    choice = answer["choices"][0]
    text = choice["message"]["content"] if "messages" in fields else choice["text"]
    equal((text, choice["finish_reason"]), ("hello", "stop"))
    equal(answer["usage"]["total_tokens"], answer["usage"]["prompt_tokens"] + 5)


def streamed(r, fields):
    assert r.headers["Content-Type"].startswith("text/event-stream"), r.headers["Content-Type"]
    equal(r.events()[-1], "[DONE]")
    chunks = r.chunks()
    choices = [c["choices"][0] for c in chunks if c["choices"]]
    texts = [c["delta"].get("content") if "messages" in fields else c["text"] for c in choices]
    equal("".join(t or "" for t in texts), "hello")
    equal([c["finish_reason"] for c in choices], [None] * (len(choices) - 1) + [choices[-1]["finish_reason"]])
    if fields.get("stream_options"):
        equal((chunks[-1]["choices"], chunks[-1]["usage"]["completion_tokens"]), ([], 5))
    if (fields.get("stream_options") or {}).get("continuous_usage_stats"):
        assert all(c["usage"]["total_tokens"] for c in chunks), chunks


def two_answers(r, fields):
    equal([c["text"] for c in r.json()["choices"]], ["hello"] * 2)


def scored(r, fields):
    choice = r.json()["choices"][0]
    assert choice["text"].startswith(fields["prompt"]), choice
    equal(len(choice["logprobs"]["token_logprobs"]), len(fields["prompt"]) + 1)


def not_there(r, fields):
    assert "/tokenizer_info" in r.error()["message"], r.error()


def found(r, fields):
    assert r.json()


# ---- the requests ----------------------------------------------------------------------------------------------------

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
SHAPES = [
    # openai 3.57.0 (also behind langchain, llm and parts of litellm)
    ("openai: chat", CHAT, OPENAI, {"messages": MESSAGES, "max_tokens": 8}, whole),
    ("openai: chat stream, async", CHAT, dict(OPENAI, **{"X-Stainless-Async": "async:asyncio"}),
     {"messages": MESSAGES, "max_tokens": 8, "stream": True}, streamed),
    ("openai: completions stream", TEXT, OPENAI, {"prompt": "1+2=", "max_tokens": 8, "stream": True, "stream_options": USAGE},
     streamed),
    # litellm 1.110.2
    ("litellm: openai/ chat stream", CHAT, dict(OPENAI, **{"X-Stainless-Raw-Response": "true"}),
     {"messages": MESSAGES, "max_tokens": 8, "stream": True}, streamed),
    ("litellm: text_completion", TEXT, OPENAI, {"prompt": "1+2=", "max_tokens": 8}, whole),
    ("litellm: hosted_vllm/", CHAT, {"Authorization": "Bearer none", "User-Agent": "litellm/1.110.2"},
     {"messages": MESSAGES, "max_tokens": 8}, whole),
    # langchain-openai 1.7.4
    ("langchain: ChatOpenAI", CHAT, OPENAI, {"stream": False, "messages": MESSAGES, "max_completion_tokens": 8}, whole),
    ("langchain: ChatOpenAI stream", CHAT, OPENAI,
     {"stream": True, "messages": MESSAGES, "max_completion_tokens": 8, "stream_options": USAGE}, streamed),
    ("langchain: OpenAI", TEXT, OPENAI, {"prompt": ["1+2="], "max_tokens": 8, **LANGCHAIN}, whole),
    ("langchain: OpenAI stream", TEXT, OPENAI, {"stream": True, "prompt": "1+2=", "max_tokens": 8, **LANGCHAIN}, streamed),
    ("langchain: OpenAI.generate, two prompts", TEXT, OPENAI, {"prompt": ["1+2=", "1+3="], "max_tokens": 8, **LANGCHAIN},
     two_answers),
    # llm 0.36
    ("llm: chat", CHAT, OPENAI, {"messages": MESSAGES, "stream": True, "max_tokens": 8, "stream_options": USAGE}, streamed),
    ("llm: completion", TEXT, OPENAI, {"prompt": "1+2=", "stream": True, "max_tokens": 8, "stream_options": USAGE}, streamed),
    # guidellm 0.8.1: asks /health first
    ("guidellm: is it there?", "/health", {"User-Agent": "python-httpx/0.28.1"}, None, found),
    ("guidellm: chat", CHAT, {"User-Agent": "python-httpx/0.28.1"},
     {"stream": True, "stream_options": dict(USAGE, continuous_usage_stats=True), "max_completion_tokens": 5,
      "ignore_eos": True, "messages": PARTS}, streamed),
    ("guidellm: completions", TEXT, {"User-Agent": "python-httpx/0.28.1"},
     {"stream": True, "stream_options": dict(USAGE, continuous_usage_stats=True), "max_tokens": 5, "ignore_eos": True,
      "prompt": "1 2 m0 in"}, streamed),
    # aiperf 0.13.0: names its requests, and correlates them by headers of its own
    ("aiperf: chat", CHAT, {"X-Request-ID": "00000000-0000-4000-8000-000000000001", "X-Correlation-ID": "c-1",
                            "X-Session-Affinity": "c-1", "Accept": "text/event-stream"},
     {"messages": MESSAGES, "stream": True, "max_completion_tokens": 8, "stream_options": USAGE}, streamed),
    ("aiperf: completions", TEXT, {"X-Request-ID": "00000000-0000-4000-8000-000000000002", "Accept": "text/event-stream"},
     {"prompt": "1+2=", "stream": True, "max_tokens": 8, "stream_options": USAGE}, streamed),
    ("aiperf: per-chunk usage", CHAT, {"Accept": "text/event-stream"},
     {"messages": MESSAGES, "stream": True, "max_completion_tokens": 5, "ignore_eos": True,
      "stream_options": dict(USAGE, continuous_usage_stats=True)}, streamed),
    # lm-eval 0.4.13
    ("lm-eval: which tokenizer?", "/tokenizer_info", REQUESTS, None, (404, not_there)),
    ("lm-eval: chat, generate_until", CHAT, REQUESTS,
     {"messages": MESSAGES, "max_tokens": 8, "temperature": 0, "stop": ["\n"], "seed": 1234}, whole),
    ("lm-eval: completions, generate_until", TEXT, REQUESTS,
     {"prompt": "1+2=", "max_tokens": 8, "temperature": 0, "stop": ["\n", "<|eos|>"], "seed": 1234}, whole),
    ("lm-eval: completions, loglikelihood", TEXT, REQUESTS,
     {"prompt": "1+2=3", "temperature": 0, "max_tokens": 1, "logprobs": 1, "seed": 1234, "echo": True}, scored),
    # vllm 0.33.0, bench serve
    ("vllm bench: openai", TEXT, {"x-request-id": "bench-00000000-2", "User-Agent": "Python/3.11 aiohttp/3.14.5"},
     {"prompt": "1+2=", "repetition_penalty": 1.0, "max_tokens": 5, "logprobs": None, "stream": True, "stream_options": USAGE,
      "ignore_eos": True}, streamed),
    ("vllm bench: random text with NUL and what is no character", TEXT, {"x-request-id": "bench-00000000-4"},
     {"prompt": "\ufffd\ufffd\x00\x01\x02", "repetition_penalty": 1.0, "max_tokens": 5, "logprobs": None, "stream": True,
      "stream_options": USAGE, "ignore_eos": True}, streamed),
    ("vllm bench: openai-chat", CHAT, {"x-request-id": "bench-00000000-3"},
     {"messages": PARTS, "max_completion_tokens": 5, "stream": True, "stream_options": USAGE, "ignore_eos": True}, streamed),
]


def replay(name, path, headers, fields, expected):
    def test():
        status, check = expected if isinstance(expected, tuple) else (200, expected)
        if fields is None:
            r = S.get(path, headers=headers)
        else:
            r = S.post(path, {"model": S.model, **fields}, headers)
        equal(r.status, status, r.body[:300])
        assert "Content-Encoding" not in r.headers, "the client offers gzip; the server doesn't compress"
        check(r, fields or {})
        if fields and "X-Request-Id" in {h.title() for h in headers}:
            named = next(v for h, v in headers.items() if h.title() == "X-Request-Id")
            equal(r.headers["X-Request-Id"], named)
            assert "request_accepted" in names(S.settled(named))
    test.__name__ = name.replace(" ", "_")
    return test


with FakeServer() as S:
    status = run_tests([replay(*shape) for shape in SHAPES])
sys.exit(status)
