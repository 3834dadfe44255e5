/* wire.h: the bytes on the channel between the grader and a submission's process.
 *
 * A frame is a header and a payload. The grader asks one case at a time; the child answers with the
 * numbers that the learner's function returned. Each question carries a nonce that the child can't
 * know in advance, and the answer must repeat it. So an answer written in advance, or sent twice,
 * is refused.
 *
 * One codec serves both directions: wire_i64(w, &x) writes x, or reads it, depending on w->reading,
 * so that both sides agree about every field. Every read is bounded; after the first fault w->bad
 * stays set and every further value reads as 0.
 *
 * Compiled into the grader and into the child. Does no input or output.
 */
#ifndef SERVELAB_GRADER_CORE_WIRE_H
#define SERVELAB_GRADER_CORE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC UINT32_C(0x31474c53) /* "SLG1", little-endian */

enum {
    WIRE_MAX_PAYLOAD =
        1 << 20, /* the largest question, 4 attempts of 300 events, is about 120 kB */
    WIRE_MAX_STRING = 512,
    WIRE_MAX_QUERY = 16384, /* one step of a batch: lab 04 */
    WIRE_MAX_REPLY = 4096,
    WIRE_CHANNEL_FD = 3 /* where the child finds its end */
};

enum wire_type {
    WIRE_HELLO = 7, /* child to grader: main has begun; no payload. If it does not come, no function
                       of the submission has run, and the grader is at fault */
    WIRE_CASE = 1,  /* grader to child: one case */
    WIRE_ANSWER,    /* child to grader: int64 slots */
    WIRE_TODO,  /* child to grader: the starter's LAB_TODO was reached; payload: function name */
    WIRE_QUERY, /* child to grader, during a case: the learner's function needs a value that only
                   the grader can compute */
    WIRE_REPLY  /* grader to child: the reply, with a nonce that the next frames must repeat */
};

struct wire_header {
    uint32_t magic;
    uint32_t type;
    uint64_t nonce;
    uint32_t length; /* of the payload, in bytes */
    uint32_t heap;   /* of an answer: bytes in use on the child's heap; otherwise 0 */
};

struct wire {
    unsigned char *at; /* next byte to read or write; the caller owns the buffer */
    size_t left;
    bool reading;
    bool bad; /* ran out of bytes, or a length was over its bound */
};

struct wire wire_reader(const void *bytes, size_t n);
struct wire wire_writer(void *bytes, size_t cap);

void wire_i64(struct wire *w, int64_t *v);
void wire_i32(struct wire *w, int32_t *v);
void wire_size(struct wire *w, size_t *v, size_t max);
void wire_bool(struct wire *w, bool *v);
void wire_f64(struct wire *w, double *v);
/* A NUL-terminated text in a buffer of cap bytes. Reading zeroes the rest of the buffer. */
void wire_text(struct wire *w, char *text, size_t cap);
/* n signed integers; the caller provides the room (see wire_size). */
void wire_i64_array(struct wire *w, int64_t *v, size_t n);

/* Sends an enum as an int32, independent of the compiler's type for it. */
#define WIRE_ENUM(w, member)                                                                       \
    do {                                                                                           \
        int32_t wire_enum_ = (w)->reading ? 0 : (int32_t)(member);                                 \
        wire_i32((w), &wire_enum_);                                                                \
        (member) = wire_enum_;                                                                     \
    } while (0)

#endif
