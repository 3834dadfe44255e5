/* nfc.c: see nfc.h. */
#include "model/nfc.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Hangul syllables are composed by arithmetic (The Unicode Standard, section 3.12). */
    HANGUL = 0xac00,
    LEAD = 0x1100,
    VOWEL = 0x1161,
    TAIL = 0x11a7,
    N_LEAD = 19,
    N_VOWEL = 21,
    N_TAIL = 28,
    RAW = 0x110000,        /* RAW + byte: a byte that is no part of a character */
    FIRST_MARK = 0x300,    /* a text below it is as it should be */
    FIRST_MARK_LEAD = 0xcc /* the first byte of U+0300 and more */
};

struct mark {
    uint32_t cp;
    uint8_t class; /* canonical combining class; 0: a starter */
};
struct marks {
    struct mark *m;
    size_t n, cap;
    bool failed;
};

static void take_apart(struct marks *out, uint32_t cp);
static bool put_in_order(struct mark *m, size_t n);
static size_t compose(struct mark *m, size_t n);

int nfc_normalise(const char *text, size_t n, char **out, size_t *n_out, struct err *e) {
    size_t first = 0;
    *out = NULL;
    while (first < n && (unsigned char)text[first] < FIRST_MARK_LEAD) first++;
    if (first == n) return 0;
    struct marks all = {0};
    for (size_t i = 0, len; i < n; i += len) {
        len = utf8_char_bytes(text + i, n - i);
        take_apart(&all, len ? utf8_decode(text + i, len) : (uint32_t)RAW + (unsigned char)text[i]);
        len += !len;
    }
    char *s = NULL;
    bool whole = !all.failed && put_in_order(all.m, all.n);
    if (whole) {
        all.n = compose(all.m, all.n);
        s = malloc(4 * all.n + 1);
    }
    size_t at = 0;
    for (size_t i = 0; s && i < all.n; i++)
        if (all.m[i].cp >= RAW)
            s[at++] = (char)(all.m[i].cp - RAW);
        else
            at += utf8_encode(all.m[i].cp, s + at);
    free(all.m);
    if (!s) return err_set(e, "out of memory for a text of %zu bytes", n);
    *out = s;
    *n_out = at;
    return 0;
}

static uint8_t class_of(uint32_t cp) {
    int lo = 0, hi = nfc_n_classes;
    if (cp < FIRST_MARK) return 0;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        const uint32_t *r = nfc_classes + 3 * (size_t)mid;
        if (cp >= r[0] && cp <= r[1]) return (uint8_t)r[2];
        if (cp < r[0])
            hi = mid;
        else
            lo = mid + 1;
    }
    return 0;
}

static void push(struct marks *l, uint32_t cp) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 256;
        struct mark *m = realloc(l->m, cap * sizeof *m);
        l->failed |= !m;
        if (!m) return;
        l->m = m;
        l->cap = cap;
    }
    l->m[l->n++] = (struct mark){cp, class_of(cp)};
}

static void take_apart(struct marks *out, uint32_t cp) {
    if (cp >= HANGUL && cp < HANGUL + N_LEAD * N_VOWEL * N_TAIL) {
        uint32_t i = cp - HANGUL, tail = i % N_TAIL;
        push(out, LEAD + i / (N_VOWEL * N_TAIL));
        push(out, VOWEL + i / N_TAIL % N_VOWEL);
        if (tail) push(out, TAIL + tail);
        return;
    }
    int lo = 0, hi = nfc_n_parts;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        const uint32_t *p = nfc_parts + 3 * (size_t)mid;
        if (p[0] == cp) {
            take_apart(out, p[1]); /* a part may have parts; the table is four deep at most */
            if (p[2]) take_apart(out, p[2]);
            return;
        }
        if (cp < p[0])
            hi = mid;
        else
            lo = mid + 1;
    }
    push(out, cp);
}

/* Sorts one run of marks by class and keeps the order of equals: by counting, since a hostile run
 * may have a million. */
static bool sort_run(struct mark *m, size_t n) {
    size_t start[257] = {0};
    struct mark *sorted = malloc(n * sizeof *sorted);
    if (!sorted) return false;
    for (size_t i = 0; i < n; i++) start[m[i].class + 1]++;
    for (int c = 0; c < 256; c++) start[c + 1] += start[c];
    for (size_t i = 0; i < n; i++) sorted[start[m[i].class]++] = m[i];
    memcpy(m, sorted, n * sizeof *m);
    free(sorted);
    return true;
}

static bool put_in_order(struct mark *m, size_t n) {
    for (size_t i = 0; i < n;) {
        if (m[i].class == 0) {
            i++;
            continue;
        }
        size_t end = i + 1;
        bool sorted = true;
        for (; end < n && m[end].class; end++) sorted &= m[end - 1].class <= m[end].class;
        if (!sorted && !sort_run(m + i, end - i)) return false;
        i = end;
    }
    return true;
}

/* The composed form of two characters; 0: there is none. */
static uint32_t composed(uint32_t a, uint32_t b) {
    if (a - LEAD < N_LEAD && b - VOWEL < N_VOWEL)
        return HANGUL + ((a - LEAD) * N_VOWEL + b - VOWEL) * N_TAIL;
    if (a - HANGUL < N_LEAD * N_VOWEL * N_TAIL && (a - HANGUL) % N_TAIL == 0 &&
        b - TAIL - 1 < N_TAIL - 1)
        return a + b - TAIL;
    int lo = 0, hi = nfc_n_composites;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        const uint32_t *p = nfc_parts + 3 * (size_t)nfc_composites[mid];
        if (p[1] == a && p[2] == b) return p[0];
        if (a < p[1] || (a == p[1] && b < p[2]))
            hi = mid;
        else
            lo = mid + 1;
    }
    return 0;
}

/* Joins each mark with the starter before it, unless a mark between them has the same class or a
 * higher one. Returns the number of characters left. */
static size_t compose(struct mark *m, size_t n) {
    size_t starter = SIZE_MAX, at = 0;
    for (size_t i = 0; i < n; i++) {
        bool reaches = starter != SIZE_MAX && (at == starter + 1 || m[at - 1].class < m[i].class);
        uint32_t both = reaches ? composed(m[starter].cp, m[i].cp) : 0;
        if (both) {
            m[starter].cp = both;
            continue;
        }
        if (m[i].class == 0) starter = at;
        m[at++] = m[i];
    }
    return at;
}
