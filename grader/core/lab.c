/* lab.c: what the labs' makers of cases share. See lab.h. */
#include "core/lab.h"

#include "base/err.h"
#include "base/rng.h"
#include "base/text.h"

#include <ctype.h>
#include <gnutls/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hidden_case_release(struct hidden_case *h) {
    free(h->bytes);
    free(h->wants);
    memset(h, 0, sizeof *h);
}

void want_as_if(struct want *w, int64_t value, const char *text) {
    for (size_t i = 0; i < sizeof w->as_if / sizeof *w->as_if && value != w->value; i++)
        if (!w->as_if[i].text) {
            w->as_if[i] = (struct as_if){value, text};
            return;
        }
}

/* The length of the word at p: of letters, digits and '_', or one letter of a script that writes no
 * blanks (from U+0E00 on). */
static size_t word_length(const char *p) {
    size_t n = 0;
    if ((unsigned char)*p >= 0xe0) return strnlen(p, 3);
    while (isalnum((unsigned char)p[n]) || p[n] == '_' ||
           ((unsigned char)p[n] >= 0x80 && (unsigned char)p[n] < 0xe0))
        n++;
    return n;
}

int evidence_words(const char *text) {
    enum { MOST = 64 };
    struct {
        const char *at;
        size_t n;
    } word[MOST];
    int count = 0;
    for (size_t n; *text && count < MOST; text += n ? n : 1) {
        bool letters = false, seen = false;
        n = word_length(text);
        for (size_t i = 0; i < n; i++)
            letters = letters || isalpha((unsigned char)text[i]) || (unsigned char)text[i] >= 0x80;
        for (int i = 0; i < count && !seen; i++)
            seen = word[i].n == n && !strncasecmp(word[i].at, text, n);
        if (!letters || seen || memchr(text, '_', n) || (n == 3 && !strncasecmp(text, "e2e", 3)))
            continue;
        word[count].at = text;
        word[count++].n = n;
    }
    return count;
}

void evidence_say(struct evidence *out, enum outcome outcome, const char *fmt, ...) {
    char text[sizeof out->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    out->outcome = outcome;
    text_clean(out->message, sizeof out->message, text, strlen(text));
}

/* The first eight bytes as a number, the same on every machine. */
static uint64_t first_bytes(const unsigned char *p) {
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

uint64_t case_seed(const void *text, size_t n) {
    unsigned char digest[32];
    INVARIANT(gnutls_hash_fast(GNUTLS_DIG_SHA256, text, n, digest) == 0);
    return first_bytes(digest);
}

uint64_t case_sequence(uint64_t seed, const char *id, int k) {
    unsigned char key[8], digest[32];
    char what[96];
    int n = snprintf(what, sizeof what, "%s %d", id, k);
    INVARIANT(n > 0 && (size_t)n < sizeof what);
    for (int i = 0; i < 8; i++) key[i] = (unsigned char)(seed >> (8 * i));
    INVARIANT(gnutls_hmac_fast(GNUTLS_MAC_SHA256, key, sizeof key, what, (size_t)n, digest) == 0);
    return first_bytes(digest);
}

int case_shuffled(uint64_t seed, const struct check_def *def, int k) {
    int order[1024], n = def->n_cases;
    struct rng rng;
    INVARIANT(n <= (int)(sizeof order / sizeof *order) && k < n);
    rng_seed(&rng, case_sequence(seed, def->id, -1));
    for (int i = 0; i < n; i++) {
        int j = (int)rng_below(&rng, (uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return order[k];
}

static void set_focus(const char *focus, struct want *wants, size_t n) {
    for (size_t i = 0; focus && i < n; i++) {
        bool in = false;
        for (const char *p = focus; p && !in; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
            in = !strncmp(wants[i].name, p, strcspn(p, "|"));
        wants[i].care &= in;
    }
}

void case_set_care(const struct check_def *def, const char *focus, struct want *wants, size_t n) {
    if (def->kind == CHECK_CASES) {
        set_focus(focus, wants, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        bool heap = def->kind == CHECK_HEAP && i + 1 == n;
        wants[i].same |= wants[i].care && def->kind == CHECK_SURVIVES;
        wants[i].known = wants[i].care && !heap;
        wants[i].care = heap;
    }
}
