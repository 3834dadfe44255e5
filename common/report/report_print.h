/* report_print.h: prints a report's tree (report_tree.h) as Markdown, or as one HTML page that
 * needs nothing else: no script, no font, no picture from elsewhere. */
#ifndef SERVELAB_REPORT_REPORT_PRINT_H
#define SERVELAB_REPORT_REPORT_PRINT_H

#include "base/buffer.h"

#include <cjson/cJSON.h>

/* Each appends to *b, whose `failed` says whether memory was enough. */
void report_markdown(struct buffer *b, const cJSON *tree);
void report_html(struct buffer *b, const cJSON *tree);

/* ---- what both use (report_text.c) ---- */

/* A member by its path, "rates.good_rps"; NULL where it is missing. */
const cJSON *report_at(const cJSON *tree, const char *path);
/* A number, or NaN where it is null or missing. */
double report_number(const cJSON *tree, const char *path);
/* A text, or "" where it is null or missing. */
const char *report_string(const cJSON *tree, const char *path);

enum { REPORT_CELL = 96 };
/* Milliseconds of a percentile's object: "132.4", "infinite", "absent"; a star after it if there
 * are too few requests to bound it. Returns cell. */
char *report_ms(char cell[REPORT_CELL], const cJSON *percentile);
/* A number with four digits, or "not computable". Returns cell. */
char *report_value(char cell[REPORT_CELL], double v);

/* The first sentence of a report: is there an operating point within the objective, and which. */
void report_headline(struct buffer *b, const cJSON *tree);

/* The cells of a point's row, and of the head of its table. */
enum { REPORT_COLUMNS = 11 };
extern const char *const report_columns[REPORT_COLUMNS];
void report_row(char cells[REPORT_COLUMNS][REPORT_CELL], const cJSON *point);

/* The facts of a point below its table: label and sentence. */
typedef void report_fact_fn(struct buffer *b, const char *label, const char *text);
void report_facts(struct buffer *b, const cJSON *tree, const cJSON *point, report_fact_fn *each);
/* The same of the whole report: goodput in both senses. */
void report_goodput(struct buffer *b, const cJSON *tree, report_fact_fn *each);

/* report_svg.c: the curve, and the lanes of one request, as SVG. */
void report_curve_svg(struct buffer *b, const cJSON *tree);
void report_lanes_svg(struct buffer *b, const cJSON *timeline, double longest_ns);
void report_escape(struct buffer *b, const char *text); /* for HTML and SVG */

/* Appends the character at text[0] and returns its bytes if it is no plain ASCII. U+FFFD stands for
 * one that would change how the text around it is shown (a control character, a direction mark,
 * ill-formed UTF-8). 0: plain ASCII, or a line end; nothing is appended. */
size_t report_add_wide(struct buffer *b, const char *text);

#endif
