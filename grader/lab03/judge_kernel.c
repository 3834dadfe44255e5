/* judge_kernel.c: judges lab 03's kernels: builds the kernels of the chosen checks, runs each once,
 * and sets the outcomes. All checks of a kernel share one run. */
#include "lab03/kernel_build.h"
#include "lab03/kernel_trial.h"
#include "lab03/lab03.h"
#include "labs.h"

#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct own {
    struct kernel_program *programs; /* parallel to kernel_specs, like the next */
    struct trial *trials;
};

/* ---- which kernels a check is about -----------------------------------------------------------
 */

/* The safety of kernels that only move and multiply is one check. */
static const char *const plain_kernels[] = {"copy", "copy_strided", "swiglu",         "embedding",
                                            "gemv", "gemv_int8",    "attention_merge"};

bool lab03_is_about(const struct check_def *def, const char *kernel) {
    const char *part = strchr(def->id, '.') + 1;
    size_t n = strcspn(part, ".");
    if (strlen(kernel) == n && !memcmp(kernel, part, n)) return true;
    if (strcmp(part, "others") != 0) return false;
    for (size_t i = 0; i < sizeof plain_kernels / sizeof *plain_kernels; i++)
        if (!strcmp(plain_kernels[i], kernel)) return true;
    return false;
}

int lab03_prepare(const struct sandbox *sb, struct workplace *w, const char *home,
                  const bool *wanted, void **own, struct err *e) {
    struct own *o = calloc(1, sizeof *o);
    if (o) o->programs = calloc((size_t)kernel_spec_count, sizeof *o->programs);
    if (o) o->trials = calloc((size_t)kernel_spec_count, sizeof *o->trials);
    if (!o || !o->programs || !o->trials) {
        lab03_release(o);
        return err_set(e, "no memory");
    }
    *own = o;
    for (int i = 0; i < kernel_spec_count; i++) {
        o->programs[i].spec = &kernel_specs[i];
        for (size_t c = 0; c < LAB03_CHECKS; c++)
            if (wanted[c] && lab03_checks[c].kind == CHECK_OWN &&
                lab03_is_about(&lab03_checks[c], kernel_specs[i].name))
                o->programs[i].state = KERNEL_ABSENT;
    }
    return lab03_kernel_build(sb, &lab03, w, home, o->programs, e);
}

void lab03_release(void *own) {
    struct own *o = own;
    if (!o) return;
    free(o->programs);
    free(o->trials);
    free(o);
}

const char *lab03_counting(const void *own) {
    const struct own *o = own;
    for (int i = 0; i < kernel_spec_count; i++)
        if (o->programs[i].state == KERNEL_BUILT)
            return o->programs[i].official
                       ? "official, by simtcc in clang's bitcode"
                       : "a practice grade, by g++, which misses what passes by value and what "
                         "libraries move: install clang for an official one (`make deps`)";
    return "";
}

/* ---- what a run is worth ----------------------------------------------------------------------
 */

static void show_case(const struct trial *t, struct check_result *r) {
    snprintf(r->kind, sizeof r->kind, "%s", t->kind);
    snprintf(r->input, sizeof r->input, "%s", t->input);
    snprintf(r->got, sizeof r->got, "%s", t->got);
    snprintf(r->want, sizeof r->want, "%s", t->want);
    snprintf(r->printed, sizeof r->printed, "%s", t->printed);
}

static void judge_right(const struct trial *t, struct check_result *r) {
    r->cases = t->shapes;
    r->cases_right = t->shapes_right;
    r->outcome = t->right ? OUTCOME_EARNED : OUTCOME_LOST;
    if (t->right) return;
    if (t->bad_launch) r->file = "launch.json";
    r->endless = t->endless;
    snprintf(r->message, sizeof r->message, "%s", t->wrong);
    show_case(t, r);
}

static void judge_clean(const struct trial *t, struct check_result *r) {
    if (t->finding[0]) {
        r->outcome = OUTCOME_LOST;
        snprintf(r->message, sizeof r->message, "%.310s", t->finding);
    } else if (!t->right) {
        r->outcome = OUTCOME_NOT_RUN;
        r->settled = true;
        snprintf(r->message, sizeof r->message, "locked until the kernel is right for every size");
    } else {
        r->outcome = OUTCOME_EARNED;
    }
}

static void say_budget(const struct trial *t, const struct kernel_budget *b, char *out,
                       size_t cap) {
    int64_t limit = 0;
    kernel_eval(&t->sizes, b->limit, &limit, NULL);
    limit = limit * KERNEL_BUDGET_SLACK_NUM / KERNEL_BUDGET_SLACK_DEN;
    text_append(out, cap, "%s: %lld of at most %lld", kernel_counter_words(b->counter),
                (long long)t->counts.value[b->counter], (long long)limit);
}

/* Counts and limits would reveal the hidden sizes, so they are shown for practice seeds only. A
 * budget does not count if it is kept by leaving out a barrier that the kernel needs. */
static void judge_version(const struct check_def *def, const struct kernel_spec *k,
                          const struct trial *t, bool practice, struct check_result *r) {
    const struct kernel_budget *missed = NULL;
    int wanted = def->maker - JUDGE_KERNEL_VERSION;
    if (!t->right || !t->counted) {
        r->outcome = OUTCOME_NOT_RUN;
        r->settled = true;
        snprintf(r->message, sizeof r->message, "locked until the kernel is right for every size");
        return;
    }
    if (t->finding[0]) {
        r->outcome = OUTCOME_LOST;
        snprintf(r->message, sizeof r->message, "locked until the kernel is clean: %.280s",
                 t->finding);
        return;
    }
    int reached = kernel_version_reached(&t->sizes, &t->counts, &missed);
    r->outcome = reached >= wanted ? OUTCOME_EARNED : OUTCOME_LOST;
    if (r->outcome == OUTCOME_EARNED) return;
    snprintf(r->message, sizeof r->message,
             "your %s meets version %d's budgets of %d. Version %d (%s) needs fewer %s", k->name,
             reached, kernel_version_count(k), missed->version, k->version[missed->version - 1],
             kernel_counter_words(missed->counter));
    if (!practice) return;
    text_append(r->message, sizeof r->message, ": at most %s", missed->limit);
    say_budget(t, missed, r->got, sizeof r->got);
    snprintf(r->want, sizeof r->want, "%s: 1.1 times %s", kernel_counter_words(missed->counter),
             missed->limit);
    snprintf(r->input, sizeof r->input, "the counts of one launch");
}

static void judge(const struct check_def *def, const struct grading *g,
                  const struct kernel_program *p, struct trial *t, struct check_result *r) {
    if (p->state != KERNEL_BUILT) {
        r->outcome = OUTCOME_NOT_RUN;
        r->settled = true;
        r->todo = p->state == KERNEL_ABSENT;
        snprintf(r->message, sizeof r->message, "%.310s", p->why);
        if (r->todo)
            snprintf(r->message, sizeof r->message, "%s.cu is not written yet", p->spec->name);
        return;
    }
    if (!t->done) lab03_trial_run(g, p, t);
    if (t->todo) {
        r->outcome = OUTCOME_NOT_RUN;
        r->settled = true;
        r->todo = true;
        snprintf(r->message, sizeof r->message, "launch.json says nothing about %s yet",
                 p->spec->name);
    } else if (t->fault.text[0]) {
        r->outcome = OUTCOME_GRADER_FAULT;
        snprintf(r->message, sizeof r->message, "the grader failed: %.280s", t->fault.text);
    } else if (def->maker == JUDGE_KERNEL_RIGHT) {
        judge_right(t, r);
    } else if (def->maker == JUDGE_KERNEL_CLEAN) {
        judge_clean(t, r);
    } else {
        judge_version(def, p->spec, t, g->practice, r);
    }
}

void lab03_run(const struct check_def *def, const struct grading *g, struct check_result *r) {
    struct own *o = g->own;
    struct check_result worst = *r;
    bool any = false;
    for (int i = 0; i < kernel_spec_count; i++) {
        if (!lab03_is_about(def, kernel_specs[i].name)) continue;
        struct check_result one = *r;
        one.outcome = OUTCOME_NOT_RUN;
        judge(def, g, &o->programs[i], &o->trials[i], &one);
        /* of several kernels: a lost one is shown before one that isn't written; all must be earned
         */
        bool worse = !any || one.outcome == OUTCOME_GRADER_FAULT ||
                     (one.outcome == OUTCOME_LOST && worst.outcome != OUTCOME_GRADER_FAULT &&
                      worst.outcome != OUTCOME_LOST) ||
                     (one.outcome == OUTCOME_NOT_RUN && worst.outcome == OUTCOME_EARNED);
        if (worse) worst = one;
        any = true;
    }
    *r = worst;
}
