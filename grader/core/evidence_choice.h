/* evidence_choice.h: examines the answer to "two candidates, which one?": a few numbers of each,
 * the choice and its reason. Labs 01 to 03 have one, where the candidate with the greater rate is
 * the worse one.
 *
 *   {"a": {NUMBERS}, "b": {NUMBERS}, CHOICE: "a" or "b", "reason": "a sentence"}
 */
#ifndef SERVELAB_GRADER_CORE_EVIDENCE_CHOICE_H
#define SERVELAB_GRADER_CORE_EVIDENCE_CHOICE_H

#include "core/lab.h"

#include "base/err.h"

#include <cjson/cJSON.h>

struct choice_number {
    const char *member;
    double want[2];   /* of a and b, to one per cent */
    const char *what; /* for the message: how it is computed */
    struct choice_mistake {
        double value[2];
        const char *text; /* after "this is what you get if "; NULL ends the list */
    } mistake[4];
};

struct choice {
    const char *member;                 /* "buy" */
    const char *right;                  /* "b" */
    const struct choice_number *number; /* (n) */
    int n;
};

/* Reads `v`, the member `path` of the file. 0: all is right. 1: *e says what is not. -1: *e says
 * what is wrong with the form. */
int evidence_choice(const cJSON *v, const char *path, const struct choice *c, struct err *e);

#endif
