/* kernel_wire.c: see kernel_wire.h. Compiled into the grader and the child. */
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

void lab03_launch_codec(struct wire *w, struct lab03_launch *launch) {
    wire_text(w, launch->kernel, sizeof launch->kernel);
    for (int i = 0; i < 3; i++) wire_i32(w, &launch->grid[i]);
    for (int i = 0; i < 3; i++) wire_i32(w, &launch->block[i]);
    wire_i32(w, &launch->shared_bytes);
    wire_i32(w, &launch->n_params);
    wire_bool(w, &launch->counted);
    if (launch->n_params < 0 || launch->n_params > KERNEL_WIRE_PARAMS) w->bad = true;
    for (int i = 0; i < launch->n_params && !w->bad; i++) {
        wire_i32(w, &launch->param[i].kind);
        if (launch->param[i].kind < KWIRE_INPUT || launch->param[i].kind > KWIRE_SCALAR)
            w->bad = true;
        else if (launch->param[i].kind >= KWIRE_SIZE)
            wire_i32(w, &launch->param[i].size);
        else
            tensor_codec(w, &launch->param[i]);
    }
}

size_t lab03_launch_slots(const struct lab03_launch *launch) {
    size_t n = 1;
    for (int i = 0; i < launch->n_params; i++) {
        size_t bytes = launch->param[i].bytes;
        if (launch->param[i].kind >= KWIRE_SIZE) continue;
        n += kernel_wire_slots(bytes) + (launch->counted ? 2 * kernel_wire_map_slots(bytes) : 0);
    }
    return n;
}
