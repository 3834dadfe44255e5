/* record_print.h: how `servelab record check` shows records and summaries, as text and as JSON.
 * Only rendering: every value comes from record/ and from lab 01's functions.
 */
#ifndef SERVELAB_CLI_RECORD_PRINT_H
#define SERVELAB_CLI_RECORD_PRINT_H

#include "objective/population.h"

#include <stdio.h>

/* One attempt and what was found out about it. */
struct checked {
    const struct record *record;
    const char *file;
    int line;
    struct intervals intervals;
    struct classification class;
    const struct objective *objective; /* NULL: `good` means nothing */
    bool good;
};

/* Text that came from a file, without what a terminal would obey: control characters become '?'. */
void print_clean(FILE *out, const char *text);
/* The text as a JSON string, quotes included. */
void print_json_string(FILE *out, const char *text);

/* The table of events, the intervals with their formulas, the classification, and what the person
 * experienced. `all_events` lists each token_sent; otherwise a run of them is folded. */
void print_record_text(FILE *out, const struct checked *c, bool all_events);

/* The JSON object of one record, without a line end (objective/record_numbers.h). */
void print_record_json(FILE *out, const struct checked *c);

/* What `record check` knows after the last record. */
struct summary {
    struct population *population;
    const struct objective *objective; /* NULL without --objective */
    int64_t torn_lines;
};

/* Each returns the objective's verdict (SLO_MET without an objective). */
enum slo_answer print_summary_text(FILE *out, const struct summary *s);
enum slo_answer print_summary_json(FILE *out, const struct summary *s);

/* The verdict alone, as text: for a single record. */
enum slo_answer print_verdict_text(FILE *out, const struct summary *s);
/* The verdict, nothing printed. */
enum slo_answer summary_verdict(const struct summary *s);

#endif
