/* evidence.c: examines lab 04's data files, objective.json and choice.json. No code of a submission
 * runs.
 *
 * The checks, by what follows "evidence." in their id:
 *   objective       a serving objective with a population limit, a failure rate, a resource
 *   choice_valid    the form of choice.json, for this objective
 *   choice_measured the figures of point i are those of the run in runs/i (evidence_runs.h)
 *   choice_points   the verdict of each point is the one that its figures give
 *   choice_follows  the chosen point is the valid one with the most useful completions a second;
 *                   every other point is refused for what is wrong with it
 * choice_measured is not run until the form is right, the last two not until the figures are
 * measured ones.
 */
#include "lab04/lab04.h"

#include "core/collect.h"
#include "lab04/evidence_runs.h"

#include "base/json.h"
#include "base/lab_todo.h"
#include "base/strict.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = LAB04_RUNS, MAX_NOTES = 8 };

/* What is wrong with a point; a refusal names one. In the order of enum fault. */
static const char *const faults[] = {"unstable",   "latency",  "failures",    "quality",
                                     "throughput", "recovery", "less_useful", NULL};
enum fault { UNSTABLE, LATENCY, FAILURES, QUALITY, THROUGHPUT, RECOVERY, LESS_USEFUL };
static const char *const verdicts[] = {"met", "missed", NULL};

struct point {
    double offered_rps, window_s,
        limit_ms[OBJECTIVE_MAX_LIMITS]; /* INFINITY: not below any limit */
    int64_t requests, useful, failed, passed, evaluated;
    bool stable, slow_recovery; /* the latter: as measured */
    int verdict, refused;       /* refused: the fault that is named; -1: none */
};

struct choice {
    int n_points, n_limits;
    int64_t chosen;
    double useful_rps;
    struct point point[MAX_POINTS];
};

/* ---- the form -------------------------------------------------------------------------------- */

static int read_point(struct point *p, const cJSON *v, int i, int n_limits, struct err *e) {
    static const char *const known[] = {
        "offered_rps",       "window_s",       "requests", "useful",  "failed", "quality_passed",
        "quality_evaluated", "percentiles_ms", "stable",   "verdict", NULL};
    char at[STRICT_PATH_BYTES], path[STRICT_PATH_BYTES];
    int n;
    strict_path(at, "points", NULL, i);
#define AT(key) strict_at(v, key), strict_path(path, at, key, 0)
    if (strict_members(v, at, known, e) ||
        strict_number(AT("offered_rps"), 1e-6, 1e6, &p->offered_rps, e) ||
        strict_number(AT("window_s"), 1, 1e6, &p->window_s, e) ||
        strict_int(AT("requests"), 1, 10000000, &p->requests, e) ||
        strict_int(AT("useful"), 0, p->requests, &p->useful, e) ||
        strict_int(AT("failed"), 0, p->requests - p->useful, &p->failed, e) ||
        strict_int(AT("quality_evaluated"), p->useful, p->requests, &p->evaluated, e) ||
        strict_int(AT("quality_passed"), p->useful, p->evaluated, &p->passed, e) ||
        strict_bool(AT("stable"), &p->stable, e) ||
        strict_choice(AT("verdict"), verdicts, &p->verdict, e) ||
        strict_list(AT("percentiles_ms"), n_limits, n_limits, &n, e))
        return -1;
    for (int k = 0; k < n; k++) {
        const cJSON *item = cJSON_GetArrayItem(strict_at(v, "percentiles_ms"), k);
        char where[2 * STRICT_PATH_BYTES];
        snprintf(where, sizeof where, "%s.percentiles_ms[%d]", at, k);
        p->limit_ms[k] = INFINITY; /* null: infinite */
        if (!cJSON_IsNull(item) && strict_number(item, where, 0.001, 1e9, &p->limit_ms[k], e))
            return -1;
    }
    double rate = (double)p->requests / p->window_s;
    if (fabs(rate - p->offered_rps) > 0.2 * p->offered_rps)
        return err_at(e, 0, strict_path(path, at, "requests", 0),
                      "%lld requests in %g s are not %g a second", (long long)p->requests,
                      p->window_s, p->offered_rps);
    return 0;
}

static int read_refusals(struct choice *c, const cJSON *list, struct err *e) {
    static const char *const known[] = {"point", "because", "why", NULL};
    int n;
    if (strict_list(list, "refused", 0, MAX_POINTS, &n, e)) return -1;
    for (int i = 0; i < n; i++) {
        const cJSON *v = cJSON_GetArrayItem(list, i);
        char at[STRICT_PATH_BYTES], path[STRICT_PATH_BYTES], why[400];
        int64_t point;
        int because;
        strict_path(at, "refused", NULL, i);
        if (strict_members(v, at, known, e) ||
            strict_int(AT("point"), 0, c->n_points - 1, &point, e) ||
            strict_choice(AT("because"), faults, &because, e) ||
            strict_text(AT("why"), 12, why, sizeof why, e))
            return -1;
        if (c->point[point].refused >= 0)
            return err_at(e, 0, strict_path(path, at, "point", 0), "point %d is refused twice",
                          (int)point);
        c->point[point].refused = because;
    }
    return 0;
}
#undef AT

static int read_choice(struct choice *c, const cJSON *doc, const struct objective *o,
                       struct err *e) {
    static const char *const known[] = {"schema", "points",  "chosen",    "useful_rps",
                                        "why",    "refused", "not_known", NULL};
    static const char *const schema[] = {"servelab.choice.v1", NULL};
    char text[400], path[STRICT_PATH_BYTES];
    int n, which;
    for (int32_t i = 0; i < o->n_latency; i++) c->n_limits += o->latency[i].scope;
    if (strict_members(doc, "", known, e) ||
        strict_choice(strict_at(doc, "schema"), "schema", schema, &which, e) ||
        strict_list(strict_at(doc, "points"), "points", 3, MAX_POINTS, &c->n_points, e))
        return -1;
    for (int i = 0; i < c->n_points; i++) {
        c->point[i].refused = -1;
        if (read_point(&c->point[i], cJSON_GetArrayItem(strict_at(doc, "points"), i), i,
                       c->n_limits, e))
            return -1;
    }
    if (strict_int(strict_at(doc, "chosen"), "chosen", 0, c->n_points - 1, &c->chosen, e) ||
        strict_number(strict_at(doc, "useful_rps"), "useful_rps", 0, 1e6, &c->useful_rps, e) ||
        strict_text(strict_at(doc, "why"), "why", 20, text, sizeof text, e) ||
        strict_list(strict_at(doc, "not_known"), "not_known", 1, MAX_NOTES, &n, e))
        return -1;
    for (int i = 0; i < n; i++)
        if (strict_text(cJSON_GetArrayItem(strict_at(doc, "not_known"), i),
                        strict_path(path, "not_known", NULL, i), 12, text, sizeof text, e))
            return -1;
    return read_refusals(c, strict_at(doc, "refused"), e);
}

/* ---- what was measured ----------------------------------------------------------------------- */

static bool near(double stated, double measured) { /* half a per cent, and the last digit */
    return fabs(stated - measured) <= 0.005 * fabs(measured) + 0.05;
}

static int differs(struct err *e, int i, const char *what, double stated, double measured) {
    char path[STRICT_PATH_BYTES];
    strict_path(path, "points", NULL, i);
    text_append(path, sizeof path, ".%s", what);
    return err_at(e, 0, path, "is %.6g, and runs/%d has %.6g", stated, i, measured);
}

static int compare_limits(const struct objective *o, const struct point *p,
                          const struct report_point *m, int i, struct err *e) {
    for (int32_t k = 0, at = 0; k < o->n_latency; k++) {
        const struct percentile *is = &m->limit[k];
        double ms = is->infinite ? INFINITY : (double)is->ns / 1e6;
        char what[32];
        if (o->latency[k].scope != SCOPE_POPULATION) continue;
        snprintf(what, sizeof what, "percentiles_ms[%d]", at);
        double stated = p->limit_ms[at++];
        if (!is->present)
            return err_set(e, "runs/%d has no percentile of %s: its records lack it", i,
                           interval_name(o->latency[k].interval));
        if (isinf(stated) != isinf(ms) || (!isinf(ms) && !near(stated, ms)))
            return differs(e, i, what, stated, ms);
    }
    return 0;
}

static int compare_point(const struct objective *o, struct point *p, const struct measured_run *run,
                         int i, struct err *e) {
    const struct report_point *m = &run->point;
    const struct slo_counts *c = &m->counts;
    const struct {
        const char *name;
        int64_t stated, measured;
    } counts[] = {{"requests", p->requests, m->requests},
                  {"useful", p->useful, c->useful},
                  {"failed", p->failed, c->failed},
                  {"quality_evaluated", p->evaluated, c->quality_evaluated},
                  {"quality_passed", p->passed, c->quality_passed},
                  {"stable", p->stable, m->load.stable}};
    if (!near(p->window_s, c->interval_s))
        return differs(e, i, "window_s", p->window_s, c->interval_s);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        if (counts[k].stated != counts[k].measured)
            return differs(e, i, counts[k].name, (double)counts[k].stated,
                           (double)counts[k].measured);
    if (run->verdict == SLO_NOT_COMPUTABLE)
        return err_set(e,
                       "runs/%d does not say whether the objective is met; `servelab report` "
                       "says what is missing",
                       i);
    double limit_ns = o->reliability.max_recovery_s * 1e9; /* NaN: none */
    p->slow_recovery =
        !isnan(limit_ns) && (m->recovery.unended || !((double)m->recovery.longest_ns < limit_ns));
    return compare_limits(o, p, m, i, e);
}

/* 0: each point's figures are those of its run. Three checks ask; the runs of one submission (its
 * work folder has a name of its own) are measured once. */
static int compare_runs(const char *folder, const struct objective *o, struct choice *c,
                        bool *missing, struct err *e) {
    static struct measured_run runs[MAX_POINTS];
    static struct {
        char folder[400];
        int rc;
        bool missing;
        struct err e;
    } last;
    if (strcmp(last.folder, folder) != 0) {
        snprintf(last.folder, sizeof last.folder, "%s", folder);
        last.rc = lab04_measure_runs(folder, o, c->n_points, runs, &last.missing, &last.e);
    }
    *missing = last.missing;
    *e = last.e;
    if (last.rc) return -1;
    for (int i = 0; i < c->n_points; i++)
        if (compare_point(o, &c->point[i], &runs[i], i, e)) return -1;
    return 0;
}

/* ---- what follows from it -------------------------------------------------------------------- */

/* Does the point have this fault, under the objective? */
static bool has_fault(const struct objective *o, const struct point *p, int fault) {
    int k = 0;
    switch (fault) {
    case UNSTABLE:
        return !p->stable;
    case LATENCY:
        for (int32_t i = 0; i < o->n_latency; i++)
            if (o->latency[i].scope == SCOPE_POPULATION &&
                !(p->limit_ms[k++] * 1e6 < (double)o->latency[i].below_ns))
                return true;
        return false;
    case FAILURES:
        return (double)p->failed / (double)p->requests > o->reliability.max_failure_rate;
    case QUALITY: /* a rate that is not stated (NaN) is not below */
        return (double)p->passed < o->quality.min_pass_rate * (double)p->evaluated;
    case THROUGHPUT:
        return (double)p->useful / p->window_s < o->throughput.min_rps;
    case RECOVERY:
        return p->slow_recovery;
    default:
        return false;
    }
}

static bool valid(const struct objective *o, const struct point *p) {
    for (int f = 0; f < LESS_USEFUL; f++)
        if (has_fault(o, p, f)) return false;
    return true;
}

static void check_points(const struct objective *o, const struct choice *c, struct evidence *out) {
    int met = 0;
    for (int i = 0; i < c->n_points; i++) {
        bool is = valid(o, &c->point[i]);
        met += is;
        if (is == (c->point[i].verdict == 0)) continue;
        evidence_say(out, OUTCOME_LOST,
                     "choice.json: points[%d].verdict: the figures beside it say %s", i,
                     verdicts[!is]);
        return;
    }
    if (met == 0 || met == c->n_points)
        evidence_say(out, OUTCOME_LOST,
                     "choice.json: points: all of them are %s; measure a load on the "
                     "other side of the limit, too",
                     met ? "valid" : "not valid");
}

static void check_choice(const struct objective *o, const struct choice *c, struct evidence *out) {
    const struct point *chosen = &c->point[c->chosen];
    double rate = (double)chosen->useful / chosen->window_s;
    if (!valid(o, chosen)) {
        evidence_say(out, OUTCOME_LOST, "choice.json: chosen: point %d does not meet the objective",
                     (int)c->chosen);
    } else if (fabs(c->useful_rps - rate) > 0.005 * rate + 1e-9) {
        evidence_say(
            out, OUTCOME_LOST,
            "choice.json: useful_rps: the chosen point has another number of useful completions a "
            "second");
    }
    for (int i = 0; i < c->n_points && out->outcome == OUTCOME_EARNED; i++) {
        const struct point *p = &c->point[i];
        bool is = valid(o, p);
        if (i == c->chosen && p->refused >= 0)
            evidence_say(out, OUTCOME_LOST, "choice.json: refused: point %d is the chosen one", i);
        else if (i != c->chosen && p->refused < 0)
            evidence_say(out, OUTCOME_LOST,
                         "choice.json: refused: point %d is neither chosen nor refused", i);
        else if (i != c->chosen && is && (double)p->useful / p->window_s > rate * 1.0001)
            evidence_say(out, OUTCOME_LOST,
                         "choice.json: chosen: point %d is valid and more useful", i);
        else if (i != c->chosen && (is ? p->refused != LESS_USEFUL : !has_fault(o, p, p->refused)))
            evidence_say(out, OUTCOME_LOST,
                         "choice.json: refused: point %d has not what it is refused for, \"%s\"", i,
                         faults[p->refused]);
    }
}

int lab04_examine_choice(const cJSON *doc, const struct objective *o, struct evidence out[2],
                         struct err *e) {
    static struct choice c;
    memset(&c, 0, sizeof c);
    out[0].outcome = out[1].outcome = OUTCOME_EARNED;
    if (read_choice(&c, doc, o, e)) return -1;
    check_points(o, &c, &out[0]);
    check_choice(o, &c, &out[1]);
    return 0;
}

/* ---- the files ------------------------------------------------------------------------------- */

/* NULL: *out says why. The caller deletes it; *text and *n are its text, the caller frees it. */
static cJSON *load(const char *folder, const char *file, bool own, char **text, size_t *n,
                   struct evidence *out) {
    char where[160], line[600];
    struct err e;
    *text = collect_read(folder, file, COLLECT_MAX_DATA_BYTES, n);
    cJSON *doc = *text ? json_parse(*text, *n, 1, &e) : NULL;
    if (!*text)
        evidence_say(out, own ? OUTCOME_GRADER_FAULT : OUTCOME_NOT_RUN, "%s can't be read", file);
    else if (!doc)
        evidence_say(out, OUTCOME_LOST, "%s", err_format(&e, file, line, sizeof line));
    if (!doc || !lab_todo_find(doc, where, sizeof where)) return doc;
    evidence_say(out, OUTCOME_NOT_RUN, "%s still has a \"TODO\" at %s", file, where);
    out->todo = own;
    cJSON_Delete(doc);
    return NULL;
}

static void lost_at(struct evidence *out, const char *file, const char *text, size_t n,
                    struct err *e) {
    char line[600];
    if (e->line == 0) e->line = json_line_of(text, n, 1, e->field);
    evidence_say(out, OUTCOME_LOST, "%s", err_format(e, file, line, sizeof line));
}

static int check_objective(const struct objective *o, struct err *e) {
    int limits = 0;
    for (int32_t i = 0; i < o->n_latency; i++) limits += o->latency[i].scope == SCOPE_POPULATION;
    if (o->kind != OBJECTIVE_SERVING) return err_at(e, 0, "kind", "this lab measures a service");
    if (limits == 0) return err_at(e, 0, "latency", "a limit of scope \"population\" is needed");
    if (isnan(o->reliability.max_failure_rate) || o->reliability.n_failures == 0)
        return err_at(e, 0, "reliability", "state the failure rate, and what counts as a failure");
    if (!o->quality.check[0]) return err_at(e, 0, "quality", "name the check of an answer");
    if (!o->resource.primary[0] || isnan(o->resource.accelerators))
        return err_at(e, 0, "resource", "state the resource, and how many accelerators there are");
    return 0;
}

/* Of a choice.json in its form. */
static void examine_choice(const char *which, const char *folder, const struct objective *o,
                           struct choice *c, const char *text, size_t n, struct evidence *out) {
    struct err e;
    bool missing;
    if (!strcmp(which, "choice_valid")) return;
    int wrong = compare_runs(folder, o, c, &missing, &e);
    if (wrong && strcmp(which, "choice_measured") != 0)
        evidence_say(out, OUTCOME_NOT_RUN, "not run until the figures are those of the runs");
    else if (wrong && (missing || !e.field[0]))
        evidence_say(out, missing ? OUTCOME_NOT_RUN : OUTCOME_LOST, "%s", e.text);
    else if (wrong)
        lost_at(out, "choice.json", text, n, &e);
    else if (!strcmp(which, "choice_measured"))
        out->note =
            "the runs agree with their figures and their arrivals, drawn or listed (those of a "
            "trace or a closed loop aren't computed again). Whether they were measured or made up "
            "can't be computed: to be read by the instructor, with run.json";
    else if (!strcmp(which, "choice_points"))
        check_points(o, c, out);
    else if (!strcmp(which, "choice_follows"))
        check_choice(o, c, out);
}

void lab04_examine(const struct check_def *def, const char *folder, struct evidence *out) {
    static struct choice c;
    const char *which = def->id + strlen("evidence.");
    char *otext = NULL, *ctext = NULL;
    size_t on = 0, cn = 0;
    struct objective o;
    struct err e;
    bool own = !strcmp(which, "objective");
    out->outcome = OUTCOME_EARNED;
    memset(&c, 0, sizeof c);
    cJSON *odoc = load(folder, "objective.json", own, &otext, &on, out), *cdoc = NULL;
    bool read = odoc && objective_from_json(&o, odoc, &e) == 0;
    if (odoc && (!read || check_objective(&o, &e))) {
        lost_at(out, "objective.json", otext, on, &e);
    } else if (odoc && !own && (cdoc = load(folder, "choice.json", true, &ctext, &cn, out))) {
        if (!read_choice(&c, cdoc, &o, &e))
            examine_choice(which, folder, &o, &c, ctext, cn, out);
        else if (!strcmp(which, "choice_valid"))
            lost_at(out, "choice.json", ctext, cn, &e);
        else
            evidence_say(out, OUTCOME_NOT_RUN, "not run until choice.json has its form");
    }
    if (read) objective_release(&o);
    cJSON_Delete(odoc);
    cJSON_Delete(cdoc);
    free(otext);
    free(ctext);
}
