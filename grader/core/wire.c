/* wire.c: the codec of wire.h. Little-endian, no padding, no pointers. */
#include "core/wire.h"

#include <endian.h>
#include <string.h>

struct wire wire_reader(const void *bytes, size_t n) {
    return (struct wire){(unsigned char *)(uintptr_t)bytes, n, true, false};
}

struct wire wire_writer(void *bytes, size_t cap) {
    return (struct wire){bytes, cap, false, false};
}

static bool take(struct wire *w, size_t n) {
    if (w->bad || n > w->left) {
        w->bad = true;
        return false;
    }
    return true;
}

/* Moves n bytes between the buffer and v. */
static void move(struct wire *w, void *v, size_t n) {
    if (!take(w, n)) {
        if (w->reading) memset(v, 0, n);
        return;
    }
    if (n == 0) return;
    if (w->reading)
        memcpy(v, w->at, n);
    else
        memcpy(w->at, v, n);
    w->at += n;
    w->left -= n;
}

void wire_i64(struct wire *w, int64_t *v) {
    uint64_t u = htole64((uint64_t)*v);
    move(w, &u, sizeof u);
    if (w->reading) *v = (int64_t)le64toh(u);
}

void wire_i32(struct wire *w, int32_t *v) {
    int64_t wide = w->reading ? 0 : *v;
    wire_i64(w, &wide);
    if (wide < INT32_MIN || wide > INT32_MAX) w->bad = true;
    if (w->reading) *v = w->bad ? 0 : (int32_t)wide;
}

void wire_size(struct wire *w, size_t *v, size_t max) {
    int64_t wide = w->reading ? 0 : (int64_t)*v;
    wire_i64(w, &wide);
    if (wide < 0 || (uint64_t)wide > max) w->bad = true;
    if (w->reading) *v = w->bad ? 0 : (size_t)wide;
}

void wire_bool(struct wire *w, bool *v) {
    int32_t x = w->reading ? 0 : *v;
    wire_i32(w, &x);
    if (w->reading) *v = x != 0;
}

void wire_f64(struct wire *w, double *v) {
    int64_t bits = 0;
    if (!w->reading) memcpy(&bits, v, sizeof bits);
    wire_i64(w, &bits);
    if (w->reading) memcpy(v, &bits, sizeof bits);
}

void wire_text(struct wire *w, char *text, size_t cap) {
    size_t n = w->reading ? 0 : strnlen(text, cap - 1);
    wire_size(w, &n, cap - 1 < WIRE_MAX_STRING ? cap - 1 : WIRE_MAX_STRING);
    if (w->reading) memset(text, 0, cap);
    move(w, text, n);
}

void wire_i64_array(struct wire *w, int64_t *v, size_t n) {
    for (size_t i = 0; i < n && !w->bad; i++) wire_i64(w, &v[i]);
}
