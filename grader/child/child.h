/* child.h: the two halves of the process in which a submission runs. child.c is the same for every
 * lab: it reads cases from the channel and sends answers; the lab's half turns one case into a call
 * of the learner's function.
 *
 * This program knows inputs only. What is expected is computed in the grader's process, from the
 * same case, and never comes here.
 */
#ifndef SERVELAB_GRADER_CHILD_H
#define SERVELAB_GRADER_CHILD_H

#include <stddef.h>
#include <stdint.h>

/* Calls the learner's function for the case in bytes[0..n) and writes the answer to slots[0..cap).
 * Returns the number of slots, or -1 when the bytes are no case. Each lab has one. */
int child_answer(const void *bytes, size_t n, int64_t *slots, size_t cap);

/* In the middle of a case: asks the grader, and returns the reply's length. Ends the process where
 * the channel is broken. */
size_t child_query(const void *bytes, size_t n, void *reply, size_t cap);

enum { CHILD_MAX_SLOTS = 1 << 17 }; /* a kernel's outputs: as many bytes as a question may have */

/* Gives the process up everything that a computation doesn't need: after this it can compute, and
 * read and write descriptors that are open already; it can't open a file, make a process or a
 * connection, or signal anything else (child_seccomp.c). 0, or -1 where the kernel has no
 * seccomp; the sandbox around us holds then too. */
int child_confine(void);

#endif
