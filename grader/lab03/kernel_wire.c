/* kernel_wire.c: see kernel_wire.h. Compiled into both sides. */
#include "lab03/kernel_wire.h"

#include <string.h>

static void tensor_codec(struct wire *w, struct kernel_wire_param *p) {
    wire_size(w, &p->bytes, WIRE_MAX_PAYLOAD);
    if (p->kind != KWIRE_INPUT) return;
    size_t room = kernel_wire_slots(p->bytes) * 8;
    if (w->bad || room > w->left) {
        w->bad = true;
        return;
    }
    if (w->reading) {
        p->data = w->at;
    } else {
        memset(w->at, 0, room);
        memcpy(w->at, p->data, p->bytes);
    }
    w->at += room;
    w->left -= room;
}

void kernel_question_codec(struct wire *w, struct kernel_question *q) {
    wire_text(w, q->kernel, sizeof q->kernel);
    for (int i = 0; i < 3; i++) wire_i32(w, &q->grid[i]);
    for (int i = 0; i < 3; i++) wire_i32(w, &q->block[i]);
    wire_i32(w, &q->shared_bytes);
    wire_i32(w, &q->n_params);
    if (q->n_params < 0 || q->n_params > KERNEL_WIRE_PARAMS) w->bad = true;
    for (int i = 0; i < q->n_params && !w->bad; i++) {
        wire_i32(w, &q->param[i].kind);
        if (q->param[i].kind < KWIRE_INPUT || q->param[i].kind > KWIRE_SCALAR)
            w->bad = true;
        else if (q->param[i].kind >= KWIRE_SIZE)
            wire_i32(w, &q->param[i].size);
        else
            tensor_codec(w, &q->param[i]);
    }
}

size_t kernel_question_slots(const struct kernel_question *q) {
    size_t n = 1;
    for (int i = 0; i < q->n_params; i++)
        if (q->param[i].kind < KWIRE_SIZE) n += kernel_wire_slots(q->param[i].bytes);
    return n;
}
