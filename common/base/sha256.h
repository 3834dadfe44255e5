/* sha256.h: SHA-256 (FIPS 180-4), for telling texts apart. Not for secrets. */
#ifndef SERVELAB_BASE_SHA256_H
#define SERVELAB_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct sha256 {
    uint32_t h[8];
    uint8_t block[64];
    uint64_t n; /* bytes so far */
};

static inline uint32_t sha256_rotr(uint32_t x, int k) {
    return x >> k | x << (32 - k);
}

/* The first 32 bits of the fractional part of the k-th root (2 or 3) of prime p: by integer search,
 * so that no table of constants is needed. */
static inline uint32_t sha256_constant(uint32_t p, int root) {
    /* the greatest x with x^root <= p * 2^(32 * root); its low 32 bits are the fraction. p is at
     * most 311, so x has 37 bits and its cube 111. */
    unsigned __int128 lo = 0, hi = (unsigned __int128)1 << 37;
    while (lo + 1 < hi) {
        unsigned __int128 mid = (lo + hi) / 2, power = root == 2 ? mid * mid : mid * mid * mid;
        int above = power > (unsigned __int128)p << (32 * root);
        if (above)
            hi = mid;
        else
            lo = mid;
    }
    return (uint32_t)lo;
}

struct sha256_constants {
    uint32_t k[64], h[8];
};
static inline const struct sha256_constants *sha256_constants(void) {
    static struct sha256_constants c;
    if (c.k[0]) return &c;
    int n = 0;
    for (uint32_t p = 2; n < 64; p++) {
        int prime = 1;
        for (uint32_t d = 2; d * d <= p; d++) prime &= p % d != 0;
        if (!prime) continue;
        c.k[n] = sha256_constant(p, 3);
        if (n < 8) c.h[n] = sha256_constant(p, 2);
        n++;
    }
    return &c;
}

static inline void sha256_init(struct sha256 *s) {
    memset(s, 0, sizeof *s);
    memcpy(s->h, sha256_constants()->h, sizeof s->h);
}

static inline void sha256_block(struct sha256 *s) {
    const uint32_t *k = sha256_constants()->k;
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 |
               (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (sha256_rotr(a, 7) ^ sha256_rotr(a, 18) ^ a >> 3) +
               (sha256_rotr(b, 17) ^ sha256_rotr(b, 19) ^ b >> 10);
    }
    memcpy(v, s->h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (sha256_rotr(e, 6) ^ sha256_rotr(e, 11) ^ sha256_rotr(e, 25)) +
                      ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
        uint32_t t2 = (sha256_rotr(a, 2) ^ sha256_rotr(a, 13) ^ sha256_rotr(a, 22)) +
                      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) s->h[i] += v[i];
}

static inline void sha256_add(struct sha256 *s, const void *p, size_t n) {
    const uint8_t *b = p;
    for (size_t i = 0; i < n; i++) {
        s->block[s->n++ % 64] = b[i];
        if (s->n % 64 == 0) sha256_block(s);
    }
}

/* Ends it and writes 64 hexadecimal digits and a NUL. */
static inline void sha256_end(struct sha256 *s, char hex[65]) {
    uint64_t bits = s->n * 8;
    sha256_add(s, "\x80", 1);
    while (s->n % 64 != 56) sha256_add(s, "", 1);
    for (int i = 7; i >= 0; i--) sha256_add(s, &(uint8_t){(uint8_t)(bits >> 8 * i)}, 1);
    for (int i = 0; i < 8; i++) snprintf(hex + 8 * i, 9, "%08x", s->h[i]);
}

#endif
