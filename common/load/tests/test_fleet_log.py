#!/usr/bin/env python3
"""test_fleet_log.py: which lines of HAProxy's log `make demo-fleet` counts as answers that broke off. check_fleet.sh compares
the count with the clients' on a real fleet."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../serve/tests"))
from harness import equal, run_tests  # noqa: E402

COUNT = os.path.join(HERE, "../fleet/broken_answers.sh")


def line(state, server="servers/two", request="POST /v1/completions HTTP/1.1", status=200):
    return (f'127.0.0.1:40000 [30/Nov/2026:18:25:48.318] fleet {server} 0/0/0/26/401 {status} 8250 - - {state} 9/9/3/1/0 0/0 '
            f'"{request}"\n')


def counted(*lines, server="two"):
    with tempfile.NamedTemporaryFile("w") as f:
        f.write("".join(lines))
        f.flush()
        done = subprocess.run([COUNT, f.name, server], capture_output=True, text=True, check=True)
    return int(done.stdout)


def answers_that_broke_off_or_never_began_are_counted():
    equal(counted(line("SD--"), line("SH--", status=502), line("SDVN")), 3)


def whole_answers_and_clients_that_left_are_not():
    equal(counted(line("----"), line("--VN"), line("CD--"), line("CH--", status=-1), line("cD--"), line("sH--", status=504),
                  line("SC--", status=503)), 0)


def other_servers_and_requests_are_not():
    equal(counted(line("SD--", "servers/one"), line("SD--", "servers/two2"), line("SD--", "servers/<NOSRV>"),
                  line("SD--", request="GET /health HTTP/1.1"),
                  line("----", request="POST /?x= SD-- HTTP/1.1"),
                  "[WARNING] (7) : Server servers/two is DOWN, reason: SD-- POST\n"), 0)
    equal(counted(line("SD--", "servers/one"), line("SD--"), server="one"), 1)
    equal(counted(), 0)


def a_log_that_is_not_there_is_refused():
    done = subprocess.run([COUNT, "/no/such", "two"], capture_output=True, text=True)
    equal((done.returncode, done.stdout), (2, ""))


sys.exit(run_tests([answers_that_broke_off_or_never_began_are_counted, whole_answers_and_clients_that_left_are_not,
                    other_servers_and_requests_are_not, a_log_that_is_not_there_is_refused]))
