/* card_run.c: the process that drives the card. See card.h. It frees nothing: its end does. */
#include "lab03/card.h"

#include "lab03/kernel_shapes.h"
#include "lab03/lab03.h"

#include "backend/kernel_case.h"
#include "backend/kernel_reference.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    WARM = 2,                /* rounds that are not counted */
    FLUSH_BYTES = 256 << 20, /* more than any card's L2 cache */
    COPY_BYTES = 512 << 20,
    SGEMM_SIDE = 4096
};

/* Timed shapes: large enough to fill a card, small enough to be filled afresh in every round. */
static const char *const timed_sizes[][2] = {
    {"copy", "n=16777216"},
    {"copy_strided", "rows=4096 cols=1024 stride=2048"},
    {"rmsnorm", "rows=1024 d=4096"},
    {"softmax", "rows=2048 d=4096"},
    {"rope", "tokens=1024 q_heads=32 kv_heads=8 head_dim=128"},
    {"swiglu", "rows=512 d=14336"},
    {"embedding", "tokens=2048 d=4096 vocab=8192"},
    {"gemm", "m=2048 n=2048 k=2048"},
    {"gemv", "rows=4096 cols=4096"},
    {"gemv_int8", "rows=8192 cols=4096"},
    {"attention_prefill", "tokens=512 q_heads=32 kv_heads=8 head_dim=128"},
    {"attention_decode", "seqs=8 context=2048 q_heads=32 kv_heads=8 head_dim=128 splits=16"},
    {"attention_merge", "seqs=64 q_heads=32 head_dim=128 splits=16"},
    {"argmax", "rows=64 vocab=128256"},
    {"sample", "rows=16 vocab=128256 top_k=50"},
};

const char *lab03_card_timed_sizes(const char *kernel) {
    for (size_t i = 0; i < sizeof timed_sizes / sizeof *timed_sizes; i++)
        if (!strcmp(timed_sizes[i][0], kernel)) return timed_sizes[i][1];
    return "";
}

struct side {
    gpu_function function;
    struct launch_rule rule;
    float ms[CARD_ROUNDS];
};

struct card {
    const struct card_job *job;
    struct card_result *r;
    struct side yours, reference;
    gpu_pointer flush;
    size_t flush_bytes;
    gpu_event start, end;
    gpu_pointer pointer[KERNEL_MAX_PARAMS]; /* the data of both kernels, one after the other */
};

static int stop(struct card *c, enum card_verdict v, const char *what, const struct err *e) {
    char text[400];
    if (e) what = err_format(e, what, text, sizeof text);
    snprintf(c->r->why, sizeof c->r->why, "%s", what);
    c->r->verdict = v;
    return -1;
}

/* ---- one launch ------------------------------------------------------------------------------ */

static int allocate(struct card *c, const struct kernel_case *k, struct err *e) {
    for (int p = 0; p < kernel_param_count(k->spec); p++)
        if (k->tensor[p].n && gpu_alloc(&c->pointer[p], k->tensor[p].bytes, e)) return -1;
    return 0;
}

static void release(struct card *c) {
    for (int p = 0; p < KERNEL_MAX_PARAMS; p++)
        if (c->pointer[p]) gpu_free(c->pointer[p], NULL);
    memset(c->pointer, 0, sizeof c->pointer);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Uploads the case with its poison and launches once between events. A failed launch is FAILED for
 * the learner's kernel, and the grader's fault for the reference. */
static int launch(struct card *c, struct side *s, struct kernel_case *k, float *ms) {
    enum card_verdict bad = s == &c->yours ? CARD_FAILED : CARD_FAULT;
    struct kernel_names names;
    struct launch_shape shape;
    struct err e;
    void *pointer[KERNEL_MAX_PARAMS], *args[KERNEL_MAX_PARAMS];
    kernel_launch_names(&k->sizes, &names);
    if (launch_shape_of(&s->rule, &(struct launch_names){names.name, names.value, names.n}, &shape,
                        &e))
        return c->job->practice
                   ? stop(c, bad == CARD_FAILED ? CARD_REFUSED : bad, "launch.json", &e)
                   : stop(c, bad, "launch.json gives no launch shape for it", NULL);
    kernel_case_args(k, pointer, args);
    for (int p = 0; p < kernel_param_count(k->spec); p++) {
        if (!k->tensor[p].n) continue;
        args[p] = &c->pointer[p]; /* device addresses have 64 bits on this host, too */
        if (gpu_upload(c->pointer[p], k->tensor[p].data, k->tensor[p].bytes, &e))
            return stop(c, CARD_FAULT, "upload", &e);
    }
    if (gpu_fill(c->flush, 0x5a, c->flush_bytes, &e) || gpu_wait(&e))
        return stop(c, CARD_FAULT, "overwriting the cache", &e);
    c->r->launched_ns = now_ns();
    if (gpu_event_record(c->start, &e) || gpu_launch(s->function, &shape, args, &e) ||
        gpu_event_record(c->end, &e) || gpu_wait(&e) || gpu_event_ms(c->start, c->end, ms, &e))
        return stop(c, bad, "the launch failed", &e);
    c->r->launched_ns = 0;
    return 0;
}

/* ---- right or wrong -------------------------------------------------------------------------- */

/* Both kernels may be off by the tolerance, in opposite directions; a single one by half of that.
 */
static bool passes(const struct comparison *v, double allowed) {
    return v->ok || (!v->fault && v->used <= allowed);
}

static int compare(struct card *c, const struct kernel_case *k, double allowed, const char *kind) {
    char why[200], text[330];
    struct err e;
    for (int p = 0; p < kernel_param_count(k->spec); p++) {
        const struct kernel_tensor *t = &k->tensor[p];
        if (!t->n) continue;
        void *got = malloc(t->bytes);
        if (!got || gpu_download(got, c->pointer[p], t->bytes, &e)) {
            free(got);
            return stop(c, CARD_FAULT, "out of memory, or the card doesn't answer", NULL);
        }
        why[0] = '\0';
        if (t->want) {
            struct comparison v = kernel_case_check(k, p, got);
            if (!passes(&v, allowed))
                c->job->practice ? comparison_text(&v, why, sizeof why)
                                 : strcpy(why, "isn't right");
        } else if (kernel_case_input_changed(k, p, got)) {
            strcpy(why, "an input, was changed");
        }
        free(got);
        if (!why[0]) continue;
        snprintf(text, sizeof text, "%s: %s: %s", kind, k->spec->param[p].name, why);
        return stop(c, CARD_WRONG, text, NULL);
    }
    return 0;
}

static int check_shapes(struct card *c) {
    const struct kernel_spec *spec = c->job->spec;
    for (int i = 0; i < lab03_shape_count(spec); i++) {
        struct shape shape;
        struct kernel_sizes sizes;
        struct kernel_case k;
        struct err e;
        char kind[300];
        float ms;
        lab03_shape_draw(spec, c->job->seed, i, &shape);
        if (kernel_sizes_parse(spec, shape.text, &sizes, &e) ||
            kernel_case_init(&k, &sizes, shape.seed, &e) || allocate(c, &k, &e))
            return stop(c, CARD_FAULT, shape.text, &e);
        snprintf(kind, sizeof kind, "%s%s%s%s", shape.kind, c->job->practice ? " (" : "",
                 c->job->practice ? shape.text : "", c->job->practice ? ")" : "");
        int rc = launch(c, &c->yours, &k, &ms) || compare(c, &k, 1, kind);
        release(c);
        kernel_case_release(&k);
        if (rc) return -1;
    }
    return 0;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Copies the reference's outputs to the wanted values. */
static int take_wanted(struct card *c, struct kernel_case *k) {
    struct err e;
    for (int p = 0; p < kernel_param_count(k->spec); p++) {
        struct kernel_tensor *t = &k->tensor[p];
        if (!t->want) continue;
        void *got = malloc(t->bytes);
        if (!got || gpu_download(got, c->pointer[p], t->bytes, &e))
            return stop(c, CARD_FAULT, "out of memory, or the card doesn't answer", NULL);
        for (int64_t i = 0; i < t->n; i++) {
            enum kernel_dtype d = k->spec->param[p].dtype;
            t->want[i] = d == KERNEL_F32   ? (double)((float *)got)[i]
                         : d == KERNEL_I32 ? (double)((int32_t *)got)[i]
                                           : reference_bf16(((uint16_t *)got)[i]);
        }
        free(got);
    }
    return 0;
}

/* If the reference comes first, it is launched again at the end, so that the learner's kernel never
 * finds its outputs in memory: they are uploaded as poison before each launch, and compared last.
 */
static int time_round(struct card *c, struct kernel_case *k, int round) {
    int at = round < WARM ? 0 : round - WARM;
    float *yours = &c->yours.ms[at], *reference = &c->reference.ms[at], untimed;
    if (round % 2 && launch(c, &c->reference, k, reference)) return -1;
    if (launch(c, &c->yours, k, yours)) return -1;
    struct kernel_tensor kept[KERNEL_MAX_PARAMS] = {0};
    struct err e;
    int rc = 0;
    for (int p = 0; p < kernel_param_count(k->spec) && !rc; p++) {
        if (!k->tensor[p].n) continue;
        kept[p].data = malloc(k->tensor[p].bytes);
        rc = !kept[p].data || gpu_download(kept[p].data, c->pointer[p], k->tensor[p].bytes, &e);
    }
    if (rc) return stop(c, CARD_FAULT, "out of memory, or the card doesn't answer", NULL);
    if (launch(c, &c->reference, k, round % 2 ? &untimed : reference) || take_wanted(c, k))
        return -1;
    for (int p = 0; p < kernel_param_count(k->spec) && !rc; p++) {
        if (kept[p].data) rc = gpu_upload(c->pointer[p], kept[p].data, k->tensor[p].bytes, &e);
        free(kept[p].data);
    }
    if (rc) return stop(c, CARD_FAULT, "upload", &e);
    return compare(c, k, 2, "a timed launch, compared with the reference's");
}

static int rising(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static struct card_time time_of(float *ms) {
    qsort(ms, CARD_ROUNDS, sizeof *ms, rising);
    double median = (double)ms[CARD_ROUNDS / 2];
    double quartiles = (double)ms[CARD_ROUNDS * 3 / 4] - (double)ms[CARD_ROUNDS / 4];
    return (struct card_time){1000 * median, median > 0 ? quartiles / median : 0};
}

static int time_both(struct card *c, struct kernel_sizes *sizes) {
    const struct kernel_spec *spec = c->job->spec;
    struct shape shape;
    struct kernel_case k;
    struct err e;
    struct rng rng;
    lab03_shape_draw(spec, c->job->seed, lab03_shape_count(spec) - 1, &shape);
    if (kernel_sizes_parse(spec, c->job->small ? shape.text : lab03_card_timed_sizes(spec->name),
                           sizes, &e))
        return stop(c, CARD_FAULT, "the timed sizes", &e);
    rng_seed(&rng, shape.seed);
    for (int round = 0; round < WARM + CARD_ROUNDS; round++) {
        if (kernel_case_fill(&k, sizes, rng_next(&rng), &e) || (round == 0 && allocate(c, &k, &e)))
            return stop(c, CARD_FAULT, "the timed data", &e);
        int rc = time_round(c, &k, round);
        kernel_case_release(&k);
        if (rc) return -1;
    }
    c->r->yours = time_of(c->yours.ms);
    c->r->reference = time_of(c->reference.ms);
    return 0;
}

/* The card's best rate, measured in this run: the median again. */
static int measure(struct card *c, bool multiply, double *per_ms, struct err *e) {
    int side = c->job->small ? 32 : SGEMM_SIDE;
    size_t bytes = multiply        ? (size_t)side * (size_t)side * 4
                   : c->job->small ? 1 << 16
                                   : COPY_BYTES;
    gpu_pointer m[3];
    float ms[CARD_ROUNDS + WARM];
    for (int i = 0; i < 3; i++)
        if (gpu_alloc(&m[i], bytes, e) || gpu_fill(m[i], 0x3c, bytes, e)) return -1;
    for (int i = 0; i < CARD_ROUNDS + WARM; i++)
        if (gpu_fill(c->flush, 0x5a, c->flush_bytes, e) || gpu_event_record(c->start, e) ||
            (multiply ? gpu_sgemm(m[0], m[1], m[2], side, side, side, e)
                      : gpu_copy(m[0], m[1], bytes, e)) ||
            gpu_event_record(c->end, e) || gpu_wait(e) || gpu_event_ms(c->start, c->end, &ms[i], e))
            return -1;
    for (int i = 0; i < 3; i++)
        if (gpu_free(m[i], e)) return -1;
    double median_ms = time_of(ms + WARM).median_us / 1000;
    *per_ms = (multiply ? 2.0 * side * side * side : 2 * (double)bytes) / median_ms;
    return 0;
}

void lab03_card_judge(const struct kernel_sizes *sizes, struct card_result *r) {
    const char *kernel = sizes->spec->name;
    bool tensor = !strcmp(kernel, "gemm") || !strcmp(kernel, "attention_prefill");
    double gb_s = (double)kernel_bytes_min(sizes) / r->yours.median_us * 1e-3;
    double gflop_s = (double)kernel_operations(sizes) / r->yours.median_us * 1e-3;
    double of_copy = gb_s / r->copy_gb_s;
    double of_sgemm = r->sgemm_gflop_s > 0 ? gflop_s / r->sgemm_gflop_s : 0;
    double most = (tensor ? CARD_TENSOR_PERCENT : CARD_OPERATIONS_PERCENT) / 100.0;
    r->fraction = of_copy > of_sgemm ? of_copy : of_sgemm;
    r->verdict = CARD_TIMED;
    if (r->yours.median_us <= 0 || of_copy > CARD_BYTES_PERCENT / 100.0 || of_sgemm > most) {
        r->verdict = CARD_NOT_PHYSICAL;
        snprintf(r->why, sizeof r->why,
                 "%.0f GB/s of %.0f that the card copies, %.0f GFLOP/s of %.0f that cuBLAS reaches",
                 gb_s, r->copy_gb_s, gflop_s, r->sgemm_gflop_s);
    } else if (r->yours.spread > CARD_SPREAD_PERCENT / 100.0 ||
               r->reference.spread > CARD_SPREAD_PERCENT / 100.0) {
        r->verdict = CARD_NOISY;
        snprintf(
            r->why, sizeof r->why,
            "half of the launches lie %.0f %% of the median apart, the reference's %.0f %%; at "
            "most %d %% says something. Is another program using the card?",
            100 * r->yours.spread, 100 * r->reference.spread, CARD_SPREAD_PERCENT);
    }
}

/* ---- the whole of it ------------------------------------------------------------------------- */

void lab03_card_look(struct card_result *r) {
    struct err e;
    if (gpu_open(&r->about, &e) == 0) {
        r->verdict = CARD_TIMED;
        return;
    }
    r->verdict = CARD_NO_DEVICE;
    snprintf(r->why, sizeof r->why, "%s", e.text);
}

void lab03_card_run(const struct card_job *job, struct card_result *r) {
    static struct card c;
    struct kernel_sizes sizes;
    struct err e;
    const char *name = job->spec->name;
    c = (struct card){.job = job, .r = r, .flush_bytes = job->small ? 1 << 12 : FLUSH_BYTES};
    lab03_card_look(r);
    if (r->verdict == CARD_NO_DEVICE) return;
    r->verdict = CARD_UNFINISHED;
    if (launch_rule_read(job->launch, name, &c.yours.rule, &e)) {
        stop(&c, CARD_REFUSED, "launch.json", &e);
        return;
    }
    if (gpu_alloc(&c.flush, c.flush_bytes, &e) || gpu_event_create(&c.start, &e) ||
        gpu_event_create(&c.end, &e) ||
        launch_rule_read(job->reference_launch, name, &c.reference.rule, &e) ||
        gpu_load(job->reference_module, name, &c.reference.function, &e) ||
        measure(&c, false, &r->copy_gb_s, &e) ||
        (r->about.cublas && measure(&c, true, &r->sgemm_gflop_s, &e))) {
        stop(&c, CARD_FAULT, "the card or the reference", &e);
        return;
    }
    r->copy_gb_s *= 1e-6; /* from bytes per ms and operations per ms */
    r->sgemm_gflop_s *= 1e-6;
    if (gpu_load(job->module, name, &c.yours.function, &e)) {
        stop(&c, CARD_REFUSED, "the driver doesn't load the compiled file", &e);
        return;
    }
    if (check_shapes(&c) == 0 && time_both(&c, &sizes) == 0) lab03_card_judge(&sizes, r);
}
