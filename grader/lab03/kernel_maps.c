/* kernel_maps.c: see kernel_maps.h. */
#include "lab03/kernel_maps.h"

#include <stdlib.h>
#include <string.h>

/* The changed bytes. Four of them are the greatest float but for a hundredth, and two are such a
 * bf16: they outweigh what else is added up, and win every maximum. As an index they are out of
 * bounds. */
enum { OTHER = 0x7f };

/* One tensor of an answer. */
struct view {
    const unsigned char *after, *read, *written;
};

/* Takes the tensor's view from the answer at *at, and goes on behind it. */
static struct view next_view(const struct kernel_wire_param *p, const int64_t *answer, size_t *at) {
    size_t map = kernel_wire_map_slots(p->bytes);
    const int64_t *from = answer + *at, *maps = from + kernel_wire_slots(p->bytes);
    *at += kernel_wire_slots(p->bytes) + 2 * map;
    return (struct view){(const unsigned char *)from, (const unsigned char *)maps,
                         (const unsigned char *)(maps + map)};
}

static bool has(const unsigned char *map, size_t i) {
    return map[i / 8] >> i % 8 & 1;
}

bool lab03_maps_unwritten(const struct lab03_launch *launch, const int64_t *answer) {
    size_t at = 1;
    for (int k = 0; k < launch->n_params; k++) {
        const struct kernel_wire_param *p = &launch->param[k];
        const unsigned char *before = p->data;
        if (p->kind >= KWIRE_SIZE) continue;
        struct view v = next_view(p, answer, &at);
        for (size_t i = 0; i < p->bytes; i++)
            if (v.after[i] != (p->kind == KWIRE_INPUT ? before[i] : 0xff) && !has(v.written, i))
                return true;
    }
    return false;
}

void *lab03_maps_change_unread(struct lab03_launch *launch, const int64_t *answer,
                               int64_t *expected) {
    size_t at = 1, to = 1, unread = 0;
    unsigned char *copies = malloc(WIRE_MAX_PAYLOAD), *copy = copies;
    expected[0] = answer[0];
    for (int k = 0; k < launch->n_params && copies; k++) {
        struct kernel_wire_param *p = &launch->param[k];
        if (p->kind >= KWIRE_SIZE) continue;
        struct view v = next_view(p, answer, &at);
        unsigned char *wanted = (unsigned char *)(expected + to);
        memcpy(wanted, v.after, kernel_wire_slots(p->bytes) * 8);
        to += kernel_wire_slots(p->bytes);
        if (p->kind != KWIRE_INPUT) continue;
        memcpy(copy, p->data, p->bytes);
        for (size_t i = 0; i < p->bytes; i++) {
            if (has(v.read, i)) continue;
            unread++;
            copy[i] = OTHER;
            if (!has(v.written, i)) wanted[i] = OTHER;
        }
        p->data = copy;
        copy += p->bytes;
    }
    launch->counted = false;
    if (unread) return copies;
    free(copies);
    return NULL;
}
