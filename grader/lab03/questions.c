/* questions.c: see questions.h. Compiled into both sides. */
#include "lab03/questions.h"

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

int lab03_question_codec(struct wire *w, struct question *q) {
    if (w->reading) memset(q, 0, sizeof *q);
    WIRE_ENUM(w, q->kind);
    if ((unsigned)q->kind >= Q_N) w->bad = true;
    wire_bool(w, &q->read_only);
    wire_size(w, &q->n_runs, QUESTION_MAX_RUNS);
    for (size_t i = 0; i < q->n_runs && !w->bad; i++) codec_run(w, &q->runs[i]);
    wire_i64(w, &q->bytes);
    wire_i64(w, &q->operations);
    wire_i64(w, &q->time_ns);
    wire_f64(w, &q->intensity);
    wire_f64(w, &q->card.bytes_per_s);
    wire_f64(w, &q->card.operations_per_s);
    wire_size(w, &q->n_values, QUESTION_MAX_VALUES);
    for (size_t i = 0; i < q->n_values && !w->bad; i++) codec_value(w, &q->got[i], &q->want[i]);
    wire_f64(w, &q->tolerance);
    if (q->kind == Q_RUN && q->n_runs != 1) w->bad = true;
    return w->bad || (w->reading && w->left > 0) ? -1 : 0;
}

size_t lab03_question_slots(const struct question *q) {
    return q->kind == Q_COMPARE ? QUESTION_COMPARE_SLOTS : 1;
}
