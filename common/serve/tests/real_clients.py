"""real_clients.py URL MODEL CLIENT N: sends N requests with one Python client, unmodified, and prints how many completed.

Runs in build/venv-clients, which has the clients; check_clients.py starts it. A request completes when the client's own
call returns text, or a stream with at least one chunk. The first error goes to stderr.
"""
import asyncio
import os
import sys
import traceback

URL, MODEL, CLIENT, N = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
QUESTIONS = [f"{i}+30=" for i in range(N)]
KEY = {"api_key": "none"}


def messages(text):
    return [{"role": "user", "content": text}]


def openai_sync():
    import openai
    c = openai.OpenAI(base_url=URL, max_retries=0, **KEY)
    yield lambda q: c.chat.completions.create(model=MODEL, messages=messages(q), max_tokens=8).choices[0].message.content
    yield lambda q: list(c.completions.create(model=MODEL, prompt=q, max_tokens=8, stream=True))


def openai_async():
    import openai

    async def one(q):
        c = openai.AsyncOpenAI(base_url=URL, max_retries=0, **KEY)
        stream = await c.chat.completions.create(model=MODEL, messages=messages(q), max_tokens=8, stream=True)
        return [chunk async for chunk in stream]

    yield lambda q: asyncio.run(one(q))


def litellm():
    import litellm
    to = dict(api_base=URL, max_tokens=8, num_retries=0, **KEY)
    yield lambda q: litellm.completion(model="openai/" + MODEL, messages=messages(q), **to).choices[0].message.content
    yield lambda q: list(litellm.completion(model="hosted_vllm/" + MODEL, messages=messages(q), stream=True, **to))
    yield lambda q: litellm.text_completion(model="text-completion-openai/" + MODEL, prompt=q, **to).choices[0].text


def langchain():
    from langchain_openai import ChatOpenAI, OpenAI
    to = dict(model=MODEL, base_url=URL, max_retries=0, max_tokens=8, **KEY)
    chat, text = ChatOpenAI(**to), OpenAI(**to)
    yield lambda q: chat.invoke(q).content
    yield lambda q: list(chat.stream(q))
    yield text.invoke
    yield lambda q: list(text.stream(q))


CALLS = {f.__name__: f for f in (openai_sync, openai_async, litellm, langchain)}


def main():
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would ask the network for prices
    done = shown = calls = 0
    for call in CALLS[CLIENT]():
        calls += 1
        for q in QUESTIONS:
            try:
                assert call(q) is not None
                done += 1
            except Exception:
                if not shown:
                    traceback.print_exc()
                shown = 1
    print(f"completed {done} of {calls * N}")
    return 0 if done == calls * N else 1


sys.exit(main())
