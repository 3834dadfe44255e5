/* evidence_objective.c: examines lab 01's objective.json. See evidence.h. */
#include "lab01/evidence.h"
#include "lab01/lab01.h"

#include "core/evidence_choice.h"

#include "base/json.h"
#include "base/strict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- objective.json: the memo of exercise 3 -------------------------------------------------- */

/* The numbers of the memo. The limits are strict (below), and both are for p99 over the population.
 */
static const struct {
    const char *interval;
    enum interval_id id;
    double below_ms, measured_ms;
} memo[] = {{"client_ttft", IV_CLIENT_TTFT, 800, 1400}, {"tpot", IV_TPOT, 80, 170}};
static const double memo_tokens_per_s = 420, memo_reserve = 0.35, memo_accelerators = 1;

enum { N_LIMITS = 2 };

static const cJSON *at(const cJSON *o, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

static bool is_number(const cJSON *v, double want, double tolerance) {
    return cJSON_IsNumber(v) && fabs(v->valuedouble - want) <= tolerance;
}

static bool is_text(const cJSON *v, const char *want) {
    return cJSON_IsString(v) && !strcmp(v->valuestring, want);
}

/* The entry of `list` with this interval, in any position. */
static const cJSON *entry(const cJSON *list, const char *interval) {
    const cJSON *e;
    cJSON_ArrayForEach(e, list) if (is_text(at(e, "interval"), interval)) return e;
    return NULL;
}

/* The form: its members, and no others. (The objective has a reader; so has the purchase.) */
static int check_form(const cJSON *doc, struct err *e) {
    static const char *const top[] = {"schema",  "objective", "measured",
                                      "verdict", "purchase",  NULL};
    static const char *const measured[] = {"output_tokens_per_s", "latency", "useful_responses",
                                           "interval_s", NULL};
    static const char *const verdict[] = {"latency", "provisioned_accelerators", "objective_value",
                                          "overall", NULL};
    static const char *const value[] = {"answer", "missing", "reason", NULL};
    static const char *const overall[] = {"answer", "reason", NULL};
    static const char *const percentile[] = {"interval", "percentile", "ms", NULL};
    static const char *const limit[] = {"interval", "answer", "reason", NULL};
    const cJSON *m = at(doc, "measured"), *v = at(doc, "verdict"), *one;
    if (strict_known(doc, "", top, e) || (m && strict_known(m, "measured", measured, e)) ||
        (v && strict_known(v, "verdict", verdict, e)) ||
        (at(v, "objective_value") &&
         strict_known(at(v, "objective_value"), "verdict.objective_value", value, e)) ||
        (at(v, "overall") && strict_known(at(v, "overall"), "verdict.overall", overall, e)))
        return -1;
    cJSON_ArrayForEach(one, at(m, "latency")) if (strict_known(one, "measured.latency[]",
                                                               percentile, e)) return -1;
    cJSON_ArrayForEach(
        one, at(v, "latency")) if (strict_known(one, "verdict.latency[]", limit, e)) return -1;
    return 0;
}

static void check_objective(const cJSON *doc, struct evidence *out) {
    struct objective o;
    struct err e;
    if (check_form(doc, &e) || objective_from_json(&o, at(doc, "objective"), &e)) {
        lab01_lost_because(out, &e, "objective.json");
        return;
    }
    objective_release(&o);
    out->outcome = OUTCOME_EARNED;
}

static bool has_limit(const struct objective *o, int i) {
    for (int32_t k = 0; k < o->n_latency; k++) {
        const struct latency_limit *l = &o->latency[k];
        if (l->interval == memo[i].id && l->scope == SCOPE_POPULATION &&
            l->percentile_milli == 99000 && l->below_ns == (int64_t)(memo[i].below_ms * 1e6))
            return true;
    }
    return false;
}

static void check_resource(const struct objective *o, struct evidence *out) {
    if (strcmp(o->resource.primary, "usd") != 0 || o->resource.accelerators != memo_accelerators ||
        fabs(o->resource.reserve_fraction - memo_reserve) > 1e-9)
        lab01_lost(
            out,
            "objective.json: objective.resource: money, one accelerator and the memo's reserve");
    else if (!isnan(o->resource.usd_per_accelerator_hour))
        lab01_lost(
            out,
            "objective.json: objective.resource.usd_per_accelerator_hour: the memo gives no price");
    else if (fabs(o->quality.min_pass_rate - 0.95) > 1e-9 ||
             strcmp(o->quality.check, "key-recall/1") != 0)
        lab01_lost(
            out,
            "objective.json: objective.quality: the check and the rate that the exercise states");
}

static void check_limits(const cJSON *doc, struct evidence *out) {
    const cJSON *measured = at(doc, "measured");
    struct objective o;
    struct err e;
    if (objective_from_json(&o, at(doc, "objective"), &e)) {
        out->outcome = OUTCOME_NOT_RUN;
        snprintf(out->message, sizeof out->message,
                 "objective.json must hold a valid objective first (evidence.objective_valid)");
        return;
    }
    out->outcome = OUTCOME_EARNED;
    if (cJSON_GetArraySize(at(measured, "latency")) != N_LIMITS)
        lab01_lost(out, "objective.json: measured.latency: the memo measured two percentiles");
    for (int i = 0; i < N_LIMITS && out->outcome == OUTCOME_EARNED; i++) {
        const cJSON *m = entry(at(measured, "latency"), memo[i].interval);
        if (o.n_latency != N_LIMITS || !has_limit(&o, i))
            lab01_lost(
                out,
                "objective.json: objective.latency: one of the two limits isn't the one that the "
                "product asks for (interval, percentile, below_ms, scope)");
        else if (!m || !is_number(at(m, "percentile"), 99, 0) ||
                 !is_number(at(m, "ms"), memo[i].measured_ms, 1e-6))
            lab01_lost(
                out,
                "objective.json: measured.latency: one of the two isn't what the memo measured");
    }
    if (out->outcome == OUTCOME_EARNED) check_resource(&o, out);
    objective_release(&o);
    if (out->outcome != OUTCOME_EARNED) return;
    if (!is_number(at(measured, "output_tokens_per_s"), memo_tokens_per_s, 1e-9))
        lab01_lost(out, "objective.json: measured.output_tokens_per_s: what does the memo claim?");
    else if (!cJSON_IsNull(at(measured, "useful_responses")) ||
             !cJSON_IsNull(at(measured, "interval_s")))
        lab01_lost(out, "objective.json: measured: what the memo doesn't say stays null");
}

/* Whether a number of the text has the unit ms or s, also in words ("800 milliseconds") and in
 * another script, there also in brackets. */
static bool has_unit(const char *text) {
    struct number_read number[2];
    const char *p = text;
    while (lab01_next_number(text, &p, number) > 0)
        if (lab01_unit_ms(p) >= 1 || lab01_other_script(p)) return true;
    for (p = text; (p = strpbrk(p, "([")); p++)
        if (lab01_other_script(p + 1)) return true;
    return false;
}

/* Whether v is n ms in ms or s. Where no number has a unit after it, the unit stands elsewhere in
 * the text, as in "1400 > 800 (ms)" and "both in s". */
static bool is_ms(const char *text, double v, double n) {
    const char *p = text;
    double unit;
    if (has_unit(text)) return fabs(v - n) < 1e-9 || fabs(v * 1000 - n) < 1e-6;
    while ((unit = lab01_next_unit_ms(text, &p)) != 0)
        if (unit >= 1 && fabs(v * unit - n) < 1e-6) return true;
    return false;
}

/* A reason has two numbers. Whether this text contains `n` ms as a separate number, in its own unit
 * or in the text's. */
static bool holds_number(const char *text, double n) {
    struct number_read number[2];
    const char *p = text;
    int readings;
    while ((readings = lab01_next_number(text, &p, number)) > 0) {
        double unit = lab01_unit_ms(p);
        for (int i = 0; i < readings; i++) {
            double v = number[i].value;
            if (unit != 0 ? fabs(v * unit - n) < 1e-6 : is_ms(text, v, n)) return true;
            if (lab01_add_rest(p, unit, &number[i]) && fabs(number[i].value * unit - n) < 1e-6)
                return true;
        }
    }
    return false;
}

/* Who lists all numbers names none. */
static bool holds_few_numbers(const char *text) {
    enum { MOST = 12 };
    int n = 0;
    for (const char *p = text; *p;) {
        size_t digits = strspn(p, "0123456789.,");
        n += strcspn(p, "0123456789") < digits;
        p += digits ? digits : 1;
    }
    return n <= MOST;
}

static void check_latency_verdicts(const cJSON *verdict, struct evidence *out) {
    if (cJSON_GetArraySize(at(verdict, "latency")) != N_LIMITS)
        lab01_lost(out, "objective.json: verdict.latency: one entry for each of the two limits");
    for (int i = 0; i < N_LIMITS && out->outcome == OUTCOME_EARNED; i++) {
        const cJSON *v = entry(at(verdict, "latency"), memo[i].interval);
        const cJSON *said = at(v, "reason");
        char *reason = cJSON_IsString(said) ? lab01_plain(said->valuestring) : NULL;
        if (!is_text(at(v, "answer"), "missed"))
            lab01_lost(
                out,
                "objective.json: verdict.latency: the answer for one of the limits isn't the one "
                "that its numbers give");
        else if (reason && !holds_few_numbers(reason))
            lab01_lost(
                out,
                "objective.json: verdict.latency: the reason for %s holds more than 12 numbers; "
                "give the two that decide",
                memo[i].interval);
        else if (!reason || !holds_number(reason, memo[i].measured_ms) ||
                 !holds_number(reason, memo[i].below_ms))
            lab01_lost(
                out,
                "objective.json: verdict.latency: the reason for %s must hold the two numbers that "
                "decide, with their units (ms or s)",
                memo[i].interval);
        free(reason);
    }
}

/* Which members the value needs and the memo does not give. A value per dollar can also be computed
 * from a rate of successes, without the length of the interval. So naming interval_s is right, and
 * not naming it isn't a mistake. */
static bool right_missing(const cJSON *list) {
    bool count = false, price = false, wrong = !cJSON_IsArray(list);
    const cJSON *m;
    cJSON_ArrayForEach(m, list) {
        if (is_text(m, "useful_responses"))
            count = true;
        else if (is_text(m, "usd_per_accelerator_hour"))
            price = true;
        else if (!is_text(m, "interval_s"))
            wrong = true;
    }
    return count && price && !wrong;
}

static bool has_reason(const cJSON *o) {
    const cJSON *r = at(o, "reason");
    return cJSON_IsString(r) && strlen(r->valuestring) >= 10 &&
           evidence_words(r->valuestring) >= EVIDENCE_SENTENCE_WORDS;
}

static void check_verdict(const cJSON *doc, struct evidence *out) {
    const cJSON *verdict = at(doc, "verdict"), *value = at(verdict, "objective_value");
    const cJSON *overall = at(verdict, "overall");
    out->outcome = OUTCOME_EARNED;
    check_latency_verdicts(verdict, out);
    if (out->outcome != OUTCOME_EARNED) return;
    if (!is_number(at(verdict, "provisioned_accelerators"), memo_accelerators / (1 - memo_reserve),
                   0.0006))
        lab01_lost(
            out, "objective.json: verdict.provisioned_accelerators: used / (1 - reserve), to three "
                 "decimals");
    else if (!is_text(at(value, "answer"), "not_computable") ||
             !right_missing(at(value, "missing")))
        lab01_lost(
            out,
            "objective.json: verdict.objective_value: its answer, and what is missing (the members "
            "that the value needs and the memo doesn't give)");
    else if (!is_text(at(overall, "answer"), "missed"))
        lab01_lost(out, "objective.json: verdict.overall: what follows from the parts?");
    else if (!has_reason(value) || !has_reason(overall))
        lab01_lost(out, "objective.json: verdict: a reason is missing, or is no sentence");
}

/* Exercise 4: the two servers of the handout's table. One hour of a server costs its provisioned
 * accelerators, reserve included, whether they are busy or idle. */
static const struct choice_number purchase_numbers[] = {
    {"output_tokens_per_s",
     {4200.0 / 60, 2400.0 / 60},
     "all tokens that came, in the 60 s of the run",
     {{{2400.0 / 60, 2100.0 / 60}, "only the tokens of useful answers are counted"},
      {{4200.0 / 58, 2400.0 / 41}, "the tokens are divided by the busy time"}}},
    {"useful_responses",
     {3, 7},
     "useful is completed, and passed by the check",
     {{{5, 8}, "wrong answers count as useful"},
      {{6, 8}, "every answer that came is counted"},
      {{8, 8}, "all requests are counted"}}},
    {"useful_per_usd",
     {22.5, 105},
     "useful answers over what the provisioned accelerators cost in 60 s",
     {{{45, 140}, "the reserve isn't paid for"},
      {{22.5 * 60 / 58, 105 * 60.0 / 41}, "idle time isn't paid for"},
      {{37.5, 120}, "wrong answers count as useful"}}},
};
static const struct choice purchase = {"buy", "b", purchase_numbers, 3};

static void check_purchase(const cJSON *doc, struct evidence *out) {
    struct err e;
    out->outcome = OUTCOME_EARNED;
    if (evidence_choice(at(doc, "purchase"), "purchase", &purchase, &e))
        lab01_lost_because(out, &e, "objective.json");
}

void lab01_examine_objective(const char *which, const cJSON *doc, struct evidence *out) {
    if (!is_text(at(doc, "schema"), OBJECTIVE_ANSWER_SCHEMA))
        lab01_lost(out, "objective.json: schema must be \"%s\"", OBJECTIVE_ANSWER_SCHEMA);
    else if (!strcmp(which, "objective_valid"))
        check_objective(doc, out);
    else if (!strcmp(which, "objective_limits"))
        check_limits(doc, out);
    else if (!strcmp(which, "purchase"))
        check_purchase(doc, out);
    else
        check_verdict(doc, out);
}
