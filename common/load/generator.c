/* generator.c: see generator.h. */
#include "load/generator.h"

#include "base/clock.h"
#include "base/rng.h"
#include "load/live.h"
#include "load/wire.h"

#include <curl/curl.h>
#include <sched.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    HEAD_START_MS = 20, /* from "go" to time 0 of the schedule: what is due first is made before */
    QUIET_US = 300,     /* a record is dealt with only when nothing is due within this */
    LEFT_FOR_RECORDS_S = 5, /* after the last answer of an interrupted load */
    SENDS_AT_ONCE = 16,     /* of a backlog, before sockets are read again */
    SPARE_HANDLES = 4096    /* of libcurl's, kept for the next requests */
};

struct generator {
    const struct load_job *job;
    struct load_results *r;
    struct wire_loop loop;
    struct outbox outbox;
    struct live live;
    struct rng checks; /* which requests ask a checkable prompt */
    int64_t next_check;
    struct flight *prepared; /* of an open loop: the next one, ready to be sent */
    int64_t prepared_ns;
    bool sent_all, stopped;
    int64_t in_flight;
    struct flight *flying; /* a list, for the end of an interrupted load */
    CURL *spare[SPARE_HANDLES];
    int n_spare;
    int64_t cpu_ns, waited_ns; /* of the thread when the schedule began */
    bool failed;
    struct err err;
};

static void fail(struct generator *g, const struct err *e) {
    if (!g->failed) g->err = *e;
    g->failed = true;
}

/* ---- the thread's time ----------------------------------------------------------------------- */

static int64_t thread_cpu_ns(void) {
    struct timespec t;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)) return 0;
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* How long the thread was ready to run and had no core. 0 where the kernel doesn't say. */
static int64_t thread_waited_ns(void) {
    FILE *f = fopen("/proc/thread-self/schedstat", "re");
    long long ran, waited = 0;
    if (!f) return 0;
    if (fscanf(f, "%lld %lld", &ran, &waited) != 2) waited = 0;
    fclose(f);
    return waited;
}

static bool set_real_time(bool on) {
    struct sched_param p = {.sched_priority = on ? sched_get_priority_min(SCHED_FIFO) : 0};
    return !sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &p) && on;
}

static void end_of_sending(struct generator *g) {
    if (g->sent_all) return;
    g->sent_all = true;
    g->r->sending_end_ns = clock_monotonic_ns();
    g->r->cpu_ns = thread_cpu_ns() - g->cpu_ns;
    g->r->waited_ns = thread_waited_ns() - g->waited_ns;
}

/* ---- one request ----------------------------------------------------------------------------- */

static void ask_check(struct generator *g, struct flight *f) {
    const struct check_prompt *c = &g->job->checks[g->next_check++ % g->job->n_checks];
    struct load_request *r = &f->request;
    r->prompt = c->prompt;
    r->max_tokens = c->max_tokens;
    r->chat = g->job->chat;
    r->ignore_eos = false;
    text_cut(r->check, sizeof r->check, c->name);
}

static int ask_drawn(struct generator *g, struct flight *f, const struct sim_request *s) {
    const struct load_job *j = g->job;
    struct buffer text = {0};
    f->request.max_tokens = s->output_tokens;
    if (j->ids) {
        f->ids = malloc((size_t)s->prompt_tokens * sizeof *f->ids);
        if (f->ids) prompt_ids(&j->prompts, s, f->ids);
        f->request.ids = f->ids;
        f->request.n_ids = s->prompt_tokens;
        f->request.chat = false;
        return f->ids ? 0 : -1;
    }
    prompt_text(&j->prompts, s, &text);
    f->text = text.bytes; /* taken over */
    f->request.prompt = f->text;
    return text.failed ? -1 : 0;
}

/* Makes what is sent for one arrival. NULL when memory is out. */
static struct flight *make_flight(struct generator *g, const struct sim_request *s) {
    const struct load_job *j = g->job;
    struct flight *f = calloc(1, sizeof *f);
    struct err e;
    if (!f) return NULL;
    f->request = (struct load_request){.model = j->model,
                                       .chat = j->chat,
                                       .temperature = j->temperature,
                                       .ignore_eos = j->ignore_eos,
                                       .attempt = 1,
                                       .keep_chunks = !j->joins};
    f->prompt_tokens = s->prompt_tokens;
    snprintf(f->request.request_id, sizeof f->request.request_id, "load-%08x-%lld", j->run,
             (long long)s->id + 1);
    f->check = rng_unit(&g->checks) < j->check_share && j->n_checks > 0;
    if (f->check)
        ask_check(g, f);
    else if (ask_drawn(g, f, s))
        goto fail;
    f->curl = g->n_spare > 0 ? g->spare[--g->n_spare] : curl_easy_init();
    if (f->curl) f->transfer = load_transfer_open(j->client, f->curl, &f->request, &f->seen, &e);
    if (f->transfer) return f;
fail:
    if (f->curl) curl_easy_cleanup(f->curl);
    flight_free(f);
    return NULL;
}

static void link_flight(struct generator *g, struct flight *f) {
    f->next = g->flying;
    f->before = NULL;
    if (g->flying) g->flying->before = f;
    g->flying = f;
    g->in_flight++;
}

static void unlink_flight(struct generator *g, struct flight *f) {
    if (f->next) f->next->before = f->before;
    if (f->before)
        f->before->next = f->next;
    else
        g->flying = f->next;
    g->in_flight--;
}

static void note_failure(struct generator *g, const struct flight *f) {
    g->live.failed++;
    if (g->stopped || g->r->first_problem[0]) return;
    snprintf(g->r->first_problem, sizeof g->r->first_problem, "%s: %s", f->request.request_id,
             f->seen.problem[0] ? f->seen.problem : "its end never came");
}

/* The transfer is over: a row, and a record to be. */
static void land(struct generator *g, struct flight *f, int code) {
    struct load_row *row = &g->r->rows[f->row];
    const struct load_seen *seen = &f->seen;
    unlink_flight(g, f);
    load_transfer_conclude(f->transfer, code);
    row->submitted_ns = seen->submitted_ns;
    row->first_ns = seen->first_ns;
    row->last_ns = seen->last_ns;
    row->ended_ns = seen->ended_ns;
    row->usage_prompt_tokens = seen->prompt_tokens;
    row->usage_output_tokens = seen->output_tokens;
    row->chunks = seen->content_chunks + seen->reasoning_chunks;
    row->http_status = (int16_t)seen->http_status;
    row->whole = seen->http_status == 200 && seen->final_ns >= 0 && !seen->problem[0];
    row->timed_out = seen->timed_out;
    row->interrupted = g->stopped;
    row->resent = seen->resent;
    load_transfer_free(f->transfer);
    f->transfer = NULL;
    if (g->n_spare < SPARE_HANDLES)
        g->spare[g->n_spare++] = f->curl;
    else
        curl_easy_cleanup(f->curl);
    f->curl = NULL;
    int64_t pause_ns = row->whole ? 0 : LOAD_PAUSE_MS * NS_PER_MS;
    workload_ended(g->job->workload, row->ended_ns + pause_ns - g->r->first_ns);
    g->live.ended++;
    if (row->whole)
        live_add(&g->live, row->first_ns < 0 ? -1 : row->first_ns - row->scheduled_ns,
                 row->ended_ns - row->scheduled_ns);
    else
        note_failure(g, f);
    outbox_add(&g->outbox, f);
}

static void send_flight(struct generator *g, struct flight *f, int64_t scheduled_ns) {
    struct err e;
    f->row = load_results_add(g->r);
    if (f->row < 0) {
        err_set(&e, "no memory for another request");
        fail(g, &e);
        curl_easy_cleanup(f->curl);
        flight_free(f);
        return;
    }
    struct load_row *row = &g->r->rows[f->row];
    row->scheduled_ns = f->request.scheduled_ns = scheduled_ns;
    row->prompt_tokens = f->prompt_tokens;
    row->output_tokens = f->request.max_tokens;
    row->check = f->check;
    link_flight(g, f);
    g->live.sent++;
    load_transfer_sent(f->transfer);
    curl_easy_setopt(f->curl, CURLOPT_PRIVATE, f);
    if (!wire_add(&g->loop.wires[WIRE_MEASURED], f->curl, &e)) return;
    fail(g, &e);
    land(g, f, CURLE_FAILED_INIT);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

/* When the next request is due, on CLOCK_MONOTONIC; INT64_MAX: none is, as things are. */
static int64_t next_due_ns(struct generator *g) {
    if (g->sent_all) return INT64_MAX;
    int64_t at = g->prepared ? g->prepared_ns : workload_peek_ns(g->job->workload);
    if (at == INT64_MAX) return INT64_MAX;
    return at + g->r->first_ns;
}

/* Takes the next arrival and makes its request. NULL: there is none, or it failed. */
static struct flight *next_flight(struct generator *g, int64_t *at_ns) {
    struct sim_request s = {0};
    struct err e;
    int got = workload_next(g->job->workload, &s, &e);
    *at_ns = s.arrival_ns;
    struct flight *f = got == 1 ? make_flight(g, &s) : NULL;
    if (got == 1 && !f) err_set(&e, "no memory for another request");
    if (got < 0 || (got == 1 && !f)) fail(g, &e);
    return f;
}

static void prepare(struct generator *g) {
    if (g->job->closed || g->prepared || g->sent_all || g->failed) return;
    if (workload_over(g->job->workload)) return;
    g->prepared = next_flight(g, &g->prepared_ns);
}

/* Will no further request be sent? Requests may still be in flight. */
static bool schedule_over(struct generator *g, int64_t due_ns) {
    const struct load_job *j = g->job;
    if (!g->prepared && workload_over(j->workload)) return true;
    if (j->duration_ns == 0) return false;
    int64_t end_ns = g->r->first_ns + j->duration_ns;
    /* in a closed loop an answer in flight can still bring a request before the end */
    if (j->closed && g->in_flight > 0 && clock_monotonic_ns() < end_ns) return false;
    return due_ns >= end_ns;
}

/* Sends what is due. Called after each socket that was served. */
static void send_due(void *ctx) {
    struct generator *g = ctx;
    for (int n = 0; n < SENDS_AT_ONCE && !g->sent_all && !g->stopped && !g->failed; n++) {
        int64_t due_ns = next_due_ns(g), at_ns;
        if (schedule_over(g, due_ns)) return end_of_sending(g);
        if (due_ns > clock_monotonic_ns()) return;
        if (g->in_flight >= g->job->max_streams) {
            g->r->streams_full = true;
            return;
        }
        struct flight *f = g->prepared ? g->prepared : next_flight(g, &at_ns);
        if (!f) return;
        g->prepared = NULL;
        send_flight(g, f, due_ns);
        prepare(g);
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void land_done(struct generator *g) {
    int code;
    CURL *curl;
    while ((curl = wire_done(&g->loop.wires[WIRE_MEASURED], &code)) != NULL) {
        char *f = NULL;
        curl_easy_getinfo(curl, CURLINFO_PRIVATE, &f);
        land(g, (struct flight *)f, code);
    }
}

/* The load was stopped, or can't go on: what runs ends now. */
static void cut_off(struct generator *g) {
    g->stopped = g->r->interrupted = true;
    end_of_sending(g);
    while (g->flying) {
        struct flight *f = g->flying;
        wire_remove(&g->loop.wires[WIRE_MEASURED], f->curl);
        text_cut(f->seen.problem, sizeof f->seen.problem, "interrupted: the load was stopped");
        f->seen.broken = true;
        land(g, f, CURLE_ABORTED_BY_CALLBACK);
    }
}

static void show_live(struct generator *g) {
    const struct load_job *j = g->job;
    int64_t now_ns = clock_monotonic_ns();
    if (now_ns < g->live.next_ns) return;
    g->live.in_flight = g->in_flight;
    double by_time = NAN, by_count = NAN;
    if (j->duration_ns > 0) by_time = (double)(g->r->first_ns + j->duration_ns - now_ns) / 1e9;
    if (j->requests > 0 && j->rate_rps > 0)
        by_count = (double)(j->requests - g->live.sent) / j->rate_rps;
    g->live.left_s = fmin(by_time, by_count); /* of one that is NaN, the other */
    live_show(&g->live, now_ns);
    fflush(j->log);
}

/* One turn. False: everything is over. */
static bool turn(struct generator *g, int64_t give_up_ns) {
    land_done(g);
    send_due(g);
    show_live(g);
    int64_t due_ns = next_due_ns(g), until_ns = g->live.next_ns;
    int64_t now_ns = clock_monotonic_ns();
    if (g->in_flight >= g->job->max_streams) due_ns = INT64_MAX; /* an end comes first */
    if (g->sent_all && g->in_flight == 0 && (outbox_empty(&g->outbox) || now_ns >= give_up_ns))
        return false;
    if (due_ns > now_ns + QUIET_US * 1000) {
        int64_t again_ns = outbox_step(&g->outbox);
        if (again_ns < until_ns) until_ns = again_ns;
    } else if (due_ns < INT64_MAX) {
        until_ns = due_ns;
    }
    if (due_ns < until_ns) until_ns = due_ns;
    int64_t end_ns = g->r->first_ns + g->job->duration_ns;
    if (g->job->duration_ns > 0 && !g->sent_all && end_ns < until_ns) until_ns = end_ns;
    int64_t look_ns = now_ns + 200 * NS_PER_MS; /* a signal that came between two looks */
    if (look_ns < until_ns) until_ns = look_ns;
    int64_t flying = g->in_flight;
    wire_wait(&g->loop, until_ns, send_due, g);
    int64_t due_again_ns = until_ns > now_ns ? until_ns : now_ns;
    if (clock_monotonic_ns() - due_again_ns >= LOAD_STALL_NS) g->r->stalled += flying;
    return true;
}

static void run(struct generator *g) {
    int64_t give_up_ns = INT64_MAX;
    for (;;) {
        if ((*g->job->stop > 0 || g->failed) && !g->stopped) {
            cut_off(g);
            give_up_ns = clock_monotonic_ns() + LEFT_FOR_RECORDS_S * NS_PER_S;
        }
        if (*g->job->stop > 1) give_up_ns = 0;
        if (!turn(g, give_up_ns)) break;
    }
    outbox_give_up(&g->outbox);
}

static int start(struct generator *g, struct err *e) {
    const struct load_job *j = g->job;
    if (wire_loop_open(&g->loop, j->max_streams, e)) return -1;
    outbox_init(&g->outbox, j->client, &g->loop.wires[WIRE_OTHER], j->log, j->joins);
    rng_seed(&g->checks, j->seed ^ UINT64_C(0x94d049bb133111eb));
    prepare(g);
    if (g->failed) {
        *e = g->err;
        return -1;
    }
    g->r->first_ns = clock_monotonic_ns() + HEAD_START_MS * NS_PER_MS;
    live_init(&g->live, j->live, j->live_is_tty, j->live_label ? j->live_label : "",
              g->r->first_ns);
    g->cpu_ns = thread_cpu_ns();
    g->waited_ns = thread_waited_ns();
    return 0;
}

int load_generate(const struct load_job *job, struct load_results *out,
                  struct outbox_counts *records, struct err *e) {
    struct generator *g = calloc(1, sizeof *g);
    if (!g) return err_set(e, "no memory for the load");
    *out = (struct load_results){.duration_ns = job->duration_ns,
                                 .warm_up_ns = job->warm_up_ns,
                                 .cool_down_ns = job->cool_down_ns,
                                 .pace_steps = -1,
                                 .pace_late = -1};
    g->job = job;
    g->r = out;
    bool ordinary = sched_getscheduler(0) == SCHED_OTHER;
    out->real_time = !ordinary || set_real_time(true);
    int rc = start(g, e);
    if (!rc) run(g);
    if (ordinary && out->real_time) set_real_time(false);
    live_clear(&g->live);
    out->longest_turn_ns = g->loop.longest_turn_ns;
    *records = g->outbox.counts;
    if (g->prepared) {
        curl_easy_cleanup(g->prepared->curl);
        flight_free(g->prepared);
    }
    outbox_release(&g->outbox);
    while (g->n_spare > 0) curl_easy_cleanup(g->spare[--g->n_spare]);
    wire_loop_close(&g->loop);
    if (!rc && g->failed) *e = g->err, rc = -1;
    if (!rc && g->outbox.out_of_memory) rc = err_set(e, "no memory for a record");
    free(g);
    return rc;
}
