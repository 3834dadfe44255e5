/* kernel_source.h: decides whether the text of a kernel file may be compiled. Examines the
 * learner's own text before any compiler does, so that every refusal has the learner's line.
 * kernel_object.h examines the compiler's output, which shows the functions that are called.
 *
 * A kernel file is device code only: __global__ and __device__ functions, types, constants, and
 * __device__, __constant__ and __shared__ variables of plain types. Refused: host functions; code
 * that runs before a kernel does (constructors, initialisers that compute); inline assembly;
 * attributes; pragmas but unroll; includes that aren't on the list; names of the counting and
 * checking runtime, and every way to form such a name indirectly.
 */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_SOURCE_H
#define SERVELAB_GRADER_LAB03_KERNEL_SOURCE_H

#include "base/err.h"

#include <stddef.h>

/* text is NUL-terminated besides its length. 0, or -1 with *e: a sentence that begins with
 * "FILE:LINE: ". */
int lab03_source_check(const char *file, const char *text, size_t n, struct err *e);

/* The first line with the name `name`; 0 when there is none. */
int lab03_source_line_of(const char *text, size_t n, const char *name);

#endif
