/* evidence.h: what the examinations of lab 01's two data files share. */
#ifndef SERVELAB_GRADER_LAB01_EVIDENCE_H
#define SERVELAB_GRADER_LAB01_EVIDENCE_H

#include "base/err.h"
#include "core/lab.h"

#include <cjson/cJSON.h>

/* Loses the check, with this message. */
void lab01_lost(struct evidence *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void lab01_lost_because(struct evidence *out, const struct err *e, const char *file);

/* The unit of the number that ends at `at`, in ms; 0: none, or none of time. */
double lab01_unit_ms(const char *at);

/* `which` is the check's id after "evidence.". */
void lab01_examine_objective(const char *which, const cJSON *doc, struct evidence *out);

#endif
