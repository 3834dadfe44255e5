#!/usr/bin/env python3
"""test_metrics.py: GET /metrics beside the log of the same server: sums, counts and buckets are equal, to the nanosecond."""
# servelab-test: waits
import json
import os
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prometheus_text  # noqa: E402
from harness import SERVELAB, FakeServer, RealServer, equal, names, read_until, run_tests, wait_until  # noqa: E402

GAUGES = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")


def scrape(s):
    r = s.get("/metrics")
    equal((r.status, r.headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
    return prometheus_text.read(r.body.decode())


def value(page, family, **labels):
    (found,) = [n for (name, key, le), n in page[family][1].items()
                if name == family and le is None and labels.items() <= dict(key).items()]
    return found


def ended(page):
    return sum(page["vllm:request_success_total"][1].values()) + value(page, "servelab:requests_refused_total")


def scrape_after(s, n):
    wait_until(lambda: ended(scrape(s)) == n, f"{n} attempts in the metrics")
    return scrape(s)


def compare(page, log, n, labels):
    with open(log) as f:
        records = [json.loads(line) for line in f]
    equal(len(records), n, "lines in the log")
    want = prometheus_text.of_log(records, labels)
    equal(sorted([*want, *GAUGES]), sorted(page), "families")
    for family, samples in want.items():
        equal(page[family][1], samples, family)
    return records


def reasons_of(log):
    p = subprocess.run([SERVELAB, "record", "check", "--json", log], capture_output=True, timeout=60, check=True)
    return {k: n for k, n in json.loads(p.stdout)["summary"]["by_reason"].items() if n}


def served(n, ask, max_waiting=256, reasons=None):
    """n attempts by `ask` on a fake server; returns the metrics and the log, which agree."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        with FakeServer(log=log, max_waiting=max_waiting) as s:
            ask(s)
            page = scrape_after(s, n)
            wait_until(lambda: not any(value(scrape(s), gauge) for gauge in GAUGES), "an idle engine")
        records = compare(page, log, n, {"model_name": "fake", "engine": "0"})
        if reasons:
            equal(reasons_of(log), reasons)
        return page, records


def no_request():
    page, _ = served(0, lambda s: None)
    equal({n for kind, samples in page.values() for n in samples.values()}, {0})


def one_request():
    page, _ = served(1, lambda s: equal(s.complete(stream=True).status, 200))
    equal(value(page, "vllm:request_success_total", finished_reason="stop"), 1)
    equal((value(page, "vllm:prompt_tokens_total"), value(page, "vllm:generation_tokens_total")), (1, 5))


def a_thousand_requests():
    def ask(s):
        for i in range(1000):
            fields = ({"stream": True}, {}, {"stream": True, "max_tokens": 1 + i % 5}, {"max_tokens": 0})[i % 4]
            status = s.complete(prompt="p" * (1 + i % 7), **fields).status
            equal(status, 400 if i % 4 == 3 else 200)
    page, _ = served(1000, ask, reasons={"finished_by_server": 750, "rejected": 250})
    equal((value(page, "servelab:requests_refused_total"), value(page, "vllm:admission_rejections_total")), (250, 0))


def what_counts_each_bad_end():
    def ask(s):
        s.tell("allow 0")
        running = s.connect()
        s.send_completion(running, "a", headers=["X-Request-Id: gone"], stream=True)
        wait_until(lambda: s.counters()["running"] == 1, "the first request runs")
        waiting = s.connect()
        s.send_completion(waiting, "b", headers=["X-Request-Id: failed", "Connection: close"])
        wait_until(lambda: s.counters()["waiting"] == 1, "the second waits")
        page = scrape(s)
        equal([value(page, g) for g in GAUGES[:2]], [1, 1])
        equal(s.complete(headers={"X-Request-Id": "full"}).status, 429)
        s.tell("allow 3")
        read_until(running, b"data: ", 2)
        equal(value(scrape(s), GAUGES[2]) > 0, True, "KV blocks in use")
        running.close()
        wait_until(lambda: s.counters()["started"] == 4, "the step that the cancellation waits for")
        s.tell("allow 1")
        wait_until(lambda: "request_cancelled" in names(s.record("gone")), "the cancellation")
        s.tell("fail 1")
        s.tell("open")
        read_until(waiting, b"engine_fault")
        waiting.close()
        broken = s.connect()  # a fault after the answer has begun is an error inside of it
        s.tell("allow 0")
        s.send_completion(broken, "c", headers=["X-Request-Id: broken", "Connection: close"], stream=True)
        s.tell("allow 3")
        read_until(broken, b"data: ", 2)
        s.tell("fail 2")
        s.tell("open")
        while broken.recv(65536):
            pass
        broken.close()
    page, records = served(4, ask, max_waiting=1, reasons=dict.fromkeys(
        ("rejected", "cancelled", "internal_error", "in_band_error"), 1))
    equal({k: value(page, "vllm:request_success_total", finished_reason=k) for k in ("stop", "length", "abort", "error")},
          {"stop": 0, "length": 0, "abort": 1, "error": 2})
    equal((value(page, "vllm:admission_rejections_total"), value(page, "servelab:requests_refused_total")), (1, 1))
    e2e, ttft = (next(n for k, n in page[f"vllm:{name}_seconds"][1].items() if k[0].endswith("_count"))
                 for name in ("e2e_request_latency", "time_to_first_token"))
    equal((e2e, ttft), (0, 3), "a bad end has no end-to-end latency; its first token counts")
    equal({r["request_id"]: r["outcome"]["http_status"] for r in records if r["request_id"] != "gone"},
          {"full": 429, "failed": 500, "broken": 200})


def preempted_cached_and_paced():
    """Requests that share a prefix, on a paced server: each is admitted with three KV blocks and grows to twelve of 16."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        with RealServer("--pace", "llama-2-7b:h100", "--log", log, "--record-grace-ms", "0", "--kv-blocks", "16",
                        "--name", 'a "model"') as s:
            def ask():
                equal(s.complete(list(range(1, 41)), ignore_eos=True, max_tokens=150, stream=True).status, 200)
            ask()  # its prompt stays in the cache
            threads = [threading.Thread(target=ask) for _ in range(7)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            page = scrape_after(s, 8)
        compare(page, log, 8, {"model_name": 'a "model"', "engine": "0", "paced": "llama-2-7b on h100"})
        equal(value(page, "vllm:num_preemptions_total") > 0, True, "preemptions")
        equal(value(page, "vllm:prefix_cache_hits_total") > 0, True, "tokens from the prefix cache")


def only_get():
    with FakeServer() as s:
        equal((s.post("/metrics", "").status, s.request("HEAD", "/metrics").status), (405, 200))


if __name__ == "__main__":
    sys.exit(run_tests([no_request, one_request, a_thousand_requests, what_counts_each_bad_end, preempted_cached_and_paced,
                        only_get]))
