/* run_steps.c: see run_steps.h. */
#include "report/run_steps.h"

#include "serve/step_log.h"

#include <math.h>

struct sums {
    struct run_steps *steps;
    int64_t from_ns, to_ns; /* the window, on the log's clock */
    double sequence_seconds;
};

static void add(void *ctx, const struct step *s, const char *line) {
    struct sums *sums = ctx;
    double seconds = (double)(s->end_ns - s->start_ns) / 1e9;
    (void)line;
    if (s->start_ns < sums->from_ns || s->start_ns > sums->to_ns) return;
    sums->steps->n++;
    sums->steps->busy_s += seconds;
    sums->steps->prefill_tokens += s->prefill_tokens;
    sums->steps->decode_tokens += s->decode_tokens;
    sums->sequence_seconds += seconds * s->sequences;
}

int run_steps_read(struct run_steps *s, const char *path, const struct report_window *window,
                   int64_t ahead_ns, struct err *e) {
    struct sums sums = {s, window->from_ns - ahead_ns, window->to_ns - ahead_ns, 0};
    *s = (struct run_steps){.present = true, .mean_sequences = NAN};
    if (step_log_each(path, add, &sums, e)) return -1;
    if (s->busy_s > 0) s->mean_sequences = sums.sequence_seconds / s->busy_s;
    return 0;
}
