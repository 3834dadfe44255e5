/* objective.c: reads an objective and refuses what it doesn't know. See objective.h.
 *
 * Every part of the document has one reader below, which first checks that its members are known.
 * Not here: JSON itself (base/json.h), and any judgement.
 */
#include "objective/objective.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/nearest.h"
#include "objective/classify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_CAP = 96 }; /* as err.field */
#define MAX_MS (INTERVAL_MAX_NS / NS_PER_MS)

/* ---- naming what is wrong ---- */

/* The known name that looks most like `name`. */
static const char *nearest(const char *name, const char *const *known) {
    size_t n = 0;
    while (known[n]) n++;
    return nearest_name(name, known, n);
}

static const char *join(char *dst, const char *path, const char *key) {
    int n = snprintf(dst, PATH_CAP, "%s%s%s", path, path[0] ? "." : "", key);
    INVARIANT(n >= 0); /* a long key is cut, as err.field would cut it */
    return dst;
}

/* `what` is "member" or "value". */
static int unknown(struct err *e, const char *path, const char *what, const char *name,
                   const char *const *known) {
    return err_at(e, 0, path, "\"%.40s\" is no %s I know; the nearest one is \"%s\"", name, what,
                  nearest(name, known));
}

static int only_members(const cJSON *obj, const char *path, const char *const *known,
                        struct err *e) {
    char place[PATH_CAP];
    if (!cJSON_IsObject(obj))
        return err_at(e, 0, path[0] ? path : NULL, "must be an object, {...}");
    for (const cJSON *c = obj->child; c; c = c->next) {
        int i = 0;
        while (known[i] && strcmp(known[i], c->string)) i++;
        if (!known[i]) return unknown(e, join(place, path, c->string), "member", c->string, known);
    }
    return 0;
}

/* ---- one member ---- */

/* NULL when the member is left out or null. */
static const cJSON *member(const cJSON *obj, const char *key) {
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(obj, key);
    return m && !cJSON_IsNull(m) ? m : NULL;
}

/* A non-empty text that fits; dst stays as it is when the member is absent. */
static int opt_text(const cJSON *obj, const char *path, const char *key, char *dst, size_t cap,
                    struct err *e) {
    char place[PATH_CAP];
    const char *text;
    if (!member(obj, key)) return 0;
    if (json_get_string(obj, path, key, &text, e)) return -1;
    size_t n = strlen(text);
    if (n == 0 || n >= cap)
        return err_at(e, 0, join(place, path, key), "must have 1 to %zu bytes; it has %zu", cap - 1,
                      n);
    memcpy(dst, text, n + 1);
    return 0;
}

/* One of a list of names; its index, or `absent`. */
static int opt_choice(const cJSON *obj, const char *path, const char *key, const char *const *names,
                      int absent, int *out, struct err *e) {
    char place[PATH_CAP];
    const char *text;
    *out = absent;
    if (!member(obj, key)) return 0;
    if (json_get_string(obj, path, key, &text, e)) return -1;
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], text)) {
            *out = i;
            return 0;
        }
    return unknown(e, join(place, path, key), "value", text, names);
}

enum range { FROM_0_TO_1, FROM_0_BELOW_1, ABOVE_0 };

/* A finite number in its range; `absent` when left out. */
static int opt_number(const cJSON *obj, const char *path, const char *key, enum range range,
                      double absent, double *out, struct err *e) {
    static const char *const say[] = {"must be from 0 to 1", "must be 0 or more and below 1",
                                      "must be above 0; leave it out (or null) when it is unknown"};
    char place[PATH_CAP];
    double v;
    *out = absent;
    if (!member(obj, key)) return 0;
    if (json_get_number(obj, path, key, &v, e)) return -1;
    bool inside = range == FROM_0_TO_1      ? v >= 0 && v <= 1
                  : range == FROM_0_BELOW_1 ? v >= 0 && v < 1
                                            : v > 0;
    if (!inside) return err_at(e, 0, join(place, path, key), "is %g; it %s", v, say[range]);
    *out = v;
    return 0;
}

static int opt_bool(const cJSON *obj, const char *path, const char *key, bool absent, bool *out,
                    struct err *e) {
    *out = absent;
    return member(obj, key) ? json_get_bool(obj, path, key, out, e) : 0;
}

static int require(const cJSON *obj, const char *path, const char *key, const char *why,
                   struct err *e) {
    char place[PATH_CAP];
    return member(obj, key) ? 0 : err_at(e, 0, join(place, path, key), "is missing; %s", why);
}

/* ---- one part ---- */

static int read_quality(struct objective *o, const cJSON *q, struct err *e) {
    static const char *const known[] = {"check", "min_pass_rate", NULL};
    o->quality.min_pass_rate = NAN;
    if (!q) return 0;
    if (only_members(q, "quality", known, e) ||
        require(q, "quality", "check", "name the check that decides, like \"key-recall/1\"", e) ||
        opt_text(q, "quality", "check", o->quality.check, sizeof o->quality.check, e))
        return -1;
    return opt_number(q, "quality", "min_pass_rate", FROM_0_TO_1, NAN, &o->quality.min_pass_rate,
                      e);
}

static int read_structure(struct objective *o, const cJSON *s, struct err *e) {
    static const char *const known[] = {"check", "required", NULL};
    if (!s) return 0;
    if (only_members(s, "structure", known, e) ||
        opt_text(s, "structure", "check", o->structure.check, sizeof o->structure.check, e) ||
        opt_bool(s, "structure", "required", false, &o->structure.required, e))
        return -1;
    return o->structure.required
               ? require(s, "structure", "check", "a required check needs its name", e)
               : 0;
}

static int read_percentile(struct latency_limit *l, const cJSON *obj, const char *path,
                           struct err *e) {
    char place[PATH_CAP];
    double p;
    if (l->scope == SCOPE_REQUEST)
        return !member(obj, "percentile")
                   ? 0
                   : err_at(e, 0, join(place, path, "percentile"),
                            "one request has no percentile; remove it, or say scope "
                            "\"population\"");
    if (require(obj, path, "percentile", "a limit on a population needs one, like 99", e) ||
        json_get_number(obj, path, "percentile", &p, e))
        return -1;
    double milli = round(p * 1000);
    if (!(p > 0 && p <= 100) || milli < 1 || fabs(p * 1000 - milli) > 1e-6)
        return err_at(e, 0, join(place, path, "percentile"),
                      "is %.10g; it must be above 0 and at most 100, with at most three decimals",
                      p);
    l->percentile_milli = (int32_t)milli;
    return 0;
}

static int read_limit(struct latency_limit *l, const cJSON *obj, const char *path, struct err *e) {
    static const char *const known[] = {"interval", "percentile", "below_ms", "scope", NULL};
    static const char *const scopes[] = {"request", "population", NULL};
    const char *intervals[IV_N + 1] = {NULL};
    char place[PATH_CAP];
    int interval, scope;
    double ms;
    for (int i = 0; i < IV_N; i++) intervals[i] = interval_name((enum interval_id)i);
    if (only_members(obj, path, known, e) ||
        require(obj, path, "interval", "say what is limited, like \"client_ttft\"", e) ||
        require(obj, path, "scope", "say \"request\" or \"population\"", e) ||
        require(obj, path, "below_ms", "say the limit in milliseconds", e) ||
        opt_choice(obj, path, "interval", intervals, -1, &interval, e) ||
        opt_choice(obj, path, "scope", scopes, -1, &scope, e) ||
        opt_number(obj, path, "below_ms", ABOVE_0, NAN, &ms, e))
        return -1;
    double ns = round(ms * (double)NS_PER_MS);
    if (ns < 1 || ms > (double)MAX_MS)
        return err_at(e, 0, join(place, path, "below_ms"),
                      "is %g ms; it must be from 0.000001 (1 ns) to %lld", ms, (long long)MAX_MS);
    l->interval = (enum interval_id)interval;
    l->scope = scope == 0 ? SCOPE_REQUEST : SCOPE_POPULATION;
    l->below_ns = (int64_t)ns;
    return read_percentile(l, obj, path, e);
}

static int read_latency(struct objective *o, const cJSON *list, struct err *e) {
    char path[PATH_CAP];
    if (!list) return 0;
    if (!cJSON_IsArray(list)) return err_at(e, 0, "latency", "must be a list of limits, [...]");
    for (const cJSON *c = list->child; c; c = c->next) {
        snprintf(path, sizeof path, "latency[%d]", o->n_latency);
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
    if (only_members(t, "throughput", known, e)) return -1;
    if (opt_number(t, "throughput", "min_rps", ABOVE_0, NAN, &o->throughput.min_rps, e)) return -1;
    return opt_number(t, "throughput", "offered_rps", ABOVE_0, NAN, &o->throughput.offered_rps, e);
}

static int read_failures(struct objective *o, const cJSON *list, struct err *e) {
    const char *known[REASON_N + 1] = {NULL};
    char path[PATH_CAP];
    if (!list) return 0;
    for (int i = 0; i + 1 < REASON_N; i++) /* all but "delivered" */
        known[i] = completion_reason_name((enum completion_reason)(i + 1));
    if (!cJSON_IsArray(list))
        return err_at(e, 0, "reliability.failures", "must be a list of reasons, [...]");
    for (const cJSON *c = list->child; c; c = c->next) {
        int at = o->reliability.n_failures;
        snprintf(path, sizeof path, "reliability.failures[%d]", at);
        if (!cJSON_IsString(c)) return err_at(e, 0, path, "must be a text, like \"timed_out\"");
        if (completion_reason_from_name(c->valuestring) < REASON_DELIVERED + 1)
            return unknown(e, path, "failure", c->valuestring, known);
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
    if (only_members(r, "reliability", known, e) ||
        opt_number(r, "reliability", "max_failure_rate", FROM_0_TO_1, NAN,
                   &o->reliability.max_failure_rate, e) ||
        opt_number(r, "reliability", "max_recovery_s", ABOVE_0, NAN, &o->reliability.max_recovery_s,
                   e))
        return -1;
    return read_failures(o, member(r, "failures"), e);
}

static int read_resource(struct objective *o, const cJSON *r, struct err *e) {
    static const char *const known[] = {
        "primary",          "accelerators", "usd_per_accelerator_hour",
        "reserve_fraction", "count_idle",   NULL};
    static const char *const primary[] = {"usd", "accelerator_seconds", "joules", NULL};
    static const cJSON nothing = {.type = cJSON_Object};
    int choice;
    const cJSON *from = r ? r : &nothing;
    if (only_members(from, "resource", known, e) ||
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
    if (only_members(h, "hard_limits", known, e) ||
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
        return err_at(e, 0, "schema", "is \"%.60s\"; I read \"" OBJECTIVE_SCHEMA "\"", schema);
    if (only_members(obj, "", known, e) ||
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
    if (read_head(o, obj, e) || read_quality(o, member(obj, "quality"), e) ||
        read_structure(o, member(obj, "structure"), e) ||
        read_latency(o, member(obj, "latency"), e) ||
        read_throughput(o, member(obj, "throughput"), e) ||
        read_reliability(o, member(obj, "reliability"), e) ||
        read_resource(o, member(obj, "resource"), e) ||
        read_hard_limits(o, member(obj, "hard_limits"), e) ||
        read_workload(o, member(obj, "workload"), e))
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
    char field[PATH_CAP];
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
