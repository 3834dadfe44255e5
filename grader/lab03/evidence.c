/* evidence.c: reads roofline.json. For three kernels it computes, with kernel_spec.h, the right
 * values for the sizes and the card that the learner states; two per cent of tolerance, since the
 * last bytes are not counted. Of the two predictions it checks what can be: that they are of the
 * learner's own kernels' counters, possible, and explained. */
#include "lab03/lab03.h"

#include "base/strict.h"
#include "core/collect.h"
#include "core/evidence_choice.h"

#include "backend/kernel_case.h"
#include "backend/kernel_spec.h"
#include "base/json.h"
#include "base/lab_todo.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TOLERANCE = 0.02;

/* ---- the form ---------------------------------------------------------------------------------
 */

struct card {
    double bytes_per_s, operations_per_s, ridge;
};

struct entry {
    struct kernel_sizes sizes;
    double bytes, operations, least_time_ns;
    int bound; /* 0 memory, 1 compute */
};

/* A counter of one of the learner's kernels, before and after the run. */
struct prediction {
    int kernel, counter; /* index in kernel_specs; in counters */
    double before, predicted, counted;
    char explanation[800];
};

enum { PREDICTIONS = 2 };

struct form {
    struct card card;
    struct entry entry[3]; /* parallel to asked */
    struct prediction prediction[PREDICTIONS];
    const cJSON *choice;
};

/* One that reads, one that reuses, one that reads weights once: the three shapes of a roofline. */
static const char *const asked[] = {"rmsnorm", "gemm", "gemv", NULL};
enum { ASKED = 3 };

static int read_form(const cJSON *doc, struct form *f, struct err *e);
static void examine_form(const struct check_def *def, const char *text, size_t n,
                         const struct form *f, struct evidence *out);

void lab03_examine(const struct check_def *def, const char *folder, struct evidence *out) {
    size_t n = 0;
    char where[160], shown[600];
    struct err e;
    static struct form f;
    char *text = collect_read(folder, def->file, COLLECT_MAX_DATA_BYTES, &n);
    cJSON *doc = text ? json_parse(text, n, 1, &e) : NULL;
    if (!text) {
        evidence_say(out, OUTCOME_GRADER_FAULT, "%s was there and can't be read", def->file);
    } else if (!doc) {
        evidence_say(out, OUTCOME_LOST, "%s", err_format(&e, def->file, shown, sizeof shown));
    } else if (lab_todo_find(doc, where, sizeof where)) {
        evidence_say(out, OUTCOME_NOT_RUN, "%s still has a \"TODO\" at %s", def->file, where);
        out->todo = true;
    } else if (read_form(doc, &f, &e)) {
        if (e.line == 0) e.line = json_line_of(text, n, 1, e.field);
        evidence_say(out, OUTCOME_LOST, "%s", err_format(&e, def->file, shown, sizeof shown));
    } else {
        examine_form(def, text, n, &f, out);
    }
    cJSON_Delete(doc);
    free(text);
}

static const char *const bounds[] = {"memory", "compute", NULL};

/* What a card's data sheet can say, so that a figure in another unit is refused: from 100 GB/s (a
 * small card of 2016) to 30 TB/s, and from 1 TFLOP/s (the same, FP32) to 100 PFLOP/s (the sparse
 * 4-bit operations of 2026, five times). */
static const double LEAST_BANDWIDTH = 1e11, MOST_BANDWIDTH = 3e13;
static const double LEAST_OPERATIONS = 1e12, MOST_OPERATIONS = 1e17;

static int in_range(double v, double least, double most, const char *path, const char *unit,
                    struct err *e) {
    if (v >= least && v <= most) return 0;
    return err_at(e, 0, path,
                  "%g is no card's figure: data sheets have %g to %g %s. Is it in another unit?", v,
                  least, most, unit);
}

static int read_card(const cJSON *v, struct card *c, struct err *e) {
    static const char *const members[] = {"name",  "source", "bytes_per_s", "operations_per_s",
                                          "ridge", NULL};
    char text[200];
    if (strict_members(v, "card", members, e)) return -1;
    return strict_text(strict_at(v, "name"), "card.name", 2, text, sizeof text, e) ||
                   strict_text(strict_at(v, "source"), "card.source", 4, text, sizeof text, e) ||
                   strict_number(strict_at(v, "bytes_per_s"), "card.bytes_per_s", 0, 1e18,
                                 &c->bytes_per_s, e) ||
                   strict_number(strict_at(v, "operations_per_s"), "card.operations_per_s", 0, 1e18,
                                 &c->operations_per_s, e) ||
                   strict_number(strict_at(v, "ridge"), "card.ridge", 0, 1e9, &c->ridge, e) ||
                   in_range(c->bytes_per_s, LEAST_BANDWIDTH, MOST_BANDWIDTH, "card.bytes_per_s",
                            "bytes per second", e) ||
                   in_range(c->operations_per_s, LEAST_OPERATIONS, MOST_OPERATIONS,
                            "card.operations_per_s", "operations per second", e)
               ? -1
               : 0;
}

static int read_number(const cJSON *obj, const char *path, const char *key, double *out,
                       struct err *e) {
    char where[STRICT_PATH_BYTES];
    strict_path(where, path, key, 0);
    return strict_number(strict_at(obj, key), where, 0, 1e18, out, e);
}

static const struct kernel_spec *spec_of(const char *name) {
    for (int i = 0; i < kernel_spec_count; i++)
        if (!strcmp(kernel_specs[i].name, name)) return &kernel_specs[i];
    return NULL;
}

static int read_entry(const cJSON *v, const struct kernel_spec *k, struct entry *out,
                      struct err *e) {
    static const char *const members[] = {"sizes", "bytes",         "operations",
                                          "bound", "least_time_ns", NULL};
    char path[STRICT_PATH_BYTES], where[STRICT_PATH_BYTES], text[120];
    struct err why;
    strict_path(path, "kernels", k->name, 0);
    if (strict_members(v, path, members, e)) return -1;
    strict_path(where, path, "sizes", 0);
    if (strict_text(strict_at(v, "sizes"), where, 3, text, sizeof text, e)) return -1;
    if (kernel_sizes_parse(k, text, &out->sizes, &why))
        return err_at(e, 0, where, "%s %s", why.field, why.text);
    if (read_number(v, path, "bytes", &out->bytes, e) ||
        read_number(v, path, "operations", &out->operations, e) ||
        read_number(v, path, "least_time_ns", &out->least_time_ns, e))
        return -1;
    strict_path(where, path, "bound", 0);
    return strict_choice(strict_at(v, "bound"), where, bounds, &out->bound, e);
}

static const char *const counters[] = {"bytes",          "requests", "wavefronts",
                                       "bank_conflicts", "barriers", NULL};

static int read_prediction(const cJSON *v, const char *path, struct prediction *p, struct err *e) {
    static const char *const members[] = {"kernel",  "counter",     "before", "predicted",
                                          "counted", "explanation", NULL};
    const char *names[64] = {NULL};
    char where[STRICT_PATH_BYTES];
    for (int i = 0; i < kernel_spec_count; i++) names[i] = kernel_specs[i].name;
    if (strict_members(v, path, members, e)) return -1;
    strict_path(where, path, "kernel", 0);
    if (strict_choice(strict_at(v, "kernel"), where, names, &p->kernel, e)) return -1;
    strict_path(where, path, "counter", 0);
    if (strict_choice(strict_at(v, "counter"), where, counters, &p->counter, e)) return -1;
    if (read_number(v, path, "before", &p->before, e) ||
        read_number(v, path, "predicted", &p->predicted, e) ||
        read_number(v, path, "counted", &p->counted, e))
        return -1;
    strict_path(where, path, "explanation", 0);
    return strict_text(strict_at(v, "explanation"), where, 80, p->explanation,
                       sizeof p->explanation, e);
}

static int read_form(const cJSON *doc, struct form *f, struct err *e) {
    static const char *const members[] = {"schema",      "card",   "kernels",
                                          "predictions", "choice", NULL};
    static const char *const schemas[] = {"servelab.roofline.v2", NULL};
    int which, n;
    if (strict_members(doc, "", members, e) ||
        strict_choice(strict_at(doc, "schema"), "schema", schemas, &which, e) ||
        read_card(strict_at(doc, "card"), &f->card, e) ||
        strict_members(strict_at(doc, "kernels"), "kernels", asked, e) ||
        strict_list(strict_at(doc, "predictions"), "predictions", PREDICTIONS, PREDICTIONS, &n, e))
        return -1;
    for (int i = 0; i < ASKED; i++)
        if (read_entry(strict_at(strict_at(doc, "kernels"), asked[i]), spec_of(asked[i]),
                       &f->entry[i], e))
            return -1;
    for (int i = 0; i < PREDICTIONS; i++) {
        char path[STRICT_PATH_BYTES];
        strict_path(path, "predictions", NULL, i);
        if (read_prediction(cJSON_GetArrayItem(strict_at(doc, "predictions"), i), path,
                            &f->prediction[i], e))
            return -1;
    }
    f->choice = strict_at(doc, "choice");
    return 0;
}

/* ---- what it should say -----------------------------------------------------------------------
 */

static bool near(double got, double want) {
    return fabs(got - want) <= TOLERANCE * fabs(want); /* for 0, only 0 passes */
}

static bool card_is_right(const struct card *c) {
    return near(c->ridge, c->operations_per_s / c->bytes_per_s);
}

/* Sizes of a server, not of a test: at least a megabyte to move, so that the card is busy. */
enum { LEAST_BYTES = 1 << 20 };

static bool entry_is_right(const struct form *f, const struct entry *x, int maker) {
    double bytes = (double)kernel_bytes_min(&x->sizes);
    double operations = (double)kernel_operations(&x->sizes);
    double move = bytes / f->card.bytes_per_s, compute = operations / f->card.operations_per_s;
    switch (maker) {
    case EV_BYTES:
        return near(x->bytes, bytes) && bytes >= LEAST_BYTES;
    case EV_OPERATIONS:
        return near(x->operations, operations);
    default: /* at the ridge itself either is right */
        return (x->bound == (compute >= move) || near(move, compute)) &&
               near(x->least_time_ns, 1e9 * fmax(move, compute));
    }
}

/* The two kernels of the handout's table: one product each. */
static const struct choice_number kernel_numbers[] = {
    {"operations_per_s",
     {4.3e9 / 0.98e-3, 2.15e9 / 0.61e-3},
     "operations over the time of one launch",
     {{{4.3e9 / 0.98, 2.15e9 / 0.61}, "the time is taken in milliseconds, not in seconds"}}},
    {"bytes_per_s",
     {1.21e9 / 0.98e-3, 0.302e9 / 0.61e-3},
     "bytes over the time of one launch",
     {{{1.21e9 / 0.98, 0.302e9 / 0.61}, "the time is taken in milliseconds, not in seconds"}}},
    {"results_per_s",
     {1 / 0.98e-3, 1 / 0.61e-3},
     "finished products a second, one after the other",
     {{{1 / 0.98, 1 / 0.61}, "the time is taken in milliseconds, not in seconds"}}},
};
static const struct choice kernel_choice = {"take", "b", kernel_numbers, 3};

/* Signs of ASCII at p, the blanks among them. */
static size_t signs(const char *p) {
    size_t n = 0;
    while (p[n] && !((unsigned char)p[n] & 0x80) && !isalnum((unsigned char)p[n])) n++;
    return n;
}

/* Whether the two have the same letters and digits in the same order. */
static bool same_words(const char *a, const char *b) {
    for (;; a++, b++) {
        a += signs(a);
        b += signs(b);
        if (!*a || tolower((unsigned char)*a) != tolower((unsigned char)*b)) return !*a && !*b;
    }
}

/* A prediction can be wrong, and earns its points: what counts is that it was made, and that the
 * difference is explained. */
static int check_predictions(const struct form *f, struct err *e) {
    for (int i = 0; i < PREDICTIONS; i++) {
        const struct prediction *p = &f->prediction[i];
        char path[STRICT_PATH_BYTES], at[STRICT_PATH_BYTES];
        strict_path(path, "predictions", NULL, i);
        if (p->before <= 0)
            return err_at(e, 0, strict_path(at, path, "before", 0),
                          "is the count of the version that you had, from your report; it isn't 0");
        bool whole = p->before == floor(p->before);
        if (!whole || p->counted != floor(p->counted))
            return err_at(e, 0, strict_path(at, path, whole ? "counted" : "before", 0),
                          "is a count of a report, so a whole number");
        if (p->counted == p->before)
            return err_at(e, 0, strict_path(at, path, "counted", 0),
                          "is what it was before: predict a change that changes the counter");
        if (!strpbrk(p->explanation, "0123456789"))
            return err_at(e, 0, strict_path(at, path, "explanation", 0),
                          "names no number: by which factor did the count change, and why?");
        if (evidence_words(p->explanation) < EVIDENCE_SENTENCE_WORDS)
            return err_at(e, 0, strict_path(at, path, "explanation", 0), "is no sentence");
        if (i > 0 && same_words(p->explanation, f->prediction[0].explanation))
            return err_at(e, 0, strict_path(at, path, "explanation", 0),
                          "is that of the other prediction, word for word");
        if (i > 0 && p->kernel == f->prediction[0].kernel && p->counter == f->prediction[0].counter)
            return err_at(e, 0, path, "is about the same kernel and counter as the other one");
    }
    return 0;
}

static const char *member_of(int maker) {
    static const char *const members[] = {[EV_BYTES] = "bytes",
                                          [EV_OPERATIONS] = "operations",
                                          [EV_BOUND] = "bound or least_time_ns"};
    return members[maker];
}

static void examine_form(const struct check_def *def, const char *text, size_t n,
                         const struct form *f, struct evidence *out) {
    out->outcome = OUTCOME_EARNED;
    if (def->maker == EV_CARD) {
        if (!card_is_right(&f->card))
            evidence_say(
                out, OUTCOME_LOST,
                "roofline.json:%d: card.ridge is the intensity at which the card's two limits "
                "meet; it doesn't fit them",
                json_line_of(text, n, 1, "card.ridge"));
        return;
    }
    if (def->maker == EV_PREDICTIONS || def->maker == EV_CHOICE) {
        char shown[600];
        struct err e;
        bool right = def->maker == EV_CHOICE
                         ? !evidence_choice(f->choice, "choice", &kernel_choice, &e)
                         : !check_predictions(f, &e);
        if (right) return;
        if (e.line == 0) e.line = json_line_of(text, n, 1, e.field);
        evidence_say(out, OUTCOME_LOST, "%s", err_format(&e, "roofline.json", shown, sizeof shown));
        return;
    }
    int wrong = 0, first = -1;
    for (int i = 0; i < ASKED; i++) {
        if (entry_is_right(f, &f->entry[i], def->maker)) continue;
        if (wrong++ == 0) first = i;
    }
    if (wrong == 0) return;
    char where[STRICT_PATH_BYTES];
    const struct kernel_spec *k = spec_of(asked[first]);
    bool small = kernel_bytes_min(&f->entry[first].sizes) < LEAST_BYTES;
    strict_path(where, "kernels", k->name, 0);
    evidence_say(out, OUTCOME_LOST, "roofline.json:%d: %s: %s of %d kernels %s, this one first. %s",
                 json_line_of(text, n, 1, where), k->name, member_of(def->maker), wrong,
                 wrong == 1 ? "isn't right" : "aren't right",
                 def->maker == EV_BYTES && small
                     ? "Take sizes of a server: at least a megabyte to move"
                     : "The handout gives the closed forms; put the sizes of this entry in");
}
