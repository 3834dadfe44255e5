/* cases.c: see cases.h. Compiled into the grader and the child. */
#include "lab03/cases.h"

#include <string.h>

static void codec_run(struct wire *w, struct kernel_run *r) {
    wire_i64(w, &r->start_ns);
    wire_i64(w, &r->end_ns);
    WIRE_ENUM(w, r->start_clock);
    WIRE_ENUM(w, r->end_clock);
    wire_i32(w, &r->launches);
    wire_bool(w, &r->warm_up);
}

static void codec_value(struct wire *w, float *got, double *want) {
    int32_t bits = 0;
    memcpy(&bits, got, sizeof bits);
    wire_i32(w, &bits);
    memcpy(got, &bits, sizeof bits);
    wire_f64(w, want);
}

int lab03_case_codec(struct wire *w, struct lab03_case *c) {
    if (w->reading) memset(c, 0, sizeof *c);
    WIRE_ENUM(w, c->fn);
    if ((unsigned)c->fn >= FN_N) w->bad = true;
    wire_bool(w, &c->read_only);
    wire_size(w, &c->n_runs, CASE_MAX_RUNS);
    for (size_t i = 0; i < c->n_runs && !w->bad; i++) codec_run(w, &c->runs[i]);
    wire_i64(w, &c->bytes);
    wire_i64(w, &c->operations);
    wire_i64(w, &c->time_ns);
    wire_f64(w, &c->intensity);
    wire_f64(w, &c->card.bytes_per_s);
    wire_f64(w, &c->card.operations_per_s);
    wire_size(w, &c->n_values, CASE_MAX_VALUES);
    for (size_t i = 0; i < c->n_values && !w->bad; i++) codec_value(w, &c->got[i], &c->want[i]);
    wire_f64(w, &c->tolerance);
    if (c->fn == FN_RUN && c->n_runs != 1) w->bad = true;
    return w->bad || (w->reading && w->left > 0) ? -1 : 0;
}

size_t lab03_case_slots(const struct lab03_case *c) {
    return c->fn == FN_COMPARE ? CASE_COMPARE_SLOTS : 1;
}
