/* fuzz_record.c: any bytes as a record, read by both readers: what the fast one accepts the strict
 * one accepts with the same result, and what is accepted keeps the rules, is written and reads back
 * the same. See testing/fuzz.h for the two ways to run it. */
#include "base/json.h"
#include "record/intervals.h"
#include "record/record_internal.h"
#include "testing/fuzz.h"

static size_t fuzz_fast_accepted,
    fuzz_strict_accepted; /* so that a test can see it tested something */

static char *printed(const struct record *r) {
    cJSON *tree = record_to_json(r);
    INVARIANT(tree != NULL);
    char *text = json_print(tree);
    INVARIANT(text != NULL);
    cJSON_Delete(tree);
    return text;
}

/* Equal in what is written and in what isn't. */
static void check_same(const struct record *a, const struct record *b) {
    char *x = printed(a), *y = printed(b);
    INVARIANT(!strcmp(x, y));
    cJSON_free(x);
    cJSON_free(y);
    INVARIANT(a->n_events == b->n_events && a->n_offsets == b->n_offsets);
    for (size_t i = 0; i < a->n_events; i++) {
        const struct event *p = &a->events[i], *q = &b->events[i];
        INVARIANT(p->kind == q->kind && p->clock == q->clock && p->source == q->source);
        INVARIANT(p->t_ns == q->t_ns && p->tokens == q->tokens && !p->extra == !q->extra);
        INVARIANT(!strcmp(p->clock_api, q->clock_api) && !strcmp(p->range, q->range));
    }
}

static void check_record(const struct record *r) {
    struct record back;
    struct intervals iv;
    struct err e;
    char why[400];
    INVARIANT(record_validate(r, &e) == 0);
    char *text = printed(r);
    INVARIANT(record_parse(&back, text, strlen(text), 1, &e) == 0);
    check_same(r, &back);
    record_release(&back);
    cJSON_free(text);
    intervals_compute(r, &iv);
    record_plausible(r, &iv, why, sizeof why);
    intervals_itl(r, NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    struct record fast, strict;
    struct err e = {0};
    record_init(&fast);
    bool accepted = record_fill_fast(&fast, text, size);
    if (record_parse(&strict, text, size, 1, &e)) {
        INVARIANT(!accepted);
        INVARIANT(e.text[0] && e.line >= 1);
    } else {
        fuzz_strict_accepted++;
        fuzz_fast_accepted += accepted;
        if (accepted) check_same(&fast, &strict);
        check_record(&strict);
        record_release(&strict);
    }
    record_release(&fast);
    return 0;
}
