/* report_markdown.c: a report as Markdown. See report_print.h. */
#include "report/report_print.h"

#include <stdio.h>

/* A cell or a line can't break the table or the list it is in. */
static void put(struct buffer *b, const char *text) {
    for (size_t wide; *text; text++) {
        if ((wide = report_add_wide(b, text)) > 0) {
            text += wide - 1;
            continue;
        }
        if (*text == '|' || *text == '<' || *text == '\\' || *text == '`' || *text == '*')
            buffer_add(b, "\\", 1);
        buffer_add(b, *text == '\n' ? " " : text, 1);
    }
}

static void fact(struct buffer *b, const char *label, const char *text) {
    buffer_puts(b, "- **");
    put(b, label);
    buffer_puts(b, "**: ");
    put(b, text);
    buffer_puts(b, "\n");
}

static void table(struct buffer *b, const cJSON *points) {
    const cJSON *point;
    char cells[REPORT_COLUMNS][REPORT_CELL];
    for (int i = 0; i < REPORT_COLUMNS; i++) buffer_printf(b, "| %s ", report_columns[i]);
    buffer_puts(b, "|\n");
    for (int i = 0; i < REPORT_COLUMNS; i++) buffer_puts(b, i > 3 || i == 1 ? "|---:" : "|---");
    buffer_puts(b, "|\n");
    cJSON_ArrayForEach(point, points) {
        report_row(cells, point);
        for (int i = 0; i < REPORT_COLUMNS; i++) {
            buffer_puts(b, "| ");
            put(b, cells[i]);
            buffer_puts(b, " ");
        }
        buffer_puts(b, "|\n");
    }
}

void report_markdown(struct buffer *b, const cJSON *tree) {
    const cJSON *points = report_at(tree, "points"), *point, *line;
    buffer_puts(b, "# Objective report: ");
    put(b, report_string(tree, "objective.name"));
    buffer_puts(b, "\n\n");
    struct buffer lead = {0};
    report_headline(&lead, tree);
    put(b, lead.bytes ? lead.bytes : "");
    buffer_release(&lead);
    buffer_puts(b, "\n\n## Operating points\n\n");
    table(b, points);
    buffer_puts(
        b, "\nCompleted/s are the ends in the window; useful/s and good/s are of the requests that "
           "arrived in it, whenever they ended. "
           "Every request of the window is in every percentile; one that was not completed "
           "is infinite. A star: too few requests to bound this percentile on both sides "
           "with 95 % confidence.\n\n## Goodput\n\n");
    report_goodput(b, tree, fact);
    cJSON_ArrayForEach(point, points) {
        buffer_puts(b, "\n## ");
        put(b, report_string(point, "run"));
        buffer_puts(b, "\n\n");
        report_facts(b, tree, point, fact);
    }
    buffer_puts(b, "\n## What this can't say\n\n");
    cJSON_ArrayForEach(line, report_at(tree, "cannot_say")) {
        buffer_puts(b, "- ");
        put(b, line->valuestring);
        buffer_puts(b, "\n");
    }
}
