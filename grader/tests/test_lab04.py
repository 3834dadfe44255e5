#!/usr/bin/env python3
"""test_lab04.py: wrong submissions of lab 04 lose the checks that they should, and keep others; the starter is not
attempted; a verdict does not depend on the run; a hidden seed shows nothing of a case. TAP."""

# servelab-test: long
import json
import os
import re
import shutil

import grading
from plant import plant

LAB = os.path.join(grading.TOP, "solutions/04_serving")
FILES = ["kv_blocks.c", "engine_step.c", "stamps.c", "report.c", "objective.json", "choice.json"]
RUNS = [f"runs/{i}/{f}" for i in range(3) for f in ("run.json", "records.jsonl")]
ENGINE = "quality.tokens,quality.chunks,quality.preempt,quality.prefix,quality.cancel,quality.fault,intervals.engine_events"
KV = "quality.kv_count,quality.kv_order,quality.kv_share,quality.kv_evict"

# (what is wrong, file, the reference's text, the wrong text, checks that are lost, checks that are kept)
WRONG = [
    ("the clock is read last", "stamps.c", "    stamp(r, c, EV_TOKENIZATION_FINISHED, SRC_SERVER_LOG);\n    r->workload.prompt_tokens = prompt_tokens;",
     "    r->workload.prompt_tokens = prompt_tokens;\n    stamp(r, c, EV_TOKENIZATION_FINISHED, SRC_SERVER_LOG);",
     "intervals.stamp_times", "intervals.stamp_kinds,quality.kv_count"),
    ("a resumption is an admission", "stamps.c", "ev.kind = EV_REQUEST_RESUMED;", "ev.kind = EV_REQUEST_ADMITTED;",
     "intervals.stamp_once,intervals.engine_events", "quality.tokens"),
    ("admitted when the step is over", "engine_step.c", "    engine_to_running(g, s);\n    stamp(g, s, stamp_admitted);", "    engine_to_running(g, s);",
     "intervals.engine_events", "quality.tokens,intervals.stamp_once"),
    ("a released block stays held", "kv_blocks.c", "i-- > 0;) give(p, t->blocks[i]);", "i-- > 1;) give(p, t->blocks[i]);",
     "quality.kv_count,quality.tokens", "intervals.stamp_kinds,slo.verdict"),
    ("a free block is given twice", "kv_blocks.c", "    unlink_block(p, b);\n    forget(p, b);", "    if (p->n_free > 2) unlink_block(p, b);\n    forget(p, b);",
     "quality.kv_count", "slo.verdict"),
    ("prefixes are found by the block's tokens alone", "kv_blocks.c", "t->prefix = p->blocks[b].prefix;", "",
     "quality.kv_share", "quality.kv_order,quality.tokens"),
    ("the first block of a prefix is given up first", "kv_blocks.c", "for (int32_t i = t->n_blocks; i-- > 0;) give", "for (int32_t i = 0; i < t->n_blocks; i++) give",
     "quality.kv_evict", "quality.kv_order,quality.tokens"),
    ("a table grows at its front", "kv_blocks.c", "while (t->n_blocks < want) t->blocks[t->n_blocks++] = take(p);",
     "while (t->n_blocks < want) { memmove(t->blocks + 1, t->blocks, sizeof *t->blocks * (size_t)t->n_blocks++); t->blocks[0] = take(p); }",
     "quality.kv_order,quality.tokens", "slo.regions"),
    ("logits are counted by the batch", "engine_step.c", "        if (rows == 0) continue;", "        if (rows == 0) { logits += g->backend->info.vocab_size; continue; }",
     "quality.chunks", "quality.kv_count"),
    ("a preempted request goes on where it was", "engine_step.c", "    s->computed = 0; /* what it", "    /* what it",
     "quality.preempt", "quality.tokens,quality.kv_evict"),
    ("the whole prompt comes from the cache", "engine_step.c", "s->tokens, total - 1)", "s->tokens, total)", "quality.prefix", "quality.tokens"),
    ("prefixes are not reused", "engine_step.c", "for (int32_t i = 0; i < n && g->prefix_cache; i++)", "for (int32_t i = 0; i < n && false; i++)",
     "quality.prefix", "quality.tokens"),
    ("clients that left are served", "engine_step.c", "if (engine_drop_cancelled(g)) progress = ENGINE_WORKED;", "", "quality.cancel", "quality.tokens"),
    ("the lock is held while the backend computes", "engine_step.c",
     "    pthread_mutex_unlock(&g->lock);\n    int failed = engine_compute(g, n, e);\n    pthread_mutex_lock(&g->lock);",
     "    int failed = engine_compute(g, n, e);", "quality.tokens,quality.cancel", "quality.kv_count"),
    ("a fault of the machine is not noticed", "engine_step.c", "    if (failed) progress = ENGINE_FAULT;", "    failed = 0;", "quality.fault", "quality.tokens"),
    ("one request at a time", "engine_step.c", "        if (a->verb != POLICY_RUN) continue;", "        if (a->verb != POLICY_RUN || n > 0) continue;",
     "slo.goodput_static", "quality.kv_count"),
    ("a stop string is no matter", "engine_step.c", "bool over = piece.stopped || s->n_generated", "bool over = s->n_generated", "safety.server", "quality.tokens"),
    ("a prompt alone is answered, too", "engine_step.c", "    if (s->max_output == 0) { /* only", "    if (s->max_output < 0) { /* only", "safety.server", "quality.tokens"),
    ("scores of a prompt that is half known", "engine_step.c", "if (s->computed > 0 || s->prompt_scores) continue;", "if (s->computed > 0) continue;",
     "safety.server", "quality.prefix"),
    ("nobody wakes the engine", "engine_step.c", "    *wake_ns = plan.valid_until_ns;\n", "", "quality.tokens", "quality.chunks"),
    ("a client's lag is nobody's", "report.c", "out->iv.client_ttft.ns += lag_ns;", "out->iv.client_ttft.ns += 0;", "intervals.attempt_lag", "intervals.group_retry"),
    ("the first attempt decides", "report.c", "*last = tries[n - 1];", "*last = tries[0];", "intervals.group_retry", "intervals.group_order"),
    ("failures are left out of the percentile", "report.c", "size_t n_failed = (size_t)(p->requests - p->completed - p->finished_by_server);", "size_t n_failed = 0;",
     "slo.limits", "slo.window"),
    ("any completion ends an outage", "report.c", " && q->arrival_ns > began_ns", "", "slo.recovery", "slo.limits"),
    ("unknown tokens are none", "report.c", "*sum = *sum < 0 || tokens < 0 ? -1 : *sum + tokens;", "*sum += tokens < 0 ? 0 : tokens;", "slo.sums", "slo.window"),
    ("a queue that grows is no matter", "report.c", "!p->load.stable || slo", "slo", "slo.verdict", "slo.limits"),
    ("a printing report", "report.c", "    enum slo_answer slo = slo_verdict", '    printf("met\\n");\n    enum slo_answer slo = slo_verdict', "safety.quiet", "slo.verdict"),
    ("a record is stamped without its lock", "engine_step.c",
     "    pthread_mutex_lock(&s->live->lock);\n    how(&s->live->record, &g->clock);\n    pthread_mutex_unlock(&s->live->lock);",
     "    how(&s->live->record, &g->clock);", "safety.races", "quality.tokens,safety.server"),
    ("the queue is read while clients change it", "engine_step.c", "    pthread_mutex_lock(&g->lock);\n    engine_note_step",
     "    if (g->n_waiting > 1000) failed = 1;\n    pthread_mutex_lock(&g->lock);\n    engine_note_step", "safety.races", "quality.tokens"),
    ("odd logits fail the whole batch", "engine_step.c", "        engine_end(g, s, STREAM_FAILED, e.text);\n        return;\n    }\n    bool ends",
     "        for (struct seq *q = g->running, *next; q; q = next) { next = q->next; engine_end(g, q, STREAM_FAILED, e.text); }\n        return;\n    }\n    bool ends", "quality.odd_logits", "quality.tokens"),
    ("odd logits become some token", "engine_step.c", "    if (id < 0) {\n", "    if (id < 0) id = 5;\n    if (id < 0) {\n", "quality.odd_logits", "quality.tokens"),
    ("a full stream drops text", "engine_step.c", '    engine_end(g, s, STREAM_FAILED, "the client reads too slowly; its answer was dropped");\n    return false;', "    return true;",
     "quality.slow_reader", "quality.tokens"),
    ("a leaking group", "report.c", "    free(sorted);\n    if (!rc)", "    if (!rc)", "safety.no_leak", "intervals.group_order"),
    ("a verdict that its figures do not give", "choice.json", '"stable": false,\n     "verdict": "missed"', '"stable": false, "verdict": "met"', "evidence.choice_points", "evidence.choice_measured"),
    ("the most useful point is refused", "choice.json", '"chosen": 1', '"chosen": 0', "evidence.choice_follows", "evidence.choice_points"),
    ("refused for what it does not have", "choice.json", '"because": "latency"', '"because": "quality"', "evidence.choice_follows", "evidence.choice_points"),
    ("a percentile better than measured", "choice.json", "710.5", "640.5", "evidence.choice_measured", "evidence.choice_valid"),
    ("a finite percentile is called infinite", "choice.json", "6103", "null", "evidence.choice_measured", "evidence.choice_valid"),
    ("more useful answers than measured", "choice.json", '"requests": 50, "useful": 49, "failed": 0,\n     "quality_evaluated": 50, "quality_passed": 49',
     '"requests": 50, "useful": 50, "failed": 0,\n     "quality_evaluated": 50, "quality_passed": 50', "evidence.choice_measured", "evidence.choice_valid"),
    ("a longer window than measured", "choice.json", '"window_s": 43.2', '"window_s": 47', "evidence.choice_measured", "evidence.choice_valid"),
    ("a growing queue is called stable", "choice.json", '"stable": false', '"stable": true', "evidence.choice_measured", "evidence.choice_valid"),
    ("a run that says it is not valid", "runs/1/run.json", '"valid":\ttrue', '"valid":\tfalse', "evidence.choice_measured", "evidence.choice_valid"),
    ("a run is called valid against its reasons", "runs/1/run.json", '"invalid_reasons":\t[]', '"invalid_reasons":\t["the client lagged"]', "evidence.choice_measured", "evidence.choice_valid"),
    ("a window that was moved", "runs/2/run.json", '"warm_up_s":\t0.8', '"warm_up_s":\t0.7', "evidence.choice_measured", "evidence.choice_valid"),
    ("a torn log", "runs/1/records.jsonl", '"statement":"client_ttft is what', "", "evidence.choice_measured", "evidence.choice_valid"),
    ("a log without its slow requests", "runs/2/records.jsonl", '"attempt":1', '"attempt":2', "evidence.choice_measured", "evidence.choice_valid"),
    ("simulated times", "runs/0/records.jsonl", '"clock":"browser"', '"clock":"sim"', "evidence.choice_measured", "evidence.choice_valid"),
]


def test_figures_that_were_not_measured_earn_nothing():
    v = verdict(make("figures from nowhere", "choice.json", "710.5", "640.5"), "--check", "evidence")
    got = outcomes(v)
    assert got["evidence.choice_points"] == got["evidence.choice_follows"] == "not_run", got
    assert "percentiles_ms[0]" in grading.check(v, "evidence.choice_measured")["message"]


def test_a_copied_run_is_no_second_measurement():
    folder = make("copied run", "choice.json", "710.5", "710.6")
    for f in ("run.json", "records.jsonl"):
        shutil.copy(os.path.join(folder, "runs/0", f), os.path.join(folder, "runs/1", f))
    c = grading.check(verdict(folder, "--check", "evidence"), "evidence.choice_measured")
    assert c["outcome"] == "lost" and "copy of the other" in c["message"], c


def test_a_copied_request_is_no_second_measurement():
    """Within one run, and with the client's times changed: the server's are the copy's still."""
    for name, change in (("copied request", 0), ("copied request with a changed end", 1000)):
        folder = make(name, "choice.json", "710.5", "710.6")
        log = os.path.join(folder, "runs/1/records.jsonl")
        with open(log, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        times = lambda r: next(e for e in r["events"] if e["event"] == "request_submitted")  # noqa: E731
        lines[9], was = json.loads(json.dumps(lines[8])), lines[9]
        lines[9]["request_id"] = was["request_id"]
        shift = times(was)["scheduled_t_ns"] - times(lines[8])["scheduled_t_ns"]
        for e in lines[9]["events"]:
            for key in ("t_ns", "scheduled_t_ns", "ended_t_ns"):
                if key in e:
                    e[key] += shift + (change if e["event"] == "final_byte_received" else 0)
        with open(log, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(r) + "\n" for r in lines)
        c = grading.check(verdict(folder, "--check", "evidence"), "evidence.choice_measured")
        assert c["outcome"] == "lost" and "copy of the other" in c["message"], c


def forged(name, change_records, change_run=lambda run: None):
    """What the grader says of runs/1 when its records and its run file were changed."""
    folder = make(name, "choice.json", "710.5", "710.6")
    log, run = (os.path.join(folder, "runs/1", f) for f in ("records.jsonl", "run.json"))
    with open(log, encoding="utf-8") as f:
        lines = change_records([json.loads(line) for line in f])
    with open(log, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in lines)
    with open(run, encoding="utf-8") as f:
        doc = json.load(f)
    change_run(doc)
    with open(run, "w", encoding="utf-8") as f:
        json.dump(doc, f)
    c = grading.check(verdict(folder, "--check", "evidence"), "evidence.choice_measured")
    assert c["outcome"] == "lost", c
    return c["message"]


def client_times(r, by_ns, events=("request_submitted", "first_byte_received", "final_byte_received")):
    for e in r["events"]:
        for key in ("t_ns", "scheduled_t_ns", "ended_t_ns"):
            if e["event"] in events and key in e:
                e[key] += by_ns
    return r


def test_a_run_is_made_by_its_schedule():
    """Each change keeps the run whole and its run file in agreement with itself."""
    moved = forged("moved arrival", lambda lines: [client_times(r, 30_000_000) if i == 20 else r for i, r in enumerate(lines)])
    assert "runs/1/records.jsonl:21: scheduled_t_ns" in moved and "the seed in run.json" in moved, moved
    other = forged("arrival of another run", lambda lines: [{**r, "request_id": r["request_id"].replace("load-", "load-0")[:13] + r["request_id"][13:]}
                                                            if i == 20 else r for i, r in enumerate(lines)])
    assert "request_id" in other, other

    def fewer(run):
        run["counts"]["requests"] -= 1
        run["counts"]["sent"] -= 1
        run["counts"]["answered_whole"] -= 1

    last = forged("the last request left out", lambda lines: [r for r in lines if not r["request_id"].endswith("-58")],
                  lambda run: (fewer(run), run["counts"].update(in_window=run["counts"]["in_window"] - 1)))
    assert "schedule: in run.json has request 58" in last, last
    faster = forged("another rate", lambda lines: lines, lambda run: run["workload"].update(rate_rps=1))
    assert "scheduled_t_ns" in faster, faster
    later = forged("longer waits", lambda lines: [client_times(r, 5_000_000, ("first_byte_received", "final_byte_received"))
                                            for r in lines])
    assert "lag.median_ttft_ns" in later, later
    unsaid = forged("no median", lambda lines: lines, lambda run: run["lag"].pop("median_ttft_ns"))
    assert "lag.median_ttft_ns" in unsaid and "is missing" in unsaid, unsaid


def test_a_run_of_a_list_has_its_times():
    """The reference's run as if its arrivals had been a list."""
    def listed(times):
        def change(run):
            run["workload"].update(arrivals="list", list_ns=times)
            if times is None:
                run["workload"].pop("list_ns")
        return change

    with open(os.path.join(LAB, "runs/1/run.json"), encoding="utf-8") as f:
        first = json.load(f)["schedule"]["first_t_ns"]
    with open(os.path.join(LAB, "runs/1/records.jsonl"), encoding="utf-8") as f:
        right = sorted(e["scheduled_t_ns"] - first for line in f for e in json.loads(line)["events"] if "scheduled_t_ns" in e)
    same = lambda lines: lines  # noqa: E731
    assert "scheduled_t_ns" in forged("a listed time moved", same, listed([*right[:9], right[9] + 10**6, *right[10:]]))
    assert "schedule: in run.json has 57" in forged("a listed time left out", same, listed(right[:-1]))
    assert "the records lack it" in forged("one more listed time", same, listed([*right, right[-1] + 1]))
    for name, bad in (("no", None), ("an empty", []), ("a half", [0.5, "x"]), ("an unsorted", right[::-1])):
        assert "workload.list_ns" in forged(f"{name} list", same, listed(bad)), name
    folder = make("a right list", "choice.json", "710.5", "710.6")
    with open(os.path.join(folder, "runs/1/run.json"), encoding="utf-8") as f:
        run = json.load(f)
    listed(right)(run)
    with open(os.path.join(folder, "runs/1/run.json"), "w", encoding="utf-8") as f:
        json.dump(run, f)
    assert grading.check(verdict(folder, "--check", "evidence"), "evidence.choice_measured")["outcome"] == "earned"


def test_the_reference_leaks_nothing_for_any_seed():
    """Also with a workload of many sizes (seed 4), with which the C library's caches fill slowly."""
    for seed in range(1, 7):
        assert verdict(LAB, "--check", "safety.no_leak", seed=("--seed", str(seed)))["exit_status"] == 0, seed


def test_what_can_not_be_known_of_a_run_is_said():
    note = grading.check(verdict(LAB, "--check", "evidence"), "evidence.choice_measured")["note"]
    assert "to be read by the instructor" in note, note


def test_a_large_data_file_is_read():
    """Whoever reads a data file allows as many bytes as whoever takes it in."""
    for lab, folder, file, check in (("02", "02_queue_sim", "protocol.json", "evidence"), ("03", "03_kernels", "roofline.json", "evidence"),
                                     ("04", "04_serving", "choice.json", "evidence"), ("04", "04_serving", "objective.json", "evidence")):
        copy = os.path.join(grading.TMP, f"large_{lab}_{file}")
        shutil.copytree(os.path.join(grading.TOP, "solutions", folder), copy)
        with open(os.path.join(copy, file), "a", encoding="utf-8") as f:
            f.write(" " * 3_000_000)
        v = json.loads(grading.run(lab, "--json", "--seed", "7", "--check", check, "--", copy).stdout)
        assert v["exit_status"] == 0, (lab, file, v["exit_status"], [c for c in v["checks"] if c["outcome"] == "grader_fault"][:1])


def test_what_is_missing_in_a_run_is_named():
    folder = make("run without its log", "choice.json", "710.5", "710.6")
    os.remove(os.path.join(folder, "runs/1/records.jsonl"))
    c = grading.check(verdict(folder, "--check", "evidence"), "evidence.choice_measured")
    assert "runs/1/records.jsonl: can't be opened" in c["message"], c


def test_a_missing_run_is_named():
    folder = make("missing run", "choice.json", "710.5", "710.6")
    shutil.rmtree(os.path.join(folder, "runs/2"))
    v = verdict(folder, "--check", "evidence")
    c = grading.check(v, "evidence.choice_measured")
    assert c["outcome"] == "not_run" and "runs/2 is missing" in c["message"], c
    assert not v.get("problem"), v["problem"]


def test_a_run_is_not_read_through_a_link():
    folder = make("linked run", "choice.json", "710.5", "710.6")
    os.rename(os.path.join(folder, "runs/2"), os.path.join(folder, "elsewhere"))
    os.symlink("../elsewhere", os.path.join(folder, "runs/2"))
    v = verdict(folder, "--check", "evidence")
    c = grading.check(v, "evidence.choice_measured")
    assert c["outcome"] != "earned", c
    assert "runs/2/run.json is below a link or a file, where a folder is expected" in v["problem"], v["problem"]


def make(name, file, old, new):
    folder = os.path.join(grading.TMP, name.replace(" ", "_"))
    os.mkdir(folder)
    for f in FILES + RUNS:
        os.makedirs(os.path.dirname(os.path.join(folder, f)), exist_ok=True)
        shutil.copy(os.path.join(LAB, f), os.path.join(folder, f))
    with open(os.path.join(folder, file), encoding="utf-8") as f:
        text = f.read()
    text = plant(text, old, new, 1 if new and not file.startswith("runs/") else -1)  # what is dropped is dropped everywhere
    if file.endswith(".c") and ("printf(" in new or "exit(" in new):
        text = "#include <stdio.h>\n#include <stdlib.h>\n" + text
    with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
        f.write(text)
    return folder


def verdict(folder, *args, seed=("--seed", "7")):
    p = grading.run("04", "--json", *seed, *args, "--", folder)
    assert p.stdout, (p.returncode, p.stderr)
    v = json.loads(p.stdout.decode("utf-8"))
    assert v["exit_status"] == p.returncode, p.returncode
    return v


def outcomes(v):
    return {c["id"]: c["outcome"] for c in v["checks"]}


def wrong(name, file, old, new, lost, kept):
    checks = ",".join(x for x in (lost, kept) if x)
    needs = ",intervals,quality,slo" if "safety" in lost else ""
    v = verdict(make(name, file, old, new), "--check", checks + needs)
    got = outcomes(v)
    for c in lost.split(","):
        assert got[c] == "lost", (name, c, got[c])
    assert v["exit_status"] == 1
    for c in filter(None, kept.split(",")):
        assert got[c] == "earned", (name, c, got)


for _i, _w in enumerate(WRONG):
    globals()[f"test_wrong_{_i:02}_{_w[0].replace(' ', '_')}"] = lambda w=_w: wrong(*w)


def own_labs(name):
    """A folder with the references of labs 01, 02 and 04 beside each other."""
    top = os.path.join(grading.TMP, name)
    for lab in ("01_request_record", "02_queue_sim", "04_serving"):
        shutil.copytree(os.path.join(grading.TOP, "solutions", lab), os.path.join(top, lab))
    return top


def test_own_labs_are_graded_on_one_another():
    top = own_labs("own")
    folder = os.path.join(top, "04_serving")
    checks = ("--check", "slo.limits,slo.load,quality.prefix,intervals.stamp_kinds")
    assert verdict(folder, *checks, "--own", "all")["exit_status"] == 0
    with open(os.path.join(top, "01_request_record/percentile.c"), "w", encoding="utf-8") as f:
        f.write(grading.wrong_percentile())
    path = os.path.join(top, "02_queue_sim/policy.c")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(plant(text, "policy_learner(void) {", "policy_learner(void) {\n    for (volatile int i = 0;; i = 1 - i) {\n    }"))
    got = outcomes(verdict(folder, *checks, "--own", "all"))
    assert got == {"slo.limits": "lost", "slo.load": "earned", "quality.prefix": "lost", "intervals.stamp_kinds": "earned"}, got
    assert verdict(folder, *checks)["exit_status"] == 0, "without --own all the reference's labs are under it"


def test_a_missing_lab_takes_only_what_builds_on_it():
    top = own_labs("half")
    shutil.rmtree(os.path.join(top, "02_queue_sim"))
    v = verdict(os.path.join(top, "04_serving"), "--own", "all", "--check", "slo.load,quality.tokens,slo.limits,intervals.attempt_lag")
    got = outcomes(v)
    assert got["quality.tokens"] == got["slo.load"] == "not_run" and got["intervals.attempt_lag"] == "earned", got
    assert "../02_queue_sim/policy.c is missing" in v["problem"], v["problem"]
    assert "policy_learner" in grading.check(v, "quality.tokens")["message"]


def test_only_lab_04_has_labs_under_it():
    p = grading.run("02", "--own", "all", "--", os.path.join(grading.TOP, "solutions/02_queue_sim"))
    assert p.returncode == 2 and b"--own all is for lab 04" in p.stderr, p.stderr


def test_starter_is_not_attempted():
    v = verdict(os.path.join(grading.TOP, "labs/04_serving"))
    assert v["exit_status"] == 3 and v["points_earned"] == 0


def test_who_chose_other_checks_is_not_sent_back_to_the_first():
    """The C files are written, the data files are starters: the first step was made long ago."""
    folder = os.path.join(grading.TMP, "data_files_to_come")
    shutil.copytree(LAB, folder, ignore=shutil.ignore_patterns("runs"))
    for f in ("objective.json", "choice.json"):
        shutil.copy(os.path.join(grading.TOP, "labs/04_serving", f), folder)
    said = grading.run("04", "--check", "evidence", "--", folder).stdout.decode()
    assert 'objective.json still has a "TODO"' in said and "First step" not in said, said
    starters = os.path.join(grading.TOP, "labs/04_serving")
    said = grading.run("04", "--check", "intervals.stamp_kinds", "--", starters).stdout.decode()
    assert "First step" in said and "stamp_kinds" in said, said


def test_a_refused_function_is_told_from_those_that_may_be_called():
    for call in ("time(NULL)", "getpid()", "fork()"):
        include = "#include <sys/types.h>\n#include <time.h>\n#include <unistd.h>\n"
        folder = make(f"calls {call[:4]}", "stamps.c", '#include "serve/stamps.h"\n',
                      f'#include "serve/stamps.h"\n{include}long now(void) {{\n    return (long){call};\n}}\n')
        said = verdict(folder, "--check", "intervals.stamp_kinds")["problem"]
        for part in ("stamps.c", f"uses {call[:call.index('(')]},", "compute, print or allocate", "none of files, processes, threads and clocks"):
            assert part in said, (part, said)


def test_the_handout_lists_the_functions_that_may_be_called():
    with open(os.path.join(grading.TOP, "grader/lab04/checks.c"), encoding="utf-8") as f:
        given = re.findall(r'"(\w+)"', re.search(r"given\[\] = \{(.*?)NULL\}", f.read(), re.S)[1])
    with open(os.path.join(LAB, "README.md"), encoding="utf-8") as f:
        table = re.search(r"### What your files may call(.*?)\n#", f.read(), re.S)[1]
    rows = re.findall(r"`(\w+)`", "".join(line.rsplit("|", 2)[0] for line in table.splitlines() if line.startswith("| `")))
    assert sorted(rows) == sorted(given), set(rows) ^ set(given)


def test_a_missing_file_takes_only_its_own_checks():
    folder = make("without an engine", "engine_step.c", "", "")
    os.unlink(os.path.join(folder, "engine_step.c"))
    v = verdict(folder)
    got = outcomes(v)
    assert all(got[c] == "not_run" for c in ENGINE.split(",")) and v["exit_status"] == 1
    assert all(got[c] == "earned" for c in (KV + ",slo.verdict,intervals.stamp_once").split(","))


def test_a_refused_file_is_the_reason_of_its_checks():
    """Also of those that more than one file is about."""
    folder = make("assembly in the engine", "engine_step.c", "static void next_token", '__asm__("nop");\nstatic void next_token')
    v = verdict(folder, "--check", ENGINE)
    for c in ENGINE.split(","):
        message = grading.check(v, c)["message"]
        assert message.startswith("engine_step.c") and "not written" not in message, (c, message)
        assert message in v["problem"] and not grading.check(v, c)["todo"], (c, v["problem"])


def test_twenty_runs_one_verdict():
    folder = make("again and again", "kv_blocks.c", "i-- > 0;) give", "i-- > 1;) give")
    first = None
    for _ in range(20):
        v = verdict(folder, "--check", "quality,slo.verdict")
        seen = [(c["id"], c["outcome"], c.get("message")) for c in v["checks"]]
        first = first or seen
        assert seen == first


def test_a_hidden_seed_shows_no_case():
    seed = os.path.join(grading.TMP, "seed")
    with open(seed, "w", encoding="utf-8") as f:
        f.write("00112233445566778899aabbccddeeff\n")
    chosen = ("a free block is given twice", "a preempted request goes on where it was", "failures are left out of the percentile")
    of_name = {w[0]: w for w in WRONG}
    for name, file, old, new, lost, _ in (of_name[c] for c in chosen):
        v = verdict(make("hidden " + name, file, old, new), "--check", lost.split(",")[0], seed=("--seed-file", seed))
        c = grading.check(v, lost.split(",")[0])
        shown = " ".join(str(c.get(k, "")) for k in ("message", "kind", "input", "got", "want", "note"))
        assert c["outcome"] == "lost" and "operation " not in shown and "request " not in shown, shown


if __name__ == "__main__":
    grading.sys.exit(grading.main(globals()))
