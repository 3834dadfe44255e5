/* evidence_choice.c: see evidence_choice.h. */
#include "core/evidence_choice.h"

#include "base/strict.h"

#include <math.h>
#include <string.h>

enum { MAX_NUMBERS = 6, REASON_BYTES = 600, REASON_LEAST = 30 };

static int check_number(const cJSON *side, const char *path, const struct choice_number *n,
                        int which, struct err *e) {
    char at[STRICT_PATH_BYTES];
    double got;
    strict_path(at, path, n->member, 0);
    if (strict_number(strict_at(side, n->member), at, 0, 1e18, &got, e)) return -1;
    if (fabs(got - n->want[which]) <= 0.01 * n->want[which]) return 0;
    for (int i = 0; i < 4 && n->mistake[i].text; i++)
        if (fabs(got - n->mistake[i].value[which]) <= 0.005 * n->mistake[i].value[which]) {
            err_at(e, 0, at, "%g isn't right. This is what you get if %s", got, n->mistake[i].text);
            return 1;
        }
    err_at(e, 0, at, "%g isn't right: %s", got, n->what);
    return 1;
}

int evidence_choice(const cJSON *v, const char *path, const struct choice *c, struct err *e) {
    static const char *const sides[] = {"a", "b", NULL};
    const char *const members[] = {"a", "b", c->member, "reason", NULL};
    const char *numbers[MAX_NUMBERS + 1] = {NULL};
    char at[STRICT_PATH_BYTES], reason[REASON_BYTES];
    int chosen, wrong = 0;
    for (int i = 0; i < c->n; i++) numbers[i] = c->number[i].member;
    if (strict_members(v, path, members, e)) return -1;
    for (int side = 0; side < 2 && !wrong; side++) {
        char of[STRICT_PATH_BYTES];
        strict_path(of, path, sides[side], 0);
        if (strict_members(strict_at(v, sides[side]), of, numbers, e)) return -1;
        for (int i = 0; i < c->n && !wrong; i++)
            wrong = check_number(strict_at(v, sides[side]), of, &c->number[i], side, e);
    }
    if (wrong) return wrong;
    strict_path(at, path, c->member, 0);
    if (strict_choice(strict_at(v, c->member), at, sides, &chosen, e)) return -1;
    if (strcmp(sides[chosen], c->right) != 0) {
        err_at(e, 0, at,
               "your own numbers say otherwise: which one gives more for the same money?");
        return 1;
    }
    strict_path(at, path, "reason", 0);
    if (strict_text(strict_at(v, "reason"), at, REASON_LEAST, reason, sizeof reason, e)) return -1;
    return evidence_words(reason) < EVIDENCE_SENTENCE_WORDS
               ? err_at(e, 0, at, "is no sentence: why this one?")
               : 0;
}
