/* chrome_trace.c: see chrome_trace.h. */
#include "record/chrome_trace.h"

#include "base/buffer.h"

#include <inttypes.h>
#include <stdlib.h>

enum { ENGINE_LANE = 0 }; /* requests are lanes 1, 2, ... */

/* ---- writing ----------------------------------------------------------------------------------
 */

static void begin_event(struct chrome_trace *t) {
    fputs(t->began ? ",\n" : "\n", t->out);
    t->began = true;
}

/* A JSON string with its quotes. */
static void put_string(FILE *out, const char *text) {
    struct buffer b = {0};
    buffer_json_puts(&b, text);
    fwrite(b.bytes, 1, b.failed ? 0 : b.n, out);
    buffer_release(&b);
}

static void put_us(FILE *out, const char *key, int64_t ns) {
    fprintf(out, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

/* Names a process (lane < 0) or a lane. */
static void put_name(struct chrome_trace *t, int process, int64_t lane, const char *name) {
    begin_event(t);
    fprintf(t->out,
            "{\"ph\":\"M\",\"pid\":%d,\"tid\":%" PRId64 ",\"name\":\"%s\",\"args\":{\"name\":",
            process, lane < 0 ? 0 : lane, lane < 0 ? "process_name" : "thread_name");
    put_string(t->out, name);
    fputs("}}", t->out);
}

/* A slice from start to end; an instant when end is negative. */
static void put_slice(struct chrome_trace *t, enum clock_id clock, int64_t lane, const char *name,
                      int64_t start_ns, int64_t end_ns, const char *args) {
    begin_event(t);
    fprintf(t->out, "{\"ph\":\"%s\",\"pid\":%d,\"tid\":%" PRId64 ",\"name\":\"%s\"",
            end_ns < 0 ? "i\",\"s\":\"t" : "X", clock + 1, lane, name);
    put_us(t->out, "ts", start_ns - t->zero[clock]);
    if (end_ns >= 0) put_us(t->out, "dur", end_ns - start_ns);
    fprintf(t->out, ",\"args\":%s}", args ? args : "{}");
}

/* ---- phases -----------------------------------------------------------------------------------
 */

/* The phase that begins with an event; NULL ends the phase before it; "" changes nothing. */
static const char *phase_of(enum event_kind kind, bool has_token) {
    switch (kind) {
    case EV_REQUEST_ACCEPTED:
    case EV_REQUEST_PREEMPTED:
        return "queued";
    case EV_REQUEST_ADMITTED:
    case EV_REQUEST_RESUMED:
        return has_token ? "decode" : "prefill";
    case EV_FIRST_TOKEN:
        return "decode";
    case EV_REQUEST_SUBMITTED:
        return "waiting";
    case EV_FIRST_BYTE_RECEIVED:
        return "receiving";
    case EV_RESPONSE_FINISHED:
    case EV_FINAL_BYTE_RECEIVED:
    case EV_REQUEST_REJECTED:
    case EV_REQUEST_CANCELLED:
    case EV_REQUEST_FAILED:
        return NULL;
    default:
        return "";
    }
}

static int in_time(const void *pa, const void *pb) {
    const struct event *a = *(const struct event *const *)pa, *b = *(const struct event *const *)pb;
    if (a->t_ns != b->t_ns) return a->t_ns < b->t_ns ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static void put_clock(struct chrome_trace *t, const struct record *r, enum clock_id clock,
                      const struct event **list, size_t n) {
    const char *phase = NULL;
    int64_t since_ns = 0;
    bool has_token = false;
    char lane_name[100];
    snprintf(lane_name, sizeof lane_name, "%s attempt %d", r->request_id, r->attempt);
    put_name(t, clock + 1, t->lanes, lane_name);
    for (size_t i = 0; i < n; i++) {
        const struct event *ev = list[i];
        const char *next = phase_of(ev->kind, has_token);
        has_token |= ev->kind == EV_FIRST_TOKEN;
        if (next && !next[0]) {
            char args[40];
            snprintf(args, sizeof args, "{\"tokens\":%d}", ev->tokens);
            put_slice(t, clock, t->lanes, event_name(ev->kind), ev->t_ns, -1, args);
            continue;
        }
        if (phase) put_slice(t, clock, t->lanes, phase, since_ns, ev->t_ns, NULL);
        if (!next) put_slice(t, clock, t->lanes, event_name(ev->kind), ev->t_ns, -1, NULL);
        phase = next;
        since_ns = ev->t_ns;
    }
}

/* ---- the interface ----------------------------------------------------------------------------
 */

void chrome_trace_zero(const struct record *r, int64_t zero_ns[CLOCK_N]) {
    for (size_t i = 0; i < r->n_events; i++) {
        int64_t *zero = &zero_ns[r->events[i].clock];
        if (*zero < 0 || r->events[i].t_ns < *zero) *zero = r->events[i].t_ns;
    }
}

void chrome_trace_begin(struct chrome_trace *t, FILE *out, const int64_t zero_ns[CLOCK_N]) {
    *t = (struct chrome_trace){.out = out};
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
    for (int c = 0; c < CLOCK_N; c++) {
        t->zero[c] = zero_ns[c];
        if (zero_ns[c] >= 0) put_name(t, c + 1, -1, clock_name((enum clock_id)c));
    }
}

void chrome_trace_record(struct chrome_trace *t, const struct record *r) {
    const struct event **list = malloc((r->n_events + 1) * sizeof *list);
    INVARIANT(list);
    t->lanes++;
    for (int c = 0; c < CLOCK_N; c++) {
        size_t n = 0;
        for (size_t i = 0; i < r->n_events; i++)
            if (r->events[i].clock == (enum clock_id)c) list[n++] = &r->events[i];
        qsort(list, n, sizeof *list, in_time);
        if (n) put_clock(t, r, (enum clock_id)c, list, n);
    }
    free(list);
}

void chrome_trace_step(struct chrome_trace *t, int64_t start_ns, int64_t end_ns, const char *name,
                       const char *args) {
    t->steps++;
    if (t->zero[CLOCK_SERVER] < 0) t->zero[CLOCK_SERVER] = start_ns;
    put_slice(t, CLOCK_SERVER, ENGINE_LANE, name, start_ns, end_ns, args);
}

void chrome_trace_end(struct chrome_trace *t) {
    put_name(t, CLOCK_SERVER + 1, ENGINE_LANE, "engine");
    fputs("\n]}\n", t->out);
}
