#!/usr/bin/env python3
"""test_answers.py: several answers to one request, several prompts in one, log-probabilities and echo, over HTTP.

Over the fake backend with eight positions, whose likely token has the logit 20 and all others 0, and over the embedded
model.
"""
# servelab-test: waits
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_http_shapes import CLIENT_EVENTS, completion_reason  # noqa: E402
from harness import FakeServer, RealServer, equal, names, read_until, run_tests, stamps, wait_until  # noqa: E402

QUESTION = "key K7Q2 4815\n07:32 warn disk read 120 ms\n? K7Q2"


def near(got, want, what=""):
    assert abs(got - want) <= 1e-5 * (1 + abs(want)), f"{what} got {got!r}, want {want!r}"


def joined(chunks):
    """The log-probabilities of a stream's chunks as one object."""
    whole = {}
    for c in chunks:
        for key, values in (c["choices"][0]["logprobs"] or {}).items():
            whole[key] = whole.get(key, []) + values if isinstance(values, list) else values
    return whole


# ---- log-probabilities -----------------------------------------------------------------------------------------------


def chat_logprobs():
    S.tell("say a\\xe2\\x82\\xac")
    r = S.chat(logprobs=True, top_logprobs=2, temperature=0).json()["choices"][0]
    content = r["logprobs"]["content"]
    equal((r["message"]["content"], r["logprobs"]["refusal"]), ("a€", None))
    equal([t["token"] for t in content[:4]], ["a", "bytes:\\xe2", "bytes:\\x82", "bytes:\\xac"])
    equal([t["bytes"] for t in content[:4]], [[97], [0xe2], [0x82], [0xac]])
    equal(len(content), 5, "the end token is the last one")
    likely = content[0]["logprob"]
    assert -1e-3 < likely < 0, likely
    top = content[0]["top_logprobs"]
    equal((top[0]["token"], top[0]["logprob"], len(top)), ("a", likely, 2))
    near(top[1]["logprob"], likely - 20)
    streamed = joined(S.chat(logprobs=True, top_logprobs=2, temperature=0, stream=True).chunks())
    equal(streamed, r["logprobs"])
    r = S.chat(logprobs=True, temperature=0).json()["choices"][0]["logprobs"]["content"]
    equal([t["top_logprobs"] for t in r], [[]] * 5)
    equal(S.chat(logprobs=False).json()["choices"][0]["logprobs"], None)
    S.tell("say hello")


def completion_logprobs_have_the_right_offsets():
    S.tell("say a\\xe2\\x82\\xac\\xffb")
    for echo in (False, True):
        r = S.complete("xé", logprobs=0, temperature=0, echo=echo).json()["choices"][0]
        equal(r["text"], ("xé" if echo else "") + "a€\ufffdb")
        lists = r["logprobs"]
        equal(lists["tokens"][-7:-1], ["a", "bytes:\\xe2", "bytes:\\x82", "bytes:\\xac", "bytes:\\xff", "b"])
        first = 2 if echo else 0
        equal(lists["text_offset"], ([0, 1] if echo else []) + [first + i for i in (0, 1, 1, 1, 2, 3, 4)])
        assert all(len(v) == len(lists["tokens"]) for v in lists.values())
        equal([list(t) for t in lists["top_logprobs"][-7:]], [[t] for t in lists["tokens"][-7:]], "the chosen one alone")
    S.tell("say hello")


def whole_and_streamed_agree():
    for fields in ({"logprobs": 2}, {"logprobs": 5, "echo": True}, {"logprobs": 1, "echo": True, "max_tokens": 0},
                   {"logprobs": 3, "stop": "ll"}, {"echo": True}):
        whole = S.complete("xyz", temperature=0, **fields).json()["choices"][0]
        chunks = S.complete("xyz", temperature=0, stream=True, **fields).chunks()
        equal("".join(c["choices"][0]["text"] for c in chunks), whole["text"], f"{fields}")
        equal(joined(chunks), whole["logprobs"] or {}, f"{fields}")
        equal(chunks[-1]["choices"][0]["finish_reason"], whole["finish_reason"])


def tokens_of_a_stop_string_are_listed():
    r = S.complete(stop="ll", logprobs=0, temperature=0).json()
    equal((r["choices"][0]["text"], r["choices"][0]["logprobs"]["tokens"]), ("he", list("hell")))
    equal(r["usage"]["completion_tokens"], 4)


# ---- echo ------------------------------------------------------------------------------------------------------------


def echo_scores_the_prompt():
    r = S.complete("xyz", echo=True, logprobs=1, temperature=0, max_tokens=2).json()
    choice = r["choices"][0]
    equal((choice["text"], choice["logprobs"]["tokens"]), ("xyzhe", list("xyzhe")))
    equal(choice["logprobs"]["text_offset"], [0, 1, 2, 3, 4])
    equal((choice["logprobs"]["token_logprobs"][0], choice["logprobs"]["top_logprobs"][0]), (None, None))
    assert all(-1e-3 < p < 0 for p in choice["logprobs"]["token_logprobs"][1:]), choice
    equal([list(t)[0] for t in choice["logprobs"]["top_logprobs"][1:]], list("yzhe"))
    equal(r["usage"], {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5})


def echo_alone_generates_nothing():
    for stream in (False, True):
        r = S.complete([120, 121, 122], echo=True, logprobs=0, max_tokens=0, stream=stream,
                       headers={"X-Request-Id": f"echo-{stream}"})
        choice = (r.chunks() if stream else [r.json()])[0]["choices"][0]
        equal((choice["text"], choice["logprobs"]["tokens"]), ("xyz", ["x", "y", "z"]))
        record = S.settled(f"echo-{stream}")
        equal((record["workload"]["output_tokens"], record["outcome"]["finish_reason"]), (0, "length"))
        assert "first_token" not in names(record) and "response_finished" in names(record)
    r = S.complete("xyz", max_tokens=0)
    equal((r.status, r.error()["param"]), (400, "max_tokens"))


def a_long_prompt_is_scored_in_parts():
    prompt = "".join(chr(100 + i % 20) for i in range(100))
    r = S.complete(prompt, echo=True, logprobs=1, temperature=0).json()["choices"][0]
    equal(r["text"], prompt + "hello")
    equal(r["logprobs"]["tokens"][:105], list(prompt + "hello"))
    equal(r["logprobs"]["text_offset"], list(range(106)))


def an_echo_of_special_tokens_has_their_text():
    text = "<|im_start|>x<|im_end|>"
    r = S.complete(text, echo=True, logprobs=0, max_tokens=0).json()["choices"][0]
    equal((r["text"], r["logprobs"]["tokens"], r["logprobs"]["text_offset"]),
          (text, ["<|im_start|>", "x", "<|im_end|>"], [0, 12, 13]))


# ---- several answers -------------------------------------------------------------------------------------------------


def n_answers_in_one_reply():
    for ask, text in ((S.chat, lambda c: c["message"]["content"]), (S.complete, lambda c: c["text"])):
        r = ask(n=3).json()
        equal([(c["index"], text(c), c["finish_reason"]) for c in r["choices"]], [(i, "hello", "stop") for i in range(3)])
        equal(r["usage"], {"prompt_tokens": 1, "completion_tokens": 15, "total_tokens": 16})


def n_answers_in_one_stream():
    for ask, text in ((S.chat, lambda c: c["delta"].get("content", "")), (S.complete, lambda c: c["text"])):
        r = ask(n=3, stream=True, stream_options={"include_usage": True})
        equal(r.events()[-1], "[DONE]")
        *chunks, last = r.chunks()
        texts = [""] * 3
        for c in chunks:
            texts[c["choices"][0]["index"]] += text(c["choices"][0])
        equal(texts, ["hello"] * 3)
        ends = [c["choices"][0]["index"] for c in chunks if c["choices"][0]["finish_reason"]]
        equal(sorted(ends), [0, 1, 2])
        equal((last["choices"], last["usage"]),
              ([], {"prompt_tokens": 1, "completion_tokens": 15, "total_tokens": 16}))
        if ask == S.chat:
            roles = [c["choices"][0]["index"] for c in chunks if "role" in c["choices"][0]["delta"]]
            equal(sorted(roles), [0, 1, 2], "each choice has its role once")


def several_prompts_come_prompt_by_prompt():
    for prompt in (["xy", "uvw"], [[120, 121], [117, 118, 119]]):
        r = S.complete(prompt, n=2, echo=True, max_tokens=1).json()
        equal([(c["index"], c["text"]) for c in r["choices"]], [(0, "xyh"), (1, "xyh"), (2, "uvwh"), (3, "uvwh")])
        equal(r["usage"], {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9})
    r = S.complete(["x", ""])
    equal((r.status, r.error()["param"]), (400, "prompt[1]"))
    r = S.complete(["x", "y" * 300], n=2)
    equal((r.status, r.error()["param"], r.error()["code"]), (400, "prompt[1]", "context_length_exceeded"))


def each_answer_has_its_record():
    for stream in (False, True):
        name = f"three-{stream}"
        S.complete(["x", "yz", "w"], stream=stream, headers={"X-Request-Id": name, "X-Attempt": "2"})
        records = [S.settled(name + more) for more in ("", "-1", "-2")]
        equal([r["request_id"] for r in records], [name, name + "-1", name + "-2"])
        for record, prompt_tokens in zip(records, (1, 2, 1)):
            equal((record["attempt"], record["outcome"]["http_status"], record["outcome"]["finish_reason"]),
                  (2, 200, "stop"))
            equal((record["workload"]["prompt_tokens"], record["workload"]["output_tokens"]), (prompt_tokens, 5))
            equal(sum(e["tokens"] for e in stamps(record, "token_sent")), 5)
            equal(names(record)[0], "request_accepted")
            equal(names(record)[-1], "response_finished")
        equal(len({stamps(r, "request_accepted")[0]["t_ns"] for r in records}), 1)
        assert "delivered" not in [completion_reason(r) for r in records], "valid, and without the client's half"
        equal(S.post(f"/v1/records/{name}/events", {"events": CLIENT_EVENTS}).status, 200)
        equal(completion_reason(S.record(name)), "delivered", "the client's half belongs to the first")
    r = S.complete(n=2, headers={"X-Request-Id": "x" * 62})
    equal((r.status, r.error()["param"]), (400, "X-Request-Id"))
    S.complete(headers={"X-Request-Id": "taken-1"})
    r = S.complete(n=2, headers={"X-Request-Id": "taken"})
    equal((r.status, r.error()["param"]), (409, "X-Attempt"))


def a_client_that_leaves_drops_all():
    S.tell("allow 2")
    sock = S.connect()
    S.send_completion(sock, stream=True, n=3, headers=["X-Request-Id: left"])
    read_until(sock, b"data: ")
    sock.close()
    S.tell("open")
    for more in ("", "-1", "-2"):
        equal(names(S.settled("left" + more))[-1], "request_cancelled", more)
    wait_until(lambda: S.counters()["running"] + S.counters()["waiting"] == 0, "nothing runs on")


def a_fault_ends_all():
    for stream in (False, True):
        S.tell("fail 1")
        r = S.complete(n=3, stream=stream, headers={"X-Request-Id": f"fault-{stream}"})
        equal((r.status, r.error()["type"]), (500, "server_error"))
        for more in ("", "-1", "-2"):
            record = S.settled(f"fault-{stream}{more}")
            assert names(record)[-1] in ("request_failed", "request_cancelled"), names(record)
    equal(S.complete(n=3).status, 200, "and the server goes on")


def the_queue_takes_all_or_none():
    with FakeServer(max_waiting=3) as small:
        r = small.complete(n=4, headers={"X-Request-Id": "four"})
        equal((r.status, r.error()["code"], r.headers["Retry-After"]), (429, "queue_full", "1"))
        for more in ("", "-1", "-2", "-3"):
            equal(names(small.settled("four" + more))[-1], "request_rejected")
        equal(small.counters()["waiting"], 0)
        equal(len(small.complete(n=3).json()["choices"]), 3)


# ---- the embedded model ----------------------------------------------------------------------------------------------


def echoed_scores_are_those_of_generation():
    made = R.complete(QUESTION, temperature=0, logprobs=3, max_tokens=4).json()["choices"][0]
    equal(made["text"], " 4815")
    again = R.complete(QUESTION + made["text"], temperature=0, logprobs=3, echo=True, max_tokens=0).json()["choices"][0]
    n = len(made["logprobs"]["tokens"])
    equal(again["logprobs"]["tokens"][-n:], made["logprobs"]["tokens"])
    equal(again["logprobs"]["token_logprobs"][-n:], made["logprobs"]["token_logprobs"])
    equal(again["logprobs"]["top_logprobs"][-n:], made["logprobs"]["top_logprobs"])
    equal("".join(again["logprobs"]["tokens"]), QUESTION + made["text"], "without the bos that the server added")
    for token, offset in zip(again["logprobs"]["tokens"], again["logprobs"]["text_offset"]):
        assert again["text"].startswith(token, offset), (token, offset)
    for likely, p, top in zip(made["logprobs"]["tokens"], made["logprobs"]["token_logprobs"],
                              made["logprobs"]["top_logprobs"]):
        equal((max(top, key=top.get), max(top.values())), (likely, p), "greedy takes the likeliest")


def a_bos_of_the_text_is_not_the_added_one():
    """add_special_tokens false leaves out what the server added, and nothing of the text."""
    bos, a = R.post("/tokenize", {"prompt": "a"}).json()["tokens"]
    text = R.post("/detokenize", {"tokens": [bos]}).json()["prompt"]
    for prompt, special, want in (("a", True, [bos, a]), ("a", False, [a]), (text + "a", True, [bos, a]),
                                  (text + "a", False, [bos, a]), (text, False, [bos]), ("", False, [])):
        equal(R.post("/tokenize", {"prompt": prompt, "add_special_tokens": special}).json()["tokens"], want, (prompt, special))


def log_likelihoods_as_lm_eval_asks():
    """Its request: the ids of context and continuation, one more token, and what it reads of the reply."""
    def loglikelihood(continuation):
        r = R.complete(QUESTION + continuation, temperature=0, max_tokens=1, logprobs=1, seed=1234, echo=True)
        lists = r.json()["choices"][0]["logprobs"]
        from_token = next(i for i, o in enumerate(lists["text_offset"]) if o == len(QUESTION))
        pairs = list(zip(lists["tokens"], lists["top_logprobs"]))[from_token:-1]
        return sum(lists["token_logprobs"][from_token:-1]), all(t == max(top, key=top.get) for t, top in pairs)
    right, greedy = loglikelihood(" 4815")
    wrong, not_greedy = loglikelihood(" 4185")
    assert right > -1 and wrong < right - 3 and greedy and not not_greedy, (right, greedy, wrong, not_greedy)


def answers_differ_and_repeat_by_seed():
    def texts():
        r = R.complete("07:32 ", n=4, temperature=2, seed=7, max_tokens=12).json()
        return [c["text"] for c in r["choices"]]
    first = texts()
    equal(len(set(first)), 4)
    equal(texts(), first)
    alone = R.complete("07:32 ", temperature=2, seed=9, max_tokens=12).json()["choices"][0]["text"]
    equal(alone, first[2], "choice k has the seed + k")


TESTS = [chat_logprobs, completion_logprobs_have_the_right_offsets, whole_and_streamed_agree,
         tokens_of_a_stop_string_are_listed, echo_scores_the_prompt, echo_alone_generates_nothing,
         a_long_prompt_is_scored_in_parts, an_echo_of_special_tokens_has_their_text, n_answers_in_one_reply,
         n_answers_in_one_stream, several_prompts_come_prompt_by_prompt, each_answer_has_its_record,
         a_client_that_leaves_drops_all, a_fault_ends_all, the_queue_takes_all_or_none,
         echoed_scores_are_those_of_generation, a_bos_of_the_text_is_not_the_added_one,
         log_likelihoods_as_lm_eval_asks, answers_differ_and_repeat_by_seed]

if __name__ == "__main__":
    with FakeServer(positions=8) as S, RealServer() as R:
        status = run_tests(TESTS)
        wait_until(lambda: S.counters()["active"] == 0, "no exchange is left behind")
    sys.exit(status)
