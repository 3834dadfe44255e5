/* lab.c: what the labs' makers of cases share. See lab.h. */
#include "core/lab.h"

#include "base/err.h"
#include "base/rng.h"
#include "base/text.h"

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

void evidence_say(struct evidence *out, enum outcome outcome, const char *fmt, ...) {
    char text[sizeof out->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    out->outcome = outcome;
    text_clean(out->message, sizeof out->message, text, strlen(text));
}

uint64_t case_sequence(uint64_t seed, const char *id, int k) {
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ seed;
    for (const char *p = id; *p; p++) h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return (h ^ (uint64_t)k) * UINT64_C(0x100000001b3);
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
    for (size_t i = 0; i < n; i++) wants[i].care = def->kind == CHECK_HEAP && i + 1 == n;
}
