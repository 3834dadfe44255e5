/* checks.c: lab 02's struct lab, and the cases of a check for a seed. rubric.c lists the checks. */
#include "lab02/lab02.h"
#include "lab02/make_policy.h"
#include "lab02/oracle.h"
#include "labs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const analysis_functions[] = {"point_classify", "point_intervals",
                                                 "point_measure", "point_stable", NULL};
static const char *const capacity_functions[] = {
    "point_verdict", "curve_knee", "curve_saturation", "curve_region", "capacity_find", NULL};
static const char *const policy_functions[] = {"policy_learner", "policy_learner_batch", NULL};

static const struct lab_file files[] = {
    {"policy.c", true, policy_functions},     {"analysis.c", true, analysis_functions},
    {"capacity.c", true, capacity_functions}, {"findings.json", false, NULL},
    {"protocol.json", false, NULL},
};

static const char *const given[] = {"percentile_nearest_rank",
                                    "interval_divide",
                                    "slo_limit",
                                    "slo_answer_name",
                                    "policy_check",
                                    "err_set",
                                    "err_at",
                                    "err_bug",
                                    "rng_seed",
                                    "rng_next",
                                    "rng_below",
                                    "lab_todo",
                                    NULL};

static const char *const headers[] = {"base", "record", "objective", "sched", NULL};

static void judge(const struct check_def *def, struct dialogue *d, struct check_result *r) {
    if (def->maker >= JUDGE_SEARCH_FINDS)
        lab02_judge_search(def, d, r);
    else
        lab02_judge_policy(def, d, r);
}

static int make(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
                struct err *e);

const struct lab lab02 = {
    .number = "02",
    .name = "02_queue_sim",
    .first_step = "read the beginning of labs/02_queue_sim/README.md, then write point_classify "
                  "and point_intervals in analysis.c: they are short, and the measurement builds "
                  "on them",
    .first_check = "intervals.ttft",
    .files = files,
    .n_files = sizeof files / sizeof *files,
    .checks = lab02_checks,
    .n_checks = LAB02_CHECKS,
    .child = "lab02",
    .given = given,
    .headers = headers,
    .make = make,
    .judge = judge,
    .examine = lab02_examine,
};

/* ---- pieces that the makers use -------------------------------------------------------------- */

void lab02_make_kind(struct lab02_making *m, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m->kind, CASE_KIND_BYTES, fmt, ap);
    va_end(ap);
}

int64_t lab02_make_between(struct lab02_making *m, int64_t lo, int64_t hi) {
    return lo + (int64_t)rng_below(&m->rng, (uint64_t)(hi - lo + 1));
}

bool lab02_make_chance(struct lab02_making *m, int percent) {
    return lab02_make_between(m, 0, 99) < percent;
}

/* ---- from a check to its cases --------------------------------------------------------------- */

static void make_view_case(struct lab02_making *m) {
    m->c->fn = FN_PLAN;
    m->c->fresh = true;
    m->c->more_plans = 8;
    m->c->batch = m->k % 2 == 1;
    m->c->group = 1 + m->k % 5;
    lab02_make_view(&m->rng, m->k, m->k % 4 == 1, &m->c->view);
    lab02_make_kind(m, "one plan for one view");
}

/* Good and bad arguments in turn. No argument that a reader could take either way. */
static void make_create_case(struct lab02_making *m) {
    static const char *const batch[] = {"4", "", "1", "0", "37", "-2", "4x", "two", "1000", "4,8"};
    static const char *const plain[] = {"4", "", "x"};
    m->c->fn = FN_CREATE;
    m->c->batch = m->k % 2 == 0;
    const char *arg = m->c->batch ? batch[m->k / 2 % 10] : plain[m->k / 2 % 3];
    snprintf(m->c->arg, sizeof m->c->arg, "%s", arg);
    m->c->others = m->c->batch && !strcmp(arg, "37");
    lab02_make_kind(m, "%s%s%s", m->c->batch ? "learner-batch" : "learner", *arg ? ":" : "", arg);
}

/* The maker whose case a safety check uses: each maker in turn. */
static enum lab02_maker borrowed(int maker, int *k) {
    static const int first[] = {0, MAKE_VERDICT_LIMITS, MAKE_VIEW, 0};
    static const int end[] = {MAKE_VERDICT_LIMITS, MAKE_VIEW, MAKE_N, MAKE_N};
    int which = maker - MAKE_ANY_ANALYSIS, n = end[which] - first[which], at = *k;
    *k = at / n;
    return (enum lab02_maker)(first[which] + at % n);
}

static int encode(struct lab02_case *c, struct hidden_case *out, struct err *e) {
    out->bytes = malloc(WIRE_MAX_PAYLOAD);
    if (!out->bytes) return err_set(e, "no memory for a case");
    struct wire w = wire_writer(out->bytes, WIRE_MAX_PAYLOAD);
    if (lab02_case_codec(&w, c)) return err_set(e, "a case is larger than the channel allows");
    out->n_bytes = WIRE_MAX_PAYLOAD - w.left;
    return 0;
}

static int make(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
                struct err *e) {
    static struct lab02_case c;
    struct lab02_making m = {.c = &c, .kind = out->kind};
    enum lab02_maker which = (enum lab02_maker)def->maker;
    int rc = -1;
    m.k = k = case_shuffled(seed, def, k);
    rng_seed(&m.rng, case_sequence(seed, def->id, k));
    if (which >= MAKE_N) which = borrowed(def->maker, &m.k);
    lab02_case_init(&c);
    if (which == MAKE_VIEW)
        make_view_case(&m);
    else if (which == MAKE_CREATE)
        make_create_case(&m);
    else if (which >= MAKE_VERDICT_LIMITS)
        lab02_make_capacity(&m, which);
    else
        lab02_make_analysis(&m, which);
    if (def->kind == CHECK_READ_ONLY) c.memory = MEMORY_READ_ONLY;
    if (def->kind == CHECK_HEAP) c.memory = MEMORY_REPEAT;
    out->n_wants = lab02_case_slots(&c);
    out->wants = calloc(out->n_wants, sizeof *out->wants);
    if (!out->wants)
        err_set(e, "no memory for a case");
    else
        rc = encode(&c, out, e);
    if (!rc) {
        lab02_oracle(&c, out->wants);
        for (size_t i = 0; i < out->n_wants && def->kind == CHECK_SURVIVES; i++)
            out->wants[i].same = c.fn == FN_PLAN || (c.fn == FN_CAPACITY && i <= FIND_PROBES);
        case_set_care(def, m.focus, out->wants, out->n_wants);
        lab02_describe(&c, out->input, sizeof out->input);
        if (c.fn == FN_PLAN || c.fn == FN_CREATE)
            out->function = c.batch ? "policy_learner_batch" : "policy_learner";
        if (c.fn == FN_CREATE) out->calls = "create() followed by destroy() of ";
        if (c.fn == FN_PLAN) out->calls = "create(), plan() and destroy() of ";
    }
    lab02_case_release(&c);
    return rc;
}
