/* checks.c: lab 01's struct lab, and the cases of a check for a seed. rubric.c lists the checks. */
#include "lab01/lab01.h"
#include "labs.h"

#include <stdlib.h>
#include <string.h>

static const char *const interval_functions[] = {"interval_between", "interval_divide",
                                                 "intervals_compute", "intervals_itl", NULL};
static const char *const classify_functions[] = {"classify_attempt", "classify_request",
                                                 "classify_good", NULL};
static const char *const percentile_functions[] = {"percentile_nearest_rank", NULL};
static const char *const slo_functions[] = {
    "slo_limit",           "slo_failure_rate", "slo_quality", "slo_throughput",
    "slo_objective_value", "slo_verdict",      NULL};

static const struct lab_file files[] = {
    {"intervals.c", true, interval_functions},
    {"classify.c", true, classify_functions},
    {"percentile.c", true, percentile_functions},
    {"slo.c", true, slo_functions},
    {"record.json", false, NULL},
    {"objective.json", false, NULL},
};

static const char *const given[] = {"record_event",
                                    "record_last_event",
                                    "event_name",
                                    "event_from_name",
                                    "clock_name",
                                    "clock_from_name",
                                    "source_name",
                                    "source_from_name",
                                    "verdict_name",
                                    "interval_name",
                                    "interval_from_name",
                                    "interval_formula",
                                    "interval_get",
                                    "completion_reason_name",
                                    "completion_reason_from_name",
                                    "slo_answer_name",
                                    "err_bug",
                                    "select_i64",
                                    "lab_todo",
                                    NULL};

static const char *const headers[] = {"base", "record", "objective", NULL};

const struct lab lab01 = {
    .number = "01",
    .name = "01_request_record",
    .first_step = "read \"Before you start\" in labs/01_request_record/README.md, then write "
                  "interval_between in intervals.c: it is the shortest function, and most others "
                  "build on it",
    .first_check = "intervals.clock_offset",
    .files = files,
    .n_files = sizeof files / sizeof *files,
    .checks = lab01_checks,
    .n_checks = LAB01_CHECKS,
    .child = "lab01",
    .given = given,
    .headers = headers,
    .make = lab01_make,
    .examine = lab01_examine,
};

/* ---- from a check to its cases --------------------------------------------------------------- */

/* The maker whose case k a safety check uses: each maker in turn. */
static int borrowed_maker(int maker, int k) {
    static const int first[] = {MAKE_CLIENT_TTFT, MAKE_DELIVERED, MAKE_RANK, MAKE_STRICT,
                                MAKE_CLIENT_TTFT};
    static const int end[] = {MAKE_DELIVERED, MAKE_RANK, MAKE_STRICT, MAKE_N, MAKE_N};
    int which = maker - MAKE_ANY_INTERVALS;
    return first[which] + k % (end[which] - first[which]);
}

static int borrowed_k(int maker, int k) {
    static const int counts[] = {MAKE_DELIVERED - MAKE_CLIENT_TTFT, MAKE_RANK - MAKE_DELIVERED,
                                 MAKE_STRICT - MAKE_RANK, MAKE_N - MAKE_STRICT, MAKE_N};
    return k / counts[maker - MAKE_ANY_INTERVALS];
}

static int encode(struct lab01_case *c, struct hidden_case *out, struct err *e) {
    out->bytes = malloc(WIRE_MAX_PAYLOAD);
    if (!out->bytes) return err_set(e, "no memory for a case");
    struct wire w = wire_writer(out->bytes, WIRE_MAX_PAYLOAD);
    if (lab01_case_codec(&w, c)) return err_set(e, "a case is larger than the channel allows");
    out->n_bytes = WIRE_MAX_PAYLOAD - w.left;
    return 0;
}

int lab01_make(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
               struct err *e) {
    static struct lab01_case c;
    struct lab01_making m = {.c = &c, .kind = out->kind};
    int maker = def->maker, rc = -1;
    m.k = k = case_shuffled(seed, def, k);
    rng_seed(&m.rng, case_sequence(seed, def->id, k));
    if (maker >= MAKE_N) {
        m.k = borrowed_k(maker, k);
        maker = borrowed_maker(maker, k);
    }
    lab01_case_init(&c);
    if (maker <= MAKE_GPU)
        lab01_make_intervals(&m, (enum lab01_maker)maker);
    else if (maker <= MAKE_GOOD_ABSENT)
        lab01_make_quality(&m, (enum lab01_maker)maker);
    else
        lab01_make_slo(&m, (enum lab01_maker)maker);
    if (def->kind == CHECK_READ_ONLY) c.memory = MEMORY_READ_ONLY;
    if (def->kind == CHECK_HEAP) c.memory = MEMORY_REPEAT;
    out->n_wants = lab01_case_slots(&c);
    out->wants = calloc(out->n_wants, sizeof *out->wants);
    if (!out->wants)
        err_set(e, "no memory for a case");
    else
        rc = encode(&c, out, e);
    if (!rc) {
        lab01_oracle(&c, m.strict, out->wants);
        case_set_care(def, m.focus, out->wants, out->n_wants);
        lab01_describe(&c, out->input, sizeof out->input);
    }
    lab01_case_release(&c);
    return rc;
}
