/* cost_fit.c: see cost_fit.h. */
#include "sim/cost_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_STEPS = 40,
    LEAST_OF_KIND = 8,
    GRID_STEPS = 400,   /* a grid point is looked at with so many */
    SEARCH_STEPS = 800, /* and the simplex with so many: enough for 7 parameters */
    TILE = 128,
    TILE_FROM = 64, /* as in hardware.c */
    LINEAR = 4,
    SHAPES = 3
};
static const double delayed = 1.9;

const char *const step_kind_names[STEP_KINDS] = {"prefill", "decode", "mixed", "all"};

/* ---- is there enough to fit? ----------------------------------------------------------------- */

#define LOAD                                                                                       \
    "`servelab load --arrivals poisson --requests 100 --rate-rps R --prompt-tokens 16:1024 "       \
    "--output-tokens 16:128`, with a rate at which requests overlap and a policy that batches "    \
    "them, gives such a log"

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile_of(double *v, size_t n, double p) {
    qsort(v, n, sizeof *v, by_value);
    return n ? v[(size_t)(p * (double)(n - 1) + 0.5)] : NAN;
}

static double new_tokens(const struct cost_sample *s) {
    return (double)s->work.new_tokens;
}
static double sequences(const struct cost_sample *s) {
    return (double)s->work.requests;
}
static double context(const struct cost_sample *s) {
    return (double)s->work.context_tokens / (double)s->work.requests;
}

/* Does `value` at least double from the 5th to the 95th percentile of the steps of these kinds? */
static bool varies(const struct cost_sample *s, size_t n, bool decode,
                   double (*value)(const struct cost_sample *), double *room) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if ((s[i].kind == STEP_DECODE) == decode) room[k++] = value(&s[i]);
    double low = percentile_of(room, k, 0.05);
    return percentile_of(room, k, 0.95) >= 2 * low;
}

static int check_samples(const struct cost_sample *s, size_t n, double *room, struct err *e) {
    size_t decode = 0;
    if (n < LEAST_STEPS)
        return err_set(e, "holds %zu steps, and a fit needs %d or more. " LOAD, n, LEAST_STEPS);
    for (size_t i = 0; i < n; i++) decode += s[i].kind == STEP_DECODE;
    if (n - decode < LEAST_OF_KIND)
        return err_set(e, "has %zu steps that compute prompts, and a fit needs %d or more. " LOAD,
                       n - decode, LEAST_OF_KIND);
    if (decode < LEAST_OF_KIND)
        return err_set(e, "has %zu steps that only decode, and a fit needs %d or more. " LOAD,
                       decode, LEAST_OF_KIND);
    if (!varies(s, n, false, new_tokens, room))
        return err_set(e, "all its prompts are about equally long: the time of a token can't be "
                          "told from the time of a step. " LOAD);
    if (!varies(s, n, true, sequences, room))
        return err_set(e, "all its decode steps have about equally many sequences: the time of a "
                          "sequence can't be told from the time of a step. " LOAD);
    if (!varies(s, n, true, context, room))
        return err_set(e, "all its decode steps have contexts of about the same length: the time "
                          "of attention can't be told from the time of a step. " LOAD);
    return 0;
}

/* ---- the times, linear in four parameters ---------------------------------------------------- */

struct row {
    double tokens, context, attended, sequences, ns, weight;
    enum step_kind kind;
};

/* What the search varies. */
struct shape {
    double ridge; /* new tokens whose operations take as long as the weights' bytes */
    double loss;
    double turn; /* attended positions whose operations take as long as a context token's bytes */
    bool tiled;
};

struct solved {
    double x[LINEAR]; /* ns of a new token, of an attended position, of a sequence, of a step */
    double error;     /* weighted mean of the absolute relative errors */
};

static void features(const struct row *r, const struct shape *s, double f[LINEAR]) {
    double tokens = r->tokens;
    if (s->tiled && tokens > TILE_FROM) tokens = ceil(tokens / TILE) * TILE;
    double longer = fmax(tokens, s->ridge), shorter = fmin(tokens, s->ridge);
    f[0] = longer + s->loss * shorter * shorter / longer;
    f[1] = fmax(r->attended, s->turn * r->context);
    f[2] = r->sequences;
    f[3] = 1;
}

/* Solves a[i][j] x[j] = b[i] for the members of `chosen`; false if they depend on each other. */
static bool solve_subset(double a[LINEAR][LINEAR], const double b[LINEAR], unsigned chosen,
                         double x[LINEAR]) {
    double m[LINEAR][LINEAR + 1];
    int index[LINEAR], n = 0;
    for (int i = 0; i < LINEAR; i++)
        if (chosen >> i & 1) index[n++] = i;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) m[i][j] = a[index[i]][index[j]];
        m[i][n] = b[index[i]];
    }
    for (int c = 0; c < n; c++) { /* symmetric and positive: the diagonal is the pivot */
        if (!(m[c][c] > 1e-11)) return false;
        for (int i = c + 1; i < n; i++) {
            double factor = m[i][c] / m[c][c];
            for (int j = c; j <= n; j++) m[i][j] -= factor * m[c][j];
        }
    }
    memset(x, 0, LINEAR * sizeof *x);
    for (int i = n - 1; i >= 0; i--) {
        double sum = m[i][n];
        for (int j = i + 1; j < n; j++) sum -= m[i][j] * x[index[j]];
        x[index[i]] = sum / m[i][i];
        if (!(x[index[i]] >= 0)) return false;
    }
    return true;
}

/* Least squares without negative parameters, of the normal equations: the best of all subsets. */
static void solve_positive(double a[LINEAR][LINEAR], double b[LINEAR], double x[LINEAR]) {
    double scale[LINEAR], best = 0, y[LINEAR];
    for (int i = 0; i < LINEAR; i++) scale[i] = a[i][i] > 0 ? sqrt(a[i][i]) : 1;
    for (int i = 0; i < LINEAR; i++) {
        for (int j = 0; j < LINEAR; j++) a[i][j] /= scale[i] * scale[j];
        b[i] /= scale[i];
    }
    memset(x, 0, LINEAR * sizeof *x);
    for (unsigned chosen = 1; chosen < 1u << LINEAR; chosen++) {
        if (!solve_subset(a, b, chosen, y)) continue;
        double gain = 0; /* by how much the squared error is below that of no parameter */
        for (int i = 0; i < LINEAR; i++) gain += b[i] * y[i];
        if (gain <= best) continue;
        best = gain;
        for (int i = 0; i < LINEAR; i++) x[i] = y[i] / scale[i];
    }
}

static double row_error(const double f[LINEAR], const double x[LINEAR], double ns) {
    return (f[0] * x[0] + f[1] * x[1] + f[2] * x[2] + f[3] * x[3]) / ns - 1;
}

/* The four parameters of a shape: reweighted until the mean of the absolute errors is least. */
static struct solved solve(const struct row *rows, size_t n, const struct shape *s, int rounds) {
    struct solved now = {.error = INFINITY}, best = now;
    for (int round = 0; round < rounds; round++) {
        double a[LINEAR][LINEAR] = {{0}}, b[LINEAR] = {0}, f[LINEAR], total = 0, error = 0;
        for (size_t k = 0; k < n; k++) {
            features(&rows[k], s, f);
            double off = round ? fabs(row_error(f, now.x, rows[k].ns)) : 1;
            double w = rows[k].weight / fmax(off, 1e-7);
            for (int i = 0; i < LINEAR; i++) {
                double g = w * f[i] / rows[k].ns;
                b[i] += g;
                for (int j = 0; j <= i; j++) a[i][j] += g * f[j] / rows[k].ns;
            }
        }
        for (int i = 0; i < LINEAR; i++)
            for (int j = 0; j < i; j++) a[j][i] = a[i][j];
        solve_positive(a, b, now.x);
        for (size_t k = 0; k < n; k++) {
            features(&rows[k], s, f);
            error += rows[k].weight * fabs(row_error(f, now.x, rows[k].ns));
            total += rows[k].weight;
        }
        now.error = error / total;
        if (now.error < best.error) best = now;
    }
    return best;
}

/* The same with means in place of typical times: least squares, relative to the typical time, over
 * the steps that took less than `delayed` times that. What others delayed is left out. */
static void solve_means(const struct row *rows, size_t n, const struct shape *s,
                        struct solved *now) {
    double a[LINEAR][LINEAR] = {{0}}, b[LINEAR] = {0}, f[LINEAR], x[LINEAR];
    for (size_t k = 0; k < n; k++) {
        features(&rows[k], s, f);
        double typical = rows[k].ns * (1 + row_error(f, now->x, rows[k].ns));
        if (!(rows[k].ns < delayed * typical)) continue;
        for (int i = 0; i < LINEAR; i++) {
            double g = rows[k].weight * f[i] / (typical * typical);
            b[i] += g * rows[k].ns;
            for (int j = 0; j < LINEAR; j++) a[i][j] += g * f[j];
        }
    }
    solve_positive(a, b, x);
    memcpy(now->x, x, sizeof x);
}

/* ---- the search ------------------------------------------------------------------------------ */

struct search {
    const struct row *rows;
    size_t n;
    bool tiled;
};

static struct shape shape_at(const double at[SHAPES], bool tiled) {
    return (struct shape){exp(at[0]), fmin(fmax(at[1], 0), 1), exp(at[2]), tiled};
}

static double error_at(const struct search *q, const double at[SHAPES]) {
    struct shape s = shape_at(at, q->tiled);
    double outside = fmax(0, -at[1]) + fmax(0, at[1] - 1);
    return solve(q->rows, q->n, &s, 12).error * (1 + outside) + 1e-9 * outside;
}

struct vertex {
    double at[SHAPES], error;
};

static int by_error(const void *a, const void *b) {
    const struct vertex *x = a, *y = b;
    return (x->error > y->error) - (x->error < y->error);
}

static struct vertex along(const struct search *q, const double centre[SHAPES],
                           const double from[SHAPES], double by) {
    struct vertex v;
    for (int i = 0; i < SHAPES; i++) v.at[i] = centre[i] + by * (from[i] - centre[i]);
    v.error = error_at(q, v.at);
    return v;
}

/* Nelder and Mead from `start`, with such edges; an edge of 0 keeps the loss as it is. */
static struct vertex simplex(const struct search *q, const struct vertex *start, double edge,
                             double loss_edge) {
    struct vertex v[SHAPES + 1];
    v[0] = *start;
    for (int i = 0; i < SHAPES; i++) {
        v[i + 1] = *start;
        v[i + 1].at[i] += i != 1 ? edge : v[0].at[1] + loss_edge > 1 ? -loss_edge : loss_edge;
        v[i + 1].error = error_at(q, v[i + 1].at);
    }
    for (int step = 0; step < 100; step++) {
        double centre[SHAPES] = {0};
        qsort(v, SHAPES + 1, sizeof *v, by_error);
        if (v[SHAPES].error - v[0].error < 1e-7 * v[0].error) break;
        for (int i = 0; i < SHAPES * SHAPES; i++)
            centre[i % SHAPES] += v[i / SHAPES].at[i % SHAPES] / SHAPES;
        struct vertex *worst = &v[SHAPES], other = along(q, centre, worst->at, -1);
        if (other.error < v[0].error) {
            struct vertex far = along(q, centre, worst->at, -2);
            *worst = far.error < other.error ? far : other;
        } else if (other.error < v[SHAPES - 1].error) {
            *worst = other;
        } else {
            other = along(q, centre, worst->at, other.error < worst->error ? -0.5 : 0.5);
            if (other.error < worst->error)
                *worst = other;
            else
                for (int i = 1; i <= SHAPES; i++) v[i] = along(q, v[0].at, v[i].at, 0.5);
        }
    }
    qsort(v, SHAPES + 1, sizeof *v, by_error);
    return v[0];
}

/* Every stride-th row of each kind, about `most` in all: a stride for all rows would leave a dozen
 * prompts among a server's decode steps. Kinds keep their weights. Returns how many rows. */
static size_t thin(const struct row *rows, size_t n, size_t most, struct row *out) {
    size_t count[STEP_KINDS] = {0}, seen[STEP_KINDS] = {0}, k = 0;
    for (size_t i = 0; i < n; i++) count[rows[i].kind]++;
    for (size_t i = 0; i < n; i++) {
        size_t stride = count[rows[i].kind] * STEP_ALL / most + 1;
        if (seen[rows[i].kind]++ % stride) continue;
        out[k] = rows[i];
        out[k++].weight *= (double)stride;
    }
    return k;
}

static const double losses[] = {0, 0.15, 0.5, 1};
enum { STARTS = sizeof losses / sizeof *losses };

/* The best point of a grid that spans what a machine may be, for each loss. */
static void search_grid(const struct search *q, struct vertex best[STARTS]) {
    for (int i = 0; i < STARTS; i++) {
        best[i].error = INFINITY;
        for (double ridge = 0.25; ridge < 3000; ridge *= 1.6)
            for (double turn = 0.5; turn < 3000; turn *= 2.5) {
                struct vertex v = {{log(ridge), losses[i], log(turn)}, 0};
                struct shape s = shape_at(v.at, q->tiled);
                v.error = solve(q->rows, q->n, &s, 3).error;
                if (v.error < best[i].error) best[i] = v;
            }
    }
}

/* From each start, first with its loss as it is, and then with all three free. */
static struct vertex search_shape(const struct row *rows, size_t n, struct row *room, bool tiled) {
    static const double edges[] = {0.3, 0.1, 0.02, 0.004, 0.0005};
    struct search coarse = {room, thin(rows, n, GRID_STEPS, room), tiled};
    struct vertex best[STARTS], found = {.error = INFINITY};
    search_grid(&coarse, best);
    struct search fine = {room, thin(rows, n, SEARCH_STEPS, room), tiled};
    for (int i = 0; i < STARTS; i++) {
        best[i].error = error_at(&fine, best[i].at);
        struct vertex v = simplex(&fine, &best[i], 0.3, 0);
        v = simplex(&fine, &v, 0.05, 0);
        if (v.error < found.error) found = v;
    }
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        found = simplex(&fine, &found, edges[i], edges[i]);
    return found;
}

/* ---- the result ------------------------------------------------------------------------------ */

static int make_model(const struct row *rows, size_t n, const struct shape *s,
                      const struct solved *x, struct cost_fit *out, struct err *e) {
    double fewest = INFINITY, most = 0, dense = 0, longest_ns = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].tokens > most) longest_ns = rows[i].ns;
        fewest = fmin(fewest, rows[i].tokens);
        most = fmax(most, rows[i].tokens);
        dense = fmax(dense, rows[i].attended / rows[i].context);
    }
    /* operations that don't matter even in the longest prompt are only noise */
    if (!(x->x[0] * (most - s->ridge) > 0.02 * longest_ns))
        return err_set(e,
                       "no step has so many new tokens that they take longer than reading the "
                       "weights: prompts of more than %.0f tokens would. " LOAD,
                       most);
    out->memory_seen = s->ridge > fewest;
    out->context_seen = x->x[1] > 0 && s->turn > 1;
    out->attended_seen = x->x[1] > 0 && s->turn < dense;
    out->model = (struct cost_model){
        .kind = COST_TRANSFORMER,
        .memory_fixed_ps = llround(x->x[0] * s->ridge * 1e3),
        .compute_per_token_ps = llround(x->x[0] * 1e3),
        .memory_per_context_ps = out->context_seen ? llround(x->x[1] * s->turn * 1e3) : 0,
        .compute_per_attended_fs = out->attended_seen ? llround(x->x[1] * 1e6) : 0,
        .head_compute_ps = llround(x->x[2] * 1e3),
        .overhead_ns = llround(x->x[3]),
        .tile_mask = s->tiled ? TILE - 1 : 0,
        .tile_from = s->tiled ? TILE_FROM : 0,
        .overlap_loss_1024 = (int32_t)lround(s->loss * 1024)};
    return 0;
}

static void measure_kind(const struct cost_sample *s, size_t n, enum step_kind kind, double *room,
                         struct cost_fit *out) {
    struct cost_residual *r = &out->residuals[kind];
    double fitted = 0, measured = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (kind == STEP_ALL || s[i].kind == kind) {
            fitted += (double)cost_iteration_ns(&out->model, &s[i].work);
            measured += (double)s[i].ns;
            room[k++] = (double)cost_iteration_ns(&out->model, &s[i].work) / (double)s[i].ns - 1;
        }
    r->n = (int64_t)k;
    r->total = fitted / measured - 1;
    r->bias = percentile_of(room, k, 0.5);
    for (size_t i = 0; i < k; i++) room[i] = fabs(room[i]);
    r->median = percentile_of(room, k, 0.5);
    r->p90 = percentile_of(room, k, 0.9);
}

/* Kinds weigh alike, but none of its steps more than ten times the average one. */
static void make_rows(const struct cost_sample *s, size_t n, struct row *rows) {
    double count[STEP_KINDS] = {0};
    for (size_t i = 0; i < n; i++) count[s[i].kind]++;
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct row){(double)s[i].work.new_tokens,
                               (double)s[i].work.context_tokens,
                               (double)s[i].work.attended,
                               (double)s[i].work.requests,
                               (double)s[i].ns,
                               fmin((double)n / count[s[i].kind], 10),
                               s[i].kind};
}

static int fit_rows(const struct row *rows, size_t n, struct row *room, struct cost_fit *out,
                    struct err *e) {
    struct vertex plain = search_shape(rows, n, room, false);
    struct vertex tiles = search_shape(rows, n, room, true);
    bool tiled = tiles.error < 0.95 * plain.error; /* else the simpler form */
    struct shape s = shape_at(tiled ? tiles.at : plain.at, tiled);
    struct solved x = solve(rows, n, &s, 40);
    solve_means(rows, n, &s, &x);
    return make_model(rows, n, &s, &x, out, e);
}

int cost_fit(const struct cost_sample *samples, size_t n, struct cost_fit *out, struct err *e) {
    *out = (struct cost_fit){0};
    struct row *rows = malloc((2 * n + 1) * sizeof *rows);
    double *room = malloc((n + 1) * sizeof *room);
    int rc = -1;
    if (!rows || !room) {
        err_set(e, "no memory for %zu steps", n);
    } else if (!check_samples(samples, n, room, e)) {
        make_rows(samples, n, rows);
        rc = fit_rows(rows, n, rows + n, out, e);
        for (int kind = 0; kind < STEP_KINDS && !rc; kind++)
            measure_kind(samples, n, (enum step_kind)kind, room, out);
    }
    free(rows);
    free(room);
    return rc;
}
