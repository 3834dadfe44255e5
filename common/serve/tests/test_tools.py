#!/usr/bin/env python3
"""test_tools.py: tools, tool calls and their messages over HTTP: the fake backend's answers, and the embedded model's."""
# servelab-test: waits
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import FakeServer, RealServer, equal, run_tests, stamps, wait_until  # noqa: E402


def tool(name, **types):
    return {"type": "function", "function": {"name": name, "description": f"the tool {name}", "parameters": {
        "type": "object", "properties": {k: {"type": t} for k, t in types.items()}, "required": list(types)}}}


TOOLS = [tool("add", a="integer", b="integer"), tool("get", key="string"), tool("now")]


def answer(said, server=None, **fields):
    """The message, streamed and whole, and the finish reason. Both must say the same."""
    if said is not None:
        S.tell("say " + said)
    ask = dict(tools=TOOLS, temperature=0, **fields)
    whole = (server or S).chat(**ask).json()["choices"][0]
    message = {"role": "assistant", "content": None, "tool_calls": []}
    reason = None
    for chunk in (server or S).chat(stream=True, **ask).chunks():
        choice = chunk["choices"][0]
        if choice["delta"].get("content"):
            message["content"] = (message["content"] or "") + choice["delta"]["content"]
        for call in choice["delta"].get("tool_calls", []):
            equal(call.pop("index"), len(message["tool_calls"]))
            message["tool_calls"].append(call)
        reason = choice["finish_reason"] or reason
    for m in (message, whole["message"]):
        for call in m.get("tool_calls", []):
            assert call.pop("id").startswith("call_"), call
    if not message["tool_calls"]:
        del message["tool_calls"]
    equal(message, whole["message"])
    equal(reason, whole["finish_reason"])
    return message, reason


def call(name, **arguments):
    return {"type": "function", "function": {"name": name, "arguments": json.dumps(arguments, separators=(",", ":"))}}


def a_call_is_structured():
    for said, want in (('{"tool":"add","args":[10,3]}', call("add", a=10, b=3)),
                       (' {"args": ["K7\\u0022"], "tool": "get"}\\n', call("get", key='K7"')),
                       ('{"tool":"now","args":[]}', call("now"))):
        message, reason = answer(said)
        equal((message["content"], message["tool_calls"], reason), (None, [want], "tool_calls"), said)
    S.tell("say hello")


def odd_parameters_and_numbers():
    odd = [tool("odd"), tool("big", n="integer")]
    odd[0]["function"]["parameters"]["properties"] = [1]
    for said, calls in (('{"tool":"odd","args":[1]}', 0), ('{"tool":"odd","args":[]}', 1), ('{"tool":"big","args":[1e300]}', 1),
                        ('{"tool":"big","args":[1.5]}', 0)):
        S.tell("say " + said)
        message = S.chat(tools=odd, temperature=0).json()["choices"][0]["message"]
        equal(len(message.get("tool_calls", [])), calls, said)
    S.tell("say hello")


def what_is_no_call_stays_text():
    for said in ('{"tool":"sub","args":[10,3]}', '{"tool":"add","args":[10]}', '{"tool":"add","args":[10,3,4]}',
                 '{"tool":"add","args":[10,"3"]}', '{"tool":"add","args":[1.5,3]}', '{"tool":"add","args":{"a":1,"b":2}}',
                 '{"tool":"add","args":[10,3],"x":1}', '{"tool":"add","args":[10,3]', '{"tool":"add","args":[10,3]} then',
                 'so {"tool":"add","args":[10,3]}', '{}', '[1]', 'hello', '{"tool":7,"args":[]}'):
        message, reason = answer(said)
        equal((message, reason), ({"role": "assistant", "content": said}, "stop"), said)
    equal(answer('{"tool":"now","args":[]}', tool_choice="none")[0]["content"], '{"tool":"now","args":[]}')
    S.tell("say hello")


def text_is_streamed_and_a_call_is_held():
    r = S.chat(stream=True, tools=TOOLS, headers={"X-Request-Id": "text"})
    equal(len(r.chunks()), 6, "five letters and the end")
    S.tell('say {"tool":"now","args":[]}')
    r = S.chat(stream=True, tools=TOOLS, stream_options={"include_usage": True}, headers={"X-Request-Id": "held"})
    chunks = r.chunks()
    equal([c["choices"][0]["finish_reason"] for c in chunks[:-1]], [None, "tool_calls"])
    equal(chunks[0]["choices"][0]["delta"]["role"], "assistant")
    n = chunks[-1]["usage"]["completion_tokens"]
    equal(sum(e["tokens"] for e in stamps(S.settled("held"), "token_sent")), n)
    choices = S.chat(tools=TOOLS, n=2).json()["choices"]
    equal(len({c["message"]["tool_calls"][0]["id"] for c in choices}), 2, "each call has its id")
    S.tell("say hello")


def messages_of_a_dialogue_with_tools():
    S.tell("echo")
    messages = [{"role": "user", "content": "Q"},
                {"role": "assistant", "content": None, "tool_calls": [dict(call("add", a=1, b="x"), id="call_1")], "annotations": []},
                {"role": "tool", "tool_call_id": "call_1", "content": "R"}]
    r = S.post("/v1/chat/completions", {"model": "fake", "messages": messages, "max_tokens": 40}).json()
    equal(r["choices"][0]["message"]["content"][::-1], 'Q{"tool":"add","args":[1,"x"]}R')
    S.tell("say hello")


def errors_name_their_field():
    def error(**fields):
        r = S.chat(**fields)
        return r.status, r.error()["param"]
    for tools, param in (({}, "tools"), ([7], "tools[0]"), ([{"type": "x"}], "tools[0].type"),
                         ([{"type": "function"}], "tools[0].function"), ([dict(TOOLS[0], x=1)], "tools[0].x"),
                         ([{"type": "function", "function": {}}], "tools[0].function.name"),
                         ([{"type": "function", "function": {"name": "a b"}}], "tools[0].function.name"),
                         ([{"type": "function", "function": {"name": "a", "parameters": 1}}], "tools[0].function.parameters"),
                         ([{"type": "function", "function": {"name": "a", "x": 1}}], "tools[0].function.x"),
                         ([{"type": "function", "function": {"name": "a", "description": 1}}], "tools[0].function.description"),
                         ([{"type": "function", "function": {"name": "a", "strict": "yes"}}], "tools[0].function.strict"),
                         (TOOLS * 43, "tools")):
        equal(error(tools=tools), (400, param), f"{tools}"[:80])
    for choice in ("required", "x", 1, {"type": "function", "function": {"name": "add"}}):
        equal(error(tools=TOOLS, tool_choice=choice), (400, "tool_choice"), f"{choice}")
    equal(S.chat(tools=None, tool_choice="auto", parallel_tool_calls=True).status, 200)
    for message, param in (({"role": "user", "content": "x", "tool_calls": []}, "messages[0].tool_calls"),
                           ({"role": "assistant", "tool_calls": {}}, "messages[0].tool_calls"),
                           ({"role": "assistant", "tool_calls": [{}]}, "messages[0].tool_calls[0]"),
                           ({"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "[1]"}}]},
                            "messages[0].tool_calls[0].function.arguments"),
                           ({"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": '{"a":"\\u0000"}'}}]},
                            "messages[0].tool_calls[0].function.arguments"),
                           ({"role": "assistant", "tool_calls": [dict(call("a"), id=1)]}, "messages[0].tool_calls[0]"),
                           ({"role": "assistant", "tool_calls": [dict(call("a"), type="x")]}, "messages[0].tool_calls[0]"),
                           ({"role": "assistant", "content": "x", "annotations": [{}]}, "messages[0].annotations"),
                           ({"role": "assistant", "content": "x", "annotations": {}}, "messages[0].annotations"),
                           ({"role": "tool"}, "messages[0].content")):
        r = S.post("/v1/chat/completions", {"model": "fake", "messages": [message]})
        equal((r.status, r.error()["param"]), (400, param), f"{message}")
        assert "u0000" not in f"{message}" or "NUL is refused" in r.error()["message"], r.error()


def response_formats():
    equal(S.chat(response_format={"type": "text"}).status, 200)
    for kind in ({"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}, {"type": "x"}, {"type": 1}, {}):
        r = S.chat(response_format=kind)
        equal((r.status, r.error()["param"]), (400, "response_format"))
        assert '"json_object"' in r.error()["message"], r.error()
    for fields in ({"ignore_eos": True}, {"min_tokens": 1}):
        equal(S.chat(response_format={"type": "json_object"}, **fields).error()["param"], "response_format")


def a_json_object_is_enforced():
    ask = dict(response_format={"type": "json_object"}, temperature=0)
    for said, want, reason in (('{"a":[1]}', '{"a":[1]}', "stop"), ('{"a":1} and more', '{"a":1}', "stop")):
        S.tell("say " + said)
        r = S.chat(headers={"X-Request-Id": "json"}, **ask).json()["choices"][0]
        equal((r["message"]["content"], r["finish_reason"]), (want, reason), said)
        equal(S.settled("json")["workload"]["decoding"], "greedy +")
    S.tell("say so {}")
    text = S.chat(max_tokens=20, **ask).json()["choices"][0]["message"]["content"]
    assert text.startswith("{"), text
    S.tell("say hello")
    plain = R.complete("12+30=", max_tokens=3, temperature=0).json()["choices"][0]["text"]
    complete = 0
    for seed in range(8):
        r = R.complete(("12+30=", "add 12 and 30>")[seed % 2], n=4, max_tokens=150, seed=100 * seed, temperature=1.5,
                       response_format={"type": "json_object"}).json()
        for choice in r["choices"]:
            assert choice["text"].startswith("{"), choice
            if choice["finish_reason"] == "stop":
                assert isinstance(json.loads(choice["text"], strict=True), dict), choice
                complete += 1
    assert complete >= 4 and not plain.startswith("{"), (complete, plain)


def the_embedded_model_calls_a_tool():
    message, reason = answer(None, R, text="07:32 warn disk read 120 ms\nadd 12 and 30>", max_tokens=40)
    equal((message["tool_calls"], reason), ([call("add", a=12, b=30)], "tool_calls"))


TESTS = [a_call_is_structured, odd_parameters_and_numbers, what_is_no_call_stays_text, text_is_streamed_and_a_call_is_held,
         messages_of_a_dialogue_with_tools, errors_name_their_field, response_formats, a_json_object_is_enforced, the_embedded_model_calls_a_tool]

if __name__ == "__main__":
    with FakeServer() as S, RealServer() as R:
        status = run_tests(TESTS)
        wait_until(lambda: S.counters()["active"] == 0, "no exchange is left behind")
    sys.exit(status)
