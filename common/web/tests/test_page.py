#!/usr/bin/env python3
"""test_page.py: the classroom page in a real browser, against a scripted server that misbehaves on request.

The numbers of the real server are test_page_served.py's; here it is what the page does: which bytes start the clock,
what the page says when something breaks, keyboard, size, contrast, and that nothing comes from outside.
"""

# servelab-test: waits long
import json
import re
import sys
import tempfile
import time
from pathlib import Path

import page_testing
from page_testing import HERE, expect, expect_equal, expect_fits, expect_within, until
from mock_server import MockServer

from drive import ClassroomPage

WEB = HERE.parent


def play(browser, mock, script, timeout_s=60):
    """Sends a prompt whose last line names the script; returns the page and the record it left, {} for none."""
    page = ClassroomPage(browser, mock.url)
    page.set("prompt", f"a prompt\n{script}")
    page.send()
    page.finish(timeout_s)
    return page, latest(mock)


def begin(browser, mock, script="held"):
    """Sends a prompt whose answer the mock holds back until mock.http.go is set; returns the page once that is so."""
    page = ClassroomPage(browser, mock.url)
    mock.http.go.clear()
    known = len(mock.http.records)
    page.set("prompt", script)
    page.send()
    until(lambda: len(mock.http.records) > known and "request_admitted" in times(latest(mock)), "the request is admitted")
    return page


def latest(mock):
    return list(mock.http.records.values())[-1] if mock.http.records else {}


def times(record):
    return {e["event"]: e["t_ns"] / 1e6 for e in record["events"] if e["event"] != "token_sent"}


def card(browser, key):
    return browser.script("return document.querySelector(`[data-key=${args[0]}]`).textContent", key)


# ---- the event stream -------------------------------------------------------------------------------------------

SPLITTING = r"""
const { SseParser } = await import("/sse.js");
const bodies = [
  'data: {"a":1}\n\ndata: {"b":"é日😀"}\n\ndata: [DONE]\n\n',
  'data: {"a":\r\ndata: 1}\r\n\r\n: comment\r\ndata:{"b":2}\r\n\r\n',
  'data: {"a":\rdata: 1}\r\r:\r\rdata:  two\r\r',
  '\ufeffevent: x\nid: 7\nretry: 1\ndata\ndata: y\n\n\n\ndata: z\n\n',
  'data: cut in the mid',
];
const want = [
  ['{"a":1}', '{"b":"é日😀"}', '[DONE]'], ['{"a":\n1}', '{"b":2}'], ['{"a":\n1}', ' two'], ['\ny', 'z'], [],
];
const wrong = [];
let tried = 0;
bodies.forEach((text, which) => {
  const bytes = new TextEncoder().encode(text);
  const check = (cuts) => {
    const parser = new SseParser();
    const got = [];
    let from = 0;
    for (const to of [...cuts, bytes.length]) { got.push(...parser.push(bytes.slice(from, to))); from = to; }
    const cut = parser.end();
    tried++;
    const same = JSON.stringify(got) === JSON.stringify(want[which]) && cut === (which === 4);
    if (!same) wrong.push([which, cuts, got, cut]);
  };
  check([]);
  check([...bytes.keys()]);
  for (let i = 0; i <= bytes.length; i++) { check([i]); for (let j = i; j <= bytes.length; j++) check([i, j]); }
});
return { wrong: wrong.slice(0, 3), tried };
"""


def test_sse_splits(browser, mock):
    """Every split of a stream into one, two or three reads gives the same events"""
    ClassroomPage(browser, mock.url)
    result = browser.script(SPLITTING)
    expect_equal(result["wrong"], [], "splits that changed the events (body, cuts, events, cut)")
    expect(result["tried"] > 5000, f"only {result['tried']} splits were tried")


def test_sse_bound(browser, mock):
    """A line without end is refused instead of filling the memory"""
    ClassroomPage(browser, mock.url)
    said = browser.script("""const { SseParser } = await import("/sse.js");
        const parser = new SseParser(), piece = new Uint8Array(65536).fill(65);
        try { for (let i = 0; i < 64; i++) parser.push(piece); } catch (e) { return e.message; } return "took it";""")
    expect("million" in said, said)


def test_events_read(browser, mock):
    """What counts as generated content, and what is a fault"""
    ClassroomPage(browser, mock.url)
    cases = [
        ('{"choices":[{"delta":{"role":"assistant"}}]}', "", None),
        ('{"choices":[{"delta":{"content":""}}]}', "", None),
        ('{"choices":[{"delta":{"content":null}}]}', "", None),
        ('{"choices":[],"usage":{"completion_tokens":1}}', "", None),
        ('{"choices":[{"delta":{"content":"x"}}]}', "x", None),
        ('{"choices":[{"text":"y"}]}', "y", None),
        ('{"choices":[{"delta":{"tool_calls":[{"function":{"name":"sub","arguments":"{"}}]}}]}', "sub{", None),
        ('{"error":"plain words"}', None, "plain words"),
        ('{"error":{"message":"in an object"}}', None, "in an object"),
        ('{"error":{"code":7}}', None, '{"code":7}'),
        ("null", None, "isn't a chunk"),
        ("[1]", None, "isn't a chunk"),
        ("{", None, "isn't JSON"),
    ]
    got = browser.script(
        """const { readEvent } = await import("/sse.js"); return args[0].map(readEvent);""", [c[0] for c in cases]
    )
    for (data, text, fault), event in zip(cases, got):
        expect_equal(event.get("text"), text, data)
        expect(
            (fault is None) == ("fault" not in event) and (fault or "") in event.get("fault", ""), f"{data}: {event}"
        )


def test_role_only(browser, mock):
    """A role-only and an empty chunk aren't a first token"""
    _, record = play(browser, mock, "role-first")
    t = times(record)
    waited_ms = t["first_byte_received"] - t["request_submitted"]
    expect(waited_ms >= 300, f"client TTFT is {waited_ms} ms, but content comes after 300")


def test_usage_chunk(browser, mock):
    """The usage chunk and [DONE] extend neither the last text nor TTFT, only the end of the body"""
    page = begin(browser, mock, "late-usage")
    browser.wait("return document.getElementById('answer').textContent === 'one two'")
    time.sleep(0.3)  # how long usage and [DONE] lag behind the text that is there
    mock.http.go.set()
    page.finish()
    t = times(latest(mock))
    rest_ms = t["final_byte_received"] - t["first_byte_received"]
    expect(rest_ms >= 300, f"from the first byte to the end of the body {rest_ms} ms, want at least 300")
    last, right = browser.script(
        """const at = [...document.querySelector('#timeline .tick').getAttribute('d').matchAll(/M([\\d.]+)/g)];
        const bar = document.querySelector('#timeline .whole');
        return [Number(at.at(-1)[1]), Number(bar.getAttribute('x')) + Number(bar.getAttribute('width'))];"""
    )
    expect(last < right - 100, f"the last text's tick is at {last}, the end of the bar at {right}")


def test_bytewise(browser, mock):
    """A stream that comes byte by byte, with CRLF, comments, split and invalid UTF-8, reads as it was meant"""
    page, record = play(browser, mock, "bytewise")
    expect_equal(page.text("answer"), "naïve 日本 two lines bad \ufffd byte", "text")
    expect_equal(page.state(), "finished", "state")


def test_empty(browser, mock):
    """An empty answer has no time to first token: absent, not zero"""
    page, record = play(browser, mock, "empty")
    expect("first_byte_received" not in times(record), "the page claims to have seen a first byte")
    expect_equal(card(browser, "client_ttft_ns"), "absent", "client TTFT")
    expect("never began" in page.text("sentence"), page.text("sentence"))


def test_in_band_error(browser, mock):
    """An error inside a 200 stream is reported in words"""
    page, _ = play(browser, mock, "in-band")
    expect_equal(page.state(), "failed", "state")
    expect("error inside the answer: the engine lost its memory" in page.text("problem"), page.text("problem"))


def test_no_end(browser, mock):
    """A stream with neither finish reason nor [DONE] is an answer broken off"""
    page, _ = play(browser, mock, "no-end")
    expect_equal(page.state(), "failed", "state")
    expect("broke off" in page.text("problem"), page.text("problem"))


def test_no_done(browser, mock):
    """A finish reason without [DONE] is a complete answer"""
    page, _ = play(browser, mock, "no-done")
    expect_equal((page.state(), page.text("problem")), ("finished", ""), "state and problem")


def test_not_json(browser, mock):
    """Text that isn't JSON is a fault that is shown, and the end is still stamped"""
    page, record = play(browser, mock, "not-json")
    expect_equal(page.state(), "failed", "state")
    expect("isn't JSON" in page.text("problem"), page.text("problem"))
    expect("final_byte_received" in times(record), "no end stamped")


def test_broken(browser, mock):
    """A connection that breaks leaves no final byte, and is reported in words"""
    page, record = play(browser, mock, "broken")
    expect_equal(page.state(), "failed", "state")
    expect("connection broke" in page.text("problem"), page.text("problem"))
    t = times(record)
    expect("first_byte_received" in t and "final_byte_received" not in t, f"stamps: {t}")
    expect_equal(card(browser, "e2e_ns"), "absent", "end-to-end")


def test_refused(browser, mock):
    """A refusal shows the server's own sentence and leaves a record without intervals"""
    page, record = play(browser, mock, "refuse")
    expect_equal(page.state(), "failed", "state")
    expect("max_tokens takes a whole number" in page.text("problem"), page.text("problem"))
    expect_equal(card(browser, "e2e_ns"), "absent", "end-to-end")


def test_server_away(browser, mock):
    """A server that is gone is reported in words, and the page can be used again"""
    other = MockServer().start()
    page = ClassroomPage(browser, other.url)
    other.stop()
    page.send()
    page.finish()
    expect(
        "can’t be reached" in page.text("problem") or "can't be reached" in page.text("problem"), page.text("problem")
    )
    expect(not browser.script("return document.getElementById('send').hidden"), "the send button is gone")


# ---- a person at the page ---------------------------------------------------------------------------------------


def test_cancel(browser, mock):
    """Escape cancels: the server sees it, the record has no answer, the focus stays in place"""
    page = begin(browser, mock)
    expect_equal(page.focused(), "cancel", "focus while it waits")
    browser.press("escape")
    expect_equal(page.finish(), "cancelled", "state")
    t = times(latest(mock))
    expect("request_cancelled" in t, f"the server's events: {sorted(t)}")
    expect("request_submitted" in t and "first_byte_received" not in t, f"the browser's events: {sorted(t)}")
    expect_equal(page.focused(), "send", "focus afterwards")


def test_asked_before_it_is_read(browser, mock):
    """A record that isn't there yet, because the server hasn't read the request, is awaited without an error"""
    browser.log()
    mock.http.asked_unknown.clear()
    mock.http.read.clear()
    page = ClassroomPage(browser, mock.url)
    page.set("prompt", "unread")
    page.send()
    expect(mock.http.asked_unknown.wait(60), "the page never asked for its record")
    mock.http.read.set()
    expect_equal(page.finish(), "finished", "state")
    expect("request_submitted" in times(latest(mock)), "the browser's events weren't joined")
    expect_equal(browser.log(), [], "console")


def test_cancelled_before_it_is_read(browser, mock):
    """A request that is cancelled before the server has read it still gets its record"""
    mock.http.read.clear()
    sent = len(mock.http.bodies)
    page = ClassroomPage(browser, mock.url)
    page.set("prompt", "unread")
    page.send()
    until(lambda: len(mock.http.bodies) > sent, "the request's bytes are there")
    browser.press("escape")
    browser.wait("return document.body.dataset.state === 'cancelled'")
    mock.http.asked_unknown.clear()
    expect(mock.http.asked_unknown.wait(60), "the page doesn't wait for the record")
    mock.http.read.set()
    expect_equal(page.finish(), "cancelled", "state")
    expect_equal(page.text("problem"), "", "problem")
    expect("request_submitted" in times(latest(mock)), "the browser's events weren't joined")


def test_send_again(browser, mock):
    """The next prompt can be sent while the last one's record is still awaited, and only the next one shows"""
    page = begin(browser, mock)
    first = latest(mock)["request_id"]
    browser.press("escape")
    browser.wait("return document.body.dataset.state === 'cancelled'")
    page.set("prompt", "no-done")
    page.send()
    expect_equal(page.finish(), "finished", "state of the second")
    until(lambda: first in mock.http.measured, "the first one's record is fetched")
    browser.script("await (await fetch('/v1/models')).text()")  # and what came before it is taken
    expect_equal(page.text("answer"), "fine", "answer")
    expect("cancelled" not in page.text("verdicts"), page.text("verdicts"))


def test_progress(browser, mock):
    """While it waits the page counts the time and says what the server does; its events appear"""
    before = time.monotonic()
    page = begin(browser, mock)
    browser.wait("return document.getElementById('events').textContent.includes('request admitted')")
    expect_equal(page.state(), "waiting", "state when the server's first events are shown")
    first = float(page.text("elapsed").split()[0])
    browser.wait(f"return parseFloat(document.getElementById('elapsed').textContent) >= {first + 1}")
    second = float(page.text("elapsed").split()[0])
    expect_within(second, first + 1, time.monotonic() - before + 0.1, "seconds counted since the sending")
    expect("reading" in page.text("status"), page.text("status"))
    browser.press("escape")
    page.finish()


def test_keyboard(browser, mock):
    """Everything can be reached, seen and pressed with the keyboard alone"""
    page = ClassroomPage(browser, mock.url)
    page.pick("quick")
    expect(
        "quick" in browser.script("return document.getElementById('prompt').value"), "the prompt isn't the chosen one"
    )
    for element in ("prompt", "max", "send", "answer", "theme"):
        page.focus(element)
        style = browser.script(
            "const s = getComputedStyle(document.activeElement); return [s.outlineStyle, parseFloat(s.outlineWidth)]"
        )
        expect(style[0] == "solid" and style[1] >= 2, f"the focus on {element} can't be seen: {style}")
    page.focus("prompt")
    browser.press("end", holding=["control"])
    browser.press("enter", "n", "o", "-", "d", "o", "n", "e")
    expect_equal(page.chosen(), "own", "the prepared prompt after typing")
    browser.press("enter", holding=["control"])
    expect_equal(page.finish(), "finished", "state after Ctrl-Enter")
    expect_equal(mock.http.bodies[-1]["messages"][0]["content"].splitlines()[-1], "no-done", "last line sent")
    with tempfile.TemporaryDirectory() as folder:
        expect(page.download(folder) is not None, "no download")


def test_download(browser, mock):
    """The downloaded file is GET /v1/records/{id}, byte for byte"""
    page, record = play(browser, mock, "no-done")
    with tempfile.TemporaryDirectory() as folder:
        kept = page.download(folder).read_bytes()
    served = browser.script("return await (await fetch('/v1/records/' + args[0])).text()", record["request_id"])
    expect_equal(kept.decode(), served, "bytes")
    expect_equal(json.loads(kept)["request_id"], record["request_id"], "id")


def test_annotate(browser, mock):
    """The file for lab 01 is the record with provenance, statement and the six events' sources left to the learner"""
    page, record = play(browser, mock, "no-done")
    with tempfile.TemporaryDirectory() as folder:
        blank = json.loads(page.download(folder, button="annotate").read_bytes())
    expect_equal(record["statement"], "", "the page states nothing")
    expect_equal((blank["provenance"], blank["statement"]), ("TODO", "TODO"), "blanks")
    six = ("request_submitted", "request_accepted", "request_admitted", "first_token", "first_byte_received",
           "final_byte_received")  # fmt: skip
    events = [{**e, "source": "TODO"} if e["event"] in six else e for e in record["events"]]
    expect_equal(blank, {**record, "events": events, "provenance": "TODO", "statement": "TODO"}, "the rest")


def test_stamps(browser, mock):
    """The browser's three events are whole nanoseconds of performance.now, in order"""
    _, record = play(browser, mock, "no-done")
    mine = [e for e in record["events"] if e["clock"] == "browser"]
    expect_equal(
        [e["event"] for e in mine], ["request_submitted", "first_byte_received", "final_byte_received"], "events"
    )
    expect(
        all(
            isinstance(e["t_ns"], int) and e["source"] == "browser" and e["clock_api"] == "performance.now"
            for e in mine
        ),
        str(mine),
    )
    expect(mine[0]["t_ns"] < mine[1]["t_ns"] <= mine[2]["t_ns"], "order")


def test_server_numbers(browser, mock):
    """The intervals shown are the server's, also when the page could know better"""
    mock.http.lies = {"client_ttft_ns": 123_456_789_000, "e2e_ns": 234_567_890_000, "useful": True}
    try:
        page, _ = play(browser, mock, "no-done")
        expect_equal((card(browser, "client_ttft_ns"), card(browser, "e2e_ns")), ("123.5 s", "234.6 s"), "cards")
        drawn = browser.script("return document.getElementById('timeline').textContent")
        expect("waiting for the answer to begin  123.5 s" in drawn and "whole answer  234.6 s" in drawn, drawn)
        expect("123.5 s" in page.text("sentence"), page.text("sentence"))
        expect("✗" not in page.text("verdicts") and "useful" in page.text("verdicts"), page.text("verdicts"))
    finally:
        mock.http.lies = {}


def test_timeline(browser, mock):
    """Two nested bars in the proportion of TTFT to end-to-end; the server's lane has its own zero"""
    page, record = play(browser, mock, "plain")
    t = times(record)
    ratio = (t["first_byte_received"] - t["request_submitted"]) / (t["final_byte_received"] - t["request_submitted"])
    bars = browser.script(
        """return ['.wait', '.whole'].map((c) => { const b = document.querySelector('#timeline ' + c).getBBox();
        return [b.x, b.y, b.width, b.height]; });"""
    )
    wait, whole = bars
    expect_within(wait[2] / whole[2], ratio - 0.01, ratio + 0.01, "widths, waiting to whole")
    expect(
        wait[0] == whole[0] and wait[1] > whole[1] and wait[1] + wait[3] < whole[1] + whole[3], f"not nested: {bars}"
    )
    drawn = browser.script("return [...document.querySelectorAll('#timeline text')].map((n) => n.textContent)")
    for name in (
        "request submitted",
        "first byte received",
        "final byte received",
        "request accepted",
        "request admitted",
        "first token",
    ):
        expect(name in drawn, f"{name} isn't drawn: {drawn}")
    expect(any("another zero" in d and "never positions" in d for d in drawn), f"the two zeros aren't explained: {drawn}")
    zeros = browser.script("return ['.wait', '.zero'].map((c) => document.querySelector('#timeline ' + c).getBBox().x)")
    expect(zeros[1] > zeros[0] + 50, f"the lanes begin at the same place: {zeros}")


def test_clock_step(browser, mock):
    """The page shows the step of its clock: 5 us when isolated, 100 us when not"""
    page = ClassroomPage(browser, mock.url)
    browser.wait("return document.getElementById('step').textContent !== '…'")
    expect_equal(page.text("step"), "5 µs", "isolated")
    mock.http.isolated = False
    try:
        page = ClassroomPage(browser, mock.url)
        browser.wait("return document.getElementById('step').textContent !== '…'")
        expect_equal(page.text("step"), "100 µs", "not isolated")
    finally:
        mock.http.isolated = True


# ---- for a room, and for everybody in it ------------------------------------------------------------------------


def test_offline(browser, mock):
    """Nothing comes from outside, and the page's own policy forbids it"""
    page, _ = play(browser, mock, "no-done")
    names = browser.script("return performance.getEntriesByType('resource').map((r) => r.name)")
    expect(len(names) > 5, f"too few requests to prove anything: {names}")
    expect_equal(
        [n for n in names if not n.startswith(mock.url) and not n.startswith("data:")], [], "requests to elsewhere"
    )
    expect_equal([m for m in browser.log() if "Content Security" in m], [], "policy violations")
    outcome = browser.script("try { await fetch('http://127.0.0.1:1/'); } catch {} return 'tried'")
    expect(
        outcome == "tried" and any("Content Security" in m for m in browser.log()),
        "the policy lets a foreign request through",
    )
    for file in sorted(WEB.glob("*.html")) + sorted(WEB.glob("*.js")) + sorted(WEB.glob("*.css")):
        foreign = [
            u
            for u in re.findall(r"https?://[^\s'\")]+", file.read_text(encoding="utf-8"))
            if not u.startswith(("http://www.w3.org/", "http://192.168"))
        ]
        expect_equal(foreign, [], f"addresses in {file.name}")


def test_size(browser, mock):
    """At 1920x1080 and 1280x720 all fits without scrolling, and no text is smaller than 1.85 % of the height"""
    try:
        for width, height in ((1920, 1080), (1280, 720)):
            browser.cdp(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
            for script in ("quick", "in-band", "refuse"):
                play(browser, mock, script)
                expect_fits(browser, f"{width}x{height} after {script}")
    finally:
        browser.cdp("Emulation.setDeviceMetricsOverride", width=1920, height=1080, deviceScaleFactor=1, mobile=False)


CONTRAST = """
const probe = document.createElement('i');
document.body.append(probe);
const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const color = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color.match(/\\d+/g).map((v) => linear(v / 255));
}, light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
return args[0].map(([ink, ground]) => { const [a, b] = [light(color(ink)), light(color(ground))].sort((x, y) => y - x);
    return [ink, ground, Math.round((a + 0.05) / (b + 0.05) * 10) / 10]; });
"""


def test_contrast(browser, mock):
    """Text on its ground keeps a contrast of 7:1, in light and in dark (4.5:1 on the large coloured buttons)"""
    strict = [
        ["--ink", "--paper"],
        ["--ink", "--panel"],
        ["--ink", "--sunk"],
        ["--soft", "--paper"],
        ["--soft", "--panel"],
        ["--soft", "--sunk"],
        ["--on-wait", "--wait"],
        ["--on-whole", "--whole"],
        ["--wait-ink", "--whole"],
        ["--whole-ink", "--panel"],
        ["--server-ink", "--panel"],
        ["--ink", "--bad-soft"],
        ["--wait-ink", "--panel"],
    ]
    large = [
        ["--on-action", "--action"],
        ["--paper", "--bad"],
        ["--on-server", "--server"],
        ["--good", "--panel"],
        ["--bad", "--panel"],
    ]
    for theme in ("light", "dark"):
        ClassroomPage(browser, f"{mock.url}?theme={theme}")
        for least, pairs in ((7, strict), (4.5, large)):
            weak = [
                p
                for p in browser.script(CONTRAST, pairs)
                if not p[2] >= (least if p[0] != "--wait-ink" or p[1] != "--whole" else 4.5)
            ]
            expect_equal(weak, [], f"{theme}: pairs under {least}:1")


def test_labels(browser, mock):
    """Every control has a name, the streamed text is spoken, and an error is an alert"""
    page, _ = play(browser, mock, "no-done")
    nameless = browser.script(
        """return [...document.querySelectorAll('input, textarea, button, fieldset')].filter((n) =>
        !(n.labels?.length || n.getAttribute('aria-label') || n.textContent.trim() || n.querySelector('legend')))
        .map((n) => n.id || n.outerHTML)"""
    )
    expect_equal(nameless, [], "controls without a name")
    expect_equal(page.text("spoken").strip(), page.text("answer").strip(), "spoken text")
    expect_equal(
        browser.script(
            "return [['spoken', 'aria-live'], ['problem', 'role'], ['status', 'role']]"
            ".map(([id, name]) => document.getElementById(id).getAttribute(name))"
        ),
        ["polite", "alert", "status"],
        "live regions",
    )
    expect("browser’s clock: first byte received" in page.text("events"), page.text("events"))


def test_calm(browser, mock):
    """A user who prefers reduced motion gets none"""
    moving = "return getComputedStyle(document.querySelector('#timeline .wait.open')).animationName"
    seen = []
    for wish in ("no-preference", "reduce"):
        browser.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": wish}])
        page = begin(browser, mock)
        browser.wait("return document.querySelector('#timeline .wait.open') !== null")
        seen.append(browser.script(moving))
        browser.press("escape")
        page.finish()
    browser.cdp("Emulation.setEmulatedMedia", features=[])
    expect_equal(seen, ["breathe", "none"], "animation without and with the wish")


def test_quiet_console(browser, mock):
    """The page's console stays free of errors"""
    browser.log()
    play(browser, mock, "plain")
    expect_equal(browser.log(), [], "console")


TESTS = [f for name, f in list(globals().items()) if name.startswith("test_")]

if __name__ == "__main__":
    server = MockServer().start()
    status = page_testing.run(TESTS, mock=server)
    server.stop()
    sys.exit(status)
