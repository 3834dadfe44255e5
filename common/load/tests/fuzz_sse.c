/* fuzz_sse.c: any bytes as an event stream give the same events however they are cut into reads.
 * See testing/fuzz.h for the two ways to run it.
 */
#include "load/sse.h"
#include "testing/fuzz.h"

struct seen {
    uint64_t hash;
    size_t events;
};

static int note(void *ctx, const char *data, size_t n) {
    struct seen *seen = ctx;
    for (size_t i = 0; i < n; i++) seen->hash = (seen->hash ^ (uint8_t)data[i]) * 1099511628211u;
    seen->hash = (seen->hash ^ 0x1ff) * 1099511628211u;
    seen->events++;
    return 0;
}

static bool parse(const uint8_t *data, size_t size, size_t step, struct seen *seen) {
    struct sse s = {0};
    struct err e;
    *seen = (struct seen){0};
    for (size_t at = 0; at < size; at += step) {
        size_t n = size - at < step ? size - at : step;
        INVARIANT(!sse_feed(&s, (const char *)data + at, n, note, seen, &e));
    }
    bool cut = sse_end(&s);
    sse_release(&s);
    return cut;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 100000) return 0;
    struct seen whole, part;
    bool cut = parse(data, size, size ? size : 1, &whole);
    for (size_t step = 1; step <= 7; step += 2) {
        INVARIANT(parse(data, size, step, &part) == cut);
        INVARIANT(part.hash == whole.hash && part.events == whole.events);
    }
    return 0;
}
