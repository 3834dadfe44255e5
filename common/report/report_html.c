/* report_html.c: a report as one HTML page. See report_print.h. */
#include "report/report_print.h"

#include <math.h>
#include <stdio.h>

static const char style[] =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;font-size:.9rem}th,td{padding:.25rem .5rem;text-align:right;"
    "border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}"
    ".wide{overflow-x:auto}.lead{font-size:1.15rem}"
    "svg{width:100%;font:12px system-ui,sans-serif}.grid{stroke:#bbb;stroke-dasharray:2 4}"
    ".under{fill:#e7f3ea}.knee{fill:#fdf3d8}.over{fill:#fbe6e3}"
    "circle.s1{fill:#7a3e9d;stroke:#7a3e9d}circle.s2{fill:#0b6fb8;stroke:#0b6fb8}"
    "circle.s3{fill:#2b8a5a;stroke:#2b8a5a}circle.open{fill:#fff}"
    "polyline{fill:none;stroke-width:1.5}polyline.predicted{stroke-dasharray:5 "
    "4}polyline.s1{stroke:#7a3e9d}polyline.s2{stroke:#0b6fb8}"
    "polyline.s3{stroke:#2b8a5a}text.s1{fill:#7a3e9d}text.s2{fill:#0b6fb8}text.s3{fill:#2b8a5a}"
    ".wait{fill:#e39b2d}.read{fill:#2b8a5a}.queue{fill:#c0453b}.prompt{fill:#0b6fb8}"
    "ul{padding-left:1.2rem}";

static void fact(struct buffer *b, const char *label, const char *text) {
    buffer_puts(b, "<li><b>");
    report_escape(b, label);
    buffer_puts(b, "</b>: ");
    report_escape(b, text);
    buffer_puts(b, "</li>\n");
}

static void heading(struct buffer *b, int level, const char *text) {
    buffer_printf(b, "<h%d>", level);
    report_escape(b, text);
    buffer_printf(b, "</h%d>\n", level);
}

static void table(struct buffer *b, const cJSON *points) {
    const cJSON *point;
    char cells[REPORT_COLUMNS][REPORT_CELL];
    buffer_puts(b, "<div class=\"wide\"><table><tr>");
    for (int i = 0; i < REPORT_COLUMNS; i++) buffer_printf(b, "<th>%s</th>", report_columns[i]);
    buffer_puts(b, "</tr>\n");
    cJSON_ArrayForEach(point, points) {
        report_row(cells, point);
        buffer_puts(b, "<tr>");
        for (int i = 0; i < REPORT_COLUMNS; i++) {
            buffer_puts(b, "<td>");
            report_escape(b, cells[i]);
            buffer_puts(b, "</td>");
        }
        buffer_puts(b, "</tr>\n");
    }
    buffer_puts(b, "</table></div>\n");
}

/* Both on one scale; each lane begins at its own zero, since times of two clocks can't be aligned.
 */
static void timelines(struct buffer *b, const cJSON *point) {
    const cJSON *median = report_at(point, "timelines.median");
    const cJSON *tail = report_at(point, "timelines.p99");
    double longest_ns = report_number(tail, "e2e_ns");
    const struct {
        const cJSON *of;
        const char *name;
    } both[] = {{median, "median request"}, {tail, "p99 request"}};
    if (!(longest_ns > 0)) return;
    buffer_puts(b, "<p>Client: waits for the first byte (orange), reads (green). Server: queue "
                   "(red), prompt (blue). Each lane begins at its own zero.</p>\n");
    for (int i = 0; i < 2; i++) {
        buffer_printf(b, "<p>%s ", both[i].name);
        report_escape(b, report_string(both[i].of, "request_id"));
        buffer_printf(b, ": %.0f prompt and %.0f answer tokens, end-to-end %.1f ms</p>\n",
                      report_number(both[i].of, "prompt_tokens"),
                      report_number(both[i].of, "output_tokens"),
                      report_number(both[i].of, "e2e_ns") / 1e6);
        report_lanes_svg(b, both[i].of, longest_ns);
    }
}

void report_html(struct buffer *b, const cJSON *tree) {
    const cJSON *points = report_at(tree, "points"), *point, *line;
    const char *name = report_string(tree, "objective.name");
    buffer_printf(b,
                  "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                  "<meta name=\"viewport\" content=\"width=device-width\">"
                  "<style>%s</style><title>Objective report: ",
                  style);
    report_escape(b, name);
    buffer_puts(b, "</title></head><body>\n<h1>Objective report: ");
    report_escape(b, name);
    buffer_puts(b, "</h1>\n<p class=\"lead\">");
    struct buffer lead = {0};
    report_headline(&lead, tree);
    report_escape(b, lead.bytes ? lead.bytes : "");
    buffer_release(&lead);
    buffer_puts(b, "</p>\n");
    report_curve_svg(b, tree);
    heading(b, 2, "Operating points");
    table(b, points);
    buffer_puts(b,
                "<p>Completed/s are the ends in the window; useful/s and good/s are of the "
                "requests that arrived in it, whenever they ended. "
                "Every request of the window is in every percentile; one that was not "
                "completed is infinite. An open mark: infinite, or the run is invalid. Of several "
                "runs at one load, the line goes through the median. A star: too few requests "
                "to bound this percentile on both sides with 95 % confidence.</p>\n");
    heading(b, 2, "Goodput");
    buffer_puts(b, "<ul>\n");
    report_goodput(b, tree, fact);
    buffer_puts(b, "</ul>\n");
    cJSON_ArrayForEach(point, points) {
        heading(b, 2, report_string(point, "run"));
        buffer_puts(b, "<ul>\n");
        report_facts(b, tree, point, fact);
        buffer_puts(b, "</ul>\n");
        timelines(b, point);
    }
    heading(b, 2, "What this can't say");
    buffer_puts(b, "<ul>\n");
    cJSON_ArrayForEach(line, report_at(tree, "cannot_say")) {
        buffer_puts(b, "<li>");
        report_escape(b, line->valuestring);
        buffer_puts(b, "</li>\n");
    }
    buffer_puts(b, "</ul>\n</body></html>\n");
}
