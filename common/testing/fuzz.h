/* fuzz.h: fuzz_mutate, which calls a libFuzzer target with mutated seed texts, the same on every
 * machine.
 *
 * tests/fuzz_x.c defines LLVMFuzzerTestOneInput. test_fuzz_x.c includes it and calls fuzz_mutate:
 * some thousand inputs a second, for `make test`. With clang it is also a libFuzzer program:
 *   clang -g -fsanitize=fuzzer,address,undefined -Icommon fuzz_x.c libservelab.a ... -o fuzz_x
 *
 * The target must survive any bytes. It checks the properties of accepted input with INVARIANT.
 */
#ifndef SERVELAB_TESTING_FUZZ_H
#define SERVELAB_TESTING_FUZZ_H

#include "base/err.h"
#include "base/rng.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline size_t fuzz_change(uint8_t *buf, size_t n, size_t cap, struct rng *rng);

/* Calls the target with every seed text unchanged, then `rounds` times with a random seed text and
 * one to six changes. Equal arguments give equal inputs. */
static inline void fuzz_mutate(const char *const *seeds, size_t n_seeds, int rounds,
                               uint64_t rng_number) {
    struct rng rng;
    rng_seed(&rng, rng_number);
    for (size_t i = 0; i < n_seeds; i++)
        LLVMFuzzerTestOneInput((const uint8_t *)seeds[i], strlen(seeds[i]));
    for (int i = 0; i < rounds; i++) {
        const char *seed = seeds[rng_below(&rng, n_seeds)];
        size_t n = strlen(seed), cap = n + 256;
        uint8_t *buf = malloc(cap);
        INVARIANT(buf != NULL);
        memcpy(buf, seed, n);
        for (uint64_t k = 1 + rng_below(&rng, 6); k > 0; k--) n = fuzz_change(buf, n, cap, &rng);
        /* a copy of exactly that size, so that the address sanitizer sees a read past its end */
        uint8_t *exact = malloc(n ? n : 1);
        INVARIANT(exact != NULL);
        memcpy(exact, buf, n);
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
        free(buf);
    }
}

/* Pieces that find faults of parsers sooner than random bytes. */
static const char *const fuzz_pieces[] = {
    "null",
    "true",
    "-",
    "0",
    "-0",
    "1e999",
    "1e-999",
    "9007199254740993",
    "NaN",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "\\u0000",
    "\\ud800",
    "\xff",
    "\xc0",
    "\n",
    "\r\n",
    "\t",
    "[[[[",
    "{\"\":",
    "0.1",
    "18446744073709551616",
    "\\",
    "\"\"",
    "1E5",
    ".",
    "schema",
    "TODO",
};

/* Makes one random change to buf[0..n); returns the new length, at most cap. */
static inline size_t fuzz_change(uint8_t *buf, size_t n, size_t cap, struct rng *rng) {
    size_t at = rng_below(rng, n + 1);
    switch (rng_below(rng, 5)) {
    case 0: /* flip one bit */
        if (at < n) buf[at] ^= (uint8_t)(1u << rng_below(rng, 8));
        return n;
    case 1: /* replace a byte */
        if (at < n) buf[at] = (uint8_t)rng_next(rng);
        return n;
    case 2: { /* remove up to 8 bytes */
        size_t cut = rng_below(rng, 9);
        if (cut > n - at) cut = n - at;
        memmove(buf + at, buf + at + cut, n - at - cut);
        return n - cut;
    }
    case 3: { /* insert a piece */
        const char *piece = fuzz_pieces[rng_below(rng, sizeof fuzz_pieces / sizeof *fuzz_pieces)];
        size_t len = strlen(piece);
        if (n + len > cap) return n;
        memmove(buf + at + len, buf + at, n - at);
        memcpy(buf + at, piece, len);
        return n + len;
    }
    default: { /* repeat up to 39 bytes */
        size_t len = rng_below(rng, 40);
        if (len > n - at) len = n - at;
        if (n + len > cap) return n;
        memmove(buf + at + len, buf + at, n - at);
        return n + len;
    }
    }
}

#endif
