/* evidence.h: what the examinations of lab 01's two data files share. */
#ifndef SERVELAB_GRADER_LAB01_EVIDENCE_H
#define SERVELAB_GRADER_LAB01_EVIDENCE_H

#include "base/err.h"
#include "core/lab.h"

#include <cjson/cJSON.h>

#include <stdbool.h>

/* Loses the check, with this message. */
void lab01_lost(struct evidence *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void lab01_lost_because(struct evidence *out, const struct err *e, const char *file);

/* A number of a text. */
struct number_read {
    double value;
    int decimals;
};

/* Reads the next number of `text` from *at on, and goes to its end. Thousands may be set apart by a
 * blank, a comma, a point, an apostrophe or '_', decimals by a comma or a point; 1,400 is read both
 * ways. A number may begin with its point. Returns how many readings there are; 0: no number. */
int lab01_next_number(const char *text, const char **at, struct number_read out[2]);

/* The unit of the number that ends at `at`, in ms; 0: none, or none of time. */
double lab01_unit_ms(const char *at);

/* 1 s 400 ms is one time: adds to *n, a number in units of `unit_ms` that ends at `at`, what
 * follows in a smaller unit. false: nothing does. */
bool lab01_add_rest(const char *at, double unit_ms, struct number_read *n);

/* Whether the number at `at` is named as a bound, as in "less than 1 s": 1 an upper, -1 a lower
 * one, 0 none. */
int lab01_bound(const char *text, const char *at);

/* A copy of the text with the digits of ASCII for those of other scripts, and wide letters as
 * plain ones. The caller frees it; NULL: no memory. */
char *lab01_plain(const char *text);

/* Goes behind the next word of `text` that is a unit of time, from *at on, and returns it in ms;
 * 0: there is none. */
double lab01_next_unit_ms(const char *text, const char **at);

/* Whether a word of another script follows, which may be a unit. */
bool lab01_other_script(const char *at);

/* `which` is the check's id after "evidence.". */
void lab01_examine_objective(const char *which, const cJSON *doc, struct evidence *out);

#endif
