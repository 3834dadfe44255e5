#!/usr/bin/env python3
"""test_page_served.py: a real browser, the real server, the embedded model: record, numbers, a slower network.

What the page does with every kind of broken answer is in test_page.py. SERVELAB_TEST_MODEL names another GGUF file.
"""

# servelab-test: alone waits long
import json
import signal
import statistics
import sys
import tempfile
from pathlib import Path

import page_testing
from page_testing import Served, expect, expect_equal, expect_fits, expect_within, until

from delay_proxy import DelayProxy
from drive import ClassroomPage

SIX = [
    "request_submitted",
    "request_accepted",
    "request_admitted",
    "first_token",
    "first_byte_received",
    "final_byte_received",
]
WAIT_S = 240  # a prefill of 2,048 tokens under the address sanitizer, on a busy machine


def ask(browser, url, prompt=None, max_tokens=None):
    """One request through the page; returns the page, and the record as its download button gives it."""
    page = ClassroomPage(browser, url)
    if prompt is not None:
        page.set("prompt", prompt)
    if max_tokens is not None:
        page.set("max", max_tokens)
    page.send()
    page.finish(WAIT_S)
    with tempfile.TemporaryDirectory() as folder:
        path = page.download(folder)
        expect(path is not None, f"no record; the page says {page.text('problem')!r}")
        return page, path.read_bytes()


def check(served, raw):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "record.json")
        path.write_bytes(raw)
        return served.check(path)


def test_record(browser, served):
    """A preset's record has the six events, is plausible, and its prompt has exactly 2,048 tokens"""
    page, raw = ask(browser, served.url)
    record = json.loads(raw)
    names = [e["event"] for e in record["events"]]
    expect_equal([n for n in SIX if names.count(n) != 1], [], "events that aren't there once")
    status, said = check(served, raw)
    expect_equal((status, said["completion"]), (0, "completed"), "record check")
    expect_equal(record["workload"]["prompt_tokens"], 2048, "prompt tokens")
    expect(
        said["client_ttft_ns"] >= said["server_ttft_ns"] > 0 and said["e2e_ns"] >= said["client_ttft_ns"],
        f"implausible: {said}",
    )
    expect_equal(page.state(), "finished", "state")
    for event in (
        "request submitted",
        "request accepted",
        "request admitted",
        "first token",
        "first byte received",
        "final byte received",
    ):
        expect(event in page.text("events"), f"{event} isn't on the timeline")


def test_numbers(browser, served):
    """What the page shows is what `servelab record check --json` says, to the nanosecond"""
    _, raw = ask(browser, served.url, "12+30=", 16)
    _, said = check(served, raw)
    shown = browser.script(
        "return Object.fromEntries([...document.querySelectorAll('[data-key]')].map((n) => [n.dataset.key, n.title]))"
    )
    for key, title in shown.items():
        expect_equal(title, f"{said[key]:,} ns" if said[key] is not None else "", key)
    route = browser.script("return await (await fetch(`/v1/records/${args[0]}/intervals`)).json()", said["request_id"])
    differing = [k for k in {**said, **route} if route.get(k, "absent") != said.get(k, "absent")]
    expect_equal(differing, [], "members in which GET .../intervals differs from record check")


def test_verdict(browser, served):
    """The answer of a preset is judged by its named check; an edited prompt is not judged"""
    page, raw = ask(browser, served.url)
    record = json.loads(raw)
    expected = browser.script("return (await (await fetch('/v1/presets')).json()).presets[0].expected").strip()
    answer = page.text("answer").strip()
    expect_equal(record["quality"]["check"], "key-count/1", "check")
    expect_equal(
        record["quality"]["verdict"],
        "passed" if answer.startswith(expected) else "failed",
        f"verdict on {answer!r}, expected {expected!r}",
    )
    expect(f"quality {record['quality']['verdict']}" in page.text("verdicts"), page.text("verdicts"))
    page, raw = ask(browser, served.url, "? A1B2", 4)
    expect_equal(
        json.loads(raw)["quality"], {"check": None, "verdict": "not_evaluated"}, "quality of an edited prompt"
    )


def test_prefix_reuse(browser, served):
    """A prompt that was asked before is found in the KV cache; the page and the record say how much of it"""
    with page_testing.Served() as fresh:
        first = json.loads(ask(browser, fresh.url)[1])
        page, raw = ask(browser, fresh.url)
        second = json.loads(raw)
        expect_equal(first["workload"]["cached_prompt_tokens"], 0, "the first time")
        expect_equal(second["workload"]["cached_prompt_tokens"], 2032, "again: all but the last block")
        expect_equal(page.text("size"), "2,048 prompt tokens, 2,032 cached", "what the page says")


def test_size(browser, served):
    """A projector of 1920x1080 or 1280x720 shows the server's own presets and their results without scrolling"""
    try:
        for width, height in ((1920, 1080), (1280, 720)):
            browser.cdp(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
            page = ClassroomPage(browser, served.url)
            presets = page.presets()
            for name in (presets[0], presets[-2]):  # the longest answer; the tool call, with two verdicts
                page = ClassroomPage(browser, served.url)
                page.pick(name)
                expect_fits(browser, f"{name} at {width}x{height} before")
                page.send()
                page.finish(WAIT_S)
                expect_fits(browser, f"{name} at {width}x{height} after")
    finally:
        browser.cdp("Emulation.setDeviceMetricsOverride", width=1920, height=1080, deviceScaleFactor=1, mobile=False)


def test_log(browser, served):
    """The server's log has the joined record: both halves on one line"""
    _, raw = ask(browser, served.url, "12+30=", 8)
    rid = json.loads(raw)["request_id"]
    until(lambda: rid in served.log.read_text(encoding="utf-8").rpartition("\n")[0], "the request's line")
    lines = [json.loads(line) for line in served.log.read_text(encoding="utf-8").splitlines() if rid in line]
    expect_equal(len(lines), 1, "lines of this request")
    expect_equal(
        sorted(e["event"] for e in lines[0]["events"]), sorted(e["event"] for e in json.loads(raw)["events"]), "events"
    )


def unread_bytes(port):
    """How many bytes wait in the kernel for the server on this port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return sum(int(row[4].split(":")[1], 16) for row in rows if int(row[1].split(":")[1], 16) == port)


def test_cancel(browser, served):
    """Cancelling before the answer begins frees the server at its next step, and the record says so"""
    page = ClassroomPage(browser, served.url)
    # stopped meanwhile, so that it can't have answered before the key is pressed, however fast the machine
    served.process.send_signal(signal.SIGSTOP)
    try:
        page.send()
        browser.wait("return document.body.dataset.state === 'waiting'")
        prompt = browser.script("return document.getElementById('prompt').value.length")
        until(lambda: unread_bytes(served.port) > prompt, "the request's bytes are there")
        browser.press("escape")
    finally:
        served.process.send_signal(signal.SIGCONT)
    expect_equal(page.finish(WAIT_S), "cancelled", "state")
    expect("incomplete: cancelled" in page.text("verdicts"), page.text("verdicts"))
    page, _ = ask(browser, served.url, "12+30=", 4)
    expect_equal(page.state(), "finished", "state of the next request")


def test_refusal(browser, served):
    """A request that can't be served is refused in words that name the field"""
    page = ClassroomPage(browser, served.url)
    browser.script("document.getElementById('max').max = 1e9")
    page.set("max", 99999999)
    page.send()
    expect_equal(page.finish(WAIT_S), "failed", "state")
    expect("max_tokens" in page.text("problem"), page.text("problem"))


def test_isolated(browser, served):
    """The real server gives the page its fine clock, and nothing comes from elsewhere"""
    page, _ = ask(browser, served.url, "12+30=", 4)
    expect_equal(page.text("step"), "5 µs", "clock step")
    names = browser.script("return performance.getEntriesByType('resource').map((r) => r.name)")
    expect_equal(
        [n for n in names if not n.startswith(served.url) and not n.startswith("data:")], [], "requests to elsewhere"
    )
    expect_equal([m for m in browser.log() if "400" not in m], [], "console")


ROUND_TRIP_MS, TOLERANCE_MS, TIMES = 200, 40, 7


def test_network_delay(browser, served):
    """A network slower by 200 ms moves client TTFT and end-to-end by 200 ms, and nothing on the server's clock"""
    proxy = DelayProxy(served.port, ROUND_TRIP_MS / 1000)
    took = {served.url: [], proxy.url: []}
    try:
        for _ in range(TIMES):  # in turn, so that a busy machine burdens both alike
            for url, numbers in took.items():
                _, raw = ask(browser, url, "12+30=", 16)
                numbers.append(check(served, raw)[1])
    finally:
        proxy.stop()
    for key, moves_by in (
        ("client_ttft_ns", ROUND_TRIP_MS),
        ("e2e_ns", ROUND_TRIP_MS),
        ("server_ttft_ns", 0),
        ("queue_delay_ns", 0),
    ):
        # the least of each: what a busy machine adds only ever makes an interval longer
        near, far = (min(n[key] for n in numbers) / 1e6 for numbers in took.values())
        medians = [statistics.median(n[key] for n in numbers) / 1e6 for numbers in took.values()]
        print(
            f"# {key[:-3]}: least of {TIMES} {near:.3f} ms, on the slow network {far:.3f} ms, moved {far - near:.3f}"
            f" (medians moved {medians[1] - medians[0]:.3f})"
        )
        expect_within(far - near, moves_by - TOLERANCE_MS, moves_by + TOLERANCE_MS, f"{key} moved by, in ms")


def test_paced(browser, served):
    """A paced server's page says that its times are simulated, and an answer lasts as long as the simulated machine needs"""
    with page_testing.Served("--pace", "llama-2-7b:a100", "--prefix-cache", "off") as paced:
        page, raw = ask(browser, paced.url, prompt="12+30=", max_tokens=64)
        expect_equal(page.text("paced"), "paced: llama-2-7b on a100, simulated", "the label")
        record = json.loads(raw)
        expect_equal(record["workload"]["paced"], "llama-2-7b on a100", "the record's label")
        # each step of a 7B model takes at least 9 ms there, whatever this machine is; the first token may be sent late
        admitted = next(e["t_ns"] for e in record["events"] if e["event"] == "request_admitted")
        last = max(e["t_ns"] for e in record["events"] if e["event"] == "token_sent" and e["tokens"] > 0)
        per_token_ms = (last - admitted) / 1e6 / record["workload"]["output_tokens"]
        expect(per_token_ms > 8.5, f"{per_token_ms:.1f} ms a token")
    page = ClassroomPage(browser, served.url)
    expect_equal(page.text("paced"), "", "an unpaced server has no label")


def test_server_dies(browser, served):
    """A server that dies within an answer leaves the page with words, not with a frozen counter"""
    with Served() as other:
        page = ClassroomPage(browser, other.url)
        # stopped, so that it can't be done before it is killed, however fast the machine
        other.process.send_signal(signal.SIGSTOP)
        page.send()
        browser.wait("return document.body.dataset.state !== 'idle'")
        other.process.kill()
        expect_equal(page.finish(60), "failed", "state")
        expect(page.text("problem") != "", "no word about it")


TESTS = [f for name, f in list(globals().items()) if name.startswith("test_")]

if __name__ == "__main__":
    with Served() as server:
        sys.exit(page_testing.run(TESTS, served=server))
