/* kernel_object.h: decides whether the compiled form of a kernel file may be linked. Runs after
 * kernel_source.h, because only the compiled form shows the functions that are called and the code
 * that is run.
 *
 *   the assembly  no inline assembly, no instruction that enters the operating system's kernel, no
 *                 call or jump through a pointer but the runtime's call of the kernel
 *   the object    defines the kernel; uses nothing but device functions and the runtime's interface
 *
 * Each refusal names what was found, with the learner's line if the compiler kept it.
 */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_OBJECT_H
#define SERVELAB_GRADER_LAB03_KERNEL_OBJECT_H

#include "base/err.h"

#include <stddef.h>

/* Each returns 0, or -1 with *e. Inputs are NUL-terminated besides their length. */
int lab03_kernel_check_assembly(const char *file, const char *text, size_t n, struct err *e);
/* `source` is the learner's text, to find line numbers. */
int lab03_kernel_check_symbols(const char *file, const char *kernel, const unsigned char *elf,
                               size_t n, const char *source, size_t source_n, struct err *e);

#endif
