/* make_analysis.c: cases for analysis.c: the records of a run. The first values of m->k are the
 * edges, one each; later values repeat them with other numbers. See lab02.h. */
#include "lab02/lab02.h"
#include "lab02/oracle.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one request ----------------------------------------------------------------------------- */

static void list_of(struct lab02_making *m, size_t n) {
    free(m->c->list);
    m->c->list = calloc(n ? n : 1, sizeof *m->c->list);
    INVARIANT(m->c->list && n <= CASE_MAX_REQUESTS);
    m->c->n_list = n;
}

/* A request that arrives at t, is done, and got all the tokens that it wanted. */
static struct point_request served(struct lab02_making *m, int64_t t, int32_t tokens) {
    struct point_request r = {.arrival_ns = t, .output_tokens = tokens, .wanted_tokens = tokens};
    r.admitted_ns = t + lab02_make_between(m, 0, 40 * NS_PER_MS);
    r.first_token_ns = r.admitted_ns + lab02_make_between(m, NS_PER_MS, 200 * NS_PER_MS);
    r.end_ns = r.first_token_ns;
    if (tokens > 1) r.end_ns += (tokens - 1) * lab02_make_between(m, NS_PER_MS, 30 * NS_PER_MS);
    r.end = POINT_DONE;
    return r;
}

static void refuse(struct lab02_making *m, struct point_request *r) {
    bool waited = lab02_make_chance(m, 50);
    r->end = POINT_REJECTED;
    r->end_ns = r->arrival_ns + (waited ? lab02_make_between(m, 1, 50 * NS_PER_MS) : 0);
    r->admitted_ns = r->first_token_ns = -1;
    r->output_tokens = 0;
}

static void break_it(struct lab02_making *m, struct point_request *r) {
    r->end = POINT_FAILED;
    if (lab02_make_chance(m, 40)) {
        r->end_ns = r->admitted_ns + lab02_make_between(m, 0, NS_PER_MS);
        r->first_token_ns = -1;
        r->output_tokens = 0;
    } else {
        r->output_tokens = 1 + r->output_tokens / 2;
    }
}

static void cut(struct lab02_making *m, struct point_request *r) {
    r->wanted_tokens = r->output_tokens + (int32_t)lab02_make_between(m, 1, 300);
}

static void one(struct lab02_making *m, int32_t tokens) {
    list_of(m, 1);
    m->c->list[0] = served(m, lab02_make_between(m, 0, INT64_C(400000000000)), tokens);
}

static void make_one(struct lab02_making *m, enum lab02_maker which) {
    static const char *const focus[] = {"queue_delay_ns", "ttft_ns", "tpot_ns", "e2e_ns"};
    m->c->fn = FN_INTERVALS;
    one(m, (int32_t)lab02_make_between(m, 2, 60));
    struct point_request *r = m->c->list;
    m->focus = focus[which - MAKE_QUEUE_DELAY];
    lab02_make_kind(m, "an ordinary request that was served");
    switch (m->k % 5) {
    case 1: /* all at one instant, and an arrival at 0 */
        *r = (struct point_request){0, 0, 0, 0, 2, 2, POINT_DONE};
        lab02_make_kind(m,
                        "a request that arrives, is admitted and is done at 0 ns: intervals of 0");
        break;
    case 2:
        r->arrival_ns += INT64_C(1) << 52;
        r->admitted_ns += INT64_C(1) << 52;
        r->first_token_ns += INT64_C(1) << 52;
        r->end_ns += INT64_C(1) << 52;
        lab02_make_kind(m, "a clock beyond 2^52 ns");
        break;
    case 3:
        cut(m, r);
        lab02_make_kind(
            m, "a request that was cut short: it is done, with fewer tokens than it wanted");
        break;
    case 4: /* a quotient that is exactly a half, or next to it */
        r->output_tokens = r->wanted_tokens = 3 + 2 * (int32_t)lab02_make_between(m, 0, 5);
        r->end_ns = r->first_token_ns + (r->output_tokens - 1) * lab02_make_between(m, 1, 9000) +
                    (r->output_tokens - 1) / 2 - lab02_make_between(m, 0, 1);
        lab02_make_kind(m, "a time per token that is a whole number and a half, or just below it");
        break;
    default:
        break;
    }
}

static void make_absent(struct lab02_making *m) {
    m->c->fn = FN_INTERVALS;
    one(m, (int32_t)lab02_make_between(m, 2, 60));
    struct point_request *r = m->c->list;
    switch (m->k % 6) {
    case 0:
        refuse(m, r);
        lab02_make_kind(m, "a refused request: only -1");
        break;
    case 1:
        r->end = POINT_FAILED;
        r->end_ns = r->admitted_ns + 7;
        r->first_token_ns = -1;
        r->output_tokens = 0;
        lab02_make_kind(m, "a request that broke before its first token");
        break;
    case 2:
        r->end = POINT_FAILED;
        lab02_make_kind(m,
                        "a request that broke after several tokens: no TPOT, no end-to-end time");
        break;
    case 3:
        one(m, 1);
        lab02_make_kind(m, "an answer of one token has no TPOT");
        break;
    case 4: /* admitted at 0 is admitted */
        r->end_ns -= r->arrival_ns;
        r->first_token_ns = r->end_ns;
        r->arrival_ns = r->admitted_ns = 0;
        lab02_make_kind(m, "a request that arrives and is admitted at 0 ns");
        break;
    default:
        lab02_make_kind(m, "a request of which everything is known");
    }
}

static void make_class(struct lab02_making *m, enum lab02_maker which) {
    m->c->fn = FN_CLASSIFY;
    one(m, (int32_t)lab02_make_between(m, 2, 60));
    struct point_request *r = m->c->list;
    bool hit = m->k % 2 == 0;
    if (which == MAKE_SHED) {
        if (hit) refuse(m, r);
        if (hit && m->k % 4 == 0) r->wanted_tokens = 0; /* wants no tokens, so it lacks none */
        lab02_make_kind(m, hit ? "a request that was refused" : "a request that was served");
    } else if (which == MAKE_TRUNCATED) {
        int32_t off = m->k % 6 / 2; /* exactly as wanted, one fewer, many fewer */
        if (hit) r->wanted_tokens = r->output_tokens + (off == 0 ? 1 : off == 1 ? 2 : 500);
        if (!hit && m->k % 4 == 1) r->output_tokens = r->wanted_tokens = 1;
        lab02_make_kind(m, hit ? "done, with fewer tokens than it wanted"
                               : "done, with all its tokens");
    } else {
        if (hit) break_it(m, r);
        if (hit && m->k % 4 == 0) cut(m, r); /* fewer tokens, too: broken comes first */
        if (!hit && m->k % 4 == 1) cut(m, r);
        if (hit && m->k % 8 == 4) {
            r->output_tokens = r->wanted_tokens = 9;
            lab02_make_kind(m, "the server broke after the last token");
        } else {
            lab02_make_kind(m, hit ? "the server broke while it ran" : "a request that is done");
        }
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* How a run's requests end, in per cent. */
struct mix {
    int refused, broken, truncated;
};

static void limits_none(struct lab02_case *c) {
    c->limits = (struct point_limits){INT64_MAX, INT64_MAX, INT64_MAX};
}

/* n requests, of which some arrive before and after the window [from, to) of about 10 s. */
static void run_of(struct lab02_making *m, size_t n, struct mix mix) {
    struct lab02_case *c = m->c;
    c->fn = FN_MEASURE;
    c->from_ns = lab02_make_between(m, 2, 5) * NS_PER_S + lab02_make_between(m, 0, 999);
    c->to_ns = c->from_ns + lab02_make_between(m, 4, 12) * NS_PER_S;
    limits_none(c);
    list_of(m, n);
    for (size_t i = 0; i < n; i++) {
        int64_t t = lab02_make_between(m, c->from_ns - 2 * NS_PER_S, c->to_ns + NS_PER_S);
        struct point_request *r = &c->list[i];
        *r = served(m, t, (int32_t)lab02_make_between(m, 1, 40));
        int64_t dice = lab02_make_between(m, 0, 99);
        if (dice < mix.refused)
            refuse(m, r);
        else if (dice < mix.refused + mix.broken)
            break_it(m, r);
        else if (dice < mix.refused + mix.broken + mix.truncated)
            cut(m, r);
    }
}

static void shift(struct point_request *r, int64_t by) {
    r->arrival_ns += by;
    r->end_ns += by;
    if (r->admitted_ns != -1) r->admitted_ns += by;
    if (r->first_token_ns != -1) r->first_token_ns += by;
}

static const struct mix mixed = {15, 10, 15}, clean = {0, 0, 0};

static void make_window(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    run_of(m, (size_t)lab02_make_between(m, 6, 40), mixed);
    m->focus = "returned|requests|complete|shed";
    lab02_make_kind(m, "requests before, within and after the window, in no order");
    if (m->k % 3 == 0) {
        c->list[0] = served(m, c->from_ns, 5);
        c->list[1] = served(m, c->from_ns - 1, 5);
        c->list[2] = served(m, c->to_ns, 5);
        c->list[3] = served(m, c->to_ns - 1, 5);
        lab02_make_kind(m, "arrivals exactly at, and 1 ns before, both ends of the window");
    } else if (m->k % 6 == 1) {
        c->n_list = 0;
        m->focus = NULL; /* every member has a value then */
        lab02_make_kind(
            m, "a run without any request: each member of the point has a value all the same");
    }
}

static void make_throughput(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    run_of(m, (size_t)lab02_make_between(m, 6, 40), mixed);
    m->focus = "throughput_rps";
    lab02_make_kind(m, "some arrive before the window and end in it, some the other way round");
    if (m->k % 4 == 0) { /* ends exactly at the edges of the window */
        for (int i = 0; i < 4; i++) {
            static const int64_t off[] = {0, -1, 0, -1};
            struct point_request *r = &c->list[i];
            *r = served(m, c->from_ns, 4);
            shift(r, (i < 2 ? c->from_ns : c->to_ns) + off[i] - r->end_ns);
        }
        lab02_make_kind(m, "ends exactly at, and 1 ns before, both ends of the window");
    } else if (m->k % 4 == 1) {
        for (size_t i = 0; i < c->n_list; i += 2) {
            c->list[i] = served(m, c->from_ns - 20 * NS_PER_MS, 30);
            cut(m, &c->list[i]);
        }
        lab02_make_kind(m, "many end within the window, but cut short");
    } else if (m->k % 8 == 2) {
        for (size_t i = 0; i < c->n_list; i++) shift(&c->list[i], 100 * NS_PER_S);
        lab02_make_kind(m, "nothing ends within the window");
    }
}

static void make_rates(struct lab02_making *m) {
    run_of(m, (size_t)lab02_make_between(m, 6, 40), m->k % 2 ? mixed : clean);
    m->focus = "offered_rps|good_rps";
    if (m->k % 3 == 0) m->c->to_ns = m->c->from_ns + lab02_make_between(m, 1, NS_PER_S);
    lab02_make_kind(m,
                    m->k % 3 ? "rates over a window of seconds" : "rates over less than a second");
    if (m->k % 5 == 4) m->c->limits.ttft_below_ns = 120 * NS_PER_MS;
}

static void make_mean_latency(struct lab02_making *m) {
    run_of(m, (size_t)lab02_make_between(m, 6, 40), mixed);
    m->focus = "mean_latency_ns";
    lab02_make_kind(m, "the mean over those that are complete");
    if (m->k % 4 == 2) {
        for (size_t i = 0; i < m->c->n_list; i++) refuse(m, &m->c->list[i]);
        m->c->list[1] = served(m, m->c->from_ns + 7, 5);
        lab02_make_kind(m, "one is complete, all others were refused");
    }
    if (m->k % 4 == 3) {
        for (size_t i = 0; i < m->c->n_list; i++) refuse(m, &m->c->list[i]);
        lab02_make_kind(m, "every request was refused: there is no mean, which is not 0");
    }
}

static void make_in_system(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    run_of(m, (size_t)lab02_make_between(m, 4, 40), m->k % 2 ? mixed : clean);
    m->focus = "mean_in_system";
    lab02_make_kind(m, "some are in the system when the window begins, and some when it ends");
    if (m->k % 4 == 0) {
        c->list[0].arrival_ns = c->from_ns - NS_PER_S;
        c->list[0].end_ns = c->to_ns + NS_PER_S;
        c->list[0].end = POINT_DONE;
        lab02_make_kind(m, "one request is there from before the window until after it");
    } else if (m->k % 8 == 5) {
        for (size_t i = 0; i < c->n_list; i++)
            shift(&c->list[i], c->to_ns + NS_PER_S - c->list[i].arrival_ns);
        lab02_make_kind(m, "the system is empty");
    }
}

static void make_percentiles(struct lab02_making *m) {
    static const size_t sizes[] = {3, 4, 60, 100, 230, 5};
    struct lab02_case *c = m->c;
    run_of(m, sizes[m->k % 6], clean);
    for (size_t i = 0; i < c->n_list; i++) {
        bool all_inside = c->n_list == 100; /* the rank of p99 is a whole number there */
        if (c->list[i].output_tokens < 2 || all_inside)
            c->list[i] = served(m, c->from_ns + 5 + (int64_t)i, 9);
    }
    m->focus = "queue_delay_p99|ttft|tpot|e2e";
    lab02_make_kind(m, "%zu requests, all complete", c->n_list);
    if (m->k % 6 == 1) { /* done without a token: it has an end, and no first token */
        c->list[0] = served(m, c->from_ns + 1, 9);
        c->list[1] = served(m, c->from_ns + 2, 9);
        c->list[1].output_tokens = c->list[1].wanted_tokens = 0;
        c->list[1].first_token_ns = -1;
        lab02_make_kind(m, "one of the complete ones wanted no token, and has no TTFT");
    }
    if (m->k % 6 != 5) return;
    for (size_t i = 0; i < c->n_list; i++) {
        int64_t t = c->from_ns + (int64_t)i;
        c->list[i] = (struct point_request){t, t, t, t, 3, 3, POINT_DONE};
    }
    lab02_make_kind(m, "requests that take no time at all: latencies of 0 are latencies");
}

static void make_infinite(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    run_of(m, m->k % 3 == 0 ? 100 : (size_t)lab02_make_between(m, 30, 80), clean);
    m->focus = "queue_delay_p99|ttft|e2e";
    size_t bad = m->k % 3 == 0 ? (size_t)(1 + m->k / 3 % 2) : (size_t)lab02_make_between(m, 1, 30);
    for (size_t i = 0; i < c->n_list; i++) {
        c->list[i] = served(m, c->from_ns + (int64_t)i * NS_PER_MS, 6);
        if (i >= bad) continue;
        int how = (int)(i + (size_t)m->k) % 3;
        if (how == 0) refuse(m, &c->list[i]);
        if (how == 1) break_it(m, &c->list[i]);
        if (how == 2) cut(m, &c->list[i]);
    }
    if (m->k % 3 == 0)
        lab02_make_kind(m, "%zu of 100 requests refused, broken or cut short: p99", bad);
    else
        lab02_make_kind(m, "some were refused, broken or cut short: each counts as infinite");
}

static void make_tpot_population(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    run_of(m, (size_t)lab02_make_between(m, 20, 60), m->k % 2 ? mixed : clean);
    m->focus = "tpot";
    size_t each = m->k % 3 == 2 ? 1 : 2;
    for (size_t i = 0; i < c->n_list; i += each) {
        int64_t t = c->list[i].arrival_ns;
        c->list[i] = served(m, t, 1);
    }
    lab02_make_kind(m, each == 1 ? "only answers of one token" : "many answers of one token");
    if (m->k % 6 == 5) refuse(m, &c->list[0]);
}

static void make_counts(struct lab02_making *m) {
    static const struct mix mixes[] = {{15, 10, 15}, {50, 0, 0},   {0, 50, 0},
                                       {0, 0, 50},   {30, 30, 30}, {0, 0, 0}};
    run_of(m, (size_t)lab02_make_between(m, 10, 60), mixes[m->k % 6]);
    m->focus = "requests|complete|shed|truncated|broken";
    lab02_make_kind(m, "counts by what became of each request");
}

static void make_good(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    run_of(m, (size_t)lab02_make_between(m, 8, 40), m->k % 2 ? mixed : clean);
    m->focus = "good|good_rps";
    c->limits = (struct point_limits){150 * NS_PER_MS, 17 * NS_PER_MS, 600 * NS_PER_MS};
    if (m->k % 4 == 0) c->limits = (struct point_limits){INT64_MAX, 17 * NS_PER_MS, INT64_MAX};
    if (m->k % 4 == 1) c->limits = (struct point_limits){INT64_MAX, INT64_MAX, 500 * NS_PER_MS};
    lab02_make_kind(m, "good: complete, and within the limits of one request");
    if (m->k % 3 == 0) { /* exactly at a limit, and 1 ns below */
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
        lab02_make_kind(m, "a latency exactly at its limit, and 1 ns below");
    } else if (m->k % 3 == 1) {
        for (size_t i = 0; i < c->n_list; i += 2) {
            int64_t at = c->list[i].arrival_ns;
            c->list[i] = served(m, at, 1);
        }
        c->limits.tpot_below_ns = 1;
        lab02_make_kind(m, "answers of one token: a limit on an absent TPOT doesn't apply");
    }
}

/* ---- stable ---------------------------------------------------------------------------------- */

/* A request of which only arrival and end matter. */
static struct point_request stay(int64_t from, int64_t to) {
    return (struct point_request){from, from, to, to, 1, 1, POINT_DONE};
}

/* A burst in the first second, of which some stay beyond the window: the ends within it are exactly
 * 90 % of the arrivals, or one fewer. In the second half everything ends at once, so the queue does
 * not grow there. */
static void make_early_burst(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    int64_t n = 10 * lab02_make_between(m, 5, 15), late = n / 5, short_by = m->k / 9 % 2;
    int64_t old = m->k / 18 % 2 ? 3 : 0; /* arrived before the window and end in it */
    int64_t stays = n / 10 + old + short_by, mid = c->from_ns + (c->to_ns - c->from_ns) / 2;
    c->fn = FN_MEASURE;
    limits_none(c);
    m->focus = "stable";
    list_of(m, (size_t)(n + old));
    for (int64_t i = 0; i < n - late; i++) {
        int64_t t = c->from_ns + i * NS_PER_MS;
        c->list[i] = stay(t, i < stays ? c->to_ns + i : t + NS_PER_MS);
        if (m->k % 2 && i % 4 == 3) c->list[i].end = i % 8 == 3 ? POINT_REJECTED : POINT_FAILED;
    }
    for (int64_t i = n - late; i < n; i++)
        c->list[i] = stay(mid + i * NS_PER_MS, mid + i * NS_PER_MS + 1);
    for (int64_t i = 0; i < old; i++) c->list[n + i] = stay(c->from_ns - 1 - i, c->from_ns + i);
    INVARIANT(lab02_oracle_stable(c->list, c->n_list, c->from_ns, c->to_ns, NULL));
    lab02_make_kind(m, "an early burst: ends within the window are %s 90 %% of the arrivals",
                    short_by ? "just under" : "exactly");
}

/* The ends in the second half of the window are exactly 98 % of the arrivals there, or one fewer.
 * The requests that stay come in the middle of the half: a clear rise. */
static void make_stable_share(struct lab02_making *m) {
    static const int64_t arrivals[] = {50, 100, 200, 50, 100, 200, 100, 150};
    struct lab02_case *c = m->c;
    c->fn = FN_STABLE;
    c->from_ns = lab02_make_between(m, 0, 7) * NS_PER_S + m->k % 2;
    c->to_ns = c->from_ns + 10 * NS_PER_S + m->k % 3;
    if (m->k % 9 == 4) {
        make_early_burst(m);
        return;
    }
    int64_t mid = c->from_ns + (c->to_ns - c->from_ns) / 2, half = c->to_ns - mid;
    int64_t n = arrivals[m->k % 8], end = n * 98 / 100 - m->k / 2 % 2;
    int64_t old = m->k % 4 == 3 ? n / 10 : 0; /* this many of the ends arrived before the half */
    int64_t stays = n - (end - old);
    list_of(m, (size_t)(n + old));
    for (int64_t i = 0; i < n; i++) {
        bool goes = i < n / 2 || i >= n / 2 + stays;
        int64_t t = mid + i * (half / n);
        c->list[i] = stay(t, goes ? t + 1 : c->to_ns + (m->k % 2 ? 0 : i));
        if (m->k % 5 == 2 && i % 3 == 0) c->list[i].end = POINT_REJECTED;
        if (m->k % 5 == 3 && i % 3 == 0) c->list[i].end = POINT_FAILED;
    }
    for (int64_t i = 0; i < old; i++) c->list[n + i] = stay(mid - 1 - i, mid);
    bool enough = end * 100 >= n * 98;
    if (m->k % 9 == 8) { /* the same as a member of the measured point */
        c->fn = FN_MEASURE;
        limits_none(c);
        m->focus = "stable";
    }
    INVARIANT(lab02_oracle_stable(c->list, c->n_list, c->from_ns, c->to_ns, NULL) == enough);
    lab02_make_kind(m, "ends in the second half: %s 98 %% of the arrivals there",
                    enough ? "exactly" : "just under");
}

/* Makes a run whose number in the system reads as about level + drift * i / POINT_SAMPLES at sample
 * i, plus or minus `spread`. Changes happen `before` ns before the sample (0: at it). Returns the
 * rise in standard errors. */
static double trend(struct lab02_making *m, int64_t before, int drift, int spread) {
    enum { BURST = 55 };
    struct lab02_case *c = m->c;
    int64_t mid = c->from_ns + (c->to_ns - c->from_ns) / 2;
    size_t open[CASE_MAX_REQUESTS], n_open = 0, n = 0;
    double y[POINT_SAMPLES];
    int level = (int)lab02_make_between(m, 8, 40);
    list_of(m, CASE_MAX_REQUESTS);
    for (int i = 0; i < level; i++) {
        open[n_open++] = n;
        c->list[n++] = stay(c->from_ns + i, c->to_ns + 5 + i);
    }
    for (int i = 0; i < POINT_SAMPLES; i++) {
        INVARIANT(n < CASE_MAX_REQUESTS - 2 * BURST);
        int64_t t = mid + (c->to_ns - mid) * i / POINT_SAMPLES - before;
        int64_t want = level + drift * i / POINT_SAMPLES + lab02_make_between(m, -spread, spread);
        for (; n_open < (size_t)(want > 0 ? want : 0); n++) {
            open[n_open++] = n;
            c->list[n] = stay(t, c->to_ns + 9);
        }
        while (n_open > (size_t)(want > 0 ? want : 0)) c->list[open[--n_open]].end_ns = t;
        y[i] = (double)n_open;
    }
    /* a burst without ends after the last sample: too few ends, with any trend */
    for (int i = 0; i < BURST; i++) c->list[n++] = stay(c->to_ns - 1, c->to_ns + 77);
    c->n_list = n;
    return lab02_oracle_slope_over_error(y, POINT_SAMPLES);
}

/* The rise in standard errors if arrivals, or ends, are read strictly before the sample. */
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

static void make_stable_trend(struct lab02_making *m) {
    /* the line's rise in standard errors: near 3, but not so near that rounding decides */
    static const double zones[][2] = {{2.93, 2.98}, {3.02, 3.08}, {-8, 1}, {6, 90}, {1, 2}, {4, 6}};
    const double *zone = zones[m->k % 6];
    struct lab02_case *c = m->c;
    /* a level, and a line, without scatter: the slope's error is 0 */
    bool exact = m->k / 6 % 3 == 1 && (m->k % 6 == 2 || m->k % 6 == 3);
    bool at = m->k % 3 < 2, found = false; /* at the sample itself: events at or before t count */
    c->fn = FN_STABLE;
    c->from_ns = lab02_make_between(m, 0, 9) * NS_PER_S;
    c->to_ns = c->from_ns + 64 * NS_PER_MS * lab02_make_between(m, 1, 20);
    c->to_ns += lab02_make_between(m, 0, 63); /* t[i] rounds once, after the product */
    for (int tries = 0; tries < 20000 && !found; tries++) {
        double rise = trend(m, at ? 0 : NS_PER_MS / 3, (int)lab02_make_between(m, 0, 30),
                            (int)lab02_make_between(m, 1, 12));
        if (exact) rise = trend(m, at ? 0 : NS_PER_MS / 3, m->k % 6 == 3 ? POINT_SAMPLES : 0, 0);
        found = exact || (rise > zone[0] && rise < zone[1]);
        if (found && at && !exact && tries < 500)
            found = (rise > 3) != (rise_misread(c, m->k / 6 % 2) > 3);
        double read = 0;
        if (found) lab02_oracle_stable(c->list, c->n_list, c->from_ns, c->to_ns, &read);
        INVARIANT(!found || fabs(read - rise) < 1e-9 || (isinf(read) && isinf(rise)));
    }
    INVARIANT(found);
    lab02_make_kind(m, "too few end; the number in the system %s",
                    exact && zone[0] < 3 ? "is a level without any scatter"
                    : exact              ? "rises on a line without any scatter"
                    : zone[0] > 3        ? "rises more than scatter explains"
                                         : "rises no more than scatter explains");
}

void lab02_make_analysis(struct lab02_making *m, enum lab02_maker which) {
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
        make_one(m, which);
    else if (which >= MAKE_SHED && which <= MAKE_BROKEN)
        make_class(m, which);
    else
        makers[which](m);
}
