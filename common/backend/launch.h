/* launch.h: reads a kernel's launch shape from launch.json, and evaluates its expressions.
 *
 * A launch.json beside the kernels has an entry for each of them:
 *
 *   {"rmsnorm": {"grid": ["rows"], "block": [256], "shared_bytes": "0"}}
 *
 * grid and block have one to three dimensions, x first; shared_bytes may be left out. A value is an
 * integer or an expression over the kernel's own sizes (the int32_t parameters of its prototype):
 * whole numbers, names, + - * /, parentheses, ceil(a, b) = a / b rounded up, min(a, b), max(a, b).
 * Division truncates. Refused, naming field and reason: unknown names and fields, division by zero,
 * anything beyond 2^53, text of more than LAUNCH_MAX_TEXT bytes or deeper than LAUNCH_MAX_DEPTH,
 * shapes that some device refuses. kernel_spec.h uses the same expressions for budgets.
 */
#ifndef SERVELAB_BACKEND_LAUNCH_H
#define SERVELAB_BACKEND_LAUNCH_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    LAUNCH_MAX_TEXT = 256,       /* bytes of one expression; the longest in the reference has 110 */
    LAUNCH_MAX_DEPTH = 32,       /* of parentheses */
    LAUNCH_MAX_THREADS = 1024,   /* of a block, on every CUDA device */
    LAUNCH_MAX_SHARED = 48 << 10 /* bytes that every device gives without an attribute */
};

/* The names an expression may use, and their values. */
struct launch_names {
    const char *const *name;
    const int64_t *value;
    int n;
};

/* The value of an expression. 0, or -1 and *e with `field` (may be NULL) and the reason. */
int launch_eval(const char *text, const struct launch_names *names, const char *field, int64_t *out,
                struct err *e);

/* One kernel's entry: expressions; an omitted dimension is "1". */
struct launch_rule {
    char grid[3][LAUNCH_MAX_TEXT + 1];
    char block[3][LAUNCH_MAX_TEXT + 1];
    char shared_bytes[LAUNCH_MAX_TEXT + 1];
};

/* The entry `kernel` of the document text[0..n); entries of other kernels are ignored. 0, or
 * -1 and *e. launch_shape_of checks the syntax of the expressions. */
int launch_rule_parse(const char *text, size_t n, const char *kernel, struct launch_rule *out,
                      struct err *e);
int launch_rule_read(const char *path, const char *kernel, struct launch_rule *out, struct err *e);

struct launch_shape {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic */
};

/* The shape for given sizes, within the limits of every device: a grid of 1 .. 2^31 - 1 by 1 ..
 * 65535 by 1 .. 65535, a block of 1 .. 1024 threads of which at most 64 along z, shared memory up
 * to LAUNCH_MAX_SHARED. 0, or -1 and *e naming "grid[1]" and so on. */
int launch_shape_of(const struct launch_rule *rule, const struct launch_names *names,
                    struct launch_shape *out, struct err *e);

#endif
