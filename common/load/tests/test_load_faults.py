#!/usr/bin/env python3
"""test_load_faults.py: `servelab load` with a workload where something is wrong: with the server, or with the machine that
it runs on. See test_load_run.py for loads that succeed, and for single failures among answers.
"""
# servelab-test: waits
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../serve/tests"))
from harness import SERVELAB, equal, run_tests  # noqa: E402
from mock_openai import CLOSE, SILENT, MockServer, Reply, answer  # noqa: E402
from test_load_run import AT_ONCE, Run, short  # noqa: E402


def a_server_that_falls_silent_is_not_asked_about_every_record():
    """It answers, then hangs: a wait for each of 40 records would take 20 times the time-out."""
    with MockServer(short, records=SILENT) as s:
        times = ",".join(str(i) for i in range(40))
        run = Run(s.url, "--arrivals-ms", times, "--prompt-tokens", "5", "--output-tokens", "3", "--timeout-s", "1")
        counts = run.run["records"]
        equal((len(run.records), counts["joined"], counts["not_taken_by_server"] + counts["server_not_asked"]), (40, 0, 40))
        assert s.posts <= 4, f"asked {s.posts} times"
        equal(counts["not_taken_by_server"], s.posts, "it counts what the server was asked about")


def the_table_says_what_failed_first():
    def moved(to):
        return Reply(307, headers=[("Location", to)])

    for reply, part in ((moved("http://127.0.0.1:1/v1/chat/completions"),
                         "the server answered HTTP 307; give --url the address that it redirects to: http://127.0.0.1:1"),
                        (moved("https://a.b/c/v1/chat/completions"),
                         "the server answered HTTP 307; give --url the address that it redirects to: https://a.b/c"),
                        (moved("http://127.0.0.1:1/log-in"), "the server answered HTTP 307; it redirects to http://127.0.0.1:1/log-in, which "
                         "isn't /v1/chat/completions of another address. Is --url the address of a completion server?"),
                        (Reply(500, b'{"error":{"message":"it broke"}}'), "the server says: it broke")):
        with MockServer(lambda r: [reply] if r.id.endswith("-2") else short(r)) as s:
            r = subprocess.run([SERVELAB, "load", "--url", s.url, *AT_ONCE], capture_output=True, text=True, timeout=60)
        assert re.search(rf"the first failure: load-[0-9a-f]+-2: {re.escape(part)}\n", r.stdout), r.stdout
    with MockServer(short) as s:
        r = subprocess.run([SERVELAB, "load", "--url", s.url, *AT_ONCE], capture_output=True, text=True, timeout=60)
        assert "first failure" not in r.stdout, r.stdout


def a_limit_of_descriptors_that_leaves_no_stream():
    with MockServer(short) as s:
        r = subprocess.run([SERVELAB, "load", "--url", s.url, *AT_ONCE], capture_output=True, text=True, timeout=60,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)))
        equal((r.returncode, s.requests), (2, []))
        assert "a limit of 24 open files" in r.stderr and "ulimit" in r.stderr, r.stderr


def health_after(then, before={"status": "ok"}):
    """The reasons why a run is invalid whose server answers GET /health with `before`, and then with `then`."""
    replies = iter([before, then])
    with MockServer(short, health=lambda path: next(replies)) as s:
        run = Run(s.url, *AT_ONCE, "--timeout-s", "1").run
        return [reason for reason in run["invalid_reasons"] if "GET /health" in reason]


def any_answer_after_the_run_shows_that_the_server_lives():
    for then in (Reply(503, b'{"error":{"message":"no slot"}}'), Reply(404), Reply(500, b"not JSON"), {"status": "ok"}):
        equal(health_after(then), [])
    reason, = health_after(SILENT)
    assert "did not answer within 1 s after the run" in reason, reason
    reason, = health_after(CLOSE)
    assert reason.endswith("not after it: it broke the connection off"), reason
    for before in (Reply(200), Reply(200, b"OK"), Reply(404)):  # nor does it need a body or the route
        equal(len(health_after(CLOSE, before)), 1)
    equal(health_after(CLOSE, CLOSE), [], "of a server that never answered it nothing is known")


def a_model_that_is_named_needs_no_list_of_models():
    for models in (SILENT, CLOSE, Reply(500)):
        with MockServer(short, models=models) as s:
            run = Run(s.url, *AT_ONCE, "--model", "m7", "--timeout-s", "1").run
            equal((run["server"]["model"], run["server"]["models"], run["counts"]["answered_whole"]), ("m7", None, 3))
    listed = {"data": [{"id": "other", "paced": "x on y", "vocab_size": 9}, {"id": "m7", "paced": "z on y", "vocab_size": 7}]}
    with MockServer(short, models=listed) as s:
        for args, pace, vocab in (((), "x on y", 9), (("--model", "m7"), "z on y", 7)):
            run = Run(s.url, *AT_ONCE, *args, "--prompt-form", "ids").run
            equal((run["paced"], run["workload"]["prompt_ids_below"]), (pace, vocab), "of the model that is asked")
    with MockServer(short, models=SILENT) as s:
        command = [SERVELAB, "load", "--url", s.url, *AT_ONCE, "--timeout-s", "1"]
        r = subprocess.run(command, capture_output=True, text=True, timeout=60)
        equal(r.returncode, 2)
        assert "/v1/models within 1 s" in r.stderr, r.stderr
    command[command.index(s.url)] = "http://127.0.0.1:1"  # no server
    r = subprocess.run([*command, "--model", "m7"], capture_output=True, text=True, timeout=60)
    equal(r.returncode, 2, r.stdout)


def a_redirect_of_the_list_of_models_says_where_to():
    for to, part in (("http://127.0.0.1:1/v1/models", "HTTP 301; give --url the address that it redirects to: http://127.0.0.1:1\n"),
                     ("/log-in", "/log-in, which isn't /v1/models of another address."), ("/v1/models", "/v1/models, which isn't")):
        with MockServer(short, models=Reply(301, headers=[("Location", to)])) as s:
            for args in (AT_ONCE, ("--prompt", "p")):
                r = subprocess.run([SERVELAB, "load", "--url", s.url, *args], capture_output=True, text=True, timeout=60)
                equal((r.returncode, part in r.stderr), (2, True), r.stderr)


def a_client_that_stands_still_after_its_last_send():
    """Its lag is in order: all was sent in time. The answers that came meanwhile were stamped late."""
    with MockServer(lambda r: answer(r, ["a", "b"], first_s=0.3), health={"status": "ok"}) as s:
        load = subprocess.Popen([SERVELAB, "load", "--url", s.url, *AT_ONCE, "--json"], stdout=subprocess.PIPE)
        s.wait_for(lambda: len(s.requests) == 3, "all requests")
        load.send_signal(signal.SIGSTOP)
        time.sleep(1)  # the fault itself: it looks for signals every 0.2 s
        load.send_signal(signal.SIGCONT)
        run = json.loads(load.communicate(timeout=60)[0])["run"]
        equal((load.returncode, run["valid"], run["client"]["in_flight_while_it_stood_still"]), (1, False, 3))
        assert any("stood still" in reason for reason in run["invalid_reasons"]), run["invalid_reasons"]


TESTS = [a_client_that_stands_still_after_its_last_send, a_redirect_of_the_list_of_models_says_where_to, any_answer_after_the_run_shows_that_the_server_lives,
         a_model_that_is_named_needs_no_list_of_models,
         a_server_that_falls_silent_is_not_asked_about_every_record,
         the_table_says_what_failed_first,
         a_limit_of_descriptors_that_leaves_no_stream]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
