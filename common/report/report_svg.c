/* report_svg.c: the pictures of a report. See report_print.h. */
#include "report/report_print.h"

#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t report_add_wide(struct buffer *b, const char *text) {
    size_t n = utf8_char_bytes(text, strnlen(text, 4));
    bool plain = *text == '\n' || (n > 0 && utf8_is_plain(utf8_decode(text, n)));
    if (plain && n == 1) return 0;
    if (plain)
        buffer_add(b, text, n);
    else
        buffer_puts(b, "\xef\xbf\xbd"); /* U+FFFD */
    return n > 0 ? n : 1;
}

void report_escape(struct buffer *b, const char *text) {
    for (size_t wide; *text; text++) {
        if ((wide = report_add_wide(b, text)) > 0) {
            text += wide - 1;
            continue;
        }
        const char *as = *text == '&'   ? "&amp;"
                         : *text == '<' ? "&lt;"
                         : *text == '>' ? "&gt;"
                         : *text == '"' ? "&quot;"
                                        : NULL;
        if (as)
            buffer_puts(b, as);
        else
            buffer_add(b, text, 1);
    }
}

/* ---- the curve ------------------------------------------------------------------------------- */

/* Latency over offered load. What is infinite is drawn at the top edge, as an open mark. */
enum { WIDTH = 720, HEIGHT = 300, LEFT = 70, TOP = 30, RIGHT = 20, BOTTOM = 45 };
enum { ONE_LOAD = (WIDTH - LEFT - RIGHT) / 200 }; /* see join() */
struct axes {
    double x_max, y_min, y_max; /* requests/s; ms, logarithmic */
};

static const struct {
    const char *path, *name, *class;
} series[] = {{"latency.e2e.p99", "e2e p99", "s1"},
              {"latency.client_ttft.p99", "TTFT p99", "s2"},
              {"latency.client_ttft.p50", "TTFT p50", "s3"}};
enum { N_SERIES = sizeof series / sizeof *series };

static double x_at(const struct axes *a, double rps) {
    return LEFT + rps / a->x_max * (WIDTH - LEFT - RIGHT);
}

static double y_at(const struct axes *a, double ms) {
    double share = log(ms / a->y_min) / log(a->y_max / a->y_min);
    return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
}

/* The times of the points that are as far left as those that were measured. */
static void fit_times(struct axes *a, const cJSON *points) {
    const cJSON *p;
    cJSON_ArrayForEach(p, points) {
        if (!(report_number(p, "rates.offered_rps") <= a->x_max)) continue;
        for (int i = 0; i < N_SERIES; i++) {
            double ms = report_number(report_at(p, series[i].path), "ns") / 1e6;
            if (!(ms > 0)) continue;
            a->y_min = fmin(a->y_min, ms);
            a->y_max = fmax(a->y_max, ms);
        }
    }
}

static struct axes fit(const cJSON *points, const cJSON *predicted) {
    struct axes a = {0, INFINITY, 0};
    const cJSON *p;
    cJSON_ArrayForEach(p, points) a.x_max =
        fmax(a.x_max, report_number(p, "rates.offered_rps") * 1.1);
    fit_times(&a, points);
    fit_times(&a, predicted);
    if (!(a.y_max > 0)) a.y_min = a.y_max = 1;
    a.y_min = pow(10, floor(log10(a.y_min)));
    a.y_max = pow(10, ceil(log10(a.y_max * 1.01)));
    return a;
}
/* The next of 1, 2, 5, 10, ... at or above v > 0. */
static double round_step(double v) {
    double ten = pow(10, floor(log10(v)));
    return v <= ten ? ten : v <= 2 * ten ? 2 * ten : v <= 5 * ten ? 5 * ten : 10 * ten;
}

static void grid(struct buffer *b, const struct axes *a) {
    for (double ms = a->y_min; ms <= a->y_max * 1.001; ms *= 10)
        buffer_printf(b,
                      "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g %s</text>\n",
                      LEFT, WIDTH - RIGHT, y_at(a, ms), y_at(a, ms), LEFT - 6, y_at(a, ms) + 4,
                      ms < 1e4 ? ms : ms / 1e3, ms < 1e4 ? "ms" : "s"); /* a long number is cut */
    double step = round_step(a->x_max / 5);
    for (double rps = 0; rps <= a->x_max; rps += step)
        buffer_printf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                      x_at(a, rps), HEIGHT - BOTTOM + 18, rps);
    buffer_printf(
        b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">offered load, requests/s</text>\n",
        (WIDTH + LEFT) / 2, HEIGHT - 8);
}

/* The bands: underloaded up to the knee, overloaded above saturation, as far as was measured.
 * Points without a region are not compared and have no band. Without a stable point all that was
 * measured is overloaded, and nothing is known of lower loads. */
static void bands(struct buffer *b, const cJSON *tree, const struct axes *a) {
    const cJSON *points = report_at(tree, "points"), *p;
    double knee = report_number(tree, "curve.knee"), end = report_number(tree, "curve.saturation");
    double first = INFINITY, last = 0;
    cJSON_ArrayForEach(p, points) {
        if (!cJSON_IsString(report_at(p, "region"))) continue;
        first = fmin(first, report_number(p, "rates.offered_rps"));
        last = fmax(last, report_number(p, "rates.offered_rps"));
    }
    if (!(first <= last)) return;
    double under = 0, from = first, to = first;
    if (isfinite(end)) {
        to = report_number(cJSON_GetArrayItem(points, (int)end), "rates.offered_rps");
        from = under = 0;
        if (isfinite(knee))
            from = under =
                report_number(cJSON_GetArrayItem(points, (int)knee), "rates.offered_rps");
        to = fmax(from, to);
    }
    const struct {
        double from, to;
        const char *name, *class;
    } all[] = {{0, under, "underloaded", "under"},
               {from, to, "knee", "knee"},
               {to, last, "overloaded", "over"}};
    for (int i = 0; i < 3; i++) {
        double x = x_at(a, all[i].from), width = x_at(a, all[i].to) - x;
        if (width <= 0) continue;
        buffer_printf(b,
                      "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>"
                      "<text x=\"%.1f\" y=\"%d\">%s</text>\n",
                      all[i].class, x, TOP, width, HEIGHT - TOP - BOTTOM, x + 4, TOP + 14,
                      width > 70 ? all[i].name : "");
    }
}

/* Where a point's mark stands. false: it has none. */
static bool place(const struct axes *a, const cJSON *p, int i, double *x, double *y) {
    const cJSON *percentile = report_at(p, series[i].path);
    double ms = report_number(percentile, "ns") / 1e6;
    bool infinite = cJSON_IsTrue(report_at(percentile, "infinite"));
    *x = x_at(a, report_number(p, "rates.offered_rps"));
    *y = infinite ? TOP : y_at(a, ms);
    return (ms > 0 || infinite) && *x <= WIDTH - RIGHT;
}

struct spot {
    double x, y;
};

static int by_load(const void *a, const void *b) {
    double x = ((const struct spot *)a)->x, y = ((const struct spot *)b)->x;
    return (x > y) - (x < y);
}

static int by_height(const void *a, const void *b) {
    double x = ((const struct spot *)a)->y, y = ((const struct spot *)b)->y;
    return (x > y) - (x < y);
}

/* Joins the marks of a series in the order of load. Marks at one load, to half a per cent of the
 * axis, are runs of one measurement: a line from one to the next would show no change with the
 * load. The line goes through the median of them; of an even number, through the faster of the
 * middle two, as percentile_nearest_rank does. */
static void join(struct buffer *b, const struct axes *a, const cJSON *points, int i,
                 const char *more) {
    struct spot *all = calloc((size_t)cJSON_GetArraySize(points) + 1, sizeof *all);
    const cJSON *p;
    size_t n = 0;
    if (!all) return;
    cJSON_ArrayForEach(p, points) n += place(a, p, i, &all[n].x, &all[n].y);
    qsort(all, n, sizeof *all, by_load);
    buffer_printf(b, "<polyline class=\"%s%s\" points=\"", series[i].class, more);
    for (size_t from = 0, end; from < n; from = end) {
        for (end = from; end < n && all[end].x - all[from].x <= ONE_LOAD; end++) continue;
        qsort(all + from, end - from, sizeof *all, by_height);
        const struct spot *median = &all[from + (end - from) / 2]; /* y grows downwards */
        buffer_printf(b, "%.1f,%.1f ", median->x, median->y);
    }
    buffer_puts(b, "\"/>\n");
    free(all);
}

static void mark(struct buffer *b, const struct axes *a, const cJSON *p, int i) {
    bool infinite = cJSON_IsTrue(report_at(report_at(p, series[i].path), "infinite"));
    bool valid = cJSON_IsTrue(report_at(p, "run_valid"));
    char ms[REPORT_CELL];
    double x, y;
    if (!place(a, p, i, &x, &y)) return;
    buffer_printf(b, "<circle class=\"%s%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
                  series[i].class, infinite || !valid ? " open" : "", x, y);
    report_escape(b, report_string(p, "run"));
    buffer_printf(b, ": %s %s ms, %.4g completed/s%s</title></circle>\n", series[i].name,
                  report_ms(ms, report_at(p, series[i].path)),
                  report_number(p, "rates.completed_rps"), valid ? "" : ", the run is invalid");
}

void report_curve_svg(struct buffer *b, const cJSON *tree) {
    const cJSON *points = report_at(tree, "points"), *p;
    const cJSON *predicted = report_at(tree, "predicted.points");
    struct axes a = fit(points, predicted);
    buffer_printf(
        b,
        "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"latency over offered load\">"
        "\n",
        WIDTH, HEIGHT);
    bands(b, tree, &a);
    grid(b, &a);
    for (int i = 0; i < N_SERIES; i++) {
        buffer_printf(b, "<text class=\"%s\" x=\"%d\" y=\"20\">%s</text>\n", series[i].class,
                      LEFT + 110 * i, series[i].name);
        if (predicted) join(b, &a, predicted, i, " predicted");
        join(b, &a, points, i, "");
        cJSON_ArrayForEach(p, points) mark(b, &a, p, i);
    }
    buffer_puts(b, "</svg>\n");
}

/* ---- the lanes of one request ---------------------------------------------------------------- */

static void bar(struct buffer *b, int row, double from_ns, double to_ns, double longest_ns,
                const char *class, const char *name) {
    double x = LEFT + from_ns / longest_ns * (WIDTH - LEFT - RIGHT);
    double width = (to_ns - from_ns) / longest_ns * (WIDTH - LEFT - RIGHT);
    if (!isfinite(x) || !isfinite(width)) return;
    buffer_printf(b,
                  "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"18\"><title>%s "
                  "%.1f ms</title></rect>\n",
                  class, x, 4 + 24 * row, fmax(width, 1), name, (to_ns - from_ns) / 1e6);
}

void report_lanes_svg(struct buffer *b, const cJSON *timeline, double longest_ns) {
    double queue = report_number(timeline, "queue_delay_ns");
    double first = report_number(timeline, "server_ttft_ns");
    double byte = report_number(timeline, "client_ttft_ns");
    double end = report_number(timeline, "e2e_ns");
    buffer_printf(b,
                  "<svg viewBox=\"0 0 %d 54\" role=\"img\" aria-label=\"lanes of a request\">\n"
                  "<text x=\"0\" y=\"18\">client</text><text x=\"0\" y=\"42\">server</text>\n",
                  WIDTH);
    bar(b, 0, 0, byte, longest_ns, "wait", "waits for the first byte");
    bar(b, 0, byte, end, longest_ns, "read", "reads the answer");
    bar(b, 1, 0, queue, longest_ns, "queue", "in the queue");
    bar(b, 1, queue, first, longest_ns, "prompt", "computes the prompt");
    buffer_puts(b, "</svg>\n");
}
