/* reference.c: stored likelihoods and their comparison. See reference.h. */
#include "quality/reference.h"

#include "base/target.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNITS_PER_NAT 1e5
static const char MAGIC[] = "servelab.answer-nll.v1";
enum { MAX_UNITS = 2000 * 100000 /* 2,000 nats: fifty tokens of probability e^-40 */ };

static double likelihood(const struct evaluation_item *item) {
    return item->tail_nll + item->answer_nll;
}

static int32_t to_units(double nll) {
    double u = nll * UNITS_PER_NAT;
    return u > MAX_UNITS || isnan(u) ? MAX_UNITS : (int32_t)lround(u);
}

static int read_heading(struct nll_reference *ref, FILE *f, struct err *e) {
    char line[256], magic[32];
    unsigned long long seed;
    if (!fgets(line, sizeof line, f) ||
        sscanf(line, "%31s seed %llu logs %d per-kind %d model %95[^\n]", magic, &seed,
               &ref->n_logs, &ref->per_kind, ref->model) != 5 ||
        strcmp(magic, MAGIC))
        return err_at(e, 1, NULL, "expected '%s seed S logs N per-kind N model NAME'", MAGIC);
    ref->seed = seed;
    if (ref->n_logs < 1 || ref->n_logs > 10000 || ref->per_kind < 1 || ref->per_kind > 100)
        return err_at(e, 1, NULL, "logs or per-kind is out of range");
    return 0;
}

static int read_units(struct nll_reference *ref, FILE *f, struct err *e) {
    int32_t per_log = ref->per_kind * QUESTION_KINDS;
    ref->units = malloc((size_t)ref->n_logs * (size_t)per_log * sizeof *ref->units);
    if (!ref->units) return err_set(e, "out of memory");
    for (int32_t i = 0; i < ref->n_logs * per_log; i++) {
        int32_t *u = &ref->units[i];
        if (fscanf(f, "%d", u) != 1 || *u < 0 || *u > MAX_UNITS)
            return err_at(e, 2 + i / per_log, NULL, "number %d isn't from 0 to %d", i % per_log + 1,
                          MAX_UNITS);
    }
    char rest[2];
    if (fscanf(f, "%1s", rest) == 1)
        return err_at(e, 2 + ref->n_logs, NULL, "has more numbers than the heading gives");
    return 0;
}

int nll_reference_read(struct nll_reference *ref, const char *path, struct err *e) {
    *ref = (struct nll_reference){0};
    FILE *f = fopen(path, "r");
    if (!f) return err_set(e, "can't be opened: %s", strerror(errno));
    int rc = read_heading(ref, f, e);
    if (!rc) rc = read_units(ref, f, e);
    fclose(f);
    if (rc) nll_reference_release(ref);
    return rc;
}

void nll_reference_release(struct nll_reference *ref) {
    free(ref->units);
    *ref = (struct nll_reference){0};
}

/* Opens the temporary file that is renamed to `path` when it is complete. */
static FILE *open_beside(const char *path, char *real, char *temporary, size_t cap, struct err *e) {
    int kind = target_find(path, real, cap, e);
    if (kind == TARGET_STREAM) err_set(e, "is not a regular file; name one");
    if (kind != TARGET_REPLACE) return NULL;
    if (snprintf(temporary, cap, "%s.new", real) >= (int)cap) {
        err_set(e, "the path is too long");
        return NULL;
    }
    FILE *f = fopen(temporary, "w");
    if (!f) err_set(e, "can't be written: %s", strerror(errno));
    return f;
}

int nll_reference_writable(const char *path, struct err *e) {
    char real[4096], temporary[4096];
    FILE *f = open_beside(path, real, temporary, sizeof temporary, e);
    if (!f) return -1;
    fclose(f);
    unlink(temporary);
    return 0;
}

int nll_reference_write(const char *path, const char *model, const struct evaluation_plan *plan,
                        const struct evaluation *ev, struct err *e) {
    char real[4096], temporary[4096];
    FILE *f = open_beside(path, real, temporary, sizeof temporary, e);
    if (!f) return -1;
    int32_t per_log = ev->n_items / plan->n_logs;
    fprintf(f, "%s seed %llu logs %d per-kind %d model %s\n", MAGIC, (unsigned long long)plan->seed,
            plan->n_logs, plan->per_kind, model);
    for (int32_t i = 0; i < ev->n_items; i++)
        fprintf(f, "%d%c", to_units(likelihood(&ev->items[i])), (i + 1) % per_log ? ' ' : '\n');
    bool written = !ferror(f);
    if (fclose(f) || !written || rename(temporary, real)) {
        unlink(temporary);
        return err_set(e, "can't be written: %s", strerror(errno));
    }
    return 0;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct nll_verdict nll_compare(const struct nll_reference *ref, const struct evaluation_plan *plan,
                               bool recall_only, const struct evaluation *ev) {
    struct nll_verdict out = {VERDICT_NOT_EVALUATED, 0, 0};
    if (!ref->units || ref->per_kind != plan->per_kind) return out;
    int32_t ref_per_log = ref->per_kind * QUESTION_KINDS,
            per_log = recall_only ? plan->per_kind : ref_per_log;
    double *shifts = malloc((size_t)ev->n_items * sizeof *shifts + 1);
    INVARIANT(shifts);
    for (int32_t k = 0; k < plan->n_logs; k++) {
        uint64_t seed = plan->seed + (uint64_t)k;
        if (seed < ref->seed || seed >= ref->seed + (uint64_t)ref->n_logs) continue;
        const int32_t *units = ref->units + (size_t)(seed - ref->seed) * (size_t)ref_per_log;
        for (int32_t i = 0; i < per_log; i++)
            shifts[out.compared++] =
                fabs(likelihood(&ev->items[k * per_log + i]) - units[i] / UNITS_PER_NAT);
    }
    if (out.compared) {
        qsort(shifts, (size_t)out.compared, sizeof *shifts, ascending);
        out.median_shift = shifts[out.compared / 2];
        out.verdict = out.median_shift <= NLL_TOLERANCE_NATS ? VERDICT_PASSED : VERDICT_FAILED;
    }
    free(shifts);
    return out;
}
