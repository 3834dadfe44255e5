/* evidence_protocol_check.c: checks that a protocol is complete and does not contradict itself. See
 * evidence_protocol.h. Each fault is one sentence that says what would go wrong with the
 * measurement. */
#include "lab02/evidence_protocol.h"

#include "core/lab.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The number of faults found so far, and the first. */
struct faults {
    int n;
    struct err *first;
};

static void fault(struct faults *f, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void fault(struct faults *f, const char *field, const char *fmt, ...) {
    char text[sizeof f->first->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (f->n++ == 0) err_at(f->first, 0, field, "%s", text);
}

/* ---- is anything missing? -------------------------------------------------------------------- */

static int levels(const struct protocol *p) {
    return p->load.loop == LOOP_CLOSED ? p->load.n_concurrency : p->load.n_offered;
}

static const char *levels_field(const struct protocol *p) {
    return p->load.loop == LOOP_CLOSED ? "load.concurrency" : "load.offered_rps";
}

static bool reports(const struct protocol *p, int one, int other) {
    for (int i = 0; i < p->n_percentiles; i++)
        if ((p->percentiles[i].interval == one || p->percentiles[i].interval == other) &&
            p->percentiles[i].percentile >= 99)
            return true;
    return false;
}

/* Behind the question mark may be what closes quotes or brackets, in any script. */
static bool ends_as_question(const char *text) {
    static const char *const marks[] = {"?", "\357\274\237", "\330\237"}; /* wide, Arabic */
    enum { CLOSING_BYTES = 8 };
    const char *end = text + strlen(text);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        for (const char *p = text; (p = strstr(p, marks[i])); p++) {
            const char *rest = p + strlen(marks[i]);
            size_t n = 0;
            while (rest[n] && !isalnum((unsigned char)rest[n]) && rest[n] != '.') n++;
            if (rest + n == end && n <= CLOSING_BYTES) return true;
        }
    return false;
}

int lab02_protocol_gaps(const struct protocol *p, struct err *e) {
    struct faults f = {0, e};
    if (!ends_as_question(p->question))
        fault(&f, "question", "is not a question; end it with a question mark");
    if (evidence_words(p->question) < EVIDENCE_SENTENCE_WORDS)
        fault(&f, "question", "is no sentence");
    if (evidence_words(p->rule) < EVIDENCE_SENTENCE_WORDS)
        fault(&f, "decision.rule", "is no sentence: what will you conclude from which outcome?");
    if (levels(p) >= 0 && levels(p) < 3)
        fault(&f, levels_field(p),
              "has %d levels; the knee takes at least 3: below it, near it and beyond it",
              levels(p));
    if (p->warm_up.requests < 1)
        fault(&f, "warm_up.requests",
              "is 0: the first requests meet an empty server, and their latencies flatter it");
    if (p->warm_up.stragglers == STRAGGLERS_DROPPED)
        fault(&f, "warm_up.stragglers",
              "drops what straddles an end: that prefers short requests. Count by arrival or by "
              "completion");
    if (p->repeats.count < 3)
        fault(&f, "repeats.count", "is %d; fewer than 3 repeats say nothing about the spread",
              (int)p->repeats.count);
    if (p->repeats.spread == SPREAD_NONE)
        fault(&f, "repeats.spread",
              "is \"none\": without a spread a difference can't be distinguished from noise");
    static const char *const must[] = {"rejected", "timed_out", "internal_error"};
    for (int i = FAILURE_REJECTED; i <= FAILURE_INTERNAL_ERROR; i++)
        if (!p->failures.counted[i])
            fault(&f, "failures.counted", "leaves out \"%s\", which is not an answer either",
                  must[i]);
    if (!reports(p, PROTOCOL_CLIENT_TTFT, PROTOCOL_SERVER_TTFT))
        fault(&f, "percentiles",
              "hold no time to first token at p99, which decision.ttft_below_ms needs");
    if (!reports(p, PROTOCOL_TPOT, PROTOCOL_ITL))
        fault(&f, "percentiles",
              "hold no time per output token (tpot, or itl) at p99, which decision.tpot_below_ms "
              "needs");
    return f.n;
}

/* ---- does it contradict itself? -------------------------------------------------------------- */

static void check_varied(const struct protocol *p, struct faults *f) {
    char field[64];
    if (p->fixed_twice) {
        snprintf(field, sizeof field, "fixed.%s", lab02_protocol_factors[p->factor]);
        fault(f, field, "is stated as fixed, but varied.factor varies it");
    }
    for (int i = 0; i < p->n_values; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(p->values[i].text, p->values[k].text) &&
                p->values[i].number == p->values[k].number) {
                snprintf(field, sizeof field, "varied.values[%d]", i);
                fault(f, field, "is the same value as varied.values[%d]: nothing varies there", k);
            }
}

static void check_prompts(const struct protocol *p, struct faults *f) {
    if (!p->prompts.same)
        fault(f, "prompts.same_for_every_run",
              "is false: then the prompts vary together with %s, and the cause of a difference is "
              "unknown",
              lab02_protocol_factors[p->factor]);
    if (p->prompts.cold && p->prompts.count < p->load.requests)
        fault(f, "prompts.count",
              "is %lld for %lld requests a level: prompts come back, so the prefix cache isn't "
              "cold as cache_state says",
              (long long)p->prompts.count, (long long)p->load.requests);
}

static void check_output(const struct protocol *p, struct faults *f) {
    bool fixed = p->output.rule == OUTPUT_FIXED_LENGTH;
    if (fixed && p->output.tokens < 0)
        fault(f, "output.tokens", "is null, but the rule is \"fixed_length\": which length?");
    if (fixed && p->output.stop_ends)
        fault(f, "output.stop_token_ends",
              "is true: a stop token would end an answer before the fixed length");
    if (fixed && p->output.tokens >= 0 && p->output.max_tokens != p->output.tokens)
        fault(f, "output.max_tokens", "is %lld, but the fixed length is %lld",
              (long long)p->output.max_tokens, (long long)p->output.tokens);
    if (fixed && p->output.tokens == 1)
        fault(f, "output.tokens",
              "is 1: an answer of one token has no time per output token to limit");
    if (fixed && p->failures.counted[FAILURE_TRUNCATED])
        fault(f, "failures.counted",
              "holds \"truncated\", but with a fixed length every answer ends at its limit");
    if (!fixed && p->output.tokens >= 0)
        fault(f, "output.tokens", "is %lld, but the rule \"until_stop\" leaves the length open",
              (long long)p->output.tokens);
    if (!fixed && !p->output.stop_ends)
        fault(f, "output.stop_token_ends",
              "is false, but the rule is \"until_stop\": what would end an answer?");
    if (!fixed && !p->failures.counted[FAILURE_TRUNCATED])
        fault(f, "failures.counted",
              "leaves out \"truncated\": an answer that max_tokens cut short would count as good");
}

static void check_levels(const double *level, int n, const char *key, struct faults *f) {
    char field[64];
    for (int i = 1; i < n; i++) {
        if (level[i] > level[i - 1]) continue;
        snprintf(field, sizeof field, "load.%s[%d]", key, i);
        fault(f, field, "isn't above the level before it; each level once, from low to high");
    }
}

static void check_load(const struct protocol *p, struct faults *f) {
    bool closed = p->load.loop == LOOP_CLOSED;
    if (closed && p->load.n_concurrency < 0)
        fault(f, "load.concurrency",
              "is null, but the loop is closed: how many clients are there?");
    if (closed && p->load.think_s < 0)
        fault(f, "load.think_s", "is null, but the loop is closed: 0 is an answer, null is none");
    if (closed && p->load.n_offered >= 0)
        fault(f, "load.offered_rps",
              "states an arrival rate, but in a closed loop the server's answers set it");
    if (closed && p->load.arrivals >= 0)
        fault(
            f, "load.arrivals",
            "states an arrival process, but in a closed loop clients send when they are answered");
    if (!closed && p->load.n_offered < 0)
        fault(f, "load.offered_rps", "is null, but the loop is open: at which rates?");
    if (!closed && p->load.arrivals < 0)
        fault(f, "load.arrivals", "is null, but the loop is open: how do requests arrive?");
    if (!closed && p->load.n_concurrency >= 0)
        fault(f, "load.concurrency",
              "fixes how many requests are under way, but in an open loop that can't be fixed");
    if (!closed && p->load.think_s >= 0)
        fault(f, "load.think_s", "is stated, but in an open loop no client waits for an answer");
    check_levels(p->load.concurrency, p->load.n_concurrency, "concurrency", f);
    check_levels(p->load.offered_rps, p->load.n_offered, "offered_rps", f);
}

static void check_warm_up(const struct protocol *p, struct faults *f) {
    long long warm = p->warm_up.requests, all = p->load.requests;
    double most = 0;
    for (int i = 0; i < p->load.n_concurrency; i++) most = fmax(most, p->load.concurrency[i]);
    if (warm >= all)
        fault(f, "warm_up.requests", "is %lld of %lld requests a level: nothing is left to measure",
              warm, all);
    else if (p->load.loop == LOOP_CLOSED && (double)(all - warm) < most)
        fault(f, "load.requests_per_level",
              "leaves %lld requests after the warm-up, fewer than the %g that are to be under way",
              all - warm, most);
    if (p->load.loop == LOOP_CLOSED && warm >= 1 && (double)warm < most)
        fault(f, "warm_up.requests",
              "is %lld, but %g clients begin at once: some of their first requests would be "
              "measured",
              warm, most);
    if (p->warm_up.counted)
        fault(f, "warm_up.counted", "is true: a warm-up that is counted is none");
}

static void check_repeats(const struct protocol *p, struct faults *f) {
    char field[64];
    if (p->repeats.count != p->repeats.n_seeds)
        fault(f, "repeats.seeds", "holds %d seeds for %lld repeats", p->repeats.n_seeds,
              (long long)p->repeats.count);
    for (int i = 0; i < p->repeats.n_seeds; i++)
        for (int k = 0; k < i; k++)
            if (p->repeats.seeds[i] == p->repeats.seeds[k]) {
                snprintf(field, sizeof field, "repeats.seeds[%d]", i);
                fault(f, field, "is the seed of repeats.seeds[%d]: the same run twice", k);
            }
    if (p->repeats.count == 1 && p->repeats.spread != SPREAD_NONE)
        fault(f, "repeats.spread", "promises a spread, but one repeat has none");
}

static void check_failures(const struct protocol *p, struct faults *f) {
    if (p->failures.handling == HANDLING_DROP)
        fault(f, "failures.handling",
              "is \"drop\": a server that refuses half of its requests would look faster");
    if (p->failures.handling == HANDLING_RETRY)
        fault(f, "failures.handling",
              "is \"retry_until_done\": a failure would become a slow success, and its first try "
              "free");
    if (p->failures.retries > 0)
        fault(f, "failures.retries",
              "is %lld: hidden retries add load that the levels don't state; use 0",
              (long long)p->failures.retries);
    if (p->failures.timeout_s * 1000 <= p->ttft_below_ms)
        fault(f, "failures.timeout_s",
              "is %g s, within the limit of %g ms on the first token: nothing could miss that",
              p->failures.timeout_s, p->ttft_below_ms);
}

static void check_percentiles(const struct protocol *p, struct faults *f) {
    char field[64];
    int64_t n = p->load.requests - p->warm_up.requests;
    for (int i = 0; i < p->n_percentiles; i++) {
        snprintf(field, sizeof field, "percentiles[%d]", i);
        for (int k = 0; k < i; k++)
            if (p->percentiles[k].interval == p->percentiles[i].interval &&
                p->percentiles[k].percentile == p->percentiles[i].percentile)
                fault(f, field, "is percentiles[%d] once more", k);
        double needed = ceil(100 / (100 - p->percentiles[i].percentile) - 1e-6);
        if (n > 0 && (double)n < needed)
            fault(f, field,
                  "asks for p%g of %lld counted requests a level; under %g it is just the largest",
                  p->percentiles[i].percentile, (long long)n, needed);
    }
}

/* A limit in seconds is most often under 20, one a token under 1: as milliseconds no person sees a
 * difference (a frame of a screen takes 17 ms; 1,000 tokens a second are read by nobody). Nobody
 * waits for longer than ten minutes. */
static void check_limit(const char *field, double ms, double least, struct faults *f) {
    if (ms < least)
        fault(f, field,
              "is %g ms, less than a person notices (%g ms); is it in seconds? It is in "
              "milliseconds",
              ms, least);
    else if (ms > 600000)
        fault(f, field,
              "is %g ms, more than ten minutes, which nobody waits. It is in milliseconds", ms);
}

int lab02_protocol_contradictions(const struct protocol *p, struct err *e) {
    struct faults f = {0, e};
    check_limit("decision.ttft_below_ms", p->ttft_below_ms, 17, &f);
    check_limit("decision.tpot_below_ms", p->tpot_below_ms, 1, &f);
    check_varied(p, &f);
    check_prompts(p, &f);
    check_output(p, &f);
    check_load(p, &f);
    check_warm_up(p, &f);
    check_repeats(p, &f);
    check_failures(p, &f);
    check_percentiles(p, &f);
    if (p->claims_result)
        fault(&f, "result", "must be null: a protocol is written before anything was measured");
    return f.n;
}
