/* evidence_runs.c: see evidence_runs.h. Everything that could be a learner's function is the
 * reference's here (reference.h). That a run was measured can't be proved; what is checked is that
 * it is whole, valid, plausible, made by the schedule that its seed gives, and no copy of another
 * one. */
#include "lab04/reference.h"

#include "lab04/evidence_runs.h"
#include "lab04/evidence_schedule.h"

#include "base/text.h"
#include "report/run_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Two attempts are the same when two intervals of one side agree to the nanosecond: client_ttft and
 * e2e, or queue_delay and server_ttft. */
enum side { AT_CLIENT, AT_SERVER };

struct seen {
    enum side side;
    int64_t first_ns, second_ns;
    int run, line;
};

struct all_seen {
    struct seen *list;
    size_t n;
};

static int by_times(const void *a, const void *b) {
    const struct seen *x = a, *y = b;
    if (x->side != y->side) return x->side < y->side ? -1 : 1;
    if (x->first_ns != y->first_ns) return x->first_ns < y->first_ns ? -1 : 1;
    if (x->second_ns != y->second_ns) return x->second_ns < y->second_ns ? -1 : 1;
    return x->run != y->run ? x->run - y->run : x->line - y->line;
}

static bool shown(const struct interval *iv) {
    return iv->status == INTERVAL_OK;
}

static int check_times(const struct report_attempt *a, struct err *e) {
    const struct intervals *iv = &a->iv;
    if (shown(&iv->client_ttft) && iv->client_ttft.ns < RUNS_SHORTEST_NS)
        return err_at(e, a->line, "client_ttft", "is %lld ns; no client waits less than %d ns",
                      (long long)iv->client_ttft.ns, RUNS_SHORTEST_NS);
    if (shown(&iv->client_ttft) && shown(&iv->server_ttft) &&
        iv->client_ttft.ns < iv->server_ttft.ns)
        return err_at(e, a->line, "client_ttft",
                      "is shorter than server_ttft: the client would have the answer first");
    if (shown(&iv->client_ttft) && shown(&iv->e2e) && iv->e2e.ns < iv->client_ttft.ns)
        return err_at(e, a->line, "e2e", "is shorter than client_ttft");
    return 0;
}

static void remember_side(struct all_seen *all, enum side side, const struct interval *first,
                          const struct interval *second, int run, int line) {
    if (shown(first) && shown(second))
        all->list[all->n++] = (struct seen){side, first->ns, second->ns, run, line};
}

static int remember(struct all_seen *all, const struct report_run *run, int number) {
    struct seen *wider = realloc(all->list, (all->n + 2 * run->n_attempts) * sizeof *wider);
    if (!wider) return -1;
    all->list = wider;
    for (size_t i = 0; i < run->n_attempts; i++) {
        const struct intervals *iv = &run->attempts[i].iv;
        int line = run->attempts[i].line;
        remember_side(all, AT_CLIENT, &iv->client_ttft, &iv->e2e, number, line);
        remember_side(all, AT_SERVER, &iv->queue_delay, &iv->server_ttft, number, line);
    }
    return 0;
}

static double number_at(const cJSON *file, const char *object, const char *key) {
    const cJSON *o = cJSON_GetObjectItemCaseSensitive(file, object);
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(o, key)); /* NaN: not there */
}

/* The parts of the run file agree: a window that was moved afterwards, or a run that was called
 * valid, shows. */
static int check_run_file(const struct report_run *run, struct err *e) {
    const cJSON *f = run->run_file;
    const struct report_window *w = &run->window;
    double first = number_at(f, "schedule", "first_t_ns"), last, in_window = 0;
    double warm_up = number_at(f, "schedule", "warm_up_s");
    double duration = number_at(f, "schedule", "duration_s");
    double cool_down = number_at(f, "schedule", "cool_down_s");
    if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(f, "invalid_reasons")) > 0)
        return err_at(e, 0, "valid", "is true in run.json, and invalid_reasons says why it is not");
    last = duration > 0 ? first + duration * 1e9 : number_at(f, "schedule", "last_t_ns");
    if (!(fabs((double)w->from_ns - first - warm_up * 1e9) < 1e6) ||
        !(fabs((double)w->to_ns - last + cool_down * 1e9) < 1e6))
        return err_at(e, 0, "schedule",
                      "in run.json, the window is not the one that warm_up_s, "
                      "duration_s and cool_down_s give");
    for (size_t i = 0; i < run->n_requests; i++)
        in_window +=
            run->requests[i].arrival_ns >= w->from_ns && run->requests[i].arrival_ns <= w->to_ns;
    if (number_at(f, "counts", "in_window") != in_window)
        return err_at(e, 0, "counts.in_window",
                      "in run.json is not the number of requests that "
                      "arrived in its window");
    return 0;
}

static int check_run(const struct report_run *run, struct err *e) {
    if (run->kind == RUN_SIMULATED)
        return err_set(e, "its times are a simulator's; this exercise wants a server that ran");
    if (!run->valid)
        return err_at(e, 0, "valid",
                      "is false in run.json, which says why; measure this load "
                      "again");
    if (run->at_server)
        return err_set(e, "no record has the client's half, so the users' waits weren't measured");
    for (size_t i = 0; i < run->n_attempts; i++)
        if (check_times(&run->attempts[i], e)) return -1;
    return check_run_file(run, e) || lab04_check_schedule(run, e) ? -1 : 0;
}

static int measure(const char *folder, const struct objective *o, int number,
                   struct measured_run *out, struct all_seen *all, bool *missing, struct err *e) {
    char path[400], file[4096] = "", name[64];
    struct report_run run;
    struct stat st;
    struct err why = {0};
    snprintf(name, sizeof name, "runs/%d", number);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    *missing = stat(path, &st) != 0;
    if (*missing)
        return err_set(e, "%s is missing: a point needs the run that it was measured in", name);
    int rc = report_run_read(&run, path, o, false, file, &why);
    const char *part = rc ? strrchr(file, '/') : "/records.jsonl"; /* where the fault is */
    bool in_part = rc;
    if (!rc) rc = check_run(&run, &why);
    if (!rc) rc = report_measure(o, run.requests, run.n_requests, &run.window, &out->point, &why);
    if (!rc && out->point.requests < RUNS_FEWEST)
        rc = err_set(&why, "%lld requests arrived in its window; at least %d are wanted",
                     (long long)out->point.requests, RUNS_FEWEST);
    if (!rc) rc = remember(all, &run, number);
    report_run_release(&run);
    if (!rc) {
        out->verdict = report_verdict(o, &out->point);
        return 0;
    }
    char line[sizeof e->text];
    if (part && (in_part || why.line > 0)) text_append(name, sizeof name, "%s", part);
    return err_set(e, "%s", err_format(&why, name, line, sizeof line));
}

static int check_copies(struct all_seen *all, struct err *e) {
    if (all->n > 1) qsort(all->list, all->n, sizeof *all->list, by_times);
    for (size_t i = 1; i < all->n; i++) {
        const struct seen *x = &all->list[i - 1], *y = &all->list[i];
        if (x->side != y->side || x->first_ns != y->first_ns || x->second_ns != y->second_ns)
            continue;
        return err_set(e,
                       "runs/%d (line %d) and runs/%d (line %d) have a request with the same times "
                       "to the nanosecond: one is a copy of the other",
                       x->run, x->line, y->run, y->line);
    }
    return 0;
}

int lab04_measure_runs(const char *folder, const struct objective *o, int n,
                       struct measured_run *out, bool *missing, struct err *e) {
    struct all_seen all = {0};
    int rc = 0;
    *missing = false;
    for (int i = 0; i < n && !rc; i++) rc = measure(folder, o, i, &out[i], &all, missing, e);
    if (!rc) rc = check_copies(&all, e);
    free(all.list);
    return rc;
}
