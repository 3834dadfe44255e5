/* curve_svg.h: a sweep as a picture: latency against offered load, with the regions shaded, and the
 * throughput-latency curve, for a projector (one SVG without references to anything outside).
 *
 * Policies differ by colour, by marker and by dashes, so that a print in grey still tells them
 * apart; how a marker is filled tells the region of its point. For readers that don't look, the
 * picture carries a title and a description, and for programs every point carries its figures as
 * they stand in the JSON (data-offered-rps, data-throughput-rps, data-mean-latency-ns, data-region)
 * and every panel its axes (data-x-min ...), so that a test can put each point to its place again.
 *
 * Points without a latency (no request was complete) can't be drawn; the JSON has them. Not here:
 * what the points mean (sim/sweep.h).
 */
#ifndef SERVELAB_SIM_CURVE_SVG_H
#define SERVELAB_SIM_CURVE_SVG_H

#include "sim/sweep.h"

struct curve_text {
    const char *workload, *machine; /* one line each, any text: it is escaped */
};

/* Writes the whole picture. 0, or -1 when out took it not. */
int curve_svg_write(FILE *out, const struct sweep *s, const struct curve_text *t);

#endif
