/* fuzz_bytes.h: mutations of seeds that hold NUL bytes, which fuzz_mutate of testing/fuzz.h can't
 * take: compiled objects and cases on the channel. */
#ifndef SERVELAB_GRADER_TESTS_FUZZ_BYTES_H
#define SERVELAB_GRADER_TESTS_FUZZ_BYTES_H

#include "labs.h"

#include "testing/check_main.h"
#include "testing/fuzz.h"

/* Calls the target `rounds` times with seed[0..n) changed up to five times; every second time one
 * of the first 64 bytes, where a header has its offsets, becomes a small number. With selector >=
 * 0, that byte comes before the mutated ones. */
static inline void fuzz_bytes(const unsigned char *seed, size_t n, int selector, int rounds) {
    struct rng rng;
    rng_seed(&rng, 11);
    for (int i = 0; i < rounds; i++) {
        size_t cap = n + 256, len = n + 1;
        uint8_t *buf = malloc(cap);
        ck_assert_ptr_nonnull(buf);
        memcpy(buf + 1, seed, n);
        for (uint64_t k = rng_below(&rng, 6); k > 0; k--) len = fuzz_change(buf, len, cap, &rng);
        if (i % 2) buf[1 + rng_below(&rng, 64)] = (uint8_t)rng_below(&rng, 4);
        buf[0] = (uint8_t)selector;
        if (selector >= 0)
            LLVMFuzzerTestOneInput(buf, len);
        else if (len > 0)
            LLVMFuzzerTestOneInput(buf + 1, len - 1);
        free(buf);
    }
}

/* 300 mutations of the first case of each of a lab's checks. */
static inline void fuzz_cases(const struct lab *lab) {
    for (size_t i = 0; i < lab->n_checks; i++) {
        const struct check_def *def = &lab->checks[i];
        struct hidden_case h = {0};
        struct err e;
        if (def->kind == CHECK_EVIDENCE || def->kind == CHECK_DIALOGUE || def->kind == CHECK_OWN)
            continue;
        ck_assert_int_eq(lab->make(def, 1, 0, &h, &e), 0);
        fuzz_bytes(h.bytes, h.n_bytes, -1, 300);
        hidden_case_release(&h);
    }
}

#endif
