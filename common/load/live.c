/* live.c: see live.h. */
#include "load/live.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TTY_EVERY_MS = 250, LINE_EVERY_MS = 2000 };

void live_init(struct live *l, FILE *out, bool tty, const char *label, int64_t first_ns) {
    *l = (struct live){
        .out = out, .label = label, .tty = tty, .first_ns = first_ns, .recent_ns = first_ns};
    l->left_s = NAN;
    l->next_ns = out ? first_ns + (tty ? TTY_EVERY_MS : LINE_EVERY_MS) * NS_PER_MS : INT64_MAX;
}

void live_add(struct live *l, int64_t ttft_ns, int64_t e2e_ns) {
    if (ttft_ns >= 0) l->ttft_ns[l->n_ttft++ % LIVE_RECENT] = ttft_ns;
    l->e2e_ns[l->n_e2e++ % LIVE_RECENT] = e2e_ns;
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_percentiles(const struct live *l, const char *label, const int64_t *ring,
                              int64_t n) {
    int64_t sorted[LIVE_RECENT];
    if (n > LIVE_RECENT) n = LIVE_RECENT;
    if (n == 0) return;
    memcpy(sorted, ring, (size_t)n * sizeof *ring);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    fprintf(l->out, ", %s p50 %.1f p99 %.1f ms", label,
            (double)sorted[(50 * n + 99) / 100 - 1] / 1e6,
            (double)sorted[(99 * n + 99) / 100 - 1] / 1e6);
}

void live_show(struct live *l, int64_t now_ns) {
    if (now_ns < l->next_ns) return;
    l->next_ns = now_ns + (l->tty ? TTY_EVERY_MS : LINE_EVERY_MS) * NS_PER_MS;
    double since_s = (double)(now_ns - l->recent_ns) / 1e9;
    double rate = since_s > 0 ? (double)(l->sent - l->recent_sent) / since_s : 0;
    if (since_s >= 1 || !l->tty) l->recent_ns = now_ns, l->recent_sent = l->sent;
    fprintf(l->out, "%s%s%.0f s: %.1f sent/s, %lld in flight, %lld ended, %lld failed",
            l->tty ? "\r\033[K" : "", l->label, (double)(now_ns - l->first_ns) / 1e9, rate,
            (long long)l->in_flight, (long long)l->ended, (long long)l->failed);
    print_percentiles(l, "TTFT", l->ttft_ns, l->n_ttft);
    print_percentiles(l, "e2e", l->e2e_ns, l->n_e2e);
    if (l->left_s > 0)
        fprintf(l->out, ", %.0f s left", ceil(l->left_s));
    else if (!isnan(l->left_s))
        fputs(", waiting for the last answers", l->out);
    if (!l->tty) fputc('\n', l->out);
    fflush(l->out);
    l->shown = l->tty;
}

void live_clear(struct live *l) {
    if (l->shown) fputs("\r\033[K", l->out), fflush(l->out);
    l->shown = false;
}
