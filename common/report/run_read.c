/* run_read.c: see run_read.h. */
#include "report/run_read.h"

#include "base/buffer.h"
#include "base/json.h"
#include "record/log.h"
#include "report/run_foreign.h"
#include "report/run_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RUN_SCHEMA "servelab.run.v1"
enum {
    ROUNDED_NS = 1000000,       /* duration_s is rounded; a client's clock has steps of 0.1 ms */
    BROWSER_STEP_NS = 100000000 /* the coarsest that a browser makes its clock */
};

/* ---- the run file ---------------------------------------------------------------------------- */

/* What the run file states, or what is assumed without one. */
struct stated {
    int64_t first_ns, last_ns; /* the schedule; -1: not stated */
    int64_t sent;              /* user requests; -1: not stated */
    bool fixed_lengths;        /* answers without a check go on to the length that was asked for */
};

/* An invalid run without a request in its window, or with a window of no length: -1, and *e with
 * the run file's own reason. */
static int check_point(struct report_run *run, const cJSON *schedule, struct err *e) {
    const cJSON *counts = cJSON_GetObjectItemCaseSensitive(run->run_file, "counts");
    const cJSON *in_window = cJSON_GetObjectItemCaseSensitive(counts, "in_window");
    double from =
        cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(schedule, "window_from_t_ns"));
    double to = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(schedule, "window_to_t_ns"));
    bool none = cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(schedule, "last_t_ns")) ||
                cJSON_GetNumberValue(in_window) == 0;
    const cJSON *reasons = cJSON_GetObjectItemCaseSensitive(run->run_file, "invalid_reasons");
    const cJSON *first = cJSON_GetArrayItem(reasons, 0);
    if (run->valid || !(none || from >= to)) return 0;
    run->no_point = true;
    return err_at(e, 0, "schedule", "the run is no point of a curve: %.200s",
                  cJSON_IsString(first) ? first->valuestring : "it is invalid");
}

static int read_schedule(struct report_run *run, struct stated *s, struct err *e) {
    const cJSON *schedule;
    const char *path = "schedule";
    if (json_get_object(run->run_file, "", path, &schedule, e) || check_point(run, schedule, e) ||
        json_get_int(schedule, path, "first_t_ns", 0, JSON_MAX_INT, &s->first_ns, e) ||
        json_get_int(schedule, path, "last_t_ns", 0, JSON_MAX_INT, &s->last_ns, e) ||
        json_get_int(schedule, path, "window_from_t_ns", 0, JSON_MAX_INT, &run->window.from_ns,
                     e) ||
        json_get_int(schedule, path, "window_to_t_ns", 0, JSON_MAX_INT, &run->window.to_ns, e))
        return -1;
    if (cJSON_HasObjectItem(schedule, "ahead_of_monotonic_ns") &&
        json_get_int(schedule, path, "ahead_of_monotonic_ns", 0, JSON_MAX_INT, &run->ahead_ns, e))
        return -1;
    if (run->window.from_ns >= run->window.to_ns)
        return err_at(e, 0, "schedule.window_to_t_ns", "the measured window is empty");
    double s_long = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(schedule, "duration_s"));
    double end = s_long > 0 ? (double)s->first_ns + s_long * 1e9 : (double)s->last_ns;
    if (run->window.from_ns < s->first_ns)
        return err_at(e, 0, "schedule.window_from_t_ns",
                      "is before first_t_ns, the schedule's begin");
    if ((double)run->window.to_ns > end + ROUNDED_NS)
        return err_at(e, 0, "schedule.window_to_t_ns", "is after the schedule's end");
    return 0;
}

/* What says whether the run may be compared, and with what. */
static int read_kind(struct report_run *run, const char *arrivals, struct err *e) {
    static const char *const kinds[] = {"poisson", "gamma", "on-off", "closed", "trace", "list"};
    const cJSON *reasons = cJSON_GetObjectItemCaseSensitive(run->run_file, "invalid_reasons");
    size_t k = 0;
    while (k < sizeof kinds / sizeof *kinds && strcmp(arrivals, kinds[k]) != 0) k++;
    if (k == sizeof kinds / sizeof *kinds)
        return err_at(e, 0, "workload.arrivals",
                      "'%.40s' is unknown; `servelab load --help` has the kinds", arrivals);
    if (reasons && !cJSON_IsArray(reasons))
        return err_at(e, 0, "invalid_reasons", "must be a list of reasons");
    if (run->valid && cJSON_GetArraySize(reasons) > 0)
        return err_at(e, 0, "valid", "is true, and invalid_reasons says why it is not");
    run->closed_loop = !strcmp(arrivals, "closed");
    return 0;
}

static int read_run_file(struct report_run *run, const char *path, struct stated *s,
                         struct err *e) {
    const char *schema, *paced = NULL, *arrivals;
    const cJSON *workload, *counts;
    bool found = false;
    run->run_file = json_parse_file(path, e);
    if (!run->run_file || json_get_string(run->run_file, "", "schema", &schema, e)) return -1;
    if (strcmp(schema, RUN_SCHEMA) != 0)
        return err_at(e, 0, "schema", "is '%.60s', not '" RUN_SCHEMA "'", schema);
    if (json_get_bool(run->run_file, "", "valid", &run->valid, e) ||
        json_get_string_opt(run->run_file, "", "paced", &paced, &found, e) ||
        json_get_object(run->run_file, "", "workload", &workload, e) ||
        json_get_string(workload, "workload", "arrivals", &arrivals, e) ||
        json_get_bool(workload, "workload", "ignore_eos", &s->fixed_lengths, e) ||
        json_get_object(run->run_file, "", "counts", &counts, e) ||
        json_get_int(counts, "counts", "sent", 0, JSON_MAX_INT, &s->sent, e) ||
        read_kind(run, arrivals, e))
        return -1;
    if (found) text_cut(run->label, sizeof run->label, paced);
    return read_schedule(run, s, e);
}

/* ---- the records ----------------------------------------------------------------------------- */

struct reading {
    struct report_run *run;
    const struct objective *o;
    const struct stated *stated;
    size_t cap;            /* of run->attempts */
    char clock_api[2][32]; /* of the client's submissions, of the server's acceptances */
    int clock[2];          /* enum clock_id; -1: none seen */
    char model[96];        /* of the first record that states one */
    char sender[16];       /* "load-8b26d6e4-", of the first record that `servelab load` sent */
};

/* A time that `servelab load` adds to request_submitted; -1: not stated. */
static int stated_time(const struct event *submitted, const char *name, int64_t *ns,
                       struct err *e) {
    bool found = false;
    *ns = -1;
    return submitted && submitted->extra
               ? json_get_int_opt(submitted->extra, "events.request_submitted", name, 0,
                                  JSON_MAX_INT, ns, &found, e)
               : 0;
}

/* All arrivals of a run are on one clock. */
static int check_clock(struct reading *rd, int which, const struct event *ev, int line,
                       struct err *e) {
    if (!ev) return 0;
    if (rd->clock[which] < 0) {
        rd->clock[which] = (int)ev->clock;
        text_cut(rd->clock_api[which], sizeof rd->clock_api[which], ev->clock_api);
    }
    if ((int)ev->clock == rd->clock[which] && !strcmp(ev->clock_api, rd->clock_api[which]))
        return 0;
    return err_at(e, line, event_name(ev->kind),
                  "is on the clock '%s' (%s), and that of the records before it on '%s' (%s): one "
                  "run has one clock. Report on the two apart",
                  clock_name(ev->clock), ev->clock_api, clock_name((enum clock_id)rd->clock[which]),
                  rd->clock_api[which]);
}

/* Is the record of the run that run.json describes? */
static int check_run(const struct reading *rd, const struct report_attempt *a, int line,
                     struct err *e) {
    const struct stated *s = rd->stated;
    if (s->first_ns < 0 || a->at_server) return 0;
    if (a->submitted_ns >= s->first_ns && a->submitted_ns <= s->last_ns) return 0;
    return err_at(
        e, line, "request_submitted",
        "request '%s' was submitted outside of the schedule of run.json: it is of another "
        "run. Report on the two apart",
        a->request_id);
}

/* Are all records of one model, and of one `servelab load`? It gives its requests ids like
 * "load-8b26d6e4-17", with other digits in each run. */
static int check_same(struct reading *rd, const struct record *r, int line, struct err *e) {
    enum { DIGITS = 8, SENDER = 5 + DIGITS + 1 };
    const char *id = r->request_id, *model = r->workload.model;
    if (!rd->model[0]) text_cut(rd->model, sizeof rd->model, model);
    if (model[0] && strcmp(rd->model, model) != 0)
        return err_at(e, line, "workload.model",
                      "request '%s' was answered by '%.60s', and those before it by '%s': one run "
                      "has one model. Report on the two apart",
                      id, model, rd->model);
    if (strncmp(id, "load-", 5) != 0 || strspn(id + 5, "0123456789abcdef") != DIGITS ||
        id[SENDER - 1] != '-')
        return 0;
    if (!rd->sender[0]) memcpy(rd->sender, id, SENDER);
    if (!strncmp(rd->sender, id, SENDER)) return 0;
    return err_at(
        e, line, "request_id",
        "'%.40s' is of another run of `servelab load` than '%s...' before it, and a point "
        "is one run. Report on the two apart: `grep %s LOG > PART.jsonl` gives the "
        "first. Of two loads at once, each part shows one, slowed by the other",
        id, rd->sender, rd->sender);
}

/* A client can't have text before its server has a token; what differs less is a clock's step. */
static int check_halves(const struct report_attempt *a, const struct event *submitted, int line,
                        struct err *e) {
    const struct interval *client = &a->iv.client_ttft, *server = &a->iv.server_ttft;
    int64_t step_ns = submitted && submitted->source == SRC_BROWSER ? BROWSER_STEP_NS : ROUNDED_NS;
    if (client->status != INTERVAL_OK || server->status != INTERVAL_OK ||
        client->ns >= server->ns - server->ns / 1000 - step_ns)
        return 0;
    return err_at(e, line, "client_ttft",
                  "of request '%s' is %.3f ms, and its server_ttft %.3f ms: the client can't see "
                  "text before the server has a token. Are both halves of one request, in ns?",
                  a->request_id, (double)client->ns / 1e6, (double)server->ns / 1e6);
}

static int make_room(struct reading *rd, struct err *e) {
    struct report_run *run = rd->run;
    if (run->n_attempts < rd->cap) return 0;
    size_t cap = rd->cap ? rd->cap * 2 : 256;
    struct report_attempt *wider = realloc(run->attempts, cap * sizeof *wider);
    if (!wider) return err_set(e, "no memory for %zu records", cap);
    run->attempts = wider;
    rd->cap = cap;
    return 0;
}

static int add_record(struct reading *rd, const struct record *r, int line, struct err *e) {
    const struct event *submitted = record_event(r, EV_REQUEST_SUBMITTED);
    const struct event *accepted = record_event(r, EV_REQUEST_ACCEPTED);
    struct report_run *run = rd->run;
    int64_t scheduled_ns, ended_ns;
    struct err why;
    if (make_room(rd, e) || check_clock(rd, 0, submitted, line, e) ||
        check_clock(rd, 1, accepted, line, e) || check_same(rd, r, line, e))
        return -1;
    if (stated_time(submitted, "scheduled_t_ns", &scheduled_ns, &why) ||
        stated_time(submitted, "ended_t_ns", &ended_ns, &why))
        return err_at(e, line, why.field, "%s", why.text);
    enum truncation_rule truncation = rd->o->truncation;
    if (rd->stated->fixed_lengths && !r->quality.check[0]) truncation = TRUNCATION_FIXED_LENGTH;
    struct report_attempt *a = &run->attempts[run->n_attempts];
    if (report_attempt(r, scheduled_ns, truncation, a, &why))
        return err_at(e, line, why.field, "%s, in the record of request '%s'", why.text,
                      r->request_id);
    intervals_of_client(r, &a->iv);
    run->in_one_piece += record_in_one_piece(r);
    run->too_many += record_counts_too_many(r);
    run->cut += a->reason == REASON_TRUNCATED && !r->quality.check[0];
    if (ended_ns >= 0 && ended_ns < submitted->t_ns)
        return err_at(e, line, "events.request_submitted.ended_t_ns",
                      "request '%s' ended before it was submitted", r->request_id);
    if (check_run(rd, a, line, e) || check_halves(a, submitted, line, e)) return -1;
    a->line = line;
    if (ended_ns >= 0) a->ended_ns = ended_ns; /* also where no last byte came */
    if (a->submitted_ns < 0)
        return err_at(e, line, "events",
                      "request '%s' has neither request_submitted nor request_accepted: nothing "
                      "says when it arrived",
                      r->request_id);
    if (rd->clock[0] == CLOCK_SIM || (rd->clock[0] < 0 && rd->clock[1] == CLOCK_SIM))
        run->kind = RUN_SIMULATED;
    else if (r->workload.paced[0] && !run->label[0])
        text_cut(run->label, sizeof run->label, r->workload.paced);
    if (r->workload.paced[0] && run->label[0] && strcmp(r->workload.paced, run->label) != 0)
        return err_at(e, line, "workload.paced",
                      "request '%s' was paced as '%s', and the run as '%s': one run has one pace. "
                      "Report on the two apart",
                      r->request_id, r->workload.paced, run->label);
    run->n_attempts++;
    return 0;
}

static int read_records(struct reading *rd, const char *path, bool skip_torn, struct err *e) {
    struct record_reader *reader = record_reader_open(path, e);
    const struct record *r;
    int line, rc = 0;
    enum record_read got = RECORD_READ_OK;
    if (!reader) return -1;
    while (!rc && got != RECORD_READ_END) {
        got = record_reader_next(reader, &r, &line, e);
        if (got == RECORD_READ_OK)
            rc = add_record(rd, r, line, e);
        else if (got == RECORD_READ_TORN && skip_torn)
            rd->run->torn++;
        else if (got != RECORD_READ_END)
            rc = -1;
    }
    record_reader_close(reader);
    if (!rc && rd->run->n_attempts == 0) rc = err_set(e, "holds no whole record");
    return rc;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Records without the client's half can't be placed among those that have it. */
static void keep_one_side(struct report_run *run) {
    size_t kept = 0;
    run->at_server = true;
    for (size_t i = 0; i < run->n_attempts; i++) run->at_server &= run->attempts[i].at_server;
    for (size_t i = 0; i < run->n_attempts; i++)
        if (run->attempts[i].at_server == run->at_server) run->attempts[kept++] = run->attempts[i];
    run->left_out = (int64_t)(run->n_attempts - kept);
    run->n_attempts = kept;
    run->window.unplaced = run->left_out + run->torn;
}

static int group(struct report_run *run, const struct objective *o, const struct stated *s,
                 struct err *e) {
    run->requests = calloc(run->n_attempts, sizeof *run->requests);
    if (!run->requests) return err_set(e, "no memory for %zu user requests", run->n_attempts);
    if (report_group(o, run->attempts, run->n_attempts, run->requests, &run->n_requests, e))
        return -1;
    for (size_t i = 0; i < run->n_requests && !run->at_server; i++)
        run->first_missing += run->requests[i].attempts < run->requests[i].deciding->attempt;
    run->window.unplaced += run->first_missing;
    int64_t there = (int64_t)run->n_requests + run->left_out + run->torn;
    if (s->sent >= 0 && !run->at_server && (int64_t)run->n_requests > s->sent)
        return err_set(
            e,
            "holds %zu user requests, and run.json says that %lld were sent: some are of "
            "another run",
            run->n_requests, (long long)s->sent);
    if (s->sent >= 0 && there < s->sent)
        return err_set(e,
                       "holds %lld user requests, and run.json says that %lld were sent: the "
                       "denominators would be wrong",
                       (long long)there, (long long)s->sent);
    if (run->run_file) return 0;
    run->window.from_ns = run->requests[0].arrival_ns;
    run->window.to_ns = run->requests[run->n_requests - 1].arrival_ns;
    if (run->window.from_ns < run->window.to_ns) {
        /* n arrivals have n - 1 gaps between them: with one more, the rate is one arrival a gap */
        if (!run->source.tool)
            run->window.to_ns +=
                (run->window.to_ns - run->window.from_ns) / (int64_t)(run->n_requests - 1);
        return 0;
    }
    return err_set(e, "all its requests arrive at one instant, and no run.json states a measured "
                      "window: there are no rates");
}

static bool exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int name_file(char file[4096], const char *path, const char *name, struct err *e) {
    if (snprintf(file, 4096, "%s%s%s", path, name ? "/" : "", name ? name : "") < 4096) return 0;
    return err_set(e, "the path is too long");
}

int report_run_read(struct report_run *run, const char *path, const struct objective *o,
                    bool skip_torn, char file[4096], struct err *e) {
    struct stated stated = {.first_ns = -1, .last_ns = -1, .sent = -1};
    struct reading rd = {.run = run, .o = o, .stated = &stated, .clock = {-1, -1}};
    bool folder = is_folder(path);
    *run = (struct report_run){.valid = true};
    text_cut(run->name, sizeof run->name, path);
    if (name_file(file, path, folder ? "run.json" : NULL, e)) return -1;
    if (folder && read_run_file(run, file, &stated, e)) return -1;
    if (name_file(file, path, folder ? "records.jsonl" : NULL, e)) return -1;
    int foreign = folder ? 0 : run_foreign_read(run, file, e);
    if (foreign < 0 || (!foreign && read_records(&rd, file, skip_torn, e))) return -1;
    if (run->n_attempts == 0) return err_set(e, "holds no request");
    keep_one_side(run);
    if (group(run, o, &stated, e)) return -1;
    if (run->kind == RUN_MEASURED && run->label[0]) run->kind = RUN_PACED;
    if (!folder) return 0;
    if (name_file(file, path, "steps.jsonl", e)) return -1;
    return exists(file) ? run_steps_read(&run->steps, file, &run->window, run->ahead_ns, e) : 0;
}

void report_run_release(struct report_run *run) {
    free(run->attempts);
    free(run->requests);
    cJSON_Delete(run->run_file);
    *run = (struct report_run){0};
}

bool report_run_same(const struct report_run *a, const struct report_run *b) {
    if (a->kind == RUN_SIMULATED || a->kind != b->kind || strcmp(a->label, b->label) != 0 ||
        a->n_attempts != b->n_attempts)
        return false;
    for (size_t i = 0; i < a->n_attempts; i++) {
        const struct report_attempt *x = &a->attempts[i], *y = &b->attempts[i];
        if (strcmp(x->request_id, y->request_id) != 0 || x->attempt != y->attempt ||
            x->submitted_ns != y->submitted_ns || x->ended_ns != y->ended_ns)
            return false;
    }
    return true;
}
