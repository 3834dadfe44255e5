/* oracle_slo.c: the right answers for percentile.c and slo.c, from the text of their headers. The
 * percentile is found by its definition (the smallest observation with at least p % at or below
 * it), not by sorting and indexing. */
#include "lab01/lab01.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const answer_names[] = {"met", "missed", "not_computable"};
static const char *const yes_no[] = {"false", "true"};

typedef unsigned __int128 wide;

/* ---- percentiles ----------------------------------------------------------------------------- */

/* Whether `below` observations (those at or below some value) are at least p % of n. */
static bool enough(size_t below, size_t n, int32_t percentile_milli) {
    return (wide)below * 100000 >= (wide)n * (wide)percentile_milli;
}

static bool smallest_with_enough(const struct lab01_case *c, size_t n, int64_t *ns) {
    bool found = false;
    for (size_t i = 0; i < c->n_ok; i++) {
        size_t below = 0;
        if (found && c->obs[i] >= *ns) continue;
        for (size_t k = 0; k < c->n_ok; k++) below += c->obs[k] <= c->obs[i];
        if (!enough(below, n, c->percentile_milli)) continue;
        *ns = c->obs[i];
        found = true;
    }
    return found;
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The values that other definitions of a percentile give, for a population without failures. */
static void rank_mistakes(const struct lab01_case *c, struct want *ns) {
    if (c->n_failed > 0 || c->n_ok < 2) return;
    int64_t *v = malloc(c->n_ok * sizeof *v);
    if (!v) return;
    memcpy(v, c->obs, c->n_ok * sizeof *v);
    qsort(v, c->n_ok, sizeof *v, ascending);
    double at = (double)(c->n_ok - 1) * c->percentile_milli / 100000;
    size_t low = (size_t)at, high = low + 1 < c->n_ok ? low + 1 : low;
    double between = (double)v[low] + (at - (double)low) * (double)(v[high] - v[low]);
    size_t down = (size_t)((wide)c->n_ok * (wide)c->percentile_milli / 100000);
    want_as_if(ns, (int64_t)between, "the percentile is interpolated between two observations");
    size_t up = down + ((wide)down * 100000 < (wide)c->n_ok * (wide)c->percentile_milli);
    if (up < c->n_ok)
        want_as_if(
            ns, v[up],
            "the 1-based rank is used as an array index: the observation taken is one too high");
    want_as_if(ns, v[down > 0 ? down - 1 : 0], "the rank is rounded down");
    free(v);
}

static void want_rank(const struct lab01_case *c, struct want *w) {
    size_t n = c->n_ok + c->n_failed;
    int64_t ns = 0;
    bool present = n > 0;
    bool finite = present && smallest_with_enough(c, n, &ns);
    /* n < 100 / (100 - p), multiplied out */
    bool few = (wide)n * (wide)(100000 - c->percentile_milli) < 100000;
    *w++ = (struct want){
        .name = "present", .value = present, .care = true, .names = yes_no, .n_names = 2};
    *w++ = (struct want){.name = "infinite",
                         .value = present && !finite,
                         .care = true,
                         .names = yes_no,
                         .n_names = 2};
    *w = (struct want){.name = "ns", .value = ns, .care = finite, .is_ns = true};
    if (finite) rank_mistakes(c, w);
    w++;
    *w++ = (struct want){.name = "n", .value = (int64_t)n, .care = true};
    *w++ = (struct want){.name = "failed", .value = (int64_t)c->n_failed, .care = true};
    *w = (struct want){.name = "few", .value = few, .care = true, .names = yes_no, .n_names = 2};
}

/* ---- limits ---------------------------------------------------------------------------------- */

static enum slo_answer answer(bool computable, bool met) {
    return !computable ? SLO_NOT_COMPUTABLE : met ? SLO_MET : SLO_MISSED;
}

static enum slo_answer limit_answer(const struct latency_limit *l, const struct percentile *p) {
    return answer(p->present, !p->infinite && p->ns < l->below_ns);
}

static enum slo_answer failures_answer(const struct objective *o, const struct slo_counts *c) {
    double max = o->reliability.max_failure_rate;
    bool can = !isnan(max) && c->requests > 0 && c->failed >= 0;
    return answer(can, can && (double)c->failed / (double)c->requests <= max);
}

static enum slo_answer passes_answer(const struct objective *o, const struct slo_counts *c) {
    double min = o->quality.min_pass_rate;
    bool can = !isnan(min) && c->quality_evaluated > 0 && c->quality_passed >= 0;
    return answer(can, can && (double)c->quality_passed / (double)c->quality_evaluated >= min);
}

static bool usable_interval(double s) {
    return isfinite(s) && s > 0;
}

static enum slo_answer rate_answer(const struct objective *o, const struct slo_counts *c) {
    double min = o->throughput.min_rps;
    bool can = !isnan(min) && c->useful >= 0 && usable_interval(c->interval_s);
    return answer(can, can && (double)c->useful / c->interval_s >= min);
}

static enum slo_answer verdict_answer(const struct lab01_case *c) {
    const struct objective *o = &c->obj;
    enum slo_answer parts[OBJECTIVE_MAX_LIMITS + 3];
    size_t n = 0;
    for (int32_t i = 0; i < o->n_latency; i++)
        if (o->latency[i].scope == SCOPE_POPULATION)
            parts[n++] = limit_answer(&o->latency[i], &c->pct[i]);
    if (!isnan(o->reliability.max_failure_rate)) parts[n++] = failures_answer(o, &c->counts);
    if (!isnan(o->quality.min_pass_rate)) parts[n++] = passes_answer(o, &c->counts);
    if (!isnan(o->throughput.min_rps)) parts[n++] = rate_answer(o, &c->counts);
    bool missed = false, unknown = false;
    for (size_t i = 0; i < n; i++) {
        missed |= parts[i] == SLO_MISSED;
        unknown |= parts[i] == SLO_NOT_COMPUTABLE;
    }
    return missed ? SLO_MISSED : unknown ? SLO_NOT_COMPUTABLE : SLO_MET;
}

/* ---- the objective's value ------------------------------------------------------------------- */

/* The values that a wrong reserve gives. */
static void value_mistakes(const struct objective *o, double value, struct want *w) {
    double reserve = o->resource.reserve_fraction;
    double added = value / (1 - reserve) / (1 + reserve), unpaid = value / (1 - reserve);
    int64_t bits[2];
    memcpy(&bits[0], &added, sizeof added);
    memcpy(&bits[1], &unpaid, sizeof unpaid);
    want_as_if(w, bits[0],
               "the accelerators are multiplied by 1 + reserve, not divided by 1 - reserve");
    want_as_if(w, bits[1], "the reserve isn't paid for");
}

static void want_value(const struct lab01_case *c, struct want *w) {
    const struct objective *o = &c->obj;
    const struct slo_counts *n = &c->counts;
    bool usd = !strcmp(o->resource.primary, "usd");
    bool seconds = !strcmp(o->resource.primary, "accelerator_seconds");
    double price = o->resource.usd_per_accelerator_hour, per_unit = 0;
    bool can = n->useful >= 0 && usable_interval(n->interval_s) && o->resource.accelerators > 0 &&
               (seconds || (usd && price > 0));
    if (can) {
        double provisioned_s =
            o->resource.accelerators / (1 - o->resource.reserve_fraction) * n->interval_s;
        per_unit = (double)n->useful / (usd ? provisioned_s / 3600 * price : provisioned_s);
    } else {
        memset(&per_unit, CASE_POISON, sizeof per_unit); /* not written */
    }
    int64_t bits;
    memcpy(&bits, &per_unit, sizeof bits);
    *w++ = (struct want){.name = "answer",
                         .value = can ? SLO_MET : SLO_NOT_COMPUTABLE,
                         .care = true,
                         .names = answer_names,
                         .n_names = 3};
    *w++ = (struct want){.name = can ? "value" : "value (untouched: its bits)",
                         .kind = can ? SLOT_REAL : SLOT_INT,
                         .value = bits,
                         .care = true};
    if (can) value_mistakes(o, per_unit, w - 1);
    /* a reason in words: at least ten characters if there is room, else as much as fits */
    int64_t least = c->cap > 11 ? 10 : (int64_t)c->cap - 1;
    *w++ = (struct want){.name = "length of reason",
                         .kind = can ? SLOT_INT : SLOT_MIN,
                         .value = can ? 0 : least,
                         .care = true};
    /* if there is room, a reason changes when any one of those missing is known */
    bool asked = !can && (usd || seconds) && c->cap == CASE_REASON;
    *w = (struct want){.name = "reason names all that is missing",
                       .value = 1,
                       .care = asked,
                       .names = yes_no,
                       .n_names = 2};
}

/* ---- entry ----------------------------------------------------------------------------------- */

void lab01_oracle_slo(const struct lab01_case *c, struct want *w) {
    const struct objective *o = &c->obj;
    enum slo_answer a = SLO_MET;
    switch (c->fn) {
    case FN_RANK:
        want_rank(c, w);
        return;
    case FN_VALUE:
        want_value(c, w);
        return;
    case FN_LIMIT:
        a = limit_answer(&o->latency[0], &c->pct[0]);
        break;
    case FN_FAILURES:
        a = failures_answer(o, &c->counts);
        break;
    case FN_PASSES:
        a = passes_answer(o, &c->counts);
        break;
    case FN_RATE:
        a = rate_answer(o, &c->counts);
        break;
    default:
        a = verdict_answer(c);
    }
    *w = (struct want){
        .name = "answer", .value = a, .care = true, .names = answer_names, .n_names = 3};
    if (c->fn == FN_LIMIT && c->pct[0].present && !c->pct[0].infinite &&
        c->pct[0].ns == o->latency[0].below_ns)
        want_as_if(w, SLO_MET,
                   "the comparison is <= instead of <: a value equal to its limit is "
                   "not below it");
    if (a == SLO_NOT_COMPUTABLE)
        want_as_if(w, SLO_MISSED, "a number that isn't there counts as a failure");
}

void lab01_oracle(const struct lab01_case *c, bool strict, struct want *w) {
    if (c->fn <= FN_ITL)
        lab01_oracle_intervals(c, strict, w);
    else if (c->fn <= FN_GOOD)
        lab01_oracle_quality(c, w);
    else
        lab01_oracle_slo(c, w);
    if (c->memory == MEMORY_REPEAT)
        w[lab01_case_slots(c) - 1] =
            (struct want){.name = "bytes by which the heap grew", .care = true};
}
