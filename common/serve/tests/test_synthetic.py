#!/usr/bin/env python3
"""test_synthetic.py: `serve --synthetic-weights`: answers come, and are never evaluated, whoever says that they passed."""
import json, subprocess, sys

from harness import MODEL_FILE, SERVELAB, RealServer, equal, run_tests


def an_answer_is_not_evaluated():
    with RealServer("--synthetic-weights", "smollm2-135m/8") as s:
        equal(s.ready["synthetic_weights"], "smollm2-135m/8", "the ready line")
        equal(s.ready["model"], "synthetic smollm2-135m/8", "the model's name")
        equal(s.get("/health").json()["synthetic_weights"], "smollm2-135m/8", "/health")
        preset = s.get("/v1/presets").json()["presets"][0]
        r = s.post("/v1/completions", {"model": s.model, "prompt": preset["prompt"], "max_tokens": 4},
                   headers={"X-Request-Id": "made-up", "X-Quality-Check": preset["name"]})
        equal(r.status, 200, "status")
        equal(r.json()["usage"]["completion_tokens"], 4, "tokens")
        r = s.post("/v1/records/made-up/events", {"events": [], "quality": {"check": "sum/1", "verdict": "passed"}})
        equal((r.status, b"made up" in r.body), (409, True), f"a client's verdict: {r.body}")
        record = s.record("made-up")
        equal(record["quality"]["verdict"], "not_evaluated", "the verdict")
        out = subprocess.run([SERVELAB, "record", "check", "--json", "-"], input=json.dumps(record), capture_output=True, text=True)
        equal(json.loads(out.stdout)["useful"], False, "useful")


def a_load_sends_ids_that_are_taken():
    """The shape has 49,152 token ids, the tokenizer 448. /v1/models says how many a prompt may have."""
    with RealServer("--synthetic-weights", "smollm2-135m/8") as s:
        out = subprocess.run([SERVELAB, "load", "--url", f"http://127.0.0.1:{s.port}", "--arrivals-ms", "0,1", "--prompt-tokens", "8",
                              "--output-tokens", "2", "--json"], capture_output=True, text=True)
        equal(json.loads(out.stdout)["run"]["counts"]["answered_whole"], 2, out.stderr)


def other_shapes_are_refused():
    for shape, wanted in (("llama-9", "did you mean"), ("mixtral-8x7b", "not a dense decoder"), ("llama-2-7b/0", "isn't a part"),
                          ("llama-2-7b/x", "isn't a part"), ("smollm2-135m/", "isn't a part")):
        r = subprocess.run([SERVELAB, "serve", "--port", "0", "--synthetic-weights", shape, "--model", MODEL_FILE],
                           capture_output=True, text=True, timeout=60)
        equal((r.returncode, r.stderr.count("\n")), (2, 1), f"{shape}: {r.stderr}")
        assert "--synthetic-weights" in r.stderr and wanted in r.stderr, r.stderr


sys.exit(run_tests([an_answer_is_not_evaluated, a_load_sends_ids_that_are_taken, other_shapes_are_refused]))
