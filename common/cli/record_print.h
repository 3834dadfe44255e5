/* record_print.h: prints what `servelab record check` found, as text and as JSON. The values come
 * from record/ and from lab 01's functions.
 */
#ifndef SERVELAB_CLI_RECORD_PRINT_H
#define SERVELAB_CLI_RECORD_PRINT_H

#include "objective/population.h"

#include <stdio.h>

/* One attempt with its intervals and classification. */
struct checked {
    const struct record *record;
    const char *file;
    int line;
    struct intervals intervals;
    struct classification class;
    const struct objective *objective; /* NULL: `good` is not used */
    bool good;
};

/* Prints text from a file; characters that control a terminal become '?' (err_clean). */
void print_clean(FILE *out, const char *text);
/* The text as a JSON string, quotes included. */
void print_json_string(FILE *out, const char *text);

/* Prints the events, the intervals with their formulas, the classification, and what the person
 * experienced. `all_events` lists each token_sent; otherwise long runs are shortened. */
void print_record_text(FILE *out, const struct checked *c, bool all_events);

/* The JSON object of one record, without a line end (objective/record_numbers.h). */
void print_record_json(FILE *out, const struct checked *c);

/* The input of the summary: everything that was read. */
struct summary {
    struct population *population;
    const struct objective *objective; /* NULL without --objective */
    int64_t torn_lines;
};

/* Print the summary and return the objective's verdict (SLO_MET without an objective). */
enum slo_answer print_summary_text(FILE *out, const struct summary *s);
enum slo_answer print_summary_json(FILE *out, const struct summary *s);

/* Prints the verdict alone as text, for a single record, and returns it. */
enum slo_answer print_verdict_text(FILE *out, const struct summary *s);
/* Returns the verdict without printing. */
enum slo_answer summary_verdict(const struct summary *s);

#endif
