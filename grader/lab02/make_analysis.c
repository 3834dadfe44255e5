/* make_analysis.c: questions about the records of a run. The first values of a->k are the edges,
 * one each; later ones repeat them with other numbers. See lab02.h. */
#include "lab02/lab02.h"
#include "lab02/oracle.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one request ----------------------------------------------------------------------------- */

static void list_of(struct lab02_making *a, size_t n) {
    free(a->c->list);
    a->c->list = calloc(n ? n : 1, sizeof *a->c->list);
    INVARIANT(a->c->list && n <= CASE_MAX_REQUESTS);
    a->c->n_list = n;
}

/* A request that arrives at t, is done, and got all the tokens it wanted. */
static struct point_request served(struct lab02_making *a, int64_t t, int32_t tokens) {
    struct point_request r = {.arrival_ns = t, .output_tokens = tokens, .wanted_tokens = tokens};
    r.admitted_ns = t + lab02_make_between(a, 0, 40 * NS_PER_MS);
    r.first_token_ns = r.admitted_ns + lab02_make_between(a, NS_PER_MS, 200 * NS_PER_MS);
    r.end_ns = r.first_token_ns;
    if (tokens > 1) r.end_ns += (tokens - 1) * lab02_make_between(a, NS_PER_MS, 30 * NS_PER_MS);
    r.end = POINT_DONE;
    return r;
}

static void refuse(struct lab02_making *a, struct point_request *r) {
    bool waited = lab02_make_chance(a, 50);
    r->end = POINT_REJECTED;
    r->end_ns = r->arrival_ns + (waited ? lab02_make_between(a, 1, 50 * NS_PER_MS) : 0);
    r->admitted_ns = r->first_token_ns = -1;
    r->output_tokens = 0;
}

static void break_it(struct lab02_making *a, struct point_request *r) {
    r->end = POINT_FAILED;
    if (lab02_make_chance(a, 40)) {
        r->end_ns = r->admitted_ns + lab02_make_between(a, 0, NS_PER_MS);
        r->first_token_ns = -1;
        r->output_tokens = 0;
    } else {
        r->output_tokens = 1 + r->output_tokens / 2;
    }
}

static void cut(struct lab02_making *a, struct point_request *r) {
    r->wanted_tokens = r->output_tokens + (int32_t)lab02_make_between(a, 1, 300);
}

static void one(struct lab02_making *a, int32_t tokens) {
    list_of(a, 1);
    a->c->list[0] = served(a, lab02_make_between(a, 0, INT64_C(400000000000)), tokens);
}

static void make_one(struct lab02_making *a, enum lab02_maker which) {
    static const char *const focus[] = {"queue_delay_ns", "ttft_ns", "tpot_ns", "e2e_ns"};
    a->c->fn = FN_INTERVALS;
    one(a, (int32_t)lab02_make_between(a, 2, 60));
    struct point_request *r = a->c->list;
    a->focus = focus[which - MAKE_QUEUE_DELAY];
    lab02_make_kind(a, "an ordinary request that was served");
    switch (a->k % 5) {
    case 1: /* everything at one instant, and an arrival at 0 */
        *r = (struct point_request){0, 0, 0, 0, 2, 2, POINT_DONE};
        lab02_make_kind(a,
                        "a request that arrives, is admitted and is done at 0 ns: intervals of 0");
        break;
    case 2:
        r->arrival_ns += INT64_C(1) << 52;
        r->admitted_ns += INT64_C(1) << 52;
        r->first_token_ns += INT64_C(1) << 52;
        r->end_ns += INT64_C(1) << 52;
        lab02_make_kind(a, "a clock beyond 2^52 ns");
        break;
    case 3:
        cut(a, r);
        lab02_make_kind(
            a, "a request that was cut short: it is done, with fewer tokens than it wanted");
        break;
    case 4: /* a quotient that is exactly a half, or just beside one */
        r->output_tokens = r->wanted_tokens = 3 + 2 * (int32_t)lab02_make_between(a, 0, 5);
        r->end_ns = r->first_token_ns + (r->output_tokens - 1) * lab02_make_between(a, 1, 9000) +
                    (r->output_tokens - 1) / 2 - lab02_make_between(a, 0, 1);
        lab02_make_kind(a, "a time per token that is a whole number and a half, or just below it");
        break;
    default:
        break;
    }
}

static void make_absent(struct lab02_making *a) {
    a->c->fn = FN_INTERVALS;
    one(a, (int32_t)lab02_make_between(a, 2, 60));
    struct point_request *r = a->c->list;
    switch (a->k % 6) {
    case 0:
        refuse(a, r);
        lab02_make_kind(a, "a refused request: only -1");
        break;
    case 1:
        r->end = POINT_FAILED;
        r->end_ns = r->admitted_ns + 7;
        r->first_token_ns = -1;
        r->output_tokens = 0;
        lab02_make_kind(a, "a request that broke before its first token");
        break;
    case 2:
        r->end = POINT_FAILED;
        lab02_make_kind(a,
                        "a request that broke after several tokens: no TPOT, no end-to-end time");
        break;
    case 3:
        one(a, 1);
        lab02_make_kind(a, "an answer of one token has no TPOT");
        break;
    case 4: /* admitted at 0 is admitted */
        r->end_ns -= r->arrival_ns;
        r->first_token_ns = r->end_ns;
        r->arrival_ns = r->admitted_ns = 0;
        lab02_make_kind(a, "a request that arrives and is admitted at 0 ns");
        break;
    default:
        lab02_make_kind(a, "a request of which everything is known");
    }
}

static void make_class(struct lab02_making *a, enum lab02_maker which) {
    a->c->fn = FN_CLASSIFY;
    one(a, (int32_t)lab02_make_between(a, 2, 60));
    struct point_request *r = a->c->list;
    bool hit = a->k % 2 == 0;
    if (which == MAKE_SHED) {
        if (hit) refuse(a, r);
        if (hit && a->k % 4 == 0) r->wanted_tokens = 0; /* has all that it wanted, in a sense */
        lab02_make_kind(a, hit ? "a request that was refused" : "a request that was served");
    } else if (which == MAKE_TRUNCATED) {
        int32_t off = a->k % 6 / 2; /* exactly as wanted, one fewer, many fewer */
        if (hit) r->wanted_tokens = r->output_tokens + (off == 0 ? 1 : off == 1 ? 2 : 500);
        if (!hit && a->k % 4 == 1) r->output_tokens = r->wanted_tokens = 1;
        lab02_make_kind(a, hit ? "done, with fewer tokens than it wanted"
                               : "done, with all its tokens");
    } else {
        if (hit) break_it(a, r);
        if (hit && a->k % 4 == 0) cut(a, r); /* fewer tokens, too: broken comes first */
        if (!hit && a->k % 4 == 1) cut(a, r);
        if (hit && a->k % 8 == 4) {
            r->output_tokens = r->wanted_tokens = 9;
            lab02_make_kind(a, "the server broke after the last token");
        } else {
            lab02_make_kind(a, hit ? "the server broke while it ran" : "a request that is done");
        }
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* How a run's requests end, per cent. */
struct mix {
    int refused, broken, truncated;
};

static void limits_none(struct lab02_case *c) {
    c->limits = (struct point_limits){INT64_MAX, INT64_MAX, INT64_MAX};
}

/* n requests, of which some arrive before and after the window [from, to) of about 10 s. */
static void run_of(struct lab02_making *a, size_t n, struct mix mix) {
    struct lab02_case *c = a->c;
    c->fn = FN_MEASURE;
    c->from_ns = lab02_make_between(a, 2, 5) * NS_PER_S + lab02_make_between(a, 0, 999);
    c->to_ns = c->from_ns + lab02_make_between(a, 4, 12) * NS_PER_S;
    limits_none(c);
    list_of(a, n);
    for (size_t i = 0; i < n; i++) {
        int64_t t = lab02_make_between(a, c->from_ns - 2 * NS_PER_S, c->to_ns + NS_PER_S);
        struct point_request *r = &c->list[i];
        *r = served(a, t, (int32_t)lab02_make_between(a, 1, 40));
        int64_t dice = lab02_make_between(a, 0, 99);
        if (dice < mix.refused)
            refuse(a, r);
        else if (dice < mix.refused + mix.broken)
            break_it(a, r);
        else if (dice < mix.refused + mix.broken + mix.truncated)
            cut(a, r);
    }
}

static void shift(struct point_request *r, int64_t by) {
    r->arrival_ns += by;
    r->end_ns += by;
    if (r->admitted_ns != -1) r->admitted_ns += by;
    if (r->first_token_ns != -1) r->first_token_ns += by;
}

static const struct mix mixed = {15, 10, 15}, clean = {0, 0, 0};

static void make_window(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    run_of(a, (size_t)lab02_make_between(a, 6, 40), mixed);
    a->focus = "returned|requests|complete|shed";
    lab02_make_kind(a, "requests before, within and after the window, in no order");
    if (a->k % 3 == 0) {
        c->list[0] = served(a, c->from_ns, 5);
        c->list[1] = served(a, c->from_ns - 1, 5);
        c->list[2] = served(a, c->to_ns, 5);
        c->list[3] = served(a, c->to_ns - 1, 5);
        lab02_make_kind(a, "arrivals exactly at, and 1 ns before, both ends of the window");
    } else if (a->k % 6 == 1) {
        c->n_list = 0;
        a->focus = NULL; /* every member has a value then, too */
        lab02_make_kind(
            a, "a run without any request: each member of the point has a value all the same");
    }
}

static void make_throughput(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    run_of(a, (size_t)lab02_make_between(a, 6, 40), mixed);
    a->focus = "throughput_rps";
    lab02_make_kind(a, "some arrive before the window and end in it, some the other way round");
    if (a->k % 4 == 0) { /* ends at the very edges */
        for (int i = 0; i < 4; i++) {
            static const int64_t off[] = {0, -1, 0, -1};
            struct point_request *r = &c->list[i];
            *r = served(a, c->from_ns, 4);
            shift(r, (i < 2 ? c->from_ns : c->to_ns) + off[i] - r->end_ns);
        }
        lab02_make_kind(a, "ends exactly at, and 1 ns before, both ends of the window");
    } else if (a->k % 4 == 1) {
        for (size_t i = 0; i < c->n_list; i += 2) {
            c->list[i] = served(a, c->from_ns - 20 * NS_PER_MS, 30);
            cut(a, &c->list[i]);
        }
        lab02_make_kind(a, "many end within the window, but cut short");
    } else if (a->k % 8 == 2) {
        for (size_t i = 0; i < c->n_list; i++) shift(&c->list[i], 100 * NS_PER_S);
        lab02_make_kind(a, "nothing ends within the window");
    }
}

static void make_rates(struct lab02_making *a) {
    run_of(a, (size_t)lab02_make_between(a, 6, 40), a->k % 2 ? mixed : clean);
    a->focus = "offered_rps|good_rps";
    if (a->k % 3 == 0) a->c->to_ns = a->c->from_ns + lab02_make_between(a, 1, NS_PER_S);
    lab02_make_kind(a,
                    a->k % 3 ? "rates over a window of seconds" : "rates over less than a second");
    if (a->k % 5 == 4) a->c->limits.ttft_below_ns = 120 * NS_PER_MS;
}

static void make_mean_latency(struct lab02_making *a) {
    run_of(a, (size_t)lab02_make_between(a, 6, 40), mixed);
    a->focus = "mean_latency_ns";
    lab02_make_kind(a, "the mean over those that are complete");
    if (a->k % 4 == 2) {
        for (size_t i = 0; i < a->c->n_list; i++) refuse(a, &a->c->list[i]);
        a->c->list[1] = served(a, a->c->from_ns + 7, 5);
        lab02_make_kind(a, "one is complete, all others were refused");
    }
    if (a->k % 4 == 3) {
        for (size_t i = 0; i < a->c->n_list; i++) refuse(a, &a->c->list[i]);
        lab02_make_kind(a, "every request was refused: there is no mean, which is not 0");
    }
}

static void make_in_system(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    run_of(a, (size_t)lab02_make_between(a, 4, 40), a->k % 2 ? mixed : clean);
    a->focus = "mean_in_system";
    lab02_make_kind(a, "some are in the system when the window begins, and some when it ends");
    if (a->k % 4 == 0) {
        c->list[0].arrival_ns = c->from_ns - NS_PER_S;
        c->list[0].end_ns = c->to_ns + NS_PER_S;
        c->list[0].end = POINT_DONE;
        lab02_make_kind(a, "one request is there from before the window until after it");
    } else if (a->k % 8 == 5) {
        for (size_t i = 0; i < c->n_list; i++)
            shift(&c->list[i], c->to_ns + NS_PER_S - c->list[i].arrival_ns);
        lab02_make_kind(a, "nobody is in the system");
    }
}

static void make_percentiles(struct lab02_making *a) {
    static const size_t sizes[] = {3, 4, 60, 100, 230, 5};
    struct lab02_case *c = a->c;
    run_of(a, sizes[a->k % 6], clean);
    for (size_t i = 0; i < c->n_list; i++) {
        bool all_inside = c->n_list == 100; /* p99 falls on a whole rank there */
        if (c->list[i].output_tokens < 2 || all_inside)
            c->list[i] = served(a, c->from_ns + 5 + (int64_t)i, 9);
    }
    a->focus = "queue_delay_p99|ttft|tpot|e2e";
    lab02_make_kind(a, "%zu requests, all complete", c->n_list);
    if (a->k % 6 == 1) { /* done without a token: it has an end, and no first token */
        c->list[0] = served(a, c->from_ns + 1, 9);
        c->list[1] = served(a, c->from_ns + 2, 9);
        c->list[1].output_tokens = c->list[1].wanted_tokens = 0;
        c->list[1].first_token_ns = -1;
        lab02_make_kind(a, "one of the complete ones wanted no token, and has no TTFT");
    }
    if (a->k % 6 != 5) return;
    for (size_t i = 0; i < c->n_list; i++) {
        int64_t t = c->from_ns + (int64_t)i;
        c->list[i] = (struct point_request){t, t, t, t, 3, 3, POINT_DONE};
    }
    lab02_make_kind(a, "requests that take no time at all: latencies of 0 are latencies");
}

static void make_infinite(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    run_of(a, a->k % 3 == 0 ? 100 : (size_t)lab02_make_between(a, 30, 80), clean);
    a->focus = "queue_delay_p99|ttft|e2e";
    size_t bad = a->k % 3 == 0 ? (size_t)(1 + a->k / 3 % 2) : (size_t)lab02_make_between(a, 1, 30);
    for (size_t i = 0; i < c->n_list; i++) {
        c->list[i] = served(a, c->from_ns + (int64_t)i * NS_PER_MS, 6);
        if (i >= bad) continue;
        int how = (int)(i + (size_t)a->k) % 3;
        if (how == 0) refuse(a, &c->list[i]);
        if (how == 1) break_it(a, &c->list[i]);
        if (how == 2) cut(a, &c->list[i]);
    }
    if (a->k % 3 == 0)
        lab02_make_kind(a, "%zu of 100 requests refused, broken or cut short: p99", bad);
    else
        lab02_make_kind(a, "some were refused, broken or cut short: each counts as infinite");
}

static void make_tpot_population(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    run_of(a, (size_t)lab02_make_between(a, 20, 60), a->k % 2 ? mixed : clean);
    a->focus = "tpot";
    size_t each = a->k % 3 == 2 ? 1 : 2;
    for (size_t i = 0; i < c->n_list; i += each) {
        int64_t t = c->list[i].arrival_ns;
        c->list[i] = served(a, t, 1);
    }
    lab02_make_kind(a, each == 1 ? "only answers of one token" : "many answers of one token");
    if (a->k % 6 == 5) refuse(a, &c->list[0]);
}

static void make_counts(struct lab02_making *a) {
    static const struct mix mixes[] = {{15, 10, 15}, {50, 0, 0},   {0, 50, 0},
                                       {0, 0, 50},   {30, 30, 30}, {0, 0, 0}};
    run_of(a, (size_t)lab02_make_between(a, 10, 60), mixes[a->k % 6]);
    a->focus = "requests|complete|shed|truncated|broken";
    lab02_make_kind(a, "counts by what became of each request");
}

static void make_good(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    run_of(a, (size_t)lab02_make_between(a, 8, 40), a->k % 2 ? mixed : clean);
    a->focus = "good|good_rps";
    c->limits = (struct point_limits){150 * NS_PER_MS, 17 * NS_PER_MS, 600 * NS_PER_MS};
    if (a->k % 4 == 0) c->limits = (struct point_limits){INT64_MAX, 17 * NS_PER_MS, INT64_MAX};
    if (a->k % 4 == 1) c->limits = (struct point_limits){INT64_MAX, INT64_MAX, 500 * NS_PER_MS};
    lab02_make_kind(a, "good: complete, and within the limits of one request");
    if (a->k % 3 == 0) { /* exactly at a limit, and 1 ns below */
        c->limits = (struct point_limits){100, 10, 1000};
        int64_t t = c->from_ns + 10;
        /* first token after, the rest of the answer, tokens */
        static const int64_t edges[][3] = {{100, 2, 2},    {99, 2, 2},     {50, 10, 2}, {50, 9, 2},
                                           {50, 950, 200}, {50, 949, 200}, {0, 5, 2}};
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
            int32_t tokens = (int32_t)edges[i][2];
            c->list[i] = (struct point_request){
                t, t, t + edges[i][0], t + edges[i][0] + edges[i][1], tokens, tokens, POINT_DONE};
        }
        lab02_make_kind(a, "a latency exactly at its limit, and 1 ns below");
    } else if (a->k % 3 == 1) {
        for (size_t i = 0; i < c->n_list; i += 2) {
            int64_t at = c->list[i].arrival_ns;
            c->list[i] = served(a, at, 1);
        }
        c->limits.tpot_below_ns = 1;
        lab02_make_kind(a, "answers of one token: a limit on an absent TPOT doesn't apply");
    }
}

/* ---- stable ---------------------------------------------------------------------------------- */

/* A request that only matters by when it comes and goes. */
static struct point_request stay(int64_t from, int64_t to) {
    return (struct point_request){from, from, to, to, 1, 1, POINT_DONE};
}

/* The ends in the second half of the window are exactly 98 % of the arrivals there, or one fewer.
 * Who stays comes in the middle of the half: a rise that nobody overlooks. */
static void make_stable_share(struct lab02_making *a) {
    static const int64_t arrivals[] = {50, 100, 200, 50, 100, 200, 100, 150};
    struct lab02_case *c = a->c;
    c->fn = FN_STABLE;
    c->from_ns = lab02_make_between(a, 0, 7) * NS_PER_S + a->k % 2;
    c->to_ns = c->from_ns + 10 * NS_PER_S + a->k % 3;
    int64_t mid = c->from_ns + (c->to_ns - c->from_ns) / 2, half = c->to_ns - mid;
    int64_t n = arrivals[a->k % 8], end = n * 98 / 100 - a->k / 2 % 2;
    int64_t old = a->k % 4 == 3 ? n / 10 : 0; /* of the ends, so many came before the half */
    int64_t stays = n - (end - old);
    list_of(a, (size_t)(n + old));
    for (int64_t i = 0; i < n; i++) {
        bool goes = i < n / 2 || i >= n / 2 + stays;
        int64_t t = mid + i * (half / n);
        c->list[i] = stay(t, goes ? t + 1 : c->to_ns + (a->k % 2 ? 0 : i));
        if (a->k % 5 == 2 && i % 3 == 0) c->list[i].end = POINT_REJECTED;
        if (a->k % 5 == 3 && i % 3 == 0) c->list[i].end = POINT_FAILED;
    }
    for (int64_t i = 0; i < old; i++) c->list[n + i] = stay(mid - 1 - i, mid);
    bool enough = end * 100 >= n * 98;
    if (a->k % 9 == 8) { /* the same as a member of the measured point */
        c->fn = FN_MEASURE;
        limits_none(c);
        a->focus = "stable";
    }
    INVARIANT(lab02_oracle_stable(c->list, c->n_list, c->from_ns, c->to_ns, NULL) == enough);
    lab02_make_kind(a, "ends in the second half: %s 98 %% of the arrivals there",
                    enough ? "exactly" : "just under");
}

/* A run whose number in the system is read as about level + drift * i / POINT_SAMPLES at sample i,
 * give or take `spread`. What changes it happens `before` ns before the sample, 0 for at it.
 * Returns the rise in standard errors. */
static double trend(struct lab02_making *a, int64_t before, int drift, int spread) {
    enum { BURST = 55 };
    struct lab02_case *c = a->c;
    int64_t mid = c->from_ns + (c->to_ns - c->from_ns) / 2;
    size_t open[CASE_MAX_REQUESTS], n_open = 0, n = 0;
    double y[POINT_SAMPLES];
    int level = (int)lab02_make_between(a, 8, 40);
    list_of(a, CASE_MAX_REQUESTS);
    for (int i = 0; i < level; i++) {
        open[n_open++] = n;
        c->list[n++] = stay(c->from_ns + i, c->to_ns + 5 + i);
    }
    for (int i = 0; i < POINT_SAMPLES; i++) {
        INVARIANT(n < CASE_MAX_REQUESTS - 2 * BURST);
        int64_t t = mid + (c->to_ns - mid) * i / POINT_SAMPLES - before;
        int64_t want = level + drift * i / POINT_SAMPLES + lab02_make_between(a, -spread, spread);
        for (; n_open < (size_t)(want > 0 ? want : 0); n++) {
            open[n_open++] = n;
            c->list[n] = stay(t, c->to_ns + 9);
        }
        while (n_open > (size_t)(want > 0 ? want : 0)) c->list[open[--n_open]].end_ns = t;
        y[i] = (double)n_open;
    }
    /* a burst after the last sample, which doesn't end: too few ends, whatever the trend */
    for (int i = 0; i < BURST; i++) c->list[n++] = stay(c->to_ns - 1, c->to_ns + 77);
    c->n_list = n;
    return lab02_oracle_slope_over_error(y, POINT_SAMPLES);
}

/* The rise in standard errors when arrivals, or ends, are read strictly before the sample. */
static double rise_misread(const struct lab02_case *c, bool arrivals) {
    static struct point_request late[CASE_MAX_REQUESTS];
    double rise;
    for (size_t i = 0; i < c->n_list; i++) {
        late[i] = c->list[i];
        *(arrivals ? &late[i].arrival_ns : &late[i].end_ns) += 1;
    }
    lab02_oracle_stable(late, c->n_list, c->from_ns, c->to_ns, &rise);
    return rise;
}

static void make_stable_trend(struct lab02_making *a) {
    /* the line's rise in standard errors: near 3, but not where rounding would decide */
    static const double zones[][2] = {{2.93, 2.98}, {3.02, 3.08}, {-8, 1}, {6, 90}, {1, 2}, {4, 6}};
    const double *zone = zones[a->k % 6];
    struct lab02_case *c = a->c;
    /* a level, and a line, without any scatter: no quotient by the slope's error */
    bool exact = a->k / 6 % 3 == 1 && (a->k % 6 == 2 || a->k % 6 == 3);
    bool at = a->k % 3 < 2, found = false; /* at the sample itself: at or before t counts */
    c->fn = FN_STABLE;
    c->from_ns = lab02_make_between(a, 0, 9) * NS_PER_S;
    c->to_ns = c->from_ns + 64 * NS_PER_MS * lab02_make_between(a, 1, 20);
    c->to_ns += lab02_make_between(a, 0, 63); /* t[i] rounds once, after the product */
    for (int tries = 0; tries < 20000 && !found; tries++) {
        double rise = trend(a, at ? 0 : NS_PER_MS / 3, (int)lab02_make_between(a, 0, 30),
                            (int)lab02_make_between(a, 1, 12));
        if (exact) rise = trend(a, at ? 0 : NS_PER_MS / 3, a->k % 6 == 3 ? POINT_SAMPLES : 0, 0);
        found = exact || (rise > zone[0] && rise < zone[1]);
        if (found && at && !exact && tries < 500)
            found = (rise > 3) != (rise_misread(c, a->k / 6 % 2) > 3);
        double read = 0;
        if (found) lab02_oracle_stable(c->list, c->n_list, c->from_ns, c->to_ns, &read);
        INVARIANT(!found || fabs(read - rise) < 1e-9 || (isinf(read) && isinf(rise)));
    }
    INVARIANT(found);
    lab02_make_kind(a, "too few end; the number in the system %s",
                    exact && zone[0] < 3 ? "is a level without any scatter"
                    : exact              ? "rises on a line without any scatter"
                    : zone[0] > 3        ? "rises more than scatter explains"
                                         : "rises no more than scatter explains");
}

void lab02_make_analysis(struct lab02_making *a, enum lab02_maker which) {
    static void (*const makers[])(struct lab02_making *) = {
        [MAKE_ABSENT] = make_absent,
        [MAKE_WINDOW] = make_window,
        [MAKE_THROUGHPUT] = make_throughput,
        [MAKE_RATES] = make_rates,
        [MAKE_MEAN_LATENCY] = make_mean_latency,
        [MAKE_IN_SYSTEM] = make_in_system,
        [MAKE_PERCENTILES] = make_percentiles,
        [MAKE_INFINITE] = make_infinite,
        [MAKE_TPOT_POPULATION] = make_tpot_population,
        [MAKE_STABLE_SHARE] = make_stable_share,
        [MAKE_STABLE_TREND] = make_stable_trend,
        [MAKE_COUNTS] = make_counts,
        [MAKE_GOOD] = make_good,
    };
    if (which <= MAKE_E2E)
        make_one(a, which);
    else if (which >= MAKE_SHED && which <= MAKE_BROKEN)
        make_class(a, which);
    else
        makers[which](a);
}
