/* evidence_protocol.c: reads protocol.json strictly. See evidence_protocol.h.
 * evidence_protocol_check.c examines the content. */
#include "lab02/evidence_protocol.h"

#include "base/strict.h"

#include <string.h>

const char *const lab02_protocol_factors[PROTOCOL_FACTORS + 1] = {
    "policy", "model", "gpu", "weight_bits", "kv_blocks", "token_budget", "max_running", NULL};
enum { TEXT_FACTORS = 3 }; /* the first factors are texts */

static const int64_t MOST = 1000000000; /* the largest count */

/* The part of the document that is being read. */
struct part {
    const cJSON *v;
    const char *path;
    struct err *e;
};

static const char *place(const struct part *p, const char *key, char *at) {
    return strict_path(at, p->path, key, 0);
}

static int take_int(const struct part *p, const char *key, int64_t lo, int64_t *out) {
    char at[STRICT_PATH_BYTES];
    return strict_int(strict_at(p->v, key), place(p, key, at), lo, MOST, out, p->e);
}
static int take_number(const struct part *p, const char *key, double lo, double hi, double *out) {
    char at[STRICT_PATH_BYTES];
    return strict_number(strict_at(p->v, key), place(p, key, at), lo, hi, out, p->e);
}
static int take_bool(const struct part *p, const char *key, bool *out) {
    char at[STRICT_PATH_BYTES];
    return strict_bool(strict_at(p->v, key), place(p, key, at), out, p->e);
}
static int take_choice(const struct part *p, const char *key, const char *const *names, int *out) {
    char at[STRICT_PATH_BYTES];
    return strict_choice(strict_at(p->v, key), place(p, key, at), names, out, p->e);
}
static int take_text(const struct part *p, const char *key, size_t least, char *dst, size_t cap) {
    char at[STRICT_PATH_BYTES];
    return strict_text(strict_at(p->v, key), place(p, key, at), least, dst, cap, p->e);
}

/* Enters an object of the document. */
static int open_part(struct part *p, const cJSON *doc, const char *key, const char *const *known,
                     struct err *e) {
    *p = (struct part){strict_at(doc, key), key, e};
    return strict_members(p->v, key, known, e);
}

static int read_value(const cJSON *v, const char *path, int factor, struct protocol_value *out,
                      struct err *e) {
    *out = (struct protocol_value){0};
    if (cJSON_IsArray(v))
        return err_at(e, 0, path,
                      "is a list: then two things vary. One value here, or make this the factor");
    if (factor < TEXT_FACTORS) return strict_text(v, path, 1, out->text, sizeof out->text, e);
    bool bits = !strcmp(lab02_protocol_factors[factor], "weight_bits"); /* double at the most */
    return strict_int(v, path, 1, bits ? 64 : MOST, &out->number, e);
}

static int read_varied(struct protocol *p, const cJSON *doc, struct err *e) {
    static const char *const known[] = {"factor", "values", NULL};
    struct part part;
    char at[STRICT_PATH_BYTES];
    if (open_part(&part, doc, "varied", known, e) ||
        take_choice(&part, "factor", lab02_protocol_factors, &p->factor) ||
        strict_list(strict_at(part.v, "values"), "varied.values", 2, PROTOCOL_MAX_VALUES,
                    &p->n_values, e))
        return -1;
    for (int i = 0; i < p->n_values; i++)
        if (read_value(cJSON_GetArrayItem(strict_at(part.v, "values"), i),
                       strict_path(at, "varied.values", NULL, i), p->factor, &p->values[i], e))
            return -1;
    return 0;
}

static int read_fixed(struct protocol *p, const cJSON *doc, struct err *e) {
    const cJSON *fixed = strict_at(doc, "fixed");
    const char *known[PROTOCOL_FACTORS + 1] = {NULL};
    char at[STRICT_PATH_BYTES];
    struct protocol_value ignored;
    int n = 0;
    /* not required here; if it is present, that is a contradiction, not an unknown member */
    p->fixed_twice = strict_at(fixed, lab02_protocol_factors[p->factor]) != NULL;
    for (int i = 0; i < PROTOCOL_FACTORS; i++)
        if (i != p->factor || cJSON_GetObjectItemCaseSensitive(fixed, lab02_protocol_factors[i]))
            known[n++] = lab02_protocol_factors[i];
    if (strict_members(fixed, "fixed", known, e)) return -1;
    for (int i = 0; i < PROTOCOL_FACTORS; i++)
        if (i != p->factor &&
            read_value(strict_at(fixed, lab02_protocol_factors[i]),
                       strict_path(at, "fixed", lab02_protocol_factors[i], 0), i, &ignored, e))
            return -1;
    return 0;
}

static int read_prompts(struct protocol *p, const cJSON *doc, struct err *e) {
    static const char *const known[] = {"name", "count", "same_for_every_run", "cache_state", NULL};
    static const char *const states[] = {"cold", "warm", NULL};
    struct part part;
    int state;
    if (open_part(&part, doc, "prompts", known, e) ||
        take_text(&part, "name", 3, p->prompts.name, sizeof p->prompts.name) ||
        take_int(&part, "count", 1, &p->prompts.count) ||
        take_bool(&part, "same_for_every_run", &p->prompts.same) ||
        take_choice(&part, "cache_state", states, &state))
        return -1;
    p->prompts.cold = state == 0;
    return 0;
}

static int read_output(struct protocol *p, const cJSON *doc, struct err *e) {
    static const char *const known[] = {"rule", "tokens", "stop_token_ends", "max_tokens", NULL};
    static const char *const rules[] = {"fixed_length", "until_stop", NULL};
    struct part part;
    p->output.tokens = -1;
    if (open_part(&part, doc, "output", known, e) ||
        take_choice(&part, "rule", rules, &p->output.rule) ||
        (strict_at(part.v, "tokens") && take_int(&part, "tokens", 1, &p->output.tokens)) ||
        take_bool(&part, "stop_token_ends", &p->output.stop_ends))
        return -1;
    return take_int(&part, "max_tokens", 1, &p->output.max_tokens);
}

/* Reads the levels of a load; *n is -1 for null. */
static int read_levels(const struct part *part, const char *key, bool whole, double *levels, int *n,
                       struct err *e) {
    char list_at[STRICT_PATH_BYTES], at[STRICT_PATH_BYTES];
    const cJSON *list = strict_at(part->v, key);
    *n = -1;
    if (!list) return 0;
    if (strict_list(list, strict_path(list_at, part->path, key, 0), 1, PROTOCOL_MAX_LEVELS, n, e))
        return -1;
    for (int i = 0; i < *n; i++) {
        const cJSON *v = cJSON_GetArrayItem(list, i);
        int64_t clients = 0;
        strict_path(at, list_at, NULL, i);
        if (whole ? strict_int(v, at, 1, MOST, &clients, e)
                  : strict_number(v, at, 1e-6, 1e9, &levels[i], e))
            return -1;
        if (whole) levels[i] = (double)clients;
    }
    return 0;
}

static int read_load(struct protocol *p, const cJSON *doc, struct err *e) {
    static const char *const known[] = {"loop",     "concurrency",        "think_s", "offered_rps",
                                        "arrivals", "requests_per_level", NULL};
    static const char *const loops[] = {"closed", "open", NULL};
    static const char *const arrivals[] = {"poisson", "gamma", "constant", NULL};
    struct part part;
    p->load.think_s = -1;
    p->load.arrivals = -1;
    if (open_part(&part, doc, "load", known, e) ||
        take_choice(&part, "loop", loops, &p->load.loop) ||
        read_levels(&part, "concurrency", true, p->load.concurrency, &p->load.n_concurrency, e) ||
        (strict_at(part.v, "think_s") &&
         take_number(&part, "think_s", 0, 86400, &p->load.think_s)) ||
        read_levels(&part, "offered_rps", false, p->load.offered_rps, &p->load.n_offered, e) ||
        (strict_at(part.v, "arrivals") &&
         take_choice(&part, "arrivals", arrivals, &p->load.arrivals)))
        return -1;
    return take_int(&part, "requests_per_level", 1, &p->load.requests);
}

static int read_warm_up(struct protocol *p, const cJSON *doc, struct err *e) {
    static const char *const known[] = {"requests", "counted", "stragglers", NULL};
    static const char *const rules[] = {"by_arrival", "by_completion", "dropped", NULL};
    struct part part;
    if (open_part(&part, doc, "warm_up", known, e) ||
        take_int(&part, "requests", 0, &p->warm_up.requests) ||
        take_bool(&part, "counted", &p->warm_up.counted))
        return -1;
    return take_choice(&part, "stragglers", rules, &p->warm_up.stragglers);
}

static int read_repeats(struct protocol *p, const cJSON *doc, struct err *e) {
    static const char *const known[] = {"count", "seeds", "spread", NULL};
    static const char *const spreads[] = {"range", "standard_deviation", "confidence_interval",
                                          "none", NULL};
    struct part part;
    char at[STRICT_PATH_BYTES];
    if (open_part(&part, doc, "repeats", known, e) ||
        take_int(&part, "count", 1, &p->repeats.count) ||
        strict_list(strict_at(part.v, "seeds"), "repeats.seeds", 1, PROTOCOL_MAX_REPEATS,
                    &p->repeats.n_seeds, e))
        return -1;
    for (int i = 0; i < p->repeats.n_seeds; i++)
        if (strict_int(cJSON_GetArrayItem(strict_at(part.v, "seeds"), i),
                       strict_path(at, "repeats.seeds", NULL, i), 0, INT64_C(1) << 53,
                       &p->repeats.seeds[i], e))
            return -1;
    return take_choice(&part, "spread", spreads, &p->repeats.spread);
}

static int read_failures(struct protocol *p, const cJSON *doc, struct err *e) {
    static const char *const known[] = {"handling", "counted", "timeout_s", "retries", NULL};
    static const char *const handlings[] = {"infinite_latency", "drop", "retry_until_done", NULL};
    static const char *const kinds[] = {
        "rejected", "timed_out", "internal_error", "truncated", "in_band_error", "cancelled", NULL};
    struct part part;
    char at[STRICT_PATH_BYTES];
    int n, kind;
    if (open_part(&part, doc, "failures", known, e) ||
        take_choice(&part, "handling", handlings, &p->failures.handling) ||
        strict_list(strict_at(part.v, "counted"), "failures.counted", 1, PROTOCOL_MAX_FAILURES, &n,
                    e))
        return -1;
    for (int i = 0; i < n; i++) {
        strict_path(at, "failures.counted", NULL, i);
        if (strict_choice(cJSON_GetArrayItem(strict_at(part.v, "counted"), i), at, kinds, &kind, e))
            return -1;
        if (p->failures.counted[kind]) return err_at(e, 0, at, "is listed twice");
        p->failures.counted[kind] = true;
    }
    if (take_number(&part, "timeout_s", 0.001, 86400, &p->failures.timeout_s)) return -1;
    return take_int(&part, "retries", 0, &p->failures.retries);
}

static int read_percentiles(struct protocol *p, const cJSON *doc, struct err *e) {
    static const char *const known[] = {"interval", "percentile", NULL};
    static const char *const intervals[] = {"client_ttft", "server_ttft", "queue_delay", "tpot",
                                            "itl",         "e2e",         NULL};
    const cJSON *list = strict_at(doc, "percentiles");
    char at[STRICT_PATH_BYTES];
    if (strict_list(list, "percentiles", 1, PROTOCOL_MAX_PERCENTILES, &p->n_percentiles, e))
        return -1;
    for (int i = 0; i < p->n_percentiles; i++) {
        struct part part = {cJSON_GetArrayItem(list, i), strict_path(at, "percentiles", NULL, i),
                            e};
        if (strict_members(part.v, at, known, e) ||
            take_choice(&part, "interval", intervals, &p->percentiles[i].interval) ||
            take_number(&part, "percentile", 0.1, 99.99, &p->percentiles[i].percentile))
            return -1;
    }
    return 0;
}

static int read_decision(struct protocol *p, const cJSON *doc, struct err *e) {
    static const char *const known[] = {"ttft_below_ms", "tpot_below_ms", "rule", NULL};
    struct part part;
    if (open_part(&part, doc, "decision", known, e) ||
        take_number(&part, "ttft_below_ms", 0.001, 1e8, &p->ttft_below_ms) ||
        take_number(&part, "tpot_below_ms", 0.001, 1e8, &p->tpot_below_ms))
        return -1;
    return take_text(&part, "rule", 30, p->rule, sizeof p->rule);
}

int lab02_protocol_read(struct protocol *p, const cJSON *doc, struct err *e) {
    static const char *const known[] = {"schema",      "question", "varied",  "fixed",   "prompts",
                                        "output",      "load",     "warm_up", "repeats", "failures",
                                        "percentiles", "decision", "result",  NULL};
    static const char *const schemas[] = {PROTOCOL_SCHEMA, NULL};
    static int (*const parts[])(struct protocol *, const cJSON *, struct err *) = {
        read_varied,  read_fixed,   read_prompts,  read_output,      read_load,
        read_warm_up, read_repeats, read_failures, read_percentiles, read_decision};
    int schema;
    memset(p, 0, sizeof *p);
    if (strict_members(doc, "", known, e) ||
        strict_choice(strict_at(doc, "schema"), "schema", schemas, &schema, e) ||
        strict_text(strict_at(doc, "question"), "question", 20, p->question, sizeof p->question, e))
        return -1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i](p, doc, e)) return -1;
    p->claims_result = strict_at(doc, "result") != NULL;
    return 0;
}
