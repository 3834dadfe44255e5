/* run_check.c: starts a process for one check, asks its cases one by one and compares the answers.
 * See run_check.h. Answers are compared in this file only. */
#include "core/run_check.h"

#include "core/dialogue.h"
#include "core/session.h"

#include "base/rng.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SLOTS = 4096 };

static const struct collected *file_of(const struct grading *g, const char *name);
static void run_evidence(const struct grading *g, const struct check_def *def,
                         struct check_result *r);
static void no_sanitisers(const struct grading *g, struct check_result *r);
static bool waits_for_loop(const struct grading *g, const struct check_def *def,
                           struct check_result *r);
static void run_cases(struct session *s);

void run_one_check(const struct grading *g, const struct check_def *def, struct check_result *r) {
    const struct collected *file = file_of(g, def->file);
    struct session s = {.g = g, .def = def, .r = r, .ch = {.fd = -1, .child_fd = -1}};
    if (file && file->state != FILE_OK) {
        r->outcome = OUTCOME_NOT_RUN;
        r->settled = true;
        snprintf(r->message, sizeof r->message, "%.300s", file->message);
    } else if (def->kind == CHECK_EVIDENCE) {
        run_evidence(g, def, r);
    } else if (def->kind == CHECK_OWN) {
        g->lab->run(def, g, r);
    } else if (!g->built->plain[0]) {
        r->outcome = OUTCOME_NOT_RUN;
        r->settled = true;
        snprintf(r->message, sizeof r->message, "nothing of the submission could be built");
    } else if (def->kind == CHECK_SURVIVES && !g->built->sanitised[0]) {
        no_sanitisers(g, r);
    } else if (waits_for_loop(g, def, r)) {
        return;
    } else if (def->kind == CHECK_DIALOGUE) {
        dialogue_run(&s);
    } else {
        run_cases(&s);
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Tests the exponent's bits, since a comparison with NaN can't be trusted. */
static bool finite_bits(int64_t bits) {
    return ((uint64_t)bits >> 52 & 0x7ff) != 0x7ff;
}

static bool real_equal(int64_t got_bits, int64_t want_bits) {
    double got, want;
    memcpy(&got, &got_bits, sizeof got);
    memcpy(&want, &want_bits, sizeof want);
    if (!finite_bits(got_bits) || !finite_bits(want_bits)) return false;
    double size = want < 0 ? -want : want, diff = got < want ? want - got : got - want;
    return diff <= 1e-9 * size; /* relative: only 0 equals 0 */
}

static bool slot_equal(const struct want *w, int64_t got) {
    switch (w->kind) {
    case SLOT_INT:
        return got == w->value;
    case SLOT_REAL:
        return real_equal(got, w->value);
    case SLOT_MIN:
        return got >= w->value;
    case SLOT_NAN:
        return !finite_bits(got) && ((uint64_t)got & UINT64_C(0xfffffffffffff)) != 0;
    }
    return false;
}

static bool slot_right(const struct want *w, int64_t got) {
    return !w->care || slot_equal(w, got);
}

static void slot_text(const struct want *w, int64_t v, bool is_want, char *out, size_t cap) {
    if (w->kind == SLOT_NAN && is_want) {
        snprintf(out, cap, "NaN");
    } else if (w->kind == SLOT_REAL || w->kind == SLOT_NAN) {
        double d;
        memcpy(&d, &v, sizeof d);
        snprintf(out, cap, "%.12g", d);
    } else if (w->kind == SLOT_MIN) {
        snprintf(out, cap, "%s%lld", is_want ? "at least " : "", (long long)v);
    } else if (w->names && v >= 0 && v < w->n_names) {
        snprintf(out, cap, "%s", w->names[v]);
    } else if (w->is_ns) {
        text_ns(out, cap, v);
    } else {
        snprintf(out, cap, "%lld", (long long)v);
    }
}

static void append_slot(char *dst, size_t cap, const struct want *w, int64_t v, bool is_want) {
    char value[48], index[16] = "";
    slot_text(w, v, is_want, value, sizeof value);
    if (w->index) snprintf(index, sizeof index, " %d", w->index);
    text_append(dst, cap, "%s%s%s %s", dst[0] ? ", " : "", w->name, index, value);
}

/* "queue_delay" of "queue_delay.ns" and "queue_delay_ns", "ttft" of "ttft_p99.infinite". */
static void quantity_of(const char *slot, char *out, size_t cap) {
    snprintf(out, cap, "%.*s", (int)strcspn(slot, "."), slot);
    static const char *const ends[] = {"_p99", "_p50", "_ns"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(out), k = strlen(ends[i]);
        if (n > k && !strcmp(out + n - k, ends[i])) out[n - k] = '\0';
    }
}

/* The same for a quotient: another unit, or the two exchanged. */
static const char *cause_of_real(int64_t want_bits, int64_t got_bits) {
    static const struct {
        double factor;
        const char *text;
    } units[] = {{1e-3, "a unit is wrong: the result is 1,000 times too small"},
                 {1e3, "a unit is wrong: the result is 1,000 times too large"},
                 {1e-6, "a unit is wrong: the result is a million times too small"},
                 {1e6, "a unit is wrong: the result is a million times too large"},
                 {1e-9, "a unit is wrong: the result is 1e9 times too small"},
                 {1e9, "a unit is wrong: the result is 1e9 times too large"}};
    double want, as_if;
    int64_t bits;
    memcpy(&want, &want_bits, sizeof want);
    for (size_t i = 0; want != 0 && i < sizeof units / sizeof *units; i++) {
        as_if = want * units[i].factor;
        memcpy(&bits, &as_if, sizeof bits);
        if (real_equal(got_bits, bits)) return units[i].text;
    }
    as_if = 1 / want;
    memcpy(&bits, &as_if, sizeof bits);
    return want != 0 && real_equal(got_bits, bits) ? "the quotient is upside down" : NULL;
}

/* What a wrong value says about its cause, or NULL. A unit is seen of times and quotients; the
 * poison of outputs (0xa5) and of local variables (0xfe) in any slot. */
static const char *cause_of(const struct want *w, int64_t got) {
    static const int64_t unit[] = {1000, 1000000, 1000000000};
    static const char *const units[] = {
        "the result is in microseconds, not in nanoseconds",
        "the result is in milliseconds, not in nanoseconds",
        "the result is in seconds, not in nanoseconds",
    };
    for (size_t i = 0; i < sizeof w->as_if / sizeof *w->as_if && w->as_if[i].text; i++)
        if (w->kind == SLOT_REAL ? real_equal(got, w->as_if[i].value) : w->as_if[i].value == got)
            return w->as_if[i].text;
    if (got == (int64_t)UINT64_C(0xa5a5a5a5a5a5a5a5) || got == (int32_t)0xa5a5a5a5 ||
        (w->names && got == 0xa5))
        return "nothing is written to this output";
    if (got == (int64_t)UINT64_C(0xfefefefefefefefe) || got == (int32_t)0xfefefefe)
        return "it comes from a local variable that was never written";
    if (w->kind == SLOT_REAL) return cause_of_real(w->value, got);
    for (size_t i = 0; w->is_ns && i < sizeof unit / sizeof *unit; i++)
        if (w->value >= 10 * unit[i] && got >= w->value / unit[i] && got <= w->value / unit[i] + 1)
            return units[i];
    if (w->is_ns && got != 0 && got == -w->value) return "start and end are swapped";
    return NULL;
}

/* Writes the first wrong slots to got and want, in the same order, and the cause, if the first of
 * them that has one shows it, to the message's second sentence. */
static void describe_difference(const struct hidden_case *h, const int64_t *got,
                                struct check_result *r, const char **cause) {
    enum { SHOWN = 2 };
    int wrong = 0;
    r->got[0] = r->want[0] = '\0';
    *cause = NULL;
    for (size_t i = 0; i < h->n_wants; i++) {
        const struct want *w = &h->wants[i];
        if (slot_right(w, got[i]) || wrong++ >= SHOWN) continue;
        append_slot(r->got, sizeof r->got, w, got[i], false);
        append_slot(r->want, sizeof r->want, w, w->value, true);
        if (!*cause) *cause = cause_of(w, got[i]);
        if (wrong == 1) quantity_of(w->name, r->wrong, sizeof r->wrong);
    }
}

/* ---- one process, asked case by case --------------------------------------------------------- */

static void case_failed(struct session *s, const struct hidden_case *h) {
    snprintf(s->r->kind, sizeof s->r->kind, "%s", h->kind);
    snprintf(s->r->input, sizeof s->r->input, "%s", h->input);
}

/* A case asked in a process of its own, which is asked nothing else. */
struct alone {
    struct check_def def;
    struct check_result scratch;
    struct session session;
    struct hidden_case h;
    enum channel_answer answer;
    int64_t got[MAX_SLOTS];
};

/* Asks case k of this check as one of another kind. False when no process started; otherwise it has
 * ended. The caller releases both. */
static bool ask_alone(struct alone *alone, const struct session *s, enum check_kind kind, int k) {
    struct session *twin = &alone->session;
    struct err e;
    char todo[64];
    alone->def = *s->def;
    alone->def.kind = kind;
    alone->scratch = *s->r;
    alone->h = (struct hidden_case){0};
    *twin = (struct session){.g = s->g,
                             .def = &alone->def,
                             .r = &alone->scratch,
                             .run = {.output_fd = -1},
                             .ch = {.fd = -1, .child_fd = -1}};
    if (s->g->lab->make(&alone->def, s->g->seed, k, &alone->h, &e) || session_start(twin, &e))
        return false;
    alone->answer = channel_ask(&twin->ch, &twin->run, alone->h.bytes, alone->h.n_bytes, alone->got,
                                alone->h.n_wants, NULL, todo);
    channel_close(&twin->ch);
    sandbox_finish(&twin->run, alone->answer == CHANNEL_GARBAGE);
    return true;
}

static void alone_release(struct alone *alone) {
    sandbox_release(&alone->session.run);
    hidden_case_release(&alone->h);
}

/* Whether case k also ends a process of this kind, whose inputs can be written; how: the end. */
static bool ends_with_plain_inputs(const struct session *s, enum check_kind kind, int k, char *how,
                                   size_t cap) {
    static struct alone alone;
    bool ends = false;
    if (ask_alone(&alone, s, kind, k)) {
        const struct sandbox_run *run = &alone.session.run;
        bool same = run->end == SANDBOX_SIGNAL && run->code == s->run.code;
        ends = alone.answer != CHANNEL_OK && (same || kind == CHECK_SURVIVES);
        session_describe_end(&alone.session, how, cap);
    }
    alone_release(&alone);
    return ends;
}

/* Says so in `end` if a NULL pointer is followed, and where, if the sanitizers show it. */
static void describe_null(const struct session *s, int k, char *end, size_t cap) {
    char found[280];
    if (!ends_with_plain_inputs(s, CHECK_QUIET, k, found, sizeof found)) return;
    snprintf(end, cap, "it was ended by %s: most likely a NULL pointer is followed",
             sandbox_signal_text(s->run.code));
    if (s->g->built->sanitised[0] &&
        ends_with_plain_inputs(s, CHECK_SURVIVES, k, found, sizeof found) &&
        strstr(found, "null pointer"))
        snprintf(end, cap, "it was ended by SIGSEGV: a NULL pointer is followed; %.200s", found);
}

/* Fills the result when the process gave no answer to case k. */
static void no_answer(struct session *s, const struct hidden_case *h, enum channel_answer a,
                      const char *todo, int k) {
    char end[280], text[320];
    case_failed(s, h);
    sandbox_finish(&s->run, a == CHANNEL_GARBAGE);
    if (a == CHANNEL_TODO) {
        s->r->todo = session_todo(s, todo, s->r->message, sizeof s->r->message);
        s->r->outcome = OUTCOME_NOT_RUN;
        s->r->kind[0] = s->r->input[0] = '\0';
        return;
    }
    session_describe_end(s, end, sizeof end);
    if (s->def->kind == CHECK_READ_ONLY && s->run.end == SANDBOX_SIGNAL)
        describe_null(s, k, end, sizeof end);
    s->r->endless = a != CHANNEL_GARBAGE && s->run.end == SANDBOX_TIMEOUT;
    s->r->waited = s->r->endless && s->run.waited;
    if (a == CHANNEL_GARBAGE) {
        check_lose(s->r, "something else than an answer came through the answer channel");
    } else {
        bool found = !strncmp(end, "the memory checks found", 23);
        snprintf(text, sizeof text, "%s case %d of %d: %s", found ? "in" : "no answer to", k + 1,
                 s->def->n_cases, end);
        check_lose(s->r, text);
    }
}

/* Of several wrong cases the smallest is shown. */
struct shown {
    bool any;
    size_t bytes;
    const char *cause; /* or NULL */
};

/* "percentile_nearest_rank in percentile.c" */
static void name_function(const struct session *s, const struct hidden_case *h, char *out,
                          size_t cap) {
    char name[48];
    size_t n = strspn(h->input, "abcdefghijklmnopqrstuvwxyz_0123456789");
    snprintf(name, sizeof name, "%.*s", (int)n, h->input);
    if (h->function) snprintf(name, sizeof name, "%s", h->function);
    snprintf(out, cap, "%s", name);
    for (size_t i = 0; i < s->g->lab->n_files; i++)
        for (const char *const *f = s->g->lab->files[i].functions; f && *f; f++)
            if (!strcmp(*f, name)) snprintf(out, cap, "%s in %s", name, s->g->lab->files[i].name);
}

/* The first function that leaks is named: the heap of a later one may hold the same memory. */
static void lose_heap(struct session *s, const struct hidden_case *h, int64_t grown) {
    const char *unit = h->wants[h->n_wants - 1].name; /* what a lab counts */
    bool bytes = strstr(unit, "heap grew") != NULL;
    char name[120], text[320];
    name_function(s, h, name, sizeof name);
    snprintf(text, sizeof text,
             "%s%s doesn't give back all that it and the functions it calls allocate: ",
             h->calls ? h->calls : "", name[0] ? name : "the code");
    if (bytes && grown >= 64 && grown / 64 % 16 == 0) /* blocks are multiples of 16 bytes */
        text_append(text, sizeof text, "%lld bytes are left each time (%lld in 64)",
                    (long long)grown / 64, (long long)grown);
    else if (bytes)
        text_append(text, sizeof text, "%lld bytes are left by 64 calls with 8 inputs",
                    (long long)grown);
    else
        text_append(text, sizeof text, "%lld %s", (long long)grown, unit);
    check_lose(s->r, text);
}

static void take_wrong(struct session *s, const struct hidden_case *h, const int64_t *got,
                       struct shown *shown) {
    const char *cause = NULL;
    if (s->def->kind == CHECK_HEAP && !shown->any) lose_heap(s, h, got[h->n_wants - 1]);
    bool smaller = !shown->any || (s->def->kind != CHECK_HEAP && h->n_bytes < shown->bytes);
    shown->any = true;
    if (!smaller) return;
    shown->bytes = h->n_bytes;
    case_failed(s, h);
    describe_difference(h, got, s->r, &cause);
    shown->cause = cause;
}

/* Asks the program without sanitizers, too. What isn't seen there would be seen by the sanitizers
 * only in a program that knows them and does something else for them. */
static bool answers_alike(struct session *s, const struct hidden_case *h, const int64_t *got,
                          int k) {
    static int64_t other[MAX_SLOTS];
    char todo[64], end[200], text[320];
    struct session *t = s->twin;
    if (!t) return true;
    enum channel_answer a =
        channel_ask(&t->ch, &t->run, h->bytes, h->n_bytes, other, h->n_wants, NULL, todo);
    snprintf(text, sizeof text, "no answer to case %d of %d without the memory checks: ", k + 1,
             s->def->n_cases);
    bool alike = a == CHANNEL_OK;
    if (!alike) {
        sandbox_finish(&t->run, a == CHANNEL_GARBAGE);
        session_describe_end(t, end, sizeof end);
        text_append(text, sizeof text, "%s", end);
    }
    for (size_t i = 0; alike && i < h->n_wants; i++) {
        struct want w = h->wants[i];
        bool real = w.kind == SLOT_REAL;
        w.value = other[i];
        if (!w.same || got[i] == other[i] || (real && real_equal(got[i], other[i]))) continue;
        s->r->got[0] = s->r->want[0] = '\0';
        append_slot(s->r->got, sizeof s->r->got, &w, got[i], false);
        append_slot(s->r->want, sizeof s->r->want, &w, other[i], false);
        snprintf(text, sizeof text,
                 "in case %d of %d the answer isn't the one without the memory checks, which is "
                 "shown as wanted: does it depend on an address, or on memory that was never "
                 "written?",
                 k + 1, s->def->n_cases);
        alike = false;
    }
    if (alike) return true;
    case_failed(s, h);
    check_lose(s->r, text);
    return false;
}

/* Some of the cases whose answers show nothing, in a check that compares none: they are wrong, or
 * nobody knows the right ones. The heap's check changes its inputs in the child, and what leaks in
 * a check that compares answers counts there. */
enum { SUSPECTS = 3 };
struct suspects {
    struct rng rng;
    int seen, k[SUSPECTS];
    int64_t got[SUSPECTS][MAX_SLOTS];
};

/* 1: every known slot is right; 0: one is wrong; -1: none is known. */
static int known_right(const struct hidden_case *h, const int64_t *got) {
    int right = -1;
    for (size_t i = 0; i < h->n_wants && right; i++)
        if (h->wants[i].known) right = slot_equal(&h->wants[i], got[i]);
    return right;
}

static void suspect(struct suspects *all, int k, const struct hidden_case *h, const int64_t *got) {
    if (known_right(h, got) == 1) return;
    int n = all->seen++, at = n < SUSPECTS ? n : (int)rng_below(&all->rng, (uint64_t)n + 1);
    if (at >= SUSPECTS) return;
    all->k[at] = k;
    memcpy(all->got[at], got, h->n_wants * sizeof *got);
}

/* A safety check is earned without answers, so that wrong code is examined, too. Then a function
 * that does nothing where it sees such a check, by the sanitizers' addresses or by the cases
 * before, would earn it. But it doesn't see it where a case is asked alone, and is right there. */
static void compare_alone(struct session *s, const struct suspects *all) {
    static struct alone alone;
    char text[320], name[120];
    for (int i = 0; i < all->seen && i < SUSPECTS && s->r->outcome == OUTCOME_EARNED; i++) {
        bool asked = ask_alone(&alone, s, CHECK_QUIET, all->k[i]) && alone.answer == CHANNEL_OK;
        int right = asked ? known_right(&alone.h, alone.got) : 0;
        for (size_t k = 0; k < alone.h.n_wants && right == -1; k++)
            if (!alone.h.wants[k].free && alone.got[k] != all->got[i][k]) right = 1;
        if (right == 1) {
            name_function(s, &alone.h, name, sizeof name);
            snprintf(
                text, sizeof text,
                "%s answers case %d otherwise than in a process of its own: in a safety check the "
                "same work is needed. Is something kept between calls, or read that was never "
                "written?",
                name[0]        ? name
                : s->def->file ? s->def->file
                               : "the code",
                all->k[i] + 1);
            check_lose(s->r, text);
            case_failed(s, &alone.h);
        }
        alone_release(&alone);
    }
}

/* Asks case k. False when the process can answer no further case. */
static bool ask(struct session *s, int k, struct shown *wrong, struct suspects *suspects) {
    static int64_t got[MAX_SLOTS];
    char todo[64] = "";
    struct hidden_case h = {0};
    struct err e;
    if (s->g->lab->make(s->def, s->g->seed, k, &h, &e)) {
        check_fault(s->r, &e);
        return false;
    }
    INVARIANT(h.n_wants > 0 && h.n_wants <= MAX_SLOTS);
    enum channel_answer a =
        channel_ask(&s->ch, &s->run, h.bytes, h.n_bytes, got, h.n_wants, NULL, todo);
    bool right = a == CHANNEL_OK;
    s->grew += right && k > 0 && s->ch.heap > s->heap;
    s->heap = s->ch.heap;
    bool asked = s->def->kind != CHECK_CASES &&
                 s->def->kind != CHECK_HEAP; /* for the other kinds, surviving is enough */
    for (size_t i = 0; right && i < h.n_wants; i++) {
        asked |= h.wants[i].care;
        right = slot_right(&h.wants[i], got[i]);
    }
    if (a != CHANNEL_OK) {
        no_answer(s, &h, a, todo, k);
    } else if (right && asked) {
        s->r->cases_right++;
        if (s->def->kind != CHECK_CASES && s->def->kind != CHECK_HEAP)
            suspect(suspects, k, &h, got);
    } else if (!right) {
        take_wrong(s, &h, got, wrong);
    } else {
        err_set(&e, "case %d asks nothing", k);
        check_fault(s->r, &e);
    }
    bool alike = a != CHANNEL_OK || answers_alike(s, &h, got, k);
    hidden_case_release(&h);
    return a == CHANNEL_OK && alike && s->r->outcome != OUTCOME_GRADER_FAULT;
}

/* What another check's process did: so a submission can't do it everywhere but in the check that
 * looks for it. Only earned checks before this one: a wrong function is told about that first. */
static void judge_by_others(struct session *s) {
    char text[320];
    bool heap = s->def->kind == CHECK_HEAP;
    if (!heap && s->def->kind != CHECK_QUIET) return;
    for (const struct check_result *c = s->g->results; c < s->r; c++) {
        if (c->outcome != OUTCOME_EARNED || !(heap ? c->heap_grew : c->printed[0] != '\0'))
            continue;
        snprintf(text, sizeof text,
                 heap
                     ? "not here, but in %s the heap grew with most cases: what is allocated isn't "
                       "given back"
                     : "not here, but in %s the functions print something; a library leaves the "
                       "terminal to its caller",
                 c->id);
        check_lose(s->r, text);
        return;
    }
}

/* Sets the outcome after the last case was answered. */
static void judge(struct session *s, const struct shown *wrong) {
    char text[320], end[280];
    bool all_right = !wrong->any;
    if (all_right && s->def->kind == CHECK_QUIET && s->run.output_seen > 0) {
        check_lose(s->r,
                   "the functions print something; a library leaves the terminal to its caller");
    } else if (all_right && (s->run.end != SANDBOX_EXITED || s->run.code != 0)) {
        session_describe_end(s, end, sizeof end);
        snprintf(text, sizeof text, "after the last answer, %s", end);
        check_lose(s->r, text);
    } else if (all_right) {
        s->r->outcome = OUTCOME_EARNED;
        judge_by_others(s);
    } else if (s->def->kind != CHECK_HEAP) {
        snprintf(text, sizeof text, "%d of %d cases are right%s%s", s->r->cases_right,
                 s->def->n_cases, wrong->cause ? ". This is what you get if " : "",
                 wrong->cause ? wrong->cause : "");
        check_lose(s->r, text);
    }
}

static void run_cases(struct session *s) {
    struct err e;
    struct shown wrong = {false, 0, NULL};
    static struct suspects suspects;
    bool going = true;
    struct check_def plain = *s->def;
    struct session twin = {.g = s->g, .def = &plain, .r = s->r, .ch = {.fd = -1, .child_fd = -1}};
    bool two = s->def->kind == CHECK_SURVIVES;
    plain.kind = CHECK_QUIET;
    suspects.seen = 0;
    rng_seed(&suspects.rng, case_sequence(s->g->seed, s->def->id, -2));
    s->r->cases = s->def->n_cases;
    if (session_start(s, &e)) {
        session_blame(s, &e);
        return;
    }
    if (two && session_start(&twin, &e)) {
        session_blame(&twin, &e);
        going = two = false;
    }
    s->twin = two ? &twin : NULL;
    for (int k = 0; k < s->def->n_cases && going; k++) going = ask(s, k, &wrong, &suspects);
    if (two) {
        channel_close(&twin.ch);
        sandbox_finish(&twin.run, true);
        sandbox_release(&twin.run);
    }
    channel_close(&s->ch); /* the child sees end of file and exits */
    sandbox_finish(&s->run, !going);
    s->r->heap_grew =
        s->def->kind == CHECK_CASES && s->def->n_cases >= 8 && 2 * s->grew > s->def->n_cases;
    if (going) judge(s, &wrong);
    if (going) compare_alone(s, &suspects);
    session_keep_printed(s);
    sandbox_release(&s->run);
}

static const struct collected *file_of(const struct grading *g, const char *name) {
    for (size_t i = 0; i < g->lab->n_files; i++)
        if (name && !strcmp(g->lab->files[i].name, name)) return &g->place->file[i];
    return NULL;
}

static void run_evidence(const struct grading *g, const struct check_def *def,
                         struct check_result *r) {
    struct evidence ev = {.outcome = OUTCOME_NOT_RUN};
    g->lab->examine(def, g->place->src, &ev);
    r->outcome = ev.outcome;
    r->settled = true; /* no evidence depends on the seed */
    r->todo = ev.todo;
    snprintf(r->message, sizeof r->message, "%s", ev.message);
    snprintf(r->note, sizeof r->note, "%s", ev.note ? ev.note : "");
}

static void no_sanitisers(const struct grading *g, struct check_result *r) {
    struct err e;
    r->settled = true;
    if (g->built->sanitised_ours) {
        err_set(&e, "no program with sanitizers: %s", g->built->sanitised_problem);
        check_fault(r, &e);
    } else if (g->built->sanitised_problem[0]) {
        snprintf(r->message, sizeof r->message,
                 "with the sanitizers your files can't be linked, and stand-ins can: %.200s",
                 g->built->sanitised_problem);
        r->outcome = OUTCOME_LOST;
    } else {
        r->outcome = OUTCOME_NOT_RUN;
        snprintf(r->message, sizeof r->message, "the compiler gave up on it under the sanitizers");
    }
}

/* How many checks of the same function were lost to an endless loop. A function is known by its
 * section of the handout; for a safety check its file counts, and any file when it names none. */
static int count_loops(const struct grading *g, const struct check_def *def, const char **shown) {
    int seen = 0;
    for (size_t i = 0; i < g->lab->n_checks; i++) {
        const struct check_def *other = &g->lab->checks[i];
        if (!g->results[i].endless) continue;
        bool same = def->dimension == DIM_SAFETY
                        ? !def->file || (other->file && !strcmp(other->file, def->file))
                        : !strcmp(other->section, def->section);
        if (same && seen == 0) *shown = other->id;
        if (same) seen += g->results[i].waited ? 2 : 1;
    }
    return seen;
}

/* An endless loop costs one second of CPU time a check, two under the sanitizers, and each gives
 * the same message. After two, or one that waited 20 s, the function's other checks are not run.
 * Other functions of the file are still asked, so that one broken function takes no points of
 * working ones. With a hidden seed they are lost: whether it loops may depend on the cases. */
static bool waits_for_loop(const struct grading *g, const struct check_def *def,
                           struct check_result *r) {
    const char *shown = NULL;
    if (count_loops(g, def, &shown) < 2) return false;
    r->outcome = g->practice ? OUTCOME_NOT_RUN : OUTCOME_LOST;
    snprintf(r->message, sizeof r->message,
             "not run: the same endless loop, most likely; end the one that %s shows", shown);
    return true;
}
