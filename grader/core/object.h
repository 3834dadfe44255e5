/* object.h: decides whether a compiled submission may be linked. Examines the compiler's files of
 * one source, before anything is linked or run:
 *
 *   the dependency list   only the system's headers and the given ones are included
 *   the preprocessed text no attribute or pragma turns the sanitizers off or changes the language,
 *                         every name for the assembler is an identifier (object_tokens.c)
 *   the assembly          only directives that the compiler writes for plain C: no inline assembly,
 *                         and none injected through a section's name
 *   the object            no constructor, no unusual section, no function named like one of the C
 *                         library's, no call of a function that isn't on the list
 *
 * Each refusal names what was found. In doubt a file is refused: its compiler is known, so text
 * that this compiler does not write was injected.
 */
#ifndef SERVELAB_GRADER_CORE_OBJECT_H
#define SERVELAB_GRADER_CORE_OBJECT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Each returns 0, or -1 with *e. `file` is the source's name for messages. Inputs are
 * NUL-terminated besides their length. */
int object_check_includes(const char *file, const char *deps, size_t n, const char *given_folder,
                          struct err *e);
int object_check_tokens(const char *file, const char *text, size_t n, struct err *e);
int object_check_assembly(const char *file, const char *text, size_t n, struct err *e);

struct object_rules {
    const char *const *interface; /* functions that it may define for others */
    const char *const *own;       /* those of them that belong in this file; NULL: none */
    const char *const *callable;  /* functions of the project that it may call */
    /* symbols that the submission's files define, once for each: this file may use them */
    const char *const *others;
    size_t n_others;
};
int object_check_symbols(const char *file, const unsigned char *elf, size_t n,
                         const struct object_rules *rules, struct err *e);
/* The object with sanitizers, which may use what the sanitizers' instrumentation calls, too: it has
 * code that the optimiser took out of the other one. */
int object_check_sanitised(const char *file, const unsigned char *elf, size_t n,
                           const struct object_rules *rules, struct err *e);

/* Calls each(name, ctx) for every symbol that the object defines globally. -1: not an object. */
int object_each_global(const unsigned char *elf, size_t n,
                       void (*each)(const char *name, void *ctx), void *ctx);

/* The same for every symbol that it uses and doesn't define. */
int object_each_undefined(const unsigned char *elf, size_t n,
                          void (*each)(const char *name, void *ctx), void *ctx);

/* Whether a submission may use this function of the C library. */
bool object_libc_allowed(const char *name);

#endif
