#!/usr/bin/env python3
"""test_energy.py: the joules in a record: the GPU's counter (here a replacement of NVML, which grows by 1 J at each reading) shared
among the requests that run together; without a counter there are none, and the reason is stated."""
import os
import subprocess
import sys
import tempfile
import threading

from harness import SERVELAB, RealServer, equal, run_tests

SIMT = os.path.join(os.path.dirname(SERVELAB), "backend-simt.so")
STUB = """
#include <string.h>
static unsigned long long joules;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = DEVICES; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = &joules; return i != 0; }
int nvmlDeviceGetHandleByUUID(const char *u, void **d) { *d = &joules; return strcmp(u, "GPU-1234") != 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *mj) { *mj = 1000 * ++joules; return d == 0; }
"""
work = tempfile.TemporaryDirectory()


def library(devices):
    path = os.path.join(work.name, f"libnvml{devices}.so")
    subprocess.run(["gcc", "-shared", "-fPIC", f"-DDEVICES={devices}", "-x", "c", "-", "-o", path], input=STUB, text=True, check=True)
    return path


def server(nvml, **env):
    return RealServer("--backend", "cuda", env={**os.environ, "SERVELAB_CUDA": SIMT, "SERVELAB_LIBNVML": nvml, **env})


def joules_of(s, reply):
    return s.settled(reply.headers["X-Request-Id"])["resources"]["joules"]


def said_until_the_end(s):
    s.stop()
    return s.process.stderr.read()


def a_request_alone_has_what_was_used_while_it_ran():
    with server(library(1)) as s:
        for _ in range(3):  # what passes between two requests is nobody's
            equal(joules_of(s, s.complete("12+30=", max_tokens=4)), 1)


def requests_that_run_together_share_it():
    with server(library(1)) as s:
        replies = [None] * 3

        def ask(i):
            replies[i] = s.complete("12+30=", max_tokens=60, ignore_eos=True)
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        each = [joules_of(s, r) for r in replies]
    # six readings, two a request: the first finds nobody running, and so does each that follows a pause
    assert abs(sum(each) - round(sum(each))) < 1e-9 and 3 <= round(sum(each)) <= 5 and min(each) > 0, each


def without_a_counter_there_are_none_and_the_reason_is_stated():
    for nvml, env, why in (("/nonexistent/libnvml.so", {}, "there is no NVML here (/nonexistent/libnvml.so)"),
                           (library(2), {}, "there are 2 GPUs"), (library(0), {}, "NVML sees no GPU"),
                           (library(2), {"CUDA_VISIBLE_DEVICES": "GPU-99"}, "knows no GPU GPU-99")):
        with server(nvml, **env) as s:
            equal(joules_of(s, s.complete("12+30=", max_tokens=4)), None)
            said = said_until_the_end(s)
        assert "the records have no joules: " in said and why in said, said


def of_several_gpus_the_one_that_cuda_sees_is_read():
    with server(library(2), CUDA_VISIBLE_DEVICES="GPU-1234,GPU-5") as s:
        equal(joules_of(s, s.complete("12+30=", max_tokens=4)), 1)


def another_backend_has_no_joules():
    with RealServer(env={**os.environ, "SERVELAB_LIBNVML": library(1)}) as s:
        equal(joules_of(s, s.complete("12+30=", max_tokens=4)), None)


TESTS = [a_request_alone_has_what_was_used_while_it_ran, requests_that_run_together_share_it,
         without_a_counter_there_are_none_and_the_reason_is_stated, of_several_gpus_the_one_that_cuda_sees_is_read,
         another_backend_has_no_joules]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
