/* labs.h: the labs there are, and how to find one by name. To add a lab, add it here and in labs.c;
 * the core (core/) includes neither this file nor any lab's.
 */
#ifndef SERVELAB_GRADER_LABS_H
#define SERVELAB_GRADER_LABS_H

#include "core/lab.h"

extern const struct lab lab01, lab02, lab03, lab04;

/* "01", "1" or "01_request_record"; NULL when there is no such lab. */
const struct lab *lab_find(const char *name);

/* Lab 04 with the learner's own files of labs 01 and 02 in place of the reference's: they are in
 * the folders beside the submission. Lab 03's files are no part of the graded engine. NULL for a
 * lab that builds on no other. */
const struct lab *lab_with_own(const struct lab *lab);

#endif
