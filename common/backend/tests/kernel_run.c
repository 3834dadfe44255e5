/* kernel_run.c: runs one kernel against its reference.
 *
 *   kernel_run KERNEL LAUNCH.json ENTRY SEED "rows=5 d=64" ["rows=1 d=8" ...]
 *   kernel_run --judge REPORT.json KERNEL "rows=5 d=64"
 *
 * Linked with a kernel_glue_*.c and, on the CPU, with one .cu that defines KERNEL. For every shape:
 * fresh data of the seed, one launch by ENTRY of the launch file, every output compared, every
 * input checked for changes. Prints a line a shape; exit status 0 all right, 1 wrong, 2 bad usage
 * or input. The runtime that it is linked with writes the counts (SIMT_REPORT).
 */
#include "backend/kernel_case.h"
#include "backend/launch.h"
#include "kernel_glue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct kernel_case data;
    void *device[KERNEL_MAX_PARAMS];
    char why[600]; /* the first error, "" if there is none */
};

static void wrong(struct run *r, const char *name, const char *what) {
    if (!r->why[0]) snprintf(r->why, sizeof r->why, "%s: %s", name, what);
}

static void upload(struct run *r) {
    for (int p = 0; p < kernel_param_count(r->data.spec); p++) {
        const struct kernel_tensor *t = &r->data.tensor[p];
        if (!t->n) continue;
        const char *error = glue_alloc(&r->device[p], t->bytes);
        if (!error) error = glue_upload(r->device[p], t->data, t->bytes);
        if (error) wrong(r, r->data.spec->param[p].name, error);
    }
}

static void look_at(struct run *r, int p) {
    const struct kernel_tensor *t = &r->data.tensor[p];
    char text[200];
    void *got = malloc(t->bytes);
    const char *error = got ? glue_download(got, r->device[p], t->bytes) : "out of memory";
    if (error) {
        wrong(r, r->data.spec->param[p].name, error);
    } else if (t->want) {
        struct comparison c = kernel_case_check(&r->data, p, got);
        if (!c.ok) wrong(r, r->data.spec->param[p].name, comparison_text(&c, text, sizeof text));
    } else if (kernel_case_input_changed(&r->data, p, got)) {
        wrong(r, r->data.spec->param[p].name, "the input was changed");
    }
    free(got);
}

static void launch(struct run *r, const struct launch_rule *rule) {
    struct kernel_names n;
    struct launch_shape shape;
    struct err e;
    void *args[KERNEL_MAX_PARAMS];
    kernel_launch_names(&r->data.sizes, &n);
    if (launch_shape_of(rule, &(struct launch_names){n.name, n.value, n.n}, &shape, &e)) {
        wrong(r, e.field, e.text);
        return;
    }
    kernel_case_args(&r->data, r->device, args);
    const char *error = glue_launch(&shape, args);
    if (error) wrong(r, "launch", error);
}

static int complain(const char *what, const struct err *e) {
    fprintf(stderr, "kernel_run: %s: %s %s\n", what, e->field, e->text);
    return 2;
}

/* 1 if the kernel was wrong. */
static int run_shape(const struct kernel_spec *k, const struct launch_rule *rule, uint64_t seed,
                     const char *sizes_text) {
    static struct run r;
    struct kernel_sizes sizes;
    struct err e;
    memset(&r, 0, sizeof r);
    if (kernel_sizes_parse(k, sizes_text, &sizes, &e) ||
        kernel_case_init(&r.data, &sizes, seed, &e))
        exit(complain(sizes_text, &e));
    upload(&r);
    if (!r.why[0]) launch(&r, rule);
    for (int p = 0; p < kernel_param_count(k); p++) {
        if (r.data.tensor[p].n && !r.why[0]) look_at(&r, p);
        if (r.device[p]) glue_free(r.device[p]);
    }
    kernel_case_release(&r.data);
    printf("%s %s: %s\n", k->name, sizes_text, r.why[0] ? r.why : "right");
    return r.why[0] != 0;
}

static int judge(const char *report, const char *kernel, const char *sizes_text) {
    const struct kernel_spec *k = kernel_spec_find(kernel);
    struct kernel_sizes sizes;
    struct kernel_counts counts;
    struct err e = {.text = "no such kernel"};
    if (!k || kernel_sizes_parse(k, sizes_text, &sizes, &e) ||
        kernel_counts_read(report, kernel, &counts, &e))
        return complain(kernel, &e);
    printf("version %d\n", kernel_version_reached(&sizes, &counts, NULL));
    for (int i = 0; i < KERNEL_COUNTERS; i++)
        printf("%s %lld\n", kernel_counter_name(i), (long long)counts.value[i]);
    for (int i = 0; i < kernel_budget_count(k); i++) {
        const struct kernel_budget *b = &k->budget[i];
        int64_t limit;
        if (kernel_eval(&sizes, b->limit, &limit, &e)) return complain(b->limit, &e);
        printf("budget %d %s %lld\n", b->version, kernel_counter_name(b->counter),
               (long long)limit);
    }
    return 0;
}

int main(int argc, char **argv) {
    struct launch_rule rule;
    struct err e;
    if (argc == 5 && !strcmp(argv[1], "--judge")) return judge(argv[2], argv[3], argv[4]);
    if (argc < 6) {
        fprintf(stderr, "usage: kernel_run KERNEL LAUNCH.json ENTRY SEED \"rows=5 d=64\" ...\n");
        return 2;
    }
    const struct kernel_spec *k = kernel_spec_find(argv[1]);
    if (!k) return complain(argv[1], &(struct err){.text = "no such kernel"});
    if (launch_rule_read(argv[2], argv[3], &rule, &e)) return complain(argv[2], &e);
    const char *error = glue_open(k->name);
    if (error) {
        fprintf(stderr, "kernel_run: %s: %s\n", k->name, error);
        return 2;
    }
    int bad = 0;
    for (int i = 5; i < argc; i++) bad |= run_shape(k, &rule, strtoull(argv[4], NULL, 10), argv[i]);
    return bad;
}
