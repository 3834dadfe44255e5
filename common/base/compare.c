/* compare.c: got against want. See compare.h. */
#include "base/compare.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool finite_float(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return (u >> 23 & 0xff) != 0xff;
}
static bool finite_double(double d) {
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return (u >> 52 & 0x7ff) != 0x7ff;
}

/* The greatest |want|; sets a fault when the reference is unusable. */
static const char *reference_fault(const double *want, size_t n, double *greatest) {
    *greatest = 0;
    if (n == 0) return "nothing to compare";
    for (size_t i = 0; i < n; i++) {
        if (!finite_double(want[i])) return "the reference is not finite";
        double a = want[i] < 0 ? -want[i] : want[i];
        if (a > *greatest) *greatest = a;
    }
    return *greatest > 0 ? NULL : "the reference is all zeros";
}

static void look_at(struct comparison *c, size_t i, float got, double want, double magnitude,
                    double tolerance) {
    double error = INFINITY;
    if (finite_float(got)) {
        double d = (double)got - want;
        error = (d < 0 ? -d : d) / magnitude;
    }
    if (i > 0 && error <= c->error) return;
    c->worst = i;
    c->got = (double)got;
    c->want = want;
    c->error = error;
    c->used = error / tolerance;
}

struct comparison compare_floats(const float *got, const double *want, const double *magnitude,
                                 size_t n, double tolerance) {
    struct comparison c = {.n = n};
    double greatest;
    c.fault = reference_fault(want, n, &greatest);
    if (!c.fault && !(tolerance > 0 && finite_double(tolerance)))
        c.fault = "the tolerance is not a positive number";
    for (size_t i = 0; i < n && !c.fault; i++) {
        double m = magnitude ? magnitude[i] : greatest;
        if (!finite_double(m) || m <= 0)
            c.fault = "a magnitude is not a positive number";
        else
            look_at(&c, i, got[i], want[i], m, tolerance);
    }
    c.ok = !c.fault && finite_double(c.used) && c.used <= 1;
    return c;
}

struct comparison compare_bits(const float *got, const float *want, size_t n) {
    struct comparison c = {.n = n,
                           .fault = n ? "the reference is all zeros" : "nothing to compare"};
    for (size_t i = 0; i < n; i++) {
        if (!finite_float(want[i]))
            return (struct comparison){.n = n, .fault = "the reference is not finite"};
        if (want[i] != 0) c.fault = NULL;
    }
    if (c.fault) return c;
    c.ok = true;
    for (size_t i = 0; i < n; i++) {
        if (memcmp(&got[i], &want[i], sizeof *got) == 0) continue;
        double d = (double)got[i] - (double)want[i], m = fabs((double)want[i]);
        double error = finite_float(got[i]) && m > 0 ? fabs(d) / m : INFINITY;
        if (!c.ok && !(error > c.error)) continue;
        c = (struct comparison){.n = n,
                                .worst = i,
                                .got = (double)got[i],
                                .want = (double)want[i],
                                .error = error,
                                .used = INFINITY};
    }
    return c;
}

const char *comparison_text(const struct comparison *c, char *buf, size_t cap) {
    if (c->fault)
        snprintf(buf, cap, "%s", c->fault);
    else if (!isfinite(c->got)) /* no error figure, and no "-nan" */
        snprintf(buf, cap, "element %zu of %zu: got %s, want %.9g", c->worst, c->n,
                 isnan(c->got) ? "NaN"
                 : c->got > 0  ? "infinity"
                               : "-infinity",
                 c->want);
    else
        snprintf(buf, cap,
                 "element %zu of %zu: got %.9g, want %.9g, error %.2g of the magnitude, %.3g times "
                 "the tolerance",
                 c->worst, c->n, c->got, c->want, c->error, c->used);
    return buf;
}
