/* spec.c: see spec.h. */
#include "workload/spec.h"

#include "base/clock.h"
#include "workload/arrivals.h"
#include "workload/closed.h"
#include "workload/decimal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const ARRIVALS_NAMES[] = {
    [ARRIVALS_LIST] = "list",     [ARRIVALS_POISSON] = "poisson", [ARRIVALS_GAMMA] = "gamma",
    [ARRIVALS_ON_OFF] = "on-off", [ARRIVALS_CLOSED] = "closed",   [ARRIVALS_TRACE] = "trace"};
static const char *const FORMAT_NAMES[] = {[TRACE_AZURE] = "azure",
                                           [TRACE_MOONCAKE] = "mooncake",
                                           [TRACE_BURSTGPT] = "burstgpt",
                                           [TRACE_VIDUR] = "vidur"};

const char *spec_arrivals_name(enum arrivals a) {
    return ARRIVALS_NAMES[a];
}

const char *spec_trace_format_name(enum trace_format f) {
    return FORMAT_NAMES[f];
}

int spec_arrivals(const char *flag, const char *text, enum arrivals *out, struct err *e) {
    for (int a = ARRIVALS_POISSON; a <= ARRIVALS_CLOSED; a++)
        if (!strcmp(text, ARRIVALS_NAMES[a])) return *out = (enum arrivals)a, 0;
    return err_at(
        e, 0, flag,
        "'%.40s' isn't a kind of arrivals; take poisson, gamma, on-off or closed, or give "
        "--arrivals-ms or --trace",
        text);
}

int spec_trace_format(const char *flag, const char *text, enum trace_format *out, struct err *e) {
    for (int f = TRACE_AZURE; f <= TRACE_VIDUR; f++)
        if (!strcmp(text, FORMAT_NAMES[f])) return *out = (enum trace_format)f, 0;
    return err_at(e, 0, flag,
                  "'%.40s' isn't a known trace format; take azure, mooncake, burstgpt or vidur",
                  text);
}

static int count_of(const char **at, int32_t *out) {
    int64_t v = 0;
    const char *from = *at;
    while (**at >= '0' && **at <= '9') {
        v = v * 10 + (*(*at)++ - '0');
        if (v > SPEC_MAX_TOKENS) return -1;
    }
    *out = (int32_t)v;
    return *at > from && v > 0 ? 0 : -1;
}

int spec_lengths(const char *flag, const char *text, struct lengths *out, struct err *e) {
    const char *at = text;
    struct lengths l;
    int bad = count_of(&at, &l.lo);
    l.hi = l.lo;
    if (!bad && *at == ':') at++, bad = count_of(&at, &l.hi);
    if (bad || *at)
        return err_at(e, 0, flag,
                      "'%.40s' isn't a length; write N for a fixed one or LO:HI for a uniform one, "
                      "from 1 to %d tokens",
                      text, SPEC_MAX_TOKENS);
    if (l.lo > l.hi)
        return err_at(e, 0, flag,
                      "'%.40s' has the larger length first; write the smaller one first", text);
    *out = l;
    return 0;
}

int spec_list_ms(const char *flag, const char *text, int64_t **out, int64_t *n, struct err *e) {
    size_t cap = 1;
    for (const char *c = text; *c; c++) cap += *c == ',';
    if (cap > SPEC_MAX_LIST)
        return err_at(e, 0, flag, "takes at most %d arrivals; use --trace for more", SPEC_MAX_LIST);
    int64_t *list = malloc(cap * sizeof *list);
    INVARIANT(list);
    size_t i = 0;
    for (const char *at = text;; at++) {
        size_t len = strcspn(at, ",");
        const char *wrong = decimal_ns(at, len, NS_PER_MS, &list[i]);
        if (wrong || list[i] > INT64_C(1000000000) * NS_PER_MS) {
            free(list);
            return err_at(e, 0, flag,
                          "'%.*s' isn't a time from 0 to 10^9 ms; write them as in 0,1,2.5",
                          len > 20 ? 20 : (int)len, at);
        }
        if (i > 0 && list[i] < list[i - 1]) {
            free(list);
            return err_at(e, 0, flag, "%.*s comes before the arrival in front of it; sort them",
                          len > 20 ? 20 : (int)len, at);
        }
        i++;
        at += len;
        if (!*at) break;
    }
    *out = list;
    *n = (int64_t)i;
    return 0;
}

/* ---- checks ---- */

struct need {
    const char *flag;
    bool given;
    unsigned used_by; /* bits: 1 << enum arrivals */
};
#define ON(kind)   (1u << ARRIVALS_##kind)
#define GENERATED  (ON(POISSON) | ON(GAMMA) | ON(ON_OFF))
#define ALL_BUT(k) (~ON(k))

/* Is the number given? -0.0 and NaN count as given. */
static bool stated(double v) {
    return !(v == 0) || signbit(v);
}

static int check_used(const struct workload_spec *s, struct err *e) {
    const struct need needs[] = {
        {"--arrivals-ms", s->list_ns != NULL, ON(LIST)},
        {"--rate-rps", stated(s->rate_rps), GENERATED | ON(TRACE)},
        {"--cv", stated(s->cv), ON(GAMMA)},
        {"--on-s", stated(s->on_s), ON(ON_OFF)},
        {"--off-s", stated(s->off_s), ON(ON_OFF)},
        {"--clients", s->clients != 0, ON(CLOSED)},
        {"--think-s", stated(s->think_s), ON(CLOSED)},
        {"--prompt-tokens", s->prompt_tokens.lo || s->prompt_tokens.hi, ALL_BUT(TRACE)},
        {"--output-tokens", s->output_tokens.lo || s->output_tokens.hi, ALL_BUT(TRACE)},
        {"--trace", s->trace != NULL, ON(TRACE)},
        {"--time-scale", stated(s->time_scale), ON(TRACE)},
        {"--skip-bad-rows", s->skip_bad_rows, ON(TRACE)},
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].given && !(needs[i].used_by & 1u << s->arrivals))
            return err_at(e, 0, needs[i].flag, "has no meaning with %s%s; leave it out",
                          s->arrivals == ARRIVALS_LIST    ? "--arrivals-ms"
                          : s->arrivals == ARRIVALS_TRACE ? "--trace"
                                                          : "--arrivals ",
                          s->arrivals == ARRIVALS_LIST || s->arrivals == ARRIVALS_TRACE
                              ? ""
                              : spec_arrivals_name(s->arrivals));
    return 0;
}

/* Also refuses NaN. */
static int check_number(const char *flag, double v, double lo, double hi, struct err *e) {
    if (v >= lo && v <= hi) return 0;
    if (!stated(v))
        return err_at(e, 0, flag, "is needed: a number from %g to %g, not 0 or left out", lo, hi);
    return err_at(e, 0, flag, "takes a number from %g to %g, not %g", lo, hi, v);
}

static int check_count(const char *flag, int64_t v, int64_t lo, int64_t hi, struct err *e) {
    if (v >= lo && v <= hi) return 0;
    return err_at(e, 0, flag, "%s a whole number from %lld to %lld, not %lld%s",
                  v == 0 ? "is needed:" : "takes", (long long)lo, (long long)hi, (long long)v,
                  v == 0 ? " or left out" : "");
}

static int check_lengths(const char *flag, struct lengths l, struct err *e) {
    if (l.lo == 0 && l.hi == 0) return 0;
    if (check_count(flag, l.lo, 1, SPEC_MAX_TOKENS, e) ||
        check_count(flag, l.hi, l.lo, SPEC_MAX_TOKENS, e))
        return -1;
    return 0;
}

static int check_rate(const struct workload_spec *s, struct err *e) {
    return check_number("--rate-rps", s->rate_rps, ARRIVAL_MIN_RPS, ARRIVAL_MAX_RPS, e);
}

static int check_on_off(const struct workload_spec *s, struct err *e) {
    double cycle_s = s->on_s + s->off_s;
    if (check_number("--on-s", s->on_s, ARRIVAL_MIN_PERIOD_S, ARRIVAL_MAX_PERIOD_S, e) ||
        check_number("--off-s", s->off_s, 0, ARRIVAL_MAX_PERIOD_S, e) || check_rate(s, e))
        return -1;
    if (s->rate_rps * cycle_s < ARRIVAL_MIN_CYCLE_REQUESTS)
        return err_at(e, 0, "--on-s",
                      "a cycle of --on-s and --off-s sees %g requests at this rate; lengthen it "
                      "to see %g at least",
                      s->rate_rps * cycle_s, ARRIVAL_MIN_CYCLE_REQUESTS);
    if (s->rate_rps * cycle_s / s->on_s > ARRIVAL_MAX_RPS)
        return err_at(e, 0, "--rate-rps", "while on that makes %g requests/s; at most %g",
                      s->rate_rps * cycle_s / s->on_s, ARRIVAL_MAX_RPS);
    return 0;
}

static int check_trace(const struct workload_spec *s, struct err *e) {
    if (!s->trace) return err_at(e, 0, "--trace", "is missing");
    if (stated(s->rate_rps) && stated(s->time_scale))
        return err_at(e, 0, "--time-scale",
                      "and --rate-rps both scale the trace's time; give one of them");
    if (stated(s->time_scale)) return check_number("--time-scale", s->time_scale, 1e-6, 1e6, e);
    return stated(s->rate_rps) ? check_rate(s, e) : 0;
}

static int check_arrivals(const struct workload_spec *s, struct err *e) {
    switch (s->arrivals) {
    case ARRIVALS_LIST:
        if (!s->list_ns) return err_at(e, 0, "--arrivals-ms", "is missing");
        for (int64_t i = 0; i < s->requests; i++)
            if (s->list_ns[i] < 0 || (i > 0 && s->list_ns[i] < s->list_ns[i - 1]))
                return err_at(e, 0, "--arrivals-ms", "arrival %lld isn't in order; sort them",
                              (long long)i + 1);
        return 0;
    case ARRIVALS_CLOSED:
        if (check_count("--clients", s->clients, 1, CLOSED_MAX_CLIENTS, e)) return -1;
        return check_number("--think-s", s->think_s, 0, ARRIVAL_MAX_PERIOD_S, e);
    case ARRIVALS_TRACE:
        return check_trace(s, e);
    case ARRIVALS_ON_OFF:
        return check_on_off(s, e);
    case ARRIVALS_GAMMA:
        if (check_number("--cv", s->cv, ARRIVAL_MIN_CV, ARRIVAL_MAX_CV, e)) return -1;
        return check_rate(s, e);
    case ARRIVALS_POISSON:
        return check_rate(s, e);
    }
    return err_at(e, 0, "--arrivals", "isn't a kind of arrivals");
}

int spec_check(const struct workload_spec *s, struct err *e) {
    if (s->arrivals > ARRIVALS_TRACE || s->trace_format > TRACE_VIDUR)
        return err_at(e, 0, "--arrivals", "isn't a kind of arrivals or of trace");
    if (check_used(s, e) ||
        check_count("--requests", s->requests, s->arrivals == ARRIVALS_TRACE ? 0 : 1,
                    SPEC_MAX_REQUESTS, e) ||
        check_arrivals(s, e) || check_lengths("--prompt-tokens", s->prompt_tokens, e) ||
        check_lengths("--output-tokens", s->output_tokens, e) ||
        check_count("--max-output-tokens", s->max_output_tokens, 0, SPEC_MAX_TOKENS, e) ||
        check_number("--fail-rate", s->fail_rate, 0, 1, e))
        return -1;
    /* a quarter of what fits 64 bits: 73 years */
    if ((GENERATED & 1u << s->arrivals) && (double)s->requests / s->rate_rps > 0x1.0p61 / 1e9)
        return err_at(e, 0, "--requests", "at this rate they take more than 73 years to arrive");
    return 0;
}
