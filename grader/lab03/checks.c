/* checks.c: lab 03's struct lab, and the cases of a check for a seed. rubric.c lists the checks;
 * judge_kernel.c judges kernels. */
#include "lab03/cases.h"
#include "lab03/lab03.h"
#include "lab03/oracle.h"
#include "labs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const time_functions[] = {
    "kernel_run_ns",        "kernel_time_ns",    "kernel_spread",       "effective_bandwidth",
    "arithmetic_intensity", "roofline_ridge",    "roofline_limit",      "kernel_bound",
    "roofline_time_ns",     "roofline_fraction", "kernel_time_verdict", NULL};
static const char *const compare_functions[] = {"kernel_compare", NULL};

static const struct lab_file files[] = {
    {"kernel_time.c", true, time_functions},
    {"kernel_compare.c", true, compare_functions},
    {"launch.json", false, NULL},
    {"roofline.json", false, NULL},
    {"copy.cu", false, NULL},
    {"copy_strided.cu", false, NULL},
    {"rmsnorm.cu", false, NULL},
    {"softmax.cu", false, NULL},
    {"rope.cu", false, NULL},
    {"swiglu.cu", false, NULL},
    {"embedding.cu", false, NULL},
    {"gemm.cu", false, NULL},
    {"gemv.cu", false, NULL},
    {"gemv_int8.cu", false, NULL},
    {"attention_prefill.cu", false, NULL},
    {"attention_decode.cu", false, NULL},
    {"attention_merge.cu", false, NULL},
    {"argmax.cu", false, NULL},
    {"sample.cu", false, NULL},
};

static const char *const given[] = {"lab_todo", NULL};
static const char *const headers[] = {"base", "backend", NULL};

static int make(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
                struct err *e);

const struct lab lab03 = {
    .number = "03",
    .name = "03_kernels",
    .first_step = "read the beginning of labs/03_kernels/README.md, then write copy.cu and its "
                  "line in launch.json: it is short, and shows how a kernel is launched, checked "
                  "and counted",
    .first_check = "quality.copy",
    .files = files,
    .n_files = sizeof files / sizeof *files,
    .checks = lab03_checks,
    .n_checks = LAB03_CHECKS,
    .child = "lab03",
    .given = given,
    .headers = headers,
    .make = make,
    .prepare = lab03_prepare,
    .run = lab03_run,
    .counting = lab03_counting,
    .release = lab03_release,
    .on_card = lab03_on_card,
    .examine = lab03_examine,
};

static int encode(struct lab03_case *c, struct hidden_case *out, struct err *e) {
    out->bytes = malloc(WIRE_MAX_PAYLOAD);
    if (!out->bytes) return err_set(e, "no memory for a case");
    struct wire w = wire_writer(out->bytes, WIRE_MAX_PAYLOAD);
    if (lab03_case_codec(&w, c)) return err_set(e, "a case is larger than the channel allows");
    out->n_bytes = WIRE_MAX_PAYLOAD - w.left;
    return 0;
}

static int make(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
                struct err *e) {
    static struct lab03_case c;
    struct rng rng;
    enum lab03_maker which = (enum lab03_maker)def->maker;
    int case_k = k = case_shuffled(seed, def, k);
    if (which == MAKE_ANY) { /* each maker's first cases */
        which = (enum lab03_maker)(k % MAKE_N);
        case_k = k / MAKE_N;
    }
    rng_seed(&rng, case_sequence(seed, def->id, k));
    lab03_make_case(&rng, which, case_k, &c, out->kind, sizeof out->kind);
    out->n_wants = lab03_case_slots(&c);
    out->wants = calloc(out->n_wants, sizeof *out->wants);
    if (!out->wants) return err_set(e, "no memory for a case");
    lab03_oracle(&c, out->wants);
    case_set_care(def, NULL, out->wants, out->n_wants);
    lab03_describe(&c, out->input, sizeof out->input);
    return encode(&c, out, e);
}
