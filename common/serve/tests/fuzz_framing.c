/* fuzz_framing.c: any bytes as what a client sends: the same verdict whole and byte by byte, and
 * what passes holds no byte that two readers may read differently. See testing/fuzz.h for the two
 * ways to run it.
 */
#include "serve/http_framing.h"
#include "testing/fuzz.h"

struct verdict {
    int status, complete;
    size_t good;
};

static struct verdict read_in_steps(const char *bytes, size_t n, size_t step) {
    struct framing f = {0};
    struct verdict v = {0};
    for (size_t at = 0; at < n && !v.status; at += step) {
        int complete;
        size_t good, part = n - at < step ? n - at : step;
        struct framing_fault fault = framing_read(&f, bytes + at, part, &complete, &good);
        INVARIANT(good <= part && (!fault.status || fault.text));
        if (complete > 0) v.good = at + good;
        v.complete += complete;
        v.status = fault.status;
    }
    framing_release(&f);
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = (const char *)data;
    struct verdict whole = read_in_steps(bytes, size, size ? size : 1);
    struct verdict one = read_in_steps(bytes, size, 1), seven = read_in_steps(bytes, size, 7);
    INVARIANT(whole.status == one.status && whole.complete == one.complete);
    INVARIANT(whole.status == seven.status && whole.complete == seven.complete);
    INVARIANT(whole.complete == 0 || read_in_steps(bytes, whole.good, size).status == 0);
    INVARIANT(read_in_steps(bytes, whole.good, size ? size : 1).complete == whole.complete);
    return 0;
}
