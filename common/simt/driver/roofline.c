/* roofline.c: draws a report as a roofline (SVG).
 *
 * Arithmetic intensity is operations over bytes. Bytes are counted; operations are not: the caller
 * gives them for each kernel (--ops NAME=N). Each kernel has two points: at the bytes it moved
 * (filled) and at its footprint, the least it could move (hollow); the distance between them is
 * what better memory accesses can gain. The roof is the machine's: --gbps and
 * --gflops, by default an H100's 3350 GB/s and 67 TFLOP/s in float.
 */
#include "command.h"
#include "report_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 720, HEIGHT = 440, LEFT = 70, RIGHT = 20, TOP = 30, BOTTOM = 50 };
enum { OPS_MOST = 64 };
/* the window: intensities and rates of powers of ten */
static const double X_LOW = -2, X_HIGH = 4;

struct drawing {
    FILE *f;
    double gbps, gflops, y_low, y_high; /* y: decades of GFLOP/s */
    const char *names[OPS_MOST];
    double ops[OPS_MOST];
    int count;
};

static double x_of(double intensity) {
    double t = (log10(intensity) - X_LOW) / (X_HIGH - X_LOW);
    return LEFT + fmin(fmax(t, 0), 1) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct drawing *d, double gflops) {
    double t = (log10(gflops) - d->y_low) / (d->y_high - d->y_low);
    return HEIGHT - BOTTOM - fmin(fmax(t, 0), 1) * (HEIGHT - TOP - BOTTOM);
}

static double roof(const struct drawing *d, double intensity) {
    return fmin(d->gflops, d->gbps * intensity);
}

static void put_escaped(FILE *f, const char *s) {
    for (; *s; s++) {
        if (*s == '<')
            fputs("&lt;", f);
        else if (*s == '>')
            fputs("&gt;", f);
        else if (*s == '&')
            fputs("&amp;", f);
        else
            fputc(*s, f);
    }
}

static void frame(const struct drawing *d) {
    FILE *f = d->f;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"Liberation Sans, sans-serif\" font-size=\"13\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    for (int p = (int)X_LOW; p <= (int)X_HIGH; p++)
        fprintf(f,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                x_of(pow(10, p)), TOP, x_of(pow(10, p)), HEIGHT - BOTTOM, x_of(pow(10, p)),
                HEIGHT - BOTTOM + 18, pow(10, p));
    for (int p = (int)d->y_low; p <= (int)d->y_high; p++)
        fprintf(f,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, y_of(d, pow(10, p)), WIDTH - RIGHT, y_of(d, pow(10, p)), LEFT - 6,
                y_of(d, pow(10, p)) + 4, pow(10, p));
    double ridge = d->gflops / d->gbps;
    fprintf(f,
            "<polyline fill=\"none\" stroke=\"#333\" stroke-width=\"2\" points=\"%.1f,%.1f "
            "%.1f,%.1f %.1f,%.1f\"/>\n",
            x_of(pow(10, X_LOW)), y_of(d, roof(d, pow(10, X_LOW))), x_of(ridge), y_of(d, d->gflops),
            x_of(pow(10, X_HIGH)), y_of(d, d->gflops));
    fprintf(f,
            "<text x=\"%d\" y=\"%d\">attainable GFLOP/s: %g GB/s, %g GFLOP/s</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">operations per byte; filled: bytes "
            "moved, hollow: the least</text>\n",
            LEFT, TOP - 10, d->gbps, d->gflops, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
}

static void draw_kernel(const struct drawing *d, const cJSON *k, double ops) {
    double moved =
        32 * (report_count(k, "global_load_sectors") + report_count(k, "global_store_sectors") +
              report_count(k, "global_atomic_sectors"));
    double least = report_count(k, "footprint_bytes");
    if (moved <= 0 || least <= 0 || ops <= 0) return;
    double is = ops / moved, could = ops / least, y = y_of(d, roof(d, is));
    fprintf(d->f,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#06c\" "
            "stroke-dasharray=\"3 3\"/>\n"
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"white\" stroke=\"#06c\"/>\n"
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"#06c\"/>\n"
            "<text x=\"%.1f\" y=\"%.1f\">",
            x_of(is), y, x_of(could), y_of(d, roof(d, could)), x_of(could), y_of(d, roof(d, could)),
            x_of(is), y, x_of(is) + 9, y + 4);
    put_escaped(d->f, report_text(k, "name"));
    fprintf(d->f, " (%.3g)</text>\n", is);
}

static int draw(struct drawing *d, const cJSON *report) {
    d->y_high = ceil(log10(d->gflops) + 0.2);
    d->y_low = floor(log10(d->gbps) + X_LOW);
    frame(d);
    int drawn = 0;
    for (int i = 0; i < d->count; i++) {
        const cJSON *k;
        bool found = false;
        cJSON_ArrayForEach(k, cJSON_GetObjectItem(report, "kernels")) {
            if (strcmp(report_text(k, "name"), d->names[i]) != 0) continue;
            draw_kernel(d, k, d->ops[i]);
            found = true;
        }
        if (!found) fprintf(stderr, "simtcc: the report has no kernel %s\n", d->names[i]);
        drawn += found;
    }
    fputs("</svg>\n", d->f);
    return drawn == d->count ? 0 : 2;
}

static int usage(void) {
    fputs("simtcc: --roofline REPORT.json --ops KERNEL=OPERATIONS [--ops ...] [--gbps N] "
          "[--gflops N] [-o FILE.svg]\n",
          stderr);
    return 2;
}

int roofline_main(int argc, char **argv) {
    struct drawing d = {.gbps = 3350, .gflops = 67000, .f = stdout};
    const char *output = NULL;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 >= argc) return usage();
        char *value = argv[i + 1], *equals = strrchr(value, '=');
        if (strcmp(argv[i], "-o") == 0)
            output = value;
        else if (strcmp(argv[i], "--gbps") == 0)
            d.gbps = atof(value);
        else if (strcmp(argv[i], "--gflops") == 0)
            d.gflops = atof(value);
        else if (strcmp(argv[i], "--ops") == 0 && equals && d.count < OPS_MOST) {
            *equals = 0;
            d.names[d.count] = value, d.ops[d.count++] = atof(equals + 1);
        } else
            return usage();
    }
    if (argc < 1 || !d.count || !(d.gbps > 0) || !(d.gflops > 0)) return usage();
    cJSON *report = report_read(argv[0]);
    if (!report) return 2;
    if (output && !(d.f = fopen(output, "w"))) {
        fprintf(stderr, "simtcc: can't write %s\n", output);
        cJSON_Delete(report);
        return 4;
    }
    int rc = draw(&d, report);
    if (output) fclose(d.f);
    cJSON_Delete(report);
    return rc;
}
