/* objective.c: reads and checks an objective. See objective.h.
 *
 * Each part of the document has one reader below, which first checks that its members are known.
 * Not here: JSON itself (base/json.h, base/strict.h), and judging by an objective (slo.h).
 */
#include "objective/objective.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/strict.h"
#include "objective/classify.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MS (INTERVAL_MAX_NS / NS_PER_MS)

/* ---- one member ---- */

/* The readers of one member leave their output as it is, or at `absent`, when the member is left
 * out or null. */

static int opt_text(const cJSON *obj, const char *path, const char *key, char *dst, size_t cap,
                    struct err *e) {
    char place[STRICT_PATH_BYTES];
    const cJSON *v = strict_at(obj, key);
    return v ? strict_string(v, strict_path(place, path, key, 0), 1, dst, cap, e) : 0;
}

/* One of a list of names; its index. */
static int opt_choice(const cJSON *obj, const char *path, const char *key, const char *const *names,
                      int absent, int *out, struct err *e) {
    char place[STRICT_PATH_BYTES];
    const cJSON *v = strict_at(obj, key);
    *out = absent;
    return v ? strict_choice(v, strict_path(place, path, key, 0), names, out, e) : 0;
}

enum range { FROM_0_TO_1, FROM_0_BELOW_1, ABOVE_0 };

static int opt_number(const cJSON *obj, const char *path, const char *key, enum range range,
                      double absent, double *out, struct err *e) {
    static const char *const say[] = {"must be from 0 to 1", "must be 0 or more and below 1",
                                      "must be above 0; leave it out (or null) when it is unknown"};
    char place[STRICT_PATH_BYTES];
    const cJSON *v = strict_at(obj, key);
    double x;
    *out = absent;
    if (!v) return 0;
    if (strict_number(v, strict_path(place, path, key, 0), -DBL_MAX, DBL_MAX, &x, e)) return -1;
    bool inside = range == FROM_0_TO_1      ? x >= 0 && x <= 1
                  : range == FROM_0_BELOW_1 ? x >= 0 && x < 1
                                            : x > 0;
    if (!inside) return err_at(e, 0, place, "is %g; it %s", x, say[range]);
    *out = x;
    return 0;
}

static int opt_bool(const cJSON *obj, const char *path, const char *key, bool absent, bool *out,
                    struct err *e) {
    char place[STRICT_PATH_BYTES];
    const cJSON *v = strict_at(obj, key);
    *out = absent;
    return v ? strict_bool(v, strict_path(place, path, key, 0), out, e) : 0;
}

static int require(const cJSON *obj, const char *path, const char *key, const char *why,
                   struct err *e) {
    char place[STRICT_PATH_BYTES];
    if (strict_at(obj, key)) return 0;
    return err_at(e, 0, strict_path(place, path, key, 0), "is missing; %s", why);
}

/* ---- one part ---- */

static int read_quality(struct objective *o, const cJSON *q, struct err *e) {
    static const char *const known[] = {"check", "min_pass_rate", NULL};
    o->quality.min_pass_rate = NAN;
    if (!q) return 0;
    if (strict_known(q, "quality", known, e) ||
        require(q, "quality", "check", "name the check that decides, like \"key-recall/1\"", e) ||
        opt_text(q, "quality", "check", o->quality.check, sizeof o->quality.check, e))
        return -1;
    return opt_number(q, "quality", "min_pass_rate", FROM_0_TO_1, NAN, &o->quality.min_pass_rate,
                      e);
}

static int read_structure(struct objective *o, const cJSON *s, struct err *e) {
    static const char *const known[] = {"check", "required", NULL};
    if (!s) return 0;
    if (strict_known(s, "structure", known, e) ||
        opt_text(s, "structure", "check", o->structure.check, sizeof o->structure.check, e) ||
        opt_bool(s, "structure", "required", false, &o->structure.required, e))
        return -1;
    return o->structure.required
               ? require(s, "structure", "check", "a required check needs its name", e)
               : 0;
}

static int read_percentile(struct latency_limit *l, const cJSON *obj, const char *path,
                           struct err *e) {
    char place[STRICT_PATH_BYTES];
    double p;
    if (l->scope == SCOPE_REQUEST)
        return !strict_at(obj, "percentile")
                   ? 0
                   : err_at(e, 0, strict_path(place, path, "percentile", 0),
                            "one request has no percentile; remove it, or say scope "
                            "\"population\"");
    if (require(obj, path, "percentile", "a limit on a population needs one, like 99", e) ||
        strict_number(strict_at(obj, "percentile"), strict_path(place, path, "percentile", 0),
                      -DBL_MAX, DBL_MAX, &p, e))
        return -1;
    double milli = round(p * 1000);
    if (!(p > 0 && p <= 100) || milli < 1 || fabs(p * 1000 - milli) > 1e-6)
        return err_at(e, 0, place,
                      "is %.10g; it must be above 0 and at most 100, with at most three decimals",
                      p);
    l->percentile_milli = (int32_t)milli;
    return 0;
}

static int read_limit(struct latency_limit *l, const cJSON *obj, const char *path, struct err *e) {
    static const char *const known[] = {"interval", "percentile", "below_ms", "scope", NULL};
    static const char *const scopes[] = {"request", "population", NULL};
    const char *intervals[IV_N + 1] = {NULL};
    char place[STRICT_PATH_BYTES];
    int interval, scope;
    double ms;
    for (int i = 0; i < IV_N; i++) intervals[i] = interval_name((enum interval_id)i);
    if (strict_known(obj, path, known, e) ||
        require(obj, path, "interval", "say what is limited, like \"client_ttft\"", e) ||
        require(obj, path, "scope", "say \"request\" or \"population\"", e) ||
        require(obj, path, "below_ms", "say the limit in milliseconds", e) ||
        opt_choice(obj, path, "interval", intervals, -1, &interval, e) ||
        opt_choice(obj, path, "scope", scopes, -1, &scope, e) ||
        opt_number(obj, path, "below_ms", ABOVE_0, NAN, &ms, e))
        return -1;
    double ns = round(ms * (double)NS_PER_MS);
    if (ns < 1 || ms > (double)MAX_MS)
        return err_at(e, 0, strict_path(place, path, "below_ms", 0),
                      "is %g ms; it must be from 0.000001 (1 ns) to %lld", ms, (long long)MAX_MS);
    l->interval = (enum interval_id)interval;
    l->scope = scope == 0 ? SCOPE_REQUEST : SCOPE_POPULATION;
    l->below_ns = (int64_t)ns;
    return read_percentile(l, obj, path, e);
}

static int read_latency(struct objective *o, const cJSON *list, struct err *e) {
    char path[STRICT_PATH_BYTES];
    if (!list) return 0;
    int n;
    if (strict_list(list, "latency", 0, INT_MAX, &n, e)) return -1;
    for (const cJSON *c = list->child; c; c = c->next) {
        strict_path(path, "latency", NULL, o->n_latency);
        if (o->n_latency == OBJECTIVE_MAX_LIMITS)
            return err_at(e, 0, path, "is one limit too many; there may be %d",
                          OBJECTIVE_MAX_LIMITS);
        struct latency_limit *l = &o->latency[o->n_latency];
        if (read_limit(l, c, path, e)) return -1;
        for (int i = 0; i < o->n_latency; i++)
            if (o->latency[i].interval == l->interval && o->latency[i].scope == l->scope &&
                o->latency[i].percentile_milli == l->percentile_milli)
                return err_at(e, 0, path, "limits the same as latency[%d]; keep one of them", i);
        o->n_latency++;
    }
    return 0;
}

static int read_throughput(struct objective *o, const cJSON *t, struct err *e) {
    static const char *const known[] = {"min_rps", "offered_rps", NULL};
    o->throughput.min_rps = o->throughput.offered_rps = NAN;
    if (!t) return 0;
    if (strict_known(t, "throughput", known, e)) return -1;
    if (opt_number(t, "throughput", "min_rps", ABOVE_0, NAN, &o->throughput.min_rps, e)) return -1;
    return opt_number(t, "throughput", "offered_rps", ABOVE_0, NAN, &o->throughput.offered_rps, e);
}

static int read_failures(struct objective *o, const cJSON *list, struct err *e) {
    const char *known[REASON_N + 1] = {NULL};
    char path[STRICT_PATH_BYTES];
    if (!list) return 0;
    for (int i = 0; i + 1 < REASON_N; i++) /* all but "delivered" */
        known[i] = completion_reason_name((enum completion_reason)(i + 1));
    int n, reason;
    if (strict_list(list, "reliability.failures", 0, INT_MAX, &n, e)) return -1;
    for (const cJSON *c = list->child; c; c = c->next) {
        int at = o->reliability.n_failures;
        strict_path(path, "reliability.failures", NULL, at);
        if (strict_choice(c, path, known, &reason, e)) return -1;
        for (int i = 0; i < at; i++)
            if (!strcmp(o->reliability.failures[i], c->valuestring))
                return err_at(e, 0, path, "is there twice; keep one of them");
        INVARIANT(at < OBJECTIVE_MAX_FAILURES); /* as many as there are names */
        snprintf(o->reliability.failures[at], sizeof o->reliability.failures[at], "%s",
                 c->valuestring);
        o->reliability.n_failures++;
    }
    return 0;
}

static int read_reliability(struct objective *o, const cJSON *r, struct err *e) {
    static const char *const known[] = {"max_failure_rate", "failures", "max_recovery_s", NULL};
    o->reliability.max_failure_rate = o->reliability.max_recovery_s = NAN;
    if (!r) return 0;
    if (strict_known(r, "reliability", known, e) ||
        opt_number(r, "reliability", "max_failure_rate", FROM_0_TO_1, NAN,
                   &o->reliability.max_failure_rate, e) ||
        opt_number(r, "reliability", "max_recovery_s", ABOVE_0, NAN, &o->reliability.max_recovery_s,
                   e))
        return -1;
    return read_failures(o, strict_at(r, "failures"), e);
}

static int read_resource(struct objective *o, const cJSON *r, struct err *e) {
    static const char *const known[] = {
        "primary",          "accelerators", "usd_per_accelerator_hour",
        "reserve_fraction", "count_idle",   NULL};
    static const char *const primary[] = {"usd", "accelerator_seconds", "joules", NULL};
    static const cJSON nothing = {.type = cJSON_Object};
    int choice;
    const cJSON *from = r ? r : &nothing;
    if (strict_known(from, "resource", known, e) ||
        opt_choice(from, "resource", "primary", primary, -1, &choice, e) ||
        opt_number(from, "resource", "accelerators", ABOVE_0, NAN, &o->resource.accelerators, e) ||
        opt_number(from, "resource", "usd_per_accelerator_hour", ABOVE_0, NAN,
                   &o->resource.usd_per_accelerator_hour, e) ||
        opt_number(from, "resource", "reserve_fraction", FROM_0_BELOW_1, 0,
                   &o->resource.reserve_fraction, e))
        return -1;
    if (choice >= 0)
        snprintf(o->resource.primary, sizeof o->resource.primary, "%s", primary[choice]);
    return opt_bool(from, "resource", "count_idle", true, &o->resource.count_idle, e);
}

static int read_hard_limits(struct objective *o, const cJSON *h, struct err *e) {
    static const char *const known[] = {"gpu_memory_gib", "joules_per_response", NULL};
    o->hard_limits.gpu_memory_gib = o->hard_limits.joules_per_response = NAN;
    if (!h) return 0;
    if (strict_known(h, "hard_limits", known, e) ||
        opt_number(h, "hard_limits", "gpu_memory_gib", ABOVE_0, NAN, &o->hard_limits.gpu_memory_gib,
                   e))
        return -1;
    return opt_number(h, "hard_limits", "joules_per_response", ABOVE_0, NAN,
                      &o->hard_limits.joules_per_response, e);
}

static int read_workload(struct objective *o, const cJSON *w, struct err *e) {
    if (!w) return 0;
    if (!cJSON_IsObject(w)) return err_at(e, 0, "workload", "must be an object, {...}");
    o->workload = cJSON_Duplicate(w, true);
    return o->workload ? 0 : err_set(e, "memory is out; close something and try again");
}

/* ---- the whole ---- */

static int read_head(struct objective *o, const cJSON *obj, struct err *e) {
    static const char *const known[] = {"schema",     "name",        "kind",       "unit_of_work",
                                        "quality",    "structure",   "truncation", "latency",
                                        "throughput", "reliability", "resource",   "hard_limits",
                                        "workload",   NULL};
    static const char *const kinds[] = {"serving", "training", NULL};
    static const char *const truncation[] = {"reject", "fixed_length", NULL};
    const char *schema;
    int kind, cut;
    if (!cJSON_IsObject(obj)) return err_set(e, "an objective is a JSON object, {...}");
    if (json_get_string(obj, "", "schema", &schema, e)) return -1;
    if (strcmp(schema, OBJECTIVE_SCHEMA))
        return err_at(e, 0, "schema", "is \"%.60s\"; this program reads \"" OBJECTIVE_SCHEMA "\"",
                      schema);
    if (strict_known(obj, "", known, e) ||
        require(obj, "", "name", "give the objective a name", e) ||
        require(obj, "", "kind", "say \"serving\" or \"training\"", e) ||
        opt_text(obj, "", "name", o->name, sizeof o->name, e) ||
        opt_choice(obj, "", "kind", kinds, -1, &kind, e) ||
        opt_text(obj, "", "unit_of_work", o->unit_of_work, sizeof o->unit_of_work, e) ||
        opt_choice(obj, "", "truncation", truncation, 0, &cut, e))
        return -1;
    o->kind = kind == 0 ? OBJECTIVE_SERVING : OBJECTIVE_TRAINING;
    o->truncation = cut == 0 ? TRUNCATION_REJECT : TRUNCATION_FIXED_LENGTH;
    return 0;
}

static int read_all(struct objective *o, const cJSON *obj, struct err *e) {
    if (read_head(o, obj, e) || read_quality(o, strict_at(obj, "quality"), e) ||
        read_structure(o, strict_at(obj, "structure"), e) ||
        read_latency(o, strict_at(obj, "latency"), e) ||
        read_throughput(o, strict_at(obj, "throughput"), e) ||
        read_reliability(o, strict_at(obj, "reliability"), e) ||
        read_resource(o, strict_at(obj, "resource"), e) ||
        read_hard_limits(o, strict_at(obj, "hard_limits"), e) ||
        read_workload(o, strict_at(obj, "workload"), e))
        return -1;
    if (o->kind != OBJECTIVE_TRAINING) return 0;
    if (isnan(o->quality.min_pass_rate))
        return err_at(e, 0, "quality.min_pass_rate",
                      "is missing; a training objective states the quality it must reach");
    if (!o->resource.primary[0])
        return err_at(e, 0, "resource.primary",
                      "is missing; a training objective states the resource it saves");
    return 0;
}

int objective_from_json(struct objective *o, const cJSON *obj, struct err *e) {
    *o = (struct objective){.unit_of_work = "useful_response"};
    if (!read_all(o, obj, e)) return 0;
    objective_release(o);
    return -1;
}

/* The objective of a parsed file: the whole of it, or an answer's member. Errors get their field
 * completed by the latter's name. */
static int from_document(struct objective *o, const cJSON *doc, struct err *e) {
    char field[STRICT_PATH_BYTES];
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(doc, "schema");
    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, OBJECTIVE_ANSWER_SCHEMA))
        return objective_from_json(o, doc, e);
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(doc, "objective");
    if (!inner)
        return err_at(e, 0, "objective", "is missing; an answer file has its objective there");
    if (!objective_from_json(o, inner, e)) return 0;
    snprintf(field, sizeof field, "objective%s%.80s", e->field[0] ? "." : "", e->field);
    snprintf(e->field, sizeof e->field, "%s", field);
    return -1;
}

int objective_read(struct objective *o, const char *path, struct err *e) {
    struct err mine;
    if (!e) e = &mine;
    *o = (struct objective){0};
    size_t n;
    char *text = json_read_file(path, &n, e);
    if (!text) return -1;
    cJSON *doc = json_parse(text, n, 1, e);
    int rc = doc ? from_document(o, doc, e) : -1;
    if (doc && rc) e->line = json_line_of(text, n, 1, e->field);
    cJSON_Delete(doc);
    free(text);
    return rc;
}

void objective_release(struct objective *o) {
    cJSON_Delete(o->workload);
    *o = (struct objective){0};
}
