/* curve_svg.h: draws a sweep (sim/sweep.h) as one self-contained SVG for a projector: latency
 * against offered load with shaded regions, and the throughput-latency curve.
 *
 * Policies differ by colour, marker and dashes, so that they can be told apart in a grey print; the
 * fill of a marker shows the region of its point. The picture has a title and a description for
 * screen readers. Every point has its figures as in the JSON (data-offered-rps,
 * data-throughput-rps, data-mean-latency-ns, data-region) and every panel its axes (data-x-min
 * ...), so that a test can compute where each point belongs.
 *
 * Points without a latency (no request was complete) aren't drawn; the JSON has them.
 */
#ifndef SERVELAB_SIM_CURVE_SVG_H
#define SERVELAB_SIM_CURVE_SVG_H

#include "sim/sweep.h"

struct curve_text {
    const char *workload, *machine; /* one line each; escaped here */
};

/* 0, or -1: writing to `out` failed. */
int curve_svg_write(FILE *out, const struct sweep *s, const struct curve_text *t);

#endif
