/* verdict.c: totals, exit status and the rubric's rules. See verdict.h. */
#include "core/verdict.h"

#include "core/lab.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const int dimension_points[DIM_N] = {[DIM_INTERVALS] = 30,
                                     [DIM_QUALITY] = 25,
                                     [DIM_SLO] = 25,
                                     [DIM_EVIDENCE] = 10,
                                     [DIM_SAFETY] = 10};

static const char *const names[DIM_N] = {"intervals", "quality", "slo", "evidence", "safety"};
static const char *const titles[DIM_N] = {"Interval calculations", "Quality classification",
                                          "SLO compliance", "Evidence", "Safety"};

const char *dimension_name(enum dimension d) {
    INVARIANT((unsigned)d < DIM_N);
    return names[d];
}

const char *dimension_title(enum dimension d) {
    INVARIANT((unsigned)d < DIM_N);
    return titles[d];
}

const char *outcome_name(enum outcome o) {
    static const char *const outcomes[] = {"not_run", "earned", "lost", "grader_fault"};
    INVARIANT((unsigned)o < 4);
    return outcomes[o];
}

static struct totals sum(const struct grade_verdict *v, int dimension) {
    struct totals t = {0, 0, 0, true};
    for (size_t i = 0; i < v->n; i++) {
        const struct check_result *c = &v->checks[i];
        if (dimension >= 0 && (int)c->dimension != dimension) continue;
        if (c->outcome == OUTCOME_GRADER_FAULT) {
            t.faults += c->points;
            t.complete = false;
            continue;
        }
        t.total += c->points;
        if (c->outcome == OUTCOME_EARNED) t.earned += c->points;
    }
    return t;
}

struct totals verdict_totals(const struct grade_verdict *v) {
    struct totals t = sum(v, -1);
    if (v->n == 0) t.complete = false;
    return t;
}

struct totals verdict_dimension_totals(const struct grade_verdict *v, enum dimension d) {
    return sum(v, (int)d);
}

int verdict_exit_status(const struct grade_verdict *v) {
    struct totals t = verdict_totals(v);
    if (!t.complete) return 4;
    if (!v->attempted) return 3;
    return t.total > 0 && t.earned == t.total ? 0 : 1;
}

static void clean_text(char *text, size_t cap) {
    char raw[6000];
    size_t n = strnlen(text, cap);
    INVARIANT(cap <= sizeof raw);
    memcpy(raw, text, n);
    text_clean_lines(text, cap, raw, n);
}

void verdict_conceal(struct check_result *r) {
    static const char *const reasons[] = {
        [OUTCOME_NOT_RUN] = "a function that this check asks is not written yet",
        [OUTCOME_EARNED] = "",
        [OUTCOME_LOST] =
            "wrong, or beyond a limit, in a hidden case; practice seeds show such cases in full"};
    r->took_ms = 0;
    if (r->settled || r->outcome == OUTCOME_GRADER_FAULT) return;
    snprintf(r->message, sizeof r->message, "%s", reasons[r->outcome]);
    if (r->outcome != OUTCOME_LOST) r->kind[0] = '\0';
    r->input[0] = r->got[0] = r->want[0] = r->printed[0] = r->rerun[0] = r->note[0] = '\0';
    r->endless = r->waited = false;
    r->cases_right = r->outcome == OUTCOME_EARNED ? r->cases : 0;
}

void verdict_clean(struct grade_verdict *v) {
    clean_text(v->lab, sizeof v->lab);
    clean_text(v->folder, sizeof v->folder);
    clean_text(v->sandbox, sizeof v->sandbox);
    clean_text(v->machine_class, sizeof v->machine_class);
    clean_text(v->counting, sizeof v->counting);
    clean_text(v->problem, sizeof v->problem);
    clean_text(v->to_read, sizeof v->to_read);
    clean_text(v->warnings, sizeof v->warnings);
    for (size_t i = 0; i < v->n; i++) {
        struct check_result *c = &v->checks[i];
        clean_text(c->message, sizeof c->message);
        clean_text(c->kind, sizeof c->kind);
        clean_text(c->input, sizeof c->input);
        clean_text(c->got, sizeof c->got);
        clean_text(c->want, sizeof c->want);
        clean_text(c->printed, sizeof c->printed);
        clean_text(c->rerun, sizeof c->rerun);
        clean_text(c->hint, sizeof c->hint);
        clean_text(c->note, sizeof c->note);
    }
}

void verdict_release(struct grade_verdict *v) {
    free(v->checks);
    memset(v, 0, sizeof *v);
}

static bool well_formed(const struct check_def *c) {
    const char *dimension = dimension_name(c->dimension);
    size_t n = strlen(dimension);
    if (strncmp(c->id, dimension, n) || c->id[n] != '.' || !c->id[n + 1]) return false;
    for (const char *p = c->id + n + 1; *p; p++)
        if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '_' && *p != '.')
            return false;
    return true;
}

int verdict_check_rubric(const struct check_def *defs, size_t n, struct err *e) {
    int points[DIM_N] = {0};
    if (n == 0) return err_set(e, "the list of checks is empty: nothing would be examined");
    for (size_t i = 0; i < n; i++) {
        if ((unsigned)defs[i].dimension >= DIM_N || !defs[i].id || !well_formed(&defs[i]))
            return err_set(e, "check %zu: the id must be its dimension, a dot and a name", i);
        if (defs[i].points < 1)
            return err_set(e, "%s: a check is worth a point at least", defs[i].id);
        if (defs[i].kind != CHECK_EVIDENCE && defs[i].n_cases < 1)
            return err_set(e, "%s: a check without cases would pass any submission", defs[i].id);
        points[defs[i].dimension] += defs[i].points;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(defs[i].id, defs[k].id))
                return err_set(e,
                               "%s: two checks have this id, and one result would hide the other",
                               defs[i].id);
    }
    for (int d = 0; d < DIM_N; d++)
        if (points[d] != dimension_points[d])
            return err_set(e, "%s: the checks are worth %d points, and should be worth %d",
                           names[d], points[d], dimension_points[d]);
    return 0;
}
