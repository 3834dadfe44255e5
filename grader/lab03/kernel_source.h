/* kernel_source.h: what the text of a kernel file may hold. Looks at the learner's own text, before
 * any compiler does, so that every refusal has the learner's line; what it can't see (which
 * functions are called, what the compiler made of it) kernel_object.h looks at afterwards.
 *
 * A kernel file is device code only: __global__ and __device__ functions, types, constants, and
 * __device__, __constant__ and __shared__ variables of plain types. Refused: functions of the host;
 * anything that runs before a kernel does (constructors, initialisers that compute); inline
 * assembly; attributes; pragmas but unroll; includes that aren't on the list; names of the
 * machinery that counts and checks, and the ways to write such a name without writing it.
 */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_SOURCE_H
#define SERVELAB_GRADER_LAB03_KERNEL_SOURCE_H

#include "base/err.h"

#include <stddef.h>

/* text is NUL-terminated besides its length. 0, or -1 with *e: a sentence that begins with
 * "FILE:LINE: ". */
int lab03_source_check(const char *file, const char *text, size_t n, struct err *e);

/* The line where `name` first stands as a name; 0 when nowhere. */
int lab03_source_line_of(const char *text, size_t n, const char *name);

#endif
