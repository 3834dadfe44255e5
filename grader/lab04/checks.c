/* checks.c: lab 04's struct lab, and the cases of a check for a seed. rubric.c lists the checks. */
#include "lab04/lab04.h"
#include "lab04/programs.h"
#include "labs.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kv_functions[] = {
    "kv_pool_create",       "kv_pool_free",     "kv_pool_free_blocks",
    "kv_pool_total_blocks", "kv_table_reserve", "kv_table_release",
    "kv_table_share",       "kv_table_publish", NULL};
static const char *const engine_functions[] = {"engine_step", NULL};
static const char *const stamp_functions[] = {"stamp_accepted",
                                              "stamp_tokenized",
                                              "stamp_admitted",
                                              "stamp_preempted",
                                              "stamp_first_token",
                                              "stamp_token_sent",
                                              "stamp_finished",
                                              "stamp_rejected",
                                              "stamp_cancelled",
                                              "stamp_failed",
                                              NULL};
static const char *const report_functions[] = {"report_attempt", "report_group",   "report_measure",
                                               "report_verdict", "report_regions", NULL};

/* The files of one run, as `servelab load --out` writes them. */
#define RUN(i)                                                                                     \
    {"runs/" i "/run.json", false, NULL}, {                                                        \
        "runs/" i "/records.jsonl", false, NULL                                                    \
    }

// clang-format off
static const struct lab_file files[] = {
    {"kv_blocks.c", true, kv_functions}, {"engine_step.c", true, engine_functions},
    {"stamps.c", true, stamp_functions}, {"report.c", true, report_functions},
    {"objective.json", false, NULL},     {"choice.json", false, NULL},
    RUN("0"), RUN("1"), RUN("2"), RUN("3"), RUN("4"), RUN("5"), RUN("6"), RUN("7"), /* LAB04_RUNS */
};
// clang-format on

static const char *const given[] = {"record_event",
                                    "record_last_event",
                                    "record_add_event",
                                    "intervals_compute",
                                    "interval_divide",
                                    "interval_get",
                                    "interval_name",
                                    "classify_attempt",
                                    "classify_request",
                                    "classify_good",
                                    "finished_by_server",
                                    "completion_reason_name",
                                    "percentile_nearest_rank",
                                    "slo_limit",
                                    "slo_failure_rate",
                                    "slo_quality",
                                    "slo_throughput",
                                    "slo_verdict",
                                    "point_measure",
                                    "point_stable",
                                    "curve_knee",
                                    "curve_saturation",
                                    "curve_region",
                                    "policy_check",
                                    "engine_drop_cancelled",
                                    "engine_view",
                                    "engine_find",
                                    "engine_to_running",
                                    "engine_to_waiting",
                                    "engine_compute",
                                    "engine_take_drafted",
                                    "engine_note_step",
                                    "engine_end",
                                    "engine_want_prompt_scores",
                                    "engine_push_scores",
                                    "engine_push_prompt_scores",
                                    "stream_push",
                                    "answer_push",
                                    "answer_end",
                                    "sampler_next",
                                    "tokenizer_ends",
                                    "pthread_mutex_lock",
                                    "pthread_mutex_unlock",
                                    "err_set",
                                    "err_at",
                                    "err_bug",
                                    "select_i64",
                                    "lab_todo",
                                    NULL};

static const char *const headers[] = {"base",  "record",  "objective", "sched",
                                      "model", "backend", "serve",     NULL};

static void judge(const struct check_def *def, struct dialogue *d, struct check_result *r) {
    if (def->maker >= JUDGE_TOKENS)
        lab04_judge_engine(def, d, r);
    else
        lab04_judge_kv(def, d, r);
}

static int make(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
                struct err *e);

const struct lab lab04 = {
    .number = "04",
    .name = "04_serving",
    .first_step = "read \"Before you start\" in labs/04_serving/README.md, then write stamps.c: "
                  "ten short functions, and the engine calls them",
    .first_check = "intervals.stamp_kinds",
    .files = files,
    .n_files = sizeof files / sizeof *files,
    .checks = lab04_checks,
    .n_checks = LAB04_CHECKS,
    .child = "lab04",
    .given = given,
    .headers = headers,
    .make = make,
    .judge = judge,
    .prepare = lab04_prepare,
    .run = lab04_run,
    .release = lab04_release,
    .examine = lab04_examine,
};

/* ---- pieces that the makers use -------------------------------------------------------------- */

int64_t lab04_between(struct rng *rng, int64_t lo, int64_t hi) {
    return lo + (int64_t)rng_below(rng, (uint64_t)(hi - lo + 1));
}

bool lab04_chance(struct rng *rng, int percent) {
    return lab04_between(rng, 0, 99) < percent;
}

void lab04_kind(struct lab04_making *m, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m->kind, CASE_KIND_BYTES, fmt, ap);
    va_end(ap);
}

void lab04_want(struct lab04_making *m, const char *name, int64_t value) {
    INVARIANT(m->n_wants < CASE_MAX_SLOTS - 1);
    m->wants[m->n_wants++] = (struct want){.name = name, .value = value, .care = true};
}

void lab04_want_real(struct lab04_making *m, const char *name, double value) {
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    lab04_want(m, name, bits);
    m->wants[m->n_wants - 1].kind = isnan(value) ? SLOT_NAN : SLOT_REAL;
}

/* ---- from a check to its cases --------------------------------------------------------------- */

unsigned char *lab04_encode(struct lab04_case *c, size_t *n, struct err *e) {
    unsigned char *bytes = malloc(WIRE_MAX_PAYLOAD);
    if (!bytes) {
        err_set(e, "no memory for a case");
        return NULL;
    }
    struct wire w = wire_writer(bytes, WIRE_MAX_PAYLOAD);
    if (lab04_case_codec(&w, c)) {
        err_set(e, "a case is larger than the channel allows");
        free(bytes);
        return NULL;
    }
    *n = WIRE_MAX_PAYLOAD - w.left;
    return bytes;
}

/* For the safety checks: a script that is not judged. The engine has a machine of its own. */
static void make_script(struct lab04_making *m, enum lab04_maker which) {
    static struct machine_config config;
    if (which == MAKE_KV) {
        lab04_make_kv(&m->rng, JUDGE_KV_COUNT + m->k % 4, m->c);
        lab04_kind(m, "operations on a pool of KV blocks");
    } else {
        lab04_make_workload(&m->rng, JUDGE_TOKENS + m->k % (JUDGE_EVENTS + 1 - JUDGE_TOKENS),
                            &config);
        config.local = true;
        m->c->fn = FN_ENGINE;
        m->c->n = machine_config_write(&config, false, m->c->v);
        m->c->n_slots = ENGINE_HEAD + (size_t)config.n_requests * REQ_SLOTS;
        lab04_kind(m, "a workload for the engine");
    }
    for (size_t i = 0; i < m->c->n_slots; i++) {
        lab04_want(m, "", 0);
        m->wants[i].care = false; /* the right answer isn't known here */
        /* which free block a table gets is the pool's choice */
        m->wants[i].free = which == MAKE_KV && i % KV_SLOTS >= KV_SLOTS - KV_MAX_TABLE;
    }
}

static void make_any(struct lab04_making *m, enum lab04_maker which) {
    if (which <= MAKE_STAMP_ONCE)
        lab04_make_stamps(m, which);
    else if (which <= MAKE_ATTEMPT_RESOURCE)
        lab04_make_attempt(m, which);
    else if (which <= MAKE_GROUP_TWICE)
        lab04_make_group(m, which);
    else if (which <= MAKE_MEASURE_RECOVERY)
        lab04_make_measure(m, which);
    else if (which <= MAKE_REGIONS)
        lab04_make_verdict(m, which);
    else
        make_script(m, which);
}

/* One engine for many workloads. */
static void make_long(struct lab04_making *m) {
    m->k = JUDGE_CANCEL - JUDGE_TOKENS;
    make_script(m, MAKE_ENGINE);
    m->c->memory = MEMORY_LONG;
}

/* The maker whose case a safety check uses: each maker in turn. */
static enum lab04_maker borrowed(int maker, int *k) {
    static const int first[] = {MAKE_KV, MAKE_ENGINE, 0, MAKE_ATTEMPT_INTERVALS, 0};
    static const int end[] = {MAKE_KV + 1, MAKE_N, MAKE_ATTEMPT_INTERVALS, MAKE_KV, MAKE_N};
    int which = maker - MAKE_ANY_KV, n = end[which] - first[which], at = *k;
    *k = at / n;
    return (enum lab04_maker)(first[which] + at % n);
}

static int make(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
                struct err *e) {
    static struct lab04_case c;
    static struct want wants[CASE_MAX_SLOTS];
    struct lab04_making m = {.c = &c, .kind = out->kind, .wants = wants};
    enum lab04_maker which = (enum lab04_maker)def->maker;
    m.k = k = case_shuffled(seed, def, k);
    rng_seed(&m.rng, case_sequence(seed, def->id, k));
    memset(&c, 0, sizeof c);
    memset(wants, 0, sizeof wants);
    if (which == MAKE_LONG) {
        make_long(&m);
    } else {
        if (which >= MAKE_N) which = borrowed(def->maker, &m.k);
        make_any(&m, which);
    }
    c.n_slots = m.n_wants;
    if (def->kind == CHECK_READ_ONLY) c.memory = k % 2 ? MEMORY_READ_ONLY : MEMORY_PLAIN;
    if (def->kind == CHECK_HEAP && which != MAKE_LONG) c.memory = MEMORY_REPEAT;
    if (def->kind == CHECK_HEAP)
        lab04_want(&m,
                   which == MAKE_LONG ? "bytes that 8,000 requests left on the heap"
                                      : "pieces of 16 bytes that each call left on the heap",
                   0);
    lab04_describe(&c, out->input, sizeof out->input);
    out->n_wants = m.n_wants;
    out->wants = malloc(m.n_wants * sizeof *wants);
    if (!out->wants) return err_set(e, "no memory for a case");
    memcpy(out->wants, wants, m.n_wants * sizeof *wants);
    case_set_care(def, m.focus, out->wants, out->n_wants);
    out->bytes = lab04_encode(&c, &out->n_bytes, e);
    return out->bytes ? 0 : -1;
}
