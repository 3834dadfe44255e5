/* fuzz_objective.c: any bytes as an objective: refused with a message, or accepted and then within
 * every bound that objective.h states. See testing/fuzz.h for the two ways to run it. */
#include "base/json.h"
#include "objective/classify.h"
#include "objective/objective.h"
#include "testing/fuzz.h"

#include <math.h>

static bool absent_or(double v, bool ok) {
    return isnan(v) || (isfinite(v) && ok);
}

static void check_limits(const struct objective *o) {
    INVARIANT(o->n_latency >= 0 && o->n_latency <= OBJECTIVE_MAX_LIMITS);
    for (int32_t i = 0; i < o->n_latency; i++) {
        const struct latency_limit *l = &o->latency[i];
        bool one = l->scope == SCOPE_REQUEST;
        INVARIANT(l->interval >= 0 && l->interval < IV_N);
        INVARIANT(one ? l->percentile_milli == 0
                      : l->percentile_milli >= 1 && l->percentile_milli <= 100000);
        INVARIANT(l->below_ns >= 1 && l->below_ns <= INTERVAL_MAX_NS);
    }
}

static void check(const struct objective *o) {
    const double rate = o->reliability.max_failure_rate, pass = o->quality.min_pass_rate;
    INVARIANT(o->name[0] && o->unit_of_work[0]);
    INVARIANT(absent_or(rate, rate >= 0 && rate <= 1));
    INVARIANT(absent_or(pass, pass >= 0 && pass <= 1));
    INVARIANT(absent_or(o->throughput.min_rps, o->throughput.min_rps > 0));
    INVARIANT(absent_or(o->throughput.offered_rps, o->throughput.offered_rps > 0));
    INVARIANT(absent_or(o->resource.accelerators, o->resource.accelerators > 0));
    INVARIANT(o->resource.reserve_fraction >= 0 && o->resource.reserve_fraction < 1);
    INVARIANT(!o->structure.required || o->structure.check[0]);
    INVARIANT(o->reliability.n_failures >= 0 &&
              o->reliability.n_failures <= OBJECTIVE_MAX_FAILURES);
    for (int32_t i = 0; i < o->reliability.n_failures; i++)
        INVARIANT(completion_reason_from_name(o->reliability.failures[i]) > REASON_DELIVERED);
    INVARIANT(!o->workload || cJSON_IsObject(o->workload));
    check_limits(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct objective o;
    struct err e = {0};
    cJSON *doc = json_parse((const char *)data, size, 1, &e);
    if (!doc) {
        INVARIANT(e.text[0]);
        return 0;
    }
    if (objective_from_json(&o, doc, &e)) {
        INVARIANT(e.text[0] && !o.workload);
    } else {
        check(&o);
        objective_release(&o);
    }
    cJSON_Delete(doc);
    return 0;
}
