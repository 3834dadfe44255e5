#!/usr/bin/env python3
# servelab-test: waits
"""test_trace_opens.py: Chromium's Performance panel opens what `servelab trace` writes, and shows the same tracks.

The panel's own loader reads the file; its parsed model is compared with the file, slice by slice.
"""

import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import page_testing
from page_testing import Served, expect, expect_equal
from webdriver import ScriptError

PANEL = "devtools://devtools/bundled/trace_app.html"  # DevTools without a page, as `chromium` ships it
OPEN_PANEL = """
const ui = await import('devtools://devtools/bundled/ui/legacy/legacy.js');
const timeline = await import('devtools://devtools/bundled/panels/timeline/timeline.js');
await ui.ViewManager.ViewManager.instance().showView('timeline');
globalThis.panel = timeline.TimelinePanel.TimelinePanel.instance();
return typeof panel.loadFromFile === 'function' && typeof panel.getParsedTraceForLayoutTests === 'function';
"""
LOAD = "await panel.loadFromFile(new File([args[0]], 'trace.json', {type: 'application/json'})); return true;"
SLICES = """
const parsed = panel.getParsedTraceForLayoutTests(), out = [];
for (const [process, {threads}] of parsed.Renderer.processes)
    for (const [, thread] of threads)
        for (const e of thread.entries)
            out.push([parsed.Meta.processNames.get(process).args.name, thread.name, e.name, e.ts, e.dur]);
return out;
"""


def served_trace():
    """The trace of two requests that a real server answered, with its engine's steps."""
    with tempfile.TemporaryDirectory(prefix="servelab-trace-") as folder:
        steps = Path(folder, "steps.jsonl")
        with Served("--step-log", str(steps)) as server:
            for tokens in (3, 40):
                body = json.dumps({"model": "servelab-tiny", "prompt": "k" * 60, "max_tokens": tokens}).encode()
                request = urllib.request.Request(server.url + "v1/completions", body, {"Content-Type": "application/json"})
                with urllib.request.urlopen(request, timeout=60) as answer:
                    answer.read()
            server.stop()
            done = subprocess.run([server.program, "trace", str(server.log), "--steps", str(steps)],
                                  capture_output=True, text=True, check=False)  # fmt: skip
    expect_equal((done.returncode, done.stderr), (0, ""), "servelab trace")
    return done.stdout


def slices_of(trace):
    """The slices of the file, as (process, thread, name, start in us, duration in us)."""
    events = json.loads(trace)["traceEvents"]
    process = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    thread = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return [
        (process[e["pid"]], thread[e["pid"], e["tid"]], e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"
    ]


def test_panel_shows_the_slices(browser):
    """the Performance panel shows each request's phases and each engine step, with the file's times"""
    trace = served_trace()
    target = browser.cdp("Target.createTarget", url=PANEL)["targetId"]
    browser.switch_to(target)
    browser.wait("return document.readyState === 'complete' && document.title === 'DevTools'")
    try:
        usable = browser.script(OPEN_PANEL)
    except ScriptError as e:
        raise page_testing.Skip(f"this Chromium's Performance panel has another interface: {e}") from None
    if not usable:
        raise page_testing.Skip("this Chromium's Performance panel has another interface")
    browser.script(LOAD, trace)
    browser.wait("return panel.hasActiveTrace()")
    want = sorted(slices_of(trace))
    names = {(thread == "engine", name) for _, thread, name, _, _ in want}
    expect(any(engine for engine, _ in names), f"the trace has engine steps: {names}")
    expect((False, "decode") in names, f"the trace has a decode phase: {names}")
    expect_equal(sorted(tuple(s) for s in browser.script(SLICES)), want, "slices in the panel")


TESTS = [f for name, f in list(globals().items()) if name.startswith("test_")]

if __name__ == "__main__":
    sys.exit(page_testing.run(TESTS))
