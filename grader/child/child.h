/* child.h: the program in which a submission runs. child.c is the same for every lab: it reads
 * cases from the channel and sends answers. The lab's part (labNN.c) turns one case into one call
 * of the learner's function.
 *
 * This program gets inputs only. Expected answers are computed in the grader's process and never
 * sent here.
 */
#ifndef SERVELAB_GRADER_CHILD_H
#define SERVELAB_GRADER_CHILD_H

#include <stddef.h>
#include <stdint.h>

/* Calls the learner's function for the case in bytes[0..n) and writes the answer to slots[0..cap).
 * Returns the number of slots, or -1 when the bytes are not a case. Each lab defines it. */
int child_answer(const void *bytes, size_t n, int64_t *slots, size_t cap);

/* Sends a query to the grader during a case, and returns the reply's length. Ends the process when
 * the channel is broken. */
size_t child_query(const void *bytes, size_t n, void *reply, size_t cap);

/* Bytes in use on the heap, with blocks that are so large that the C library maps each by itself.
 */
int64_t child_heap_bytes(void);

/* For a kernel's outputs: as many bytes as a question may have, and a fourth of it for maps. */
enum { CHILD_MAX_SLOTS = (1 << 17) / 4 * 5 };

/* Drops every right that a computation does not need. Afterwards the process can compute, and read
 * and write descriptors that are open already; it can't open a file, make a process or a
 * connection, or signal another process (child_seccomp.c). 0, or -1 when the kernel has no seccomp;
 * then only the sandbox around the process holds. */
int child_confine(void);

/* What a program may do beside. Sockets are of this machine's alone, and none is connected. */
enum child_rights { CHILD_COMPUTES, CHILD_HAS_THREADS, CHILD_SERVES };
int child_confine_to(enum child_rights rights);

#endif
