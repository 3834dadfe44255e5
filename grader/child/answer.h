/* child/answer.h: appends the numbers that answer one case, in the order of its slots. */
#ifndef SERVELAB_GRADER_CHILD_ANSWER_H
#define SERVELAB_GRADER_CHILD_ANSWER_H

#include "objective/percentile.h"

#include <string.h>

struct answer {
    int64_t *slots;
    size_t n, cap;
};

static inline void put(struct answer *a, int64_t v) {
    if (a->n < a->cap) a->slots[a->n++] = v;
}

/* Appends a bool's byte: reading a poisoned byte as a bool would be undefined behaviour. */
static inline void put_bool(struct answer *a, const bool *b) {
    unsigned char byte;
    memcpy(&byte, b, 1);
    put(a, byte);
}

static inline void put_double(struct answer *a, double d) {
    int64_t bits;
    memcpy(&bits, &d, sizeof bits);
    put(a, bits);
}

static inline void put_percentile(struct answer *a, const struct percentile *p) {
    put_bool(a, &p->present);
    put_bool(a, &p->infinite);
    put(a, p->ns);
    put(a, (int64_t)p->n);
    put(a, (int64_t)p->failed);
    put_bool(a, &p->few);
}

#endif
