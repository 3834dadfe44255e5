/* sim_plot.c: plots a sweep's curve on a terminal in ASCII. See sim_print.h; curve.svg
 * (sim/curve_svg.h) is the picture for a projector. */
#include "base/clock.h"
#include "cli/sim_print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 64, ROWS = 14 };
static const char MARKS[SWEEP_MAX_POLICIES] = "ox+*#@";

struct plot {
    double x_max, y_min, y_max; /* y in seconds, logarithmic */
    char grid[ROWS][COLUMNS + 1];
};

static bool drawable(const struct operating_point *o) {
    return o->mean_latency_ns > 0;
}

static void fit(struct plot *p, const struct sweep *s) {
    p->y_min = INFINITY;
    for (size_t i = 0; i < s->n_policies; i++)
        for (size_t k = 0; k < s->policies[i].n; k++) {
            const struct operating_point *o = &s->policies[i].points[k].point;
            if (!drawable(o)) continue;
            double y = o->mean_latency_ns / (double)NS_PER_S;
            p->x_max = fmax(p->x_max, o->offered_rps);
            p->y_min = fmin(p->y_min, y);
            p->y_max = fmax(p->y_max, y);
        }
    if (p->y_max <= p->y_min * 1.01) p->y_max = p->y_min * 2;
}

static void put(struct plot *p, const struct operating_point *o, char mark) {
    double y = log(o->mean_latency_ns / (double)NS_PER_S / p->y_min) / log(p->y_max / p->y_min);
    int column = (int)(o->offered_rps / p->x_max * (COLUMNS - 1) + 0.5);
    int row = ROWS - 1 - (int)(y * (ROWS - 1) + 0.5);
    p->grid[row][column] = mark;
}

void print_sweep_plot(const struct sweep *s) {
    struct plot p = {0};
    fit(&p, s);
    if (!isfinite(p.y_min)) return; /* nothing was complete */
    for (int i = 0; i < ROWS; i++) memset(p.grid[i], ' ', COLUMNS);
    for (size_t i = 0; i < s->n_policies; i++)
        for (size_t k = 0; k < s->policies[i].n; k++) {
            const struct operating_point *o = &s->policies[i].points[k].point;
            if (drawable(o)) put(&p, o, k == s->policies[i].knee ? 'K' : MARKS[i]);
        }
    printf("\n  mean end-to-end latency, s (each line is %.2g times the one below)\n",
           pow(p.y_max / p.y_min, 1.0 / (ROWS - 1)));
    for (int i = 0; i < ROWS; i++) {
        double y = p.y_min * pow(p.y_max / p.y_min, (double)(ROWS - 1 - i) / (ROWS - 1));
        printf("  %9.3g |%s\n", y, p.grid[i]);
    }
    printf("  %9s +", "");
    for (int i = 0; i < COLUMNS; i++) putchar('-');
    printf("\n  %9s 0%*.3g  offered, requests/s\n  ", "", COLUMNS - 1, p.x_max);
    for (size_t i = 0; i < s->n_policies; i++) printf("%c %s   ", MARKS[i], s->policies[i].name);
    printf("K knee\n");
}
