/* gpu_check.c: runs every kernel on a GPU, compares it with its reference, and prints its speed as
 * a fraction of the card's measured limits.
 *
 *   gpu_check MODULES LAUNCH.json [--small] [--only KERNEL] [--seed N] [--json FILE] [--roof]
 *   gpu_check MODULES LAUNCH.json --probe                        only whether there is a device
 *   gpu_check MODULES LAUNCH.json --once KERNEL "rows=5 d=64"     one launch, for a profiler
 *
 * MODULES holds one KERNEL.fatbin each. Results are compared on shapes that aren't multiples of
 * a tile. Times are those of CUDA events around single launches; between them, untimed, the L2
 * cache is overwritten; the median of TIMED launches is printed with the least and the greatest.
 * Bytes and operations are the closed forms of kernel_spec.h, so a rate is useful work over time,
 * not the traffic of the hardware. --small uses small shapes (a dry run) and prints no times.
 * --roof measures the card's limits and nothing else. --seed: of the kernels' data (1).
 *
 * --json appends a line for each figure as soon as it is known, for gpu_plan.py: {"roof": {...}},
 * then {"name", "right", "of_tolerance", "s", "least_s", "greatest_s", "bytes", "operations",
 * "type"}; `type` is that of the products, float or bf16. In a dry run the times are the
 * replacement's. Exit status: 0 all right, 1 a kernel is wrong, 2 bad usage or no device.
 */
#include "backend/gpu_driver.h"
#include "backend/kernel_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM = 3,
    TIMED = 21,
    FLUSH_BYTES = 256 << 20, /* more than any card's L2 cache */
    COPY_BYTES = 1 << 30
};

/* Shapes of a 7B model: one step of decoding, or a prompt of 512 tokens. */
static const struct entry {
    const char *kernel, *check[2], *timed;
} plan[] = {
    {"copy", {"n=1003", "n=1"}, "n=67108864"},
    {"copy_strided",
     {"rows=37 cols=72", "rows=64 cols=64 stride=192"},
     "rows=16384 cols=1024 stride=6144"},
    {"rmsnorm", {"rows=3 d=2056", "rows=7 d=576"}, "rows=4096 d=4096"},
    {"softmax", {"rows=3 d=2056", "rows=7 d=200"}, "rows=4096 d=4096"},
    {"rope",
     {"tokens=33 q_heads=8 kv_heads=2 head_dim=64", "tokens=5 q_heads=3 kv_heads=1 head_dim=80"},
     "tokens=2048 q_heads=32 kv_heads=8 head_dim=128"},
    {"swiglu", {"rows=3 d=200", "rows=32 d=576"}, "rows=2048 d=14336"},
    {"embedding", {"tokens=3 d=200", "tokens=32 d=576"}, "tokens=2048 d=4096 vocab=8192"},
    {"gemm", {"m=37 n=68 k=52", "m=64 n=64 k=64"}, "m=2048 n=2048 k=2048"},
    {"gemv", {"rows=37 cols=200", "rows=64 cols=576"}, "rows=14336 cols=4096"},
    {"gemv_int8", {"rows=37 cols=208", "rows=64 cols=576"}, "rows=14336 cols=4096"},
    {"attention_prefill",
     {"pos0=37 tokens=21 q_heads=3 kv_heads=1 head_dim=128",
      "tokens=48 q_heads=4 kv_heads=2 head_dim=80"},
     "tokens=512 q_heads=32 kv_heads=8 head_dim=128"},
    {"attention_decode",
     {"seqs=3 context=70 q_heads=3 kv_heads=1 head_dim=128 splits=4",
      "seqs=2 context=97 q_heads=4 kv_heads=4 head_dim=80 splits=5"},
     "seqs=8 context=4096 q_heads=32 kv_heads=8 head_dim=128 splits=16"},
    {"attention_merge",
     {"seqs=2 q_heads=3 head_dim=128 splits=4", "seqs=5 q_heads=8 head_dim=64 splits=5"},
     "seqs=8 q_heads=32 head_dim=128 splits=16"},
    {"argmax", {"rows=5 vocab=1000", "rows=1 vocab=2048"}, "rows=16 vocab=128256"},
    {"sample",
     {"rows=5 vocab=1000", "rows=2 vocab=2048 top_k=40"},
     "rows=16 vocab=128256 top_k=50"},
};

struct bench {
    const char *modules, *launch;
    bool small;
    gpu_pointer flush;
    size_t flush_bytes;
    gpu_event start, end;
    double copy_gb_s, sgemm_gflop_s, bf16_gflop_s; /* the card's own; 0: not measured */
    uint64_t seed;
    FILE *json; /* NULL: none */
};

static int complain(const char *what, const struct err *e) {
    char text[600];
    fprintf(stderr, "gpu_check: %s\n", err_format(e, what, text, sizeof text));
    return 2;
}

/* ---- one kernel with its data on the device ---------------------------------------------------
 */

struct loaded {
    struct kernel_case data;
    struct launch_shape shape;
    gpu_function function;
    gpu_pointer pointer[KERNEL_MAX_PARAMS];
    void *args[KERNEL_MAX_PARAMS];
};

static int put_on_device(struct loaded *l, struct err *e) {
    void *pointer[KERNEL_MAX_PARAMS];
    kernel_case_args(&l->data, pointer, l->args);
    for (int p = 0; p < kernel_param_count(l->data.spec); p++) {
        const struct kernel_tensor *t = &l->data.tensor[p];
        if (!t->n) continue;
        l->args[p] = &l->pointer[p]; /* a device address has 64 bits, on the CPU too */
        if (gpu_alloc(&l->pointer[p], t->bytes, e) ||
            gpu_upload(l->pointer[p], t->data, t->bytes, e))
            return -1;
    }
    return 0;
}

static void unload(struct loaded *l) {
    for (int p = 0; p < KERNEL_MAX_PARAMS; p++)
        if (l->pointer[p]) gpu_free(l->pointer[p], NULL);
    kernel_case_release(&l->data);
}

static int load(const struct bench *b, const char *kernel, const char *sizes_text, bool expect,
                struct loaded *l, struct err *e) {
    char path[1024];
    const struct kernel_spec *k = kernel_spec_find(kernel);
    struct kernel_sizes sizes;
    struct kernel_names n;
    struct launch_rule rule;
    memset(l, 0, sizeof *l);
    if (!k) return err_set(e, "there is no kernel %s", kernel);
    snprintf(path, sizeof path, "%s/%s.fatbin", b->modules, kernel);
    if (kernel_sizes_parse(k, sizes_text, &sizes, e) ||
        launch_rule_read(b->launch, kernel, &rule, e) || gpu_load(path, kernel, &l->function, e))
        return -1;
    kernel_launch_names(&sizes, &n);
    if (launch_shape_of(&rule, &(struct launch_names){n.name, n.value, n.n}, &l->shape, e))
        return -1;
    if (expect ? kernel_case_init(&l->data, &sizes, b->seed, e)
               : kernel_case_fill(&l->data, &sizes, b->seed, e))
        return -1;
    if (put_on_device(l, e) == 0) return 0;
    unload(l);
    return -1;
}

/* Greatest use of a tolerance over all outputs; above 1 is wrong. */
static int judge(const struct loaded *l, double *used, char *why, size_t cap, struct err *e) {
    for (int p = 0; p < kernel_param_count(l->data.spec); p++) {
        const struct kernel_tensor *t = &l->data.tensor[p];
        if (!t->n) continue;
        void *got = malloc(t->bytes);
        if (!got) return err_set(e, "out of memory");
        if (gpu_download(got, l->pointer[p], t->bytes, e)) {
            free(got);
            return -1;
        }
        if (t->want) {
            struct comparison c = kernel_case_check(&l->data, p, got);
            if (c.used > *used) *used = c.used;
            if (!c.ok && !why[0]) comparison_text(&c, why, cap);
        } else if (kernel_case_input_changed(&l->data, p, got) && !why[0]) {
            snprintf(why, cap, "%s was changed", l->data.spec->param[p].name);
        }
        free(got);
    }
    return 0;
}

/* ---- time -------------------------------------------------------------------------------------
 */

struct times {
    float least_ms, median_ms, greatest_ms;
};

/* A timed operation: a kernel, a copy or cuBLAS's product. */
typedef int work_fn(void *ctx, struct err *e);

static int rising(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int time_it(const struct bench *b, work_fn *work, void *ctx, struct times *out,
                   struct err *e) {
    float ms[TIMED];
    int timed = b->small ? 3 : TIMED;
    for (int i = 0; i < WARM + timed; i++) {
        float *slot = &ms[i < WARM ? 0 : i - WARM];
        if (gpu_fill(b->flush, (unsigned char)i, b->flush_bytes, e) ||
            gpu_event_record(b->start, e) || work(ctx, e) || gpu_event_record(b->end, e) ||
            gpu_wait(e) || gpu_event_ms(b->start, b->end, slot, e))
            return -1;
    }
    qsort(ms, (size_t)timed, sizeof *ms, rising);
    *out = (struct times){ms[0], ms[timed / 2], ms[timed - 1]};
    return 0;
}

static int launch_once(void *ctx, struct err *e) {
    struct loaded *l = ctx;
    return gpu_launch(l->function, &l->shape, l->args, e);
}

struct product {
    gpu_pointer a, b, c;
    int m, n, k;
};
static int multiply_once(void *ctx, struct err *e) {
    const struct product *p = ctx;
    return gpu_sgemm(p->c, p->a, p->b, p->m, p->n, p->k, e);
}
static int multiply_bf16_once(void *ctx, struct err *e) {
    const struct product *p = ctx;
    return gpu_gemm_bf16(p->c, p->a, p->b, p->m, p->n, p->k, e);
}
struct copied {
    gpu_pointer from, to;
    size_t bytes;
};
static int copy_once(void *ctx, struct err *e) {
    const struct copied *c = ctx;
    return gpu_copy(c->to, c->from, c->bytes, e);
}

/* 0x3c: 0.0115 as a float, 0.0115 as a bf16. */
static int measure_products(struct bench *b, struct err *e) {
    struct times t;
    int side = b->small ? 32 : 4096, wide = b->small ? 32 : 8192;
    size_t bytes = (size_t)wide * (size_t)wide * 2; /* of the bf16 matrix; the float one fits too */
    struct product p = {.m = side, .n = side, .k = side};
    if (bytes < (size_t)side * (size_t)side * 4) bytes = (size_t)side * (size_t)side * 4;
    if (gpu_alloc(&p.a, bytes, e) || gpu_alloc(&p.b, bytes, e) || gpu_alloc(&p.c, bytes, e) ||
        gpu_fill(p.a, 0x3c, bytes, e) || gpu_fill(p.b, 0x3c, bytes, e) ||
        time_it(b, multiply_once, &p, &t, e))
        return -1;
    b->sgemm_gflop_s = 2.0 * side * side * side / (double)t.median_ms * 1e-6;
    p.m = p.n = p.k = wide;
    if (time_it(b, multiply_bf16_once, &p, &t, e)) return -1;
    b->bf16_gflop_s = 2.0 * wide * wide * wide / (double)t.median_ms * 1e-6;
    return gpu_free(p.a, e) || gpu_free(p.b, e) || gpu_free(p.c, e) ? -1 : 0;
}

/* The card's limits, measured in this run. */
static int measure_card(struct bench *b, bool cublas, struct err *e) {
    struct times t;
    struct copied c = {.bytes = b->small ? 1 << 16 : COPY_BYTES};
    if (gpu_alloc(&c.from, c.bytes, e) || gpu_alloc(&c.to, c.bytes, e) ||
        gpu_fill(c.from, 0, c.bytes, e) || time_it(b, copy_once, &c, &t, e))
        return -1;
    b->copy_gb_s = 2 * (double)c.bytes / (double)t.median_ms * 1e-6;
    if (gpu_free(c.from, e) || gpu_free(c.to, e)) return -1;
    return cublas ? measure_products(b, e) : 0;
}

/* ---- the table --------------------------------------------------------------------------------
 */

static void print_rates(const struct bench *b, const struct times *t, double bytes,
                        double operations) {
    if (b->small) {
        printf("  (ran; a dry run has no times)");
        return;
    }
    double gb_s = bytes / (double)t->median_ms * 1e-6;
    double gflop_s = operations / (double)t->median_ms * 1e-6;
    printf("%10.1f  %8.1f ..%8.1f %8.0f %6.0f %% %9.0f", (double)t->median_ms * 1e3,
           (double)t->least_ms * 1e3, (double)t->greatest_ms * 1e3, gb_s, 100 * gb_s / b->copy_gb_s,
           gflop_s);
    if (b->sgemm_gflop_s > 0) printf(" %6.1f %%", 100 * gflop_s / b->sgemm_gflop_s);
}

static int compare_with_cublas(const struct bench *b, struct loaded *l, struct err *e) {
    struct times t;
    struct product p = {.c = l->pointer[0], .a = l->pointer[1], .b = l->pointer[2]};
    p.m = l->data.size[3];
    p.n = l->data.size[4];
    p.k = l->data.size[5];
    if (time_it(b, multiply_once, &p, &t, e)) return -1;
    printf("%-18s %-5s %6s", "  cublasSgemm", "", "");
    print_rates(b, &t, (double)kernel_bytes_min(&l->data.sizes),
                (double)kernel_operations(&l->data.sizes));
    putchar('\n');
    return 0;
}

static void write_figure(const struct bench *b, const struct loaded *l, const struct times *t,
                         bool right, double used) {
    const char *name = l->data.spec->name;
    if (!b->json) return;
    fprintf(b->json, "{\"name\": \"kernel %s\", \"right\": %s, ", name, right ? "true" : "false");
    if (isfinite(used)) fprintf(b->json, "\"of_tolerance\": %.4f, ", used);
    fprintf(b->json,
            "\"s\": %.9g, \"least_s\": %.9g, \"greatest_s\": %.9g, \"bytes\": %.0f, "
            "\"operations\": %.0f, \"type\": \"%s\"}\n",
            (double)t->median_ms * 1e-3, (double)t->least_ms * 1e-3, (double)t->greatest_ms * 1e-3,
            (double)kernel_bytes_min(&l->data.sizes), (double)kernel_operations(&l->data.sizes),
            strcmp(name, "attention_prefill") ? "float" : "bf16");
    fflush(b->json);
}

static void write_roof(const struct bench *b, const struct gpu_about *about) {
    if (!b->json) return;
    fprintf(b->json,
            "{\"roof\": {\"card\": \"%s\", \"compute_capability\": \"%d.%d\", \"driver\": "
            "\"%d.%d\", \"copy_bytes_s\": %.6g, \"float_operations_s\": %.6g, "
            "\"bf16_operations_s\": %.6g}}\n",
            about->name, about->compute_major, about->compute_minor, about->driver / 1000,
            about->driver % 1000 / 10, b->copy_gb_s * 1e9, b->sgemm_gflop_s * 1e9,
            b->bf16_gflop_s * 1e9);
    fflush(b->json);
}

/* 1 when the kernel is wrong. */
static int check_kernel(const struct bench *b, const struct entry *p, struct err *e) {
    static struct loaded l;
    char why[300] = "";
    double used = 0;
    struct times t;
    for (int i = 0; i < 2; i++) {
        if (load(b, p->kernel, p->check[i], true, &l, e)) return -1;
        int status = launch_once(&l, e) || gpu_wait(e) || judge(&l, &used, why, sizeof why, e);
        unload(&l);
        if (status) return -1;
    }
    printf("%-18s %-5s %5.0f%%", p->kernel, why[0] ? "WRONG" : "right", 100 * used);
    if (load(b, p->kernel, b->small ? p->check[0] : p->timed, false, &l, e)) return -1;
    int status = time_it(b, launch_once, &l, &t, e);
    if (!status) {
        print_rates(b, &t, (double)kernel_bytes_min(&l.data.sizes),
                    (double)kernel_operations(&l.data.sizes));
        putchar('\n');
        if (why[0]) printf("    %s\n", why);
        write_figure(b, &l, &t, !why[0], used);
        if (!strcmp(p->kernel, "gemm") && b->sgemm_gflop_s > 0)
            status = compare_with_cublas(b, &l, e);
    }
    unload(&l);
    fflush(stdout);
    return status ? -1 : why[0] != 0;
}

static void print_head(const struct bench *b, const struct gpu_about *about) {
    printf("%s, compute capability %d.%d, driver %d.%d\n", about->name, about->compute_major,
           about->compute_minor, about->driver / 1000, about->driver % 1000 / 10);
    if (!b->small) {
        printf("measured copy bandwidth %.0f GB/s", b->copy_gb_s);
        if (b->sgemm_gflop_s > 0)
            printf(", cublasSgemm %.0f GFLOP/s, in bf16 %.0f GFLOP/s", b->sgemm_gflop_s,
                   b->bf16_gflop_s);
        printf("; median of %d launches, L2 overwritten before each\n", TIMED);
    }
    printf("%-18s %-5s %6s", "kernel", "", "of tol");
    if (!b->small)
        printf("%10s  %20s %8s %8s %9s %8s", "us", "least .. greatest", "GB/s", "of copy",
               "GFLOP/s", "of sgemm");
    putchar('\n');
}

static int run_plan(struct bench *b, const struct gpu_about *about, const char *only, bool roof) {
    struct err e;
    int wrong = 0, ran = 0;
    b->flush_bytes = b->small ? 1 << 12 : FLUSH_BYTES;
    if (gpu_alloc(&b->flush, b->flush_bytes, &e) || gpu_event_create(&b->start, &e) ||
        gpu_event_create(&b->end, &e) || measure_card(b, about->cublas, &e))
        return complain(about->name, &e);
    print_head(b, about);
    if (roof) {
        write_roof(b, about);
        return 0;
    }
    for (size_t i = 0; i < sizeof plan / sizeof *plan; i++) {
        if (only && strcmp(plan[i].kernel, only)) continue;
        int status = check_kernel(b, &plan[i], &e);
        if (status < 0) return complain(plan[i].kernel, &e);
        wrong += status;
        ran++;
    }
    if (ran == 0) {
        fprintf(stderr, "gpu_check: --only: there is no kernel %s\n", only);
        return 2;
    }
    printf("%d kernels, %d wrong\n", ran, wrong);
    return wrong > 0;
}

static int run_once(const struct bench *b, const char *kernel, const char *sizes) {
    static struct loaded l;
    struct err e;
    if (load(b, kernel, sizes, false, &l, &e)) return complain(kernel, &e);
    int status = launch_once(&l, &e) || gpu_wait(&e) ? complain(kernel, &e) : 0;
    unload(&l);
    return status;
}

int main(int argc, char **argv) {
    struct bench b = {.seed = 1};
    struct gpu_about about;
    struct err e;
    const char *only = NULL;
    bool roof = false;
    if (argc < 3) {
        fprintf(stderr, "usage: gpu_check MODULES LAUNCH.json [--small] [--only KERNEL] [--seed N] "
                        "[--json FILE] [--roof]\n");
        return 2;
    }
    b.modules = argv[1];
    b.launch = argv[2];
    if (gpu_open(&about, &e)) {
        char text[600];
        fprintf(stderr, "gpu_check: %s; make gpu-check DRY=1 runs the same plan on the CPU\n",
                err_format(&e, NULL, text, sizeof text));
        return 2;
    }
    if (argc == 4 && !strcmp(argv[3], "--probe")) return 0;
    if (argc == 6 && !strcmp(argv[3], "--once")) return run_once(&b, argv[4], argv[5]);
    for (int i = 3; i < argc; i++) {
        bool value = i + 1 < argc;
        if (!strcmp(argv[i], "--small")) {
            b.small = true;
        } else if (!strcmp(argv[i], "--roof")) {
            roof = true;
        } else if (!strcmp(argv[i], "--only") && value) {
            only = argv[++i];
        } else if (!strcmp(argv[i], "--seed") && value) {
            b.seed = strtoull(argv[++i], NULL, 10);
        } else if (!strcmp(argv[i], "--json") && value) {
            b.json = fopen(argv[++i], "a");
            if (!b.json) {
                fprintf(stderr, "gpu_check: --json: %s can't be written\n", argv[i]);
                return 2;
            }
        } else {
            fprintf(stderr, "gpu_check: unknown argument %s\n", argv[i]);
            return 2;
        }
    }
    int status = run_plan(&b, &about, only, roof);
    if (b.json && fclose(b.json)) return 2;
    return status;
}
