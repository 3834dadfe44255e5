/* gguf_keys.c: see gguf_keys.h. */
#include "model/gguf_keys.h"

#include <stdlib.h>
#include <string.h>

static void put(struct gguf_keys *k, const void *p, size_t n) {
    buffer_add(&k->bytes, p, n);
}

static void begin(struct gguf_keys *k, const char *key, uint32_t type) {
    gguf_keys_put_str(k, key, strlen(key));
    put(k, &type, sizeof type);
    k->n++;
}

void gguf_keys_put_str(struct gguf_keys *k, const char *text, size_t n) {
    uint64_t length = n;
    put(k, &length, sizeof length);
    put(k, text, n);
}

void gguf_keys_put_int32(struct gguf_keys *k, int32_t v) {
    put(k, &v, sizeof v);
}

void gguf_keys_put_bool(struct gguf_keys *k, bool v) {
    uint8_t byte = v;
    put(k, &byte, sizeof byte);
}

void gguf_keys_str(struct gguf_keys *k, const char *key, const char *text, size_t n) {
    begin(k, key, V_STRING);
    gguf_keys_put_str(k, text, n);
}

void gguf_keys_puts(struct gguf_keys *k, const char *key, const char *text) {
    gguf_keys_str(k, key, text, strlen(text));
}

void gguf_keys_int(struct gguf_keys *k, const char *key, int64_t v) {
    begin(k, key, V_INT64);
    put(k, &v, sizeof v);
}

void gguf_keys_float(struct gguf_keys *k, const char *key, double v) {
    begin(k, key, V_FLOAT64);
    put(k, &v, sizeof v);
}

void gguf_keys_bool(struct gguf_keys *k, const char *key, bool v) {
    begin(k, key, V_BOOL);
    gguf_keys_put_bool(k, v);
}

void gguf_keys_array(struct gguf_keys *k, const char *key, enum value_type element,
                     uint64_t count) {
    uint32_t type = element;
    begin(k, key, V_ARRAY);
    put(k, &type, sizeof type);
    put(k, &count, sizeof count);
}

void gguf_keys_copy(struct gguf_keys *k, const struct gguf *from, size_t index) {
    const struct entry *entry = &from->entries[index];
    const char *begins = entry->name.s - sizeof entry->name.n;
    /* The next key, or the first tensor entry, begins where this value ends. */
    const char *ends = index + 1 < from->n_entries ? entry[1].name.s - sizeof entry->name.n
                                                   : (const char *)from->base + from->keys_end;
    put(k, begins, (size_t)(ends - begins));
    k->n++;
}

uint8_t *gguf_keys_finish(struct gguf_keys *k, size_t *n, struct err *e) {
    struct gguf_keys head = {0};
    const uint32_t version = 3;
    const uint64_t counts[] = {0, k->n};
    put(&head, "GGUF", 4);
    put(&head, &version, sizeof version);
    put(&head, counts, sizeof counts);
    put(&head, k->bytes.bytes, k->bytes.n);
    bool failed = k->bytes.failed || head.bytes.failed;
    buffer_release(&k->bytes);
    if (failed) {
        buffer_release(&head.bytes);
        err_set(e, "out of memory for the model's metadata");
        return NULL;
    }
    *n = head.bytes.n;
    return (uint8_t *)head.bytes.bytes;
}
