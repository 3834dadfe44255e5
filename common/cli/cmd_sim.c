/* cmd_sim.c: `servelab sim run` simulates one load, `servelab sim sweep` (sim_sweep.c) several.
 * Flags: sim_flags.h; output: sim_print.h; simulation: sim/run.h and sim/sweep.h. */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/sim_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Recording every token takes time: above this many requests ITL is left out, unless records are
 * written. */
enum { WATCH_UP_TO = 1000 * 1000 };
/* A request takes more than a kilobyte in a JSON tree. */
enum { LIST_UP_TO = 200 * 1000 };

/* ---- one run ---- */

struct watch {
    struct recorder *recorder;
    bool terminal;
    int64_t began_ns;
};

static void on_event(void *ctx, int64_t id, enum event_kind kind, int64_t t_ns) {
    recorder_event(((struct watch *)ctx)->recorder, id, kind, t_ns);
}

static void on_outcome(void *ctx, const struct sim_outcome *o) {
    recorder_outcome(((struct watch *)ctx)->recorder, o);
}

static void on_progress(void *ctx, int64_t requests) {
    const struct watch *w = ctx;
    if (!w->terminal || clock_monotonic_ns() - w->began_ns < 2 * NS_PER_S) return;
    fprintf(stderr, "\r  %lld requests simulated ", (long long)requests);
}

static void clear_progress(const struct watch *w) {
    if (w->terminal) fprintf(stderr, "\r\033[K");
}

static int fault(int rc, const struct sim_setup *s, const struct err *e, bool json) {
    int status = cli_input_error("sim run", workload_err_input(&s->run.workload, e), e, json);
    if (rc != RUN_OURS) return status;
    fprintf(stderr, "servelab sim run: this is a bug in servelab; discard the results\n");
    return CLI_FAULT;
}

/* Runs, measures and finishes the records; prints only if nothing failed. */
static int run_and_print(const struct sim_flags *f, struct sim_setup *s, struct watch *w) {
    struct run run;
    struct run_measures m;
    struct err e;
    int rc = run_once(&s->run, &run, &e);
    clear_progress(w);
    if (rc) return fault(rc, s, &e, f->json);
    if (run_measure(&run, &s->run, &m, &e)) rc = RUN_BAD;
    bool written = true;
    if (!rc && w->recorder) {
        rc = recorder_finish(w->recorder,
                             &e); /* RECORDER_BAD, RECORDER_OURS: as RUN_BAD, RUN_OURS */
        written = rc != RECORDER_BAD;
    }
    if (!rc) {
        struct run_report r = {f, s, &run, &m, w->recorder};
        s->facts = run.facts;
        (f->json ? print_run_json : print_run_text)(&r);
        if (f->records && !f->json)
            printf("\nrecords: %s (`servelab record check %s` reads them)\n", f->records,
                   f->records);
    }
    run_release(&run);
    int status = rc ? fault(rc, s, &e, f->json) : CLI_DONE;
    return written ? status : CLI_FAULT;
}

int sim_run(const struct sim_flags *f) {
    struct sim_setup s;
    struct err e;
    if (sim_setup_make(f, &s, &e)) return cli_input_error("sim run", NULL, &e, f->json);
    if (f->json && f->per_request && s.run.workload.requests > LIST_UP_TO) {
        sim_setup_release(&s);
        return cli_usage("sim run",
                         "--json --per-request lists up to %d requests in its one object; take "
                         "fewer, leave out --json, or take --records, an object a line",
                         LIST_UP_TO);
    }
    struct watch w = {.terminal = isatty(STDERR_FILENO), .began_ns = clock_monotonic_ns()};
    int rc = CLI_DONE;
    if (f->records || s.run.workload.requests <= WATCH_UP_TO) {
        w.recorder = recorder_create(f->records, f->model ? s.deployment.model->name : "none", &e);
        if (!w.recorder) rc = cli_input_error("sim run", NULL, &e, f->json);
        s.run.event = on_event;
        s.run.ended = on_outcome;
    }
    s.run.progress = on_progress;
    if (f->plans) s.run.watch = sim_print_plans;
    s.run.ctx = &w;
    if (!rc) rc = run_and_print(f, &s, &w);
    recorder_free(w.recorder);
    sim_setup_release(&s);
    return rc;
}
