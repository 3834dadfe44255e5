/* curve_svg.c: the picture of a sweep. See curve_svg.h. */
#include "sim/curve_svg.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1280,
    LEAST_HEIGHT = 720,
    TOP = 132,
    PANEL_HEIGHT = 368,
    STRIP = 22,
    STRIP_STEP = 32
};

/* Okabe and Ito's colours, which people with the common kinds of colour blindness can distinguish.
 */
static const struct style {
    const char *colour, *dashes;
    const char *marker; /* a path around 0,0 */
} STYLES[SWEEP_MAX_POLICIES] = {
    {"#0072B2", "none", "M-6,0A6,6 0 1 0 6,0A6,6 0 1 0 -6,0Z"},
    {"#D55E00", "10 5", "M-6,-6H6V6H-6Z"},
    {"#009E73", "2 5", "M0,-7L7,6H-7Z"},
    {"#CC79A7", "14 4 2 4", "M0,-8L8,0L0,8L-8,0Z"},
    {"#7A5C00", "5 3", "M0,7L7,-6H-7Z"},
    {"#444444", "14 6", "M-7,-2H-2V-7H2V-2H7V2H2V7H-2V2H-7Z"},
};

static const struct {
    const char *fill, *name;
} REGIONS[] = {[REGION_UNDERLOADED] = {"#DFF1E4", "underloaded"},
               [REGION_KNEE] = {"#FFF0B8", "knee"},
               [REGION_OVERLOADED] = {"url(#over)", "overloaded"}};

/* One panel's axes. x is linear from 0, y logarithmic. */
struct panel {
    const char *name, *x_label;
    double left, width, x_max, y_min, y_max; /* latency in seconds */
    bool x_is_throughput;
};

struct drawing {
    FILE *out;
    const struct sweep *s;
    int height; /* grows with the strips */
    struct operating_point *points[SWEEP_MAX_POLICIES];
};

static void fit_latency(const struct drawing *d, double *lo, double *hi);
static double fit_x(const struct drawing *d, bool throughput);
static void head(const struct drawing *d, const struct curve_text *t);
static void draw_panel(const struct drawing *d, const struct panel *p);
static void legend(const struct drawing *d, double left);
static void text(FILE *out, double x, double y, const char *anchor, int size, const char *more,
                 const char *words);

int curve_svg_write(FILE *out, const struct sweep *s, const struct curve_text *t) {
    int below = TOP + PANEL_HEIGHT + 56 + STRIP_STEP * (int)s->n_policies + 60;
    struct drawing d = {.out = out, .s = s, .height = below > LEAST_HEIGHT ? below : LEAST_HEIGHT};
    double lo, hi;
    for (size_t i = 0; i < s->n_policies; i++) d.points[i] = sweep_points(&s->policies[i]);
    fit_latency(&d, &lo, &hi);
    struct panel load = {"load", "offered load, requests/s", 130, 500, fit_x(&d, false), lo, hi,
                         false};
    struct panel through = {
        "throughput", "throughput, complete requests/s", 740, 500, fit_x(&d, true), lo, hi, true};
    head(&d, t);
    text(out, load.left, TOP - 10, "start", 17, "font-weight=\"bold\"",
         "Latency against what is offered");
    text(out, through.left, TOP - 10, "start", 17, "font-weight=\"bold\"",
         "Throughput-latency curve");
    draw_panel(&d, &load);
    draw_panel(&d, &through);
    legend(&d, through.left);
    fputs("</svg>\n", out);
    for (size_t i = 0; i < s->n_policies; i++) free(d.points[i]);
    return ferror(out) ? -1 : 0;
}

/* ---- small things ---- */

static void escaped(FILE *out, const char *text) {
    for (const char *c = text; *c; c++) {
        const char *as = *c == '&'   ? "&amp;"
                         : *c == '<' ? "&lt;"
                         : *c == '>' ? "&gt;"
                         : *c == '"' ? "&quot;"
                                     : NULL;
        if (as)
            fputs(as, out);
        else
            fputc((unsigned char)*c < 0x20 ? '?' : *c, out);
    }
}

static double x_px(const struct panel *p, double x) {
    return p->left + x / p->x_max * p->width;
}

static double y_px(const struct panel *p, double y) {
    return TOP + PANEL_HEIGHT * (log(p->y_max) - log(y)) / (log(p->y_max) - log(p->y_min));
}

static bool drawable(const struct operating_point *o) {
    return o->mean_latency_ns > 0; /* not NaN */
}

static double latency_s(const struct operating_point *o) {
    return o->mean_latency_ns / (double)NS_PER_S;
}

static double x_of(const struct panel *p, const struct operating_point *o) {
    return p->x_is_throughput ? o->throughput_rps : o->offered_rps;
}

/* 1, 2 or 5 times a power of ten, about a sixth of `most`. */
static double nice_step(double most) {
    double rough = most / 6, power = pow(10, floor(log10(rough)));
    double f = rough / power;
    return power * (f < 1.5 ? 1 : f < 3.5 ? 2 : f < 7.5 ? 5 : 10);
}

static void text(FILE *out, double x, double y, const char *anchor, int size, const char *more,
                 const char *words) {
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\" %s>", x, y,
            anchor, size, more);
    escaped(out, words);
    fputs("</text>\n", out);
}

/* ---- axes ---- */

/* Widens [lo, hi] to steps of 1, 2, 5, 10 around the points. */
static void fit_latency(const struct drawing *d, double *lo, double *hi) {
    *lo = INFINITY;
    *hi = 0;
    for (size_t i = 0; i < d->s->n_policies; i++)
        for (size_t k = 0; k < d->s->policies[i].n; k++) {
            const struct operating_point *o = &d->points[i][k];
            if (!drawable(o)) continue;
            *lo = fmin(*lo, latency_s(o));
            *hi = fmax(*hi, latency_s(o));
        }
    if (*hi == 0) *lo = 0.1, *hi = 1; /* nothing to draw */
    double below = pow(10, floor(log10(*lo))), above = pow(10, floor(log10(*hi)));
    *lo = *lo >= 5 * below ? 5 * below : *lo >= 2 * below ? 2 * below : below;
    *hi = *hi <= 2 * above ? 2 * above : *hi <= 5 * above ? 5 * above : 10 * above;
    if (*hi <= *lo * 1.01) *hi = *lo * 10;
}

static double fit_x(const struct drawing *d, bool throughput) {
    double most = 0;
    for (size_t i = 0; i < d->s->n_policies; i++)
        for (size_t k = 0; k < d->s->policies[i].n; k++) {
            const struct operating_point *o = &d->points[i][k];
            most = fmax(most, throughput ? o->throughput_rps : o->offered_rps);
        }
    return most > 0 ? most * 1.06 : 1;
}

static void x_axis(const struct drawing *d, const struct panel *p) {
    double step = nice_step(p->x_max), bottom = TOP + PANEL_HEIGHT;
    for (int i = 0; i * step <= p->x_max; i++) {
        char label[32];
        double x = x_px(p, i * step);
        fprintf(d->out,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#000\" "
                "stroke-opacity=\"0.10\"/>\n",
                x, TOP, x, bottom);
        snprintf(label, sizeof label, "%g", i * step);
        text(d->out, x, bottom + 20, "middle", 15, "", label);
    }
    text(d->out, p->left + p->width / 2, bottom + 44, "middle", 17, "", p->x_label);
}

static void y_axis(const struct drawing *d, const struct panel *p) {
    static const int MULTIPLES[] = {1, 2, 5};
    double decades = log10(p->y_max / p->y_min);
    for (int power = (int)floor(log10(p->y_min)); power <= (int)ceil(log10(p->y_max)); power++)
        for (int m = 0; m < 3; m++) {
            double v = MULTIPLES[m] * pow(10, power), y = y_px(p, v);
            if (v < p->y_min * 0.999 || v > p->y_max * 1.001) continue;
            fprintf(d->out,
                    "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#000\" "
                    "stroke-opacity=\"%s\"/>\n",
                    p->left, y, p->left + p->width, y, m ? "0.06" : "0.16");
            if (decades > 4 && m > 0) continue;
            char label[32];
            snprintf(label, sizeof label, "%g", v);
            text(d->out, p->left - 8, y + 5, "end", 15, "", label);
        }
    char turn[80];
    snprintf(turn, sizeof turn, "transform=\"rotate(-90 %.1f %.1f)\"", p->left - 56,
             TOP + PANEL_HEIGHT / 2.0);
    text(d->out, p->left - 56, TOP + PANEL_HEIGHT / 2.0, "middle", 17, turn,
         "mean end-to-end latency, s (log scale)");
}

/* ---- regions ---- */

/* The offered loads at which the regions meet; false: no knee, or no stable point.
 */
static bool borders(const struct drawing *d, size_t policy, double *knee, double *saturation) {
    const struct sweep_policy *p = &d->s->policies[policy];
    if (p->knee >= p->n || p->saturation >= p->n) return false;
    *knee = d->points[policy][p->knee].offered_rps;
    *saturation = d->points[policy][p->saturation].offered_rps;
    return true;
}

/* One stretch of a region between two loads, named where there is room. */
static void stretch(const struct drawing *d, const struct panel *p, enum curve_region r,
                    double from, double to, double top, double height, double name_y) {
    double x0 = x_px(p, from), x1 = x_px(p, to);
    if (x1 <= x0) return;
    fprintf(d->out,
            "<rect class=\"region\" data-region=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\" fill=\"%s\" stroke=\"#777\" stroke-opacity=\"0.5\"/>\n",
            REGIONS[r].name, x0, top, x1 - x0, height, REGIONS[r].fill);
    if (x1 - x0 > (r == REGION_KNEE ? 44 : 96))
        text(d->out, (x0 + x1) / 2, name_y, "middle", 15, "fill=\"#222\"", REGIONS[r].name);
}

static void regions(const struct drawing *d, const struct panel *p, size_t policy, double top,
                    double height, double name_y) {
    double knee, saturation;
    if (!borders(d, policy, &knee, &saturation)) return;
    if (saturation < knee) knee = saturation; /* if both apply it is overloaded */
    stretch(d, p, REGION_UNDERLOADED, 0, knee, top, height, name_y);
    stretch(d, p, REGION_KNEE, knee, saturation, top, height, name_y);
    stretch(d, p, REGION_OVERLOADED, saturation, p->x_max, top, height, name_y);
}

/* Below the panel a strip for each policy, on the same axis; an arrow below it points at the
 * highest load within the limits. */
static void strips(const struct drawing *d, const struct panel *p) {
    double y = TOP + PANEL_HEIGHT + 56;
    bool arrows = false;
    for (size_t i = 0; i < d->s->n_policies; i++, y += STRIP_STEP) {
        const struct sweep_policy *q = &d->s->policies[i];
        const struct capacity *c = &q->capacity;
        char name[24]; /* what fits left of the axis */
        snprintf(name, sizeof name, "%.18s", q->name);
        fprintf(d->out, "<g class=\"strip\" data-policy=\"");
        escaped(d->out, q->name);
        fputs("\">\n", d->out);
        regions(d, p, i, y, STRIP, y + 16);
        if (q->has_capacity && c->found && c->rps <= p->x_max) {
            fprintf(d->out,
                    "<path class=\"within\" data-rate-rps=\"%.17g\" d=\"M%.1f,%.1fl-6,9h12z\"/>\n",
                    c->rps, x_px(p, c->rps), y + STRIP);
            arrows = true;
        }
        text(d->out, p->left - 8, y + 16, "end", 14, "font-weight=\"bold\"", name);
        fputs("</g>\n", d->out);
    }
    if (arrows)
        text(d->out, p->left, y + 14, "start", 14, "fill=\"#444\"",
             "\u25B2 highest load within the limits");
}

/* With one policy the panel itself is shaded, and the highest load within the limits is a line. */
static void within(const struct drawing *d, const struct panel *p) {
    const struct sweep_policy *q = &d->s->policies[0];
    if (!q->has_capacity || !q->capacity.found || q->capacity.rps > p->x_max) return;
    double x = x_px(p, q->capacity.rps), y = TOP + PANEL_HEIGHT - 12;
    char turn[80];
    fprintf(d->out,
            "<path class=\"within\" data-rate-rps=\"%.17g\" d=\"M%.1f,%dv%d\" stroke=\"#000\" "
            "stroke-width=\"2\" stroke-dasharray=\"6 4\"/>\n",
            q->capacity.rps, x, TOP + 30, PANEL_HEIGHT - 30);
    snprintf(turn, sizeof turn, "transform=\"rotate(-90 %.1f %.1f)\"", x + 17, y);
    text(d->out, x + 17, y, "start", 15, turn, "highest load within the limits");
}

/* ---- curves ---- */

static void marker(const struct drawing *d, const struct panel *p, size_t policy, size_t k) {
    const struct operating_point *o = &d->points[policy][k];
    const struct sweep_policy *q = &d->s->policies[policy];
    const struct style *style = &STYLES[policy];
    enum curve_region r = curve_region(d->points[policy], q->n, k);
    fprintf(d->out, "<g class=\"point\" data-policy=\"");
    escaped(d->out, q->name);
    fprintf(d->out,
            "\" data-index=\"%zu\" data-offered-rps=\"%.17g\" data-throughput-rps=\"%.17g\" "
            "data-mean-latency-ns=\"%.17g\" data-region=\"%s\" transform=\"translate(%.3f,%.3f)\">",
            k, o->offered_rps, o->throughput_rps, o->mean_latency_ns, REGIONS[r].name,
            x_px(p, x_of(p, o)), y_px(p, latency_s(o)));
    if (k == q->knee)
        fprintf(d->out, "<circle r=\"13\" fill=\"none\" stroke=\"#000\" stroke-width=\"2\"/>");
    fprintf(d->out, "<path d=\"%s\" fill=\"%s\" stroke=\"%s\" stroke-width=\"2\"/>", style->marker,
            r == REGION_UNDERLOADED ? "#fff" : style->colour, style->colour);
    if (r == REGION_OVERLOADED)
        fprintf(d->out, "<path d=\"M-4,-4L4,4M-4,4L4,-4\" stroke=\"#fff\" stroke-width=\"2\"/>");
    fputs("</g>\n", d->out);
}

static void curve(const struct drawing *d, const struct panel *p, size_t policy) {
    const struct sweep_policy *q = &d->s->policies[policy];
    fprintf(d->out,
            "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2.5\" stroke-dasharray=\"%s\" "
            "points=\"",
            STYLES[policy].colour, STYLES[policy].dashes);
    for (size_t k = 0; k < q->n; k++) {
        const struct operating_point *o = &d->points[policy][k];
        if (drawable(o)) fprintf(d->out, "%.1f,%.1f ", x_px(p, x_of(p, o)), y_px(p, latency_s(o)));
    }
    fputs("\"/>\n", d->out);
    for (size_t k = 0; k < q->n; k++)
        if (drawable(&d->points[policy][k])) marker(d, p, policy, k);
}

static void draw_panel(const struct drawing *d, const struct panel *p) {
    fprintf(d->out,
            "<g class=\"panel\" data-name=\"%s\" data-x=\"%s\" data-x-max=\"%.17g\" "
            "data-y-min=\"%.17g\" data-y-max=\"%.17g\" data-left=\"%.1f\" data-width=\"%.1f\" "
            "data-top=\"%d\" data-height=\"%d\">\n",
            p->name, p->x_is_throughput ? "throughput_rps" : "offered_rps", p->x_max, p->y_min,
            p->y_max, p->left, p->width, TOP, PANEL_HEIGHT);
    if (!p->x_is_throughput && d->s->n_policies == 1) regions(d, p, 0, TOP, PANEL_HEIGHT, TOP + 20);
    x_axis(d, p);
    y_axis(d, p);
    fprintf(d->out,
            "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"none\" "
            "stroke=\"#333\"/>\n",
            p->left, TOP, p->width, PANEL_HEIGHT);
    for (size_t i = 0; i < d->s->n_policies; i++) curve(d, p, i);
    if (!p->x_is_throughput && d->s->n_policies > 1) strips(d, p);
    if (!p->x_is_throughput && d->s->n_policies == 1) within(d, p);
    fputs("</g>\n", d->out);
}

/* ---- legend, title, description ---- */

static void figures(const struct drawing *d, size_t i, char *buf, size_t cap) {
    const struct sweep_policy *q = &d->s->policies[i];
    double knee, saturation;
    if (borders(d, i, &knee, &saturation))
        snprintf(buf, cap, "%s: knee %.3g, saturation %.3g", q->name, knee,
                 d->points[i][q->saturation].throughput_rps);
    else
        snprintf(buf, cap, "%s: %s", q->name, q->n ? "nothing stable" : "not measured");
    size_t n = strlen(buf);
    if (q->has_capacity && q->capacity.found)
        snprintf(buf + n, cap - n, ", within limits to %.3g%s", q->capacity.rps,
                 q->capacity.at_top ? " at least" : "");
    else if (q->has_capacity)
        snprintf(buf + n, cap - n, ", never within limits");
}

static void legend(const struct drawing *d, double left) {
    double y = TOP + PANEL_HEIGHT + 76;
    char words[200];
    for (size_t i = 0; i < d->s->n_policies; i++, y += 24) {
        fprintf(d->out,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                "stroke-width=\"2.5\" stroke-dasharray=\"%s\"/><path d=\"%s\" fill=\"%s\" "
                "transform=\"translate(%.1f,%.1f)\"/>\n",
                left - 60, y - 5, left - 12, y - 5, STYLES[i].colour, STYLES[i].dashes,
                STYLES[i].marker, STYLES[i].colour, left - 36, y - 5);
        figures(d, i, words, sizeof words);
        text(d->out, left, y, "start", 15, "", words);
    }
    text(d->out, left - 60, d->height - 14, "start", 14, "fill=\"#444\"",
         "In requests/s. Hollow: underloaded; filled: knee region; crossed: overloaded; ring: "
         "knee.");
}

static void head(const struct drawing *d, const struct curve_text *t) {
    char words[200];
    fprintf(d->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-labelledby=\"title desc\" font-family=\"Liberation Sans, Arial, "
            "sans-serif\">\n<title id=\"title\">Latency and throughput under load: ",
            WIDTH, d->height);
    escaped(d->out, t->workload);
    fputs("</title>\n<desc id=\"desc\">Mean latency against offered load, and against throughput. ",
          d->out);
    for (size_t i = 0; i < d->s->n_policies; i++) {
        figures(d, i, words, sizeof words);
        escaped(d->out, words);
        fputs(" requests/s. ", d->out);
    }
    escaped(d->out, t->machine);
    fputs("</desc>\n<defs><pattern id=\"over\" width=\"8\" height=\"8\" "
          "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"8\" "
          "height=\"8\" fill=\"#FBE3DE\"/><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"8\" "
          "stroke=\"#EDB9AE\" stroke-width=\"3\"/></pattern></defs>\n"
          "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          d->out);
    text(d->out, 30, 42, "start", 27, "font-weight=\"bold\"",
         d->s->complete ? "Latency and throughput under load"
                        : "Latency and throughput under load (interrupted: not all points)");
    text(d->out, 30, 72, "start", 17, "fill=\"#222\"", t->workload);
    text(d->out, 30, 96, "start", 15, "fill=\"#444\"", t->machine);
}
