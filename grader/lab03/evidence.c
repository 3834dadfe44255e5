/* evidence.c: reads roofline.json and computes, with kernel_spec.h, the right values for the sizes
 * and the card that the learner states. Two per cent of tolerance: the last bytes are not counted.
 */
#include "lab03/lab03.h"

#include "base/strict.h"
#include "core/collect.h"

#include "backend/kernel_case.h"
#include "backend/kernel_spec.h"
#include "base/json.h"
#include "base/lab_todo.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20 };
static const double TOLERANCE = 0.02;

/* ---- the form ---------------------------------------------------------------------------------
 */

struct card {
    double bytes_per_s, operations_per_s, ridge;
};

struct entry {
    struct kernel_sizes sizes;
    double bytes, operations, intensity, least_time_ns;
    int bound; /* 0 memory, 1 compute */
};

struct form {
    struct card card;
    struct entry *entry; /* parallel to kernel_specs */
};

static int read_form(const cJSON *doc, struct form *f, struct err *e);
static void examine_form(const struct check_def *def, const char *text, size_t n,
                         const struct form *f, struct evidence *out);

void lab03_examine(const struct check_def *def, const char *folder, struct evidence *out) {
    size_t n = 0;
    char where[160], shown[600];
    struct err e;
    struct form f = {.entry = calloc((size_t)kernel_spec_count, sizeof *f.entry)};
    char *text = collect_read(folder, def->file, MAX_BYTES, &n);
    cJSON *doc = text ? json_parse(text, n, 1, &e) : NULL;
    if (!text || !f.entry) {
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
    free(f.entry);
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

static int read_entry(const cJSON *v, const struct kernel_spec *k, struct entry *out,
                      struct err *e) {
    static const char *const members[] = {"sizes", "bytes",         "operations", "intensity",
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
        read_number(v, path, "intensity", &out->intensity, e) ||
        read_number(v, path, "least_time_ns", &out->least_time_ns, e))
        return -1;
    strict_path(where, path, "bound", 0);
    return strict_choice(strict_at(v, "bound"), where, bounds, &out->bound, e);
}

static int read_form(const cJSON *doc, struct form *f, struct err *e) {
    static const char *const members[] = {"schema", "card", "kernels", NULL};
    static const char *const schemas[] = {"servelab.roofline.v1", NULL};
    const char *names[64] = {NULL};
    int which;
    for (int i = 0; i < kernel_spec_count; i++) names[i] = kernel_specs[i].name;
    if (strict_members(doc, "", members, e) ||
        strict_choice(strict_at(doc, "schema"), "schema", schemas, &which, e) ||
        read_card(strict_at(doc, "card"), &f->card, e) ||
        strict_members(strict_at(doc, "kernels"), "kernels", names, e))
        return -1;
    for (int i = 0; i < kernel_spec_count; i++)
        if (read_entry(strict_at(strict_at(doc, "kernels"), names[i]), &kernel_specs[i],
                       &f->entry[i], e))
            return -1;
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
    case EV_INTENSITY:
        return near(x->intensity, operations / bytes);
    default: /* at the ridge itself either is right */
        return (x->bound == (compute >= move) || near(move, compute)) &&
               near(x->least_time_ns, 1e9 * fmax(move, compute));
    }
}

static const char *member_of(int maker) {
    static const char *const members[] = {[EV_BYTES] = "bytes",
                                          [EV_OPERATIONS] = "operations",
                                          [EV_INTENSITY] = "intensity",
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
    int wrong = 0, first = -1;
    for (int i = 0; i < kernel_spec_count; i++) {
        if (entry_is_right(f, &f->entry[i], def->maker)) continue;
        if (wrong++ == 0) first = i;
    }
    if (wrong == 0) return;
    char where[STRICT_PATH_BYTES];
    const struct kernel_spec *k = &kernel_specs[first];
    bool small = kernel_bytes_min(&f->entry[first].sizes) < LEAST_BYTES;
    strict_path(where, "kernels", k->name, 0);
    evidence_say(out, OUTCOME_LOST, "roofline.json:%d: %s: %s of %d kernels %s, this one first. %s",
                 json_line_of(text, n, 1, where), k->name, member_of(def->maker), wrong,
                 wrong == 1 ? "isn't right" : "aren't right",
                 def->maker == EV_BYTES && small
                     ? "Take sizes of a server: at least a megabyte to move"
                     : "The handout gives the closed forms; put the sizes of this entry in");
}
