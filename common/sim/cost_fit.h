/* cost_fit.h: fits the transformer cost model (cost.h) to measured steps of a machine.
 *
 * A step's time is
 *
 *   matrices(new tokens) + attention(context, attended) + sequences * head + fixed
 *
 * with the terms of cost.h. With the new tokens at which operations overtake bytes, the overlap
 * loss, and the same point of attention given, the times are linear in the four remaining
 * parameters. So the fit searches the first three, on a grid and then by Nelder and Mead's simplex
 * (Computer Journal 1965), and solves for the four, none of them negative.
 *
 * It minimises the mean absolute relative error (by reweighted least squares), so that a step that
 * another program delayed counts no more than one that is a little late. Prefill, decode and mixed
 * steps weigh alike, however many there are of each, as far as there are enough of a kind. Steps
 * are oftener late than early, so a typical time is shorter than the mean, and queues add up means:
 * a last step takes the four parameters from the means of the steps that took less than 1.9 times
 * their typical time.
 *
 * What times can't tell apart is one parameter here: the output matrix's bytes and the overhead are
 * in `overhead_ns`. Reading the weights is part of it too where no step is short enough to wait for
 * them; `memory_seen` is false then.
 */
#ifndef SERVELAB_SIM_COST_FIT_H
#define SERVELAB_SIM_COST_FIT_H

#include "base/err.h"
#include "sim/cost.h"

#include <stddef.h>

enum step_kind { STEP_PREFILL, STEP_DECODE, STEP_MIXED, STEP_ALL, STEP_KINDS };
extern const char *const step_kind_names[STEP_KINDS]; /* "prefill", ... */

struct cost_sample {
    struct sim_work work; /* service_ns is not read */
    enum step_kind kind;
    int64_t ns; /* above 0 */
};

/* Of a kind's relative errors, fitted / measured - 1. */
struct cost_residual {
    int64_t n;
    double median, p90; /* of the absolute errors; NaN without a step */
    double bias;        /* median of the signed errors */
    double total; /* of all steps together: below 0 by what other programs delayed some of them */
};

struct cost_fit {
    struct cost_model model;
    bool memory_seen, context_seen, attended_seen; /* false: the log shows none, and it is 0 */
    struct cost_residual residuals[STEP_KINDS];
};

/* 0, or -1 and *e: too few steps, or steps too much alike to tell the parameters apart; the text
 * says what is missing and which load would show it. */
int cost_fit(const struct cost_sample *samples, size_t n, struct cost_fit *out, struct err *e);

#endif
