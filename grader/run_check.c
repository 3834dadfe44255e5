/* run_check.c: a process for one check, its cases asked one by one, its answers compared. See
 * run_check.h. Comparing happens here and nowhere else. */
#include "run_check.h"

#include "channel.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CPU_S = 1, /* a check of the reference takes 5 ms */
    CPU_SANITISED_S = 10,
    WALL_MS = 20000, /* the machine may be busy; what computes is stopped by CPU_S long before */
    OUTPUT_BYTES = 64 * 1024,
    PROCESSES = 512, /* room for other runs of the same user: its limit counts them all */
    ATTEMPTS = 3,
    MAX_SLOTS = 2048
};

/* ---- comparing ------------------------------------------------------------------------------- */

/* Finite-ness is read from the exponent's bits: no comparison with NaN is ever trusted. */
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

static bool slot_right(const struct want *w, int64_t got) {
    if (!w->care) return true;
    switch (w->kind) {
    case SLOT_INT:
        return got == w->value;
    case SLOT_REAL:
        return real_equal(got, w->value);
    case SLOT_MIN:
        return got >= w->value;
    }
    return false;
}

static void slot_text(const struct want *w, int64_t v, bool is_want, char *out, size_t cap) {
    if (w->kind == SLOT_REAL) {
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

/* The first wrong slots, got and want side by side. */
static void describe_difference(const struct hidden_case *h, const int64_t *got,
                                struct check_result *r) {
    enum { SHOWN = 2 };
    int wrong = 0;
    r->got[0] = r->want[0] = '\0';
    for (size_t i = 0; i < h->n_wants; i++) {
        const struct want *w = &h->wants[i];
        if (slot_right(w, got[i]) || wrong++ >= SHOWN) continue;
        append_slot(r->got, sizeof r->got, w, got[i], false);
        append_slot(r->want, sizeof r->want, w, w->value, true);
    }
}

/* ---- one process ----------------------------------------------------------------------------- */

struct session {
    const struct bench *b;
    const struct check_def *def;
    struct check_result *r;
    struct sandbox_run run;
    struct channel ch;
};

static void fault(struct check_result *r, const struct err *e) {
    r->outcome = OUTCOME_GRADER_FAULT;
    snprintf(r->message, sizeof r->message, "the grader failed: %.280s", e->text);
}

static void lose(struct check_result *r, const char *message) {
    r->outcome = OUTCOME_LOST;
    snprintf(r->message, sizeof r->message, "%s", message);
}

static int session_launch(struct session *s, struct err *e) {
    bool asan = s->def->kind == CHECK_SURVIVES;
    const char *argv[] = {asan ? s->b->built->sanitised : s->b->built->plain, NULL};
    const char *env[] = {
        "PATH=/nowhere", "LC_ALL=C",
        "ASAN_OPTIONS=exitcode=86:detect_leaks=0:allocator_may_return_null=1:"
        "max_allocation_size_mb=256:hard_rss_limit_mb=600:external_symbolizer_path=:color=never",
        "UBSAN_OPTIONS=halt_on_error=1:color=never", NULL};
    struct sandbox_job job = {.argv = argv,
                              .env = env,
                              .cwd = "/",
                              .folders = {{s->b->place->out, false}},
                              .cpu_s = asan ? CPU_SANITISED_S : CPU_S,
                              .wall_ms = WALL_MS,
                              .memory_bytes = asan ? 0 : INT64_C(512) << 20,
                              .file_bytes = 1 << 20,
                              .processes = PROCESSES,
                              .output_cap = OUTPUT_BYTES};
    if (channel_open(&s->ch, e)) return -1;
    job.channel_fd = s->ch.child_fd;
    int rc = sandbox_start(s->b->sandbox, &job, &s->run, e);
    channel_close_child(&s->ch);
    if (rc) channel_close(&s->ch);
    return rc;
}

/* Starts the process and waits until it greets. A process that doesn't has met trouble of the
 * machine's (no process left, no memory): it is tried again, and then our fault, never the
 * submission's. */
static int session_start(struct session *s, struct err *e) {
    char said[200];
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (session_launch(s, e)) return -1;
        if (channel_greet(&s->ch, &s->run) == CHANNEL_OK) return 0;
        channel_close(&s->ch);
        sandbox_finish(&s->run, false);
        text_first_line(said, sizeof said, s->run.output, s->run.output_len);
        err_set(e, "the program could not be started in the sandbox: %s", said);
        sandbox_release(&s->run);
        if (sandbox_stopped()) return -1;
        nanosleep(&(struct timespec){attempt, 200000000}, NULL);
    }
    return -1;
}

/* "intervals.c:42" of a sanitizer's report: where in the submission it happened. */
static void finding_place(const struct session *s, char *out, size_t cap) {
    out[0] = '\0';
    const char *first = NULL, *end = s->run.output + s->run.output_len;
    for (size_t i = 0; i < s->b->lab->n_files; i++) {
        char name[64];
        int n = snprintf(name, sizeof name, "%s:", s->b->lab->files[i].name);
        const char *at = memmem(s->run.output, s->run.output_len, name, (size_t)n);
        if (!at || (first && at > first) || at + n == end || at[n] < '0' || at[n] > '9') continue;
        first = at;
        snprintf(out, cap, "%s%d", name, atoi(at + n));
    }
}

/* What the sanitizers say, in a few words: "heap-buffer-overflow, intervals.c:42". */
static bool describe_finding(const struct session *s, char *out, size_t cap) {
    static const char *const marks[] = {"ERROR: AddressSanitizer: ", "runtime error: "};
    char what[120], place[80];
    for (size_t i = 0; i < 2; i++) {
        const char *at = memmem(s->run.output, s->run.output_len, marks[i], strlen(marks[i]));
        if (!at) continue;
        at += strlen(marks[i]);
        size_t n = (size_t)(s->run.output + s->run.output_len - at);
        if (i == 0) { /* the kind only: the rest are addresses */
            const char *blank = memchr(at, ' ', n);
            if (blank) n = (size_t)(blank - at);
        }
        finding_place(s, place, sizeof place);
        if (!s->b->practice && i == 1) /* its text quotes values */
            snprintf(what, sizeof what, "undefined behaviour");
        else
            text_first_line(what, sizeof what, at, n);
        out[0] = '\0';
        text_append(out, cap, "%s%s%s", what, place[0] ? ", " : "", place);
        return true;
    }
    return false;
}

/* How the process ended, for a person. Exit statuses are not told when the seed is hidden: a
 * submission could put a part of the case there. */
static void describe_end(const struct session *s, char *out, size_t cap) {
    const struct sandbox_run *run = &s->run;
    char finding[200];
    if (s->def->kind == CHECK_SURVIVES && describe_finding(s, finding, sizeof finding))
        snprintf(out, cap, "the memory checks found: %s", finding);
    else if (run->end == SANDBOX_TIMEOUT)
        snprintf(out, cap, "it didn't come to an end within %d s: an endless loop?",
                 s->def->kind == CHECK_SURVIVES ? CPU_SANITISED_S : CPU_S);
    else if (run->end == SANDBOX_FLOODED)
        snprintf(out, cap, "it printed more than %d kB and was stopped", OUTPUT_BYTES * 10 / 1024);
    else if (run->end == SANDBOX_SIGNAL)
        snprintf(out, cap, "it was ended by %s", sandbox_signal_text(run->code));
    else if (s->b->practice)
        snprintf(out, cap, "it ended the program (exit status %d) instead of returning", run->code);
    else
        snprintf(out, cap, "it ended the program instead of returning");
}

static void keep_printed(struct session *s) {
    if (s->b->practice && s->run.output_len > 0 && s->def->kind != CHECK_SURVIVES)
        text_clean(s->r->printed, sizeof s->r->printed, s->run.output, s->run.output_len);
}

static void case_failed(struct session *s, const struct hidden_case *h) {
    snprintf(s->r->kind, sizeof s->r->kind, "%s", h->kind);
    if (s->b->practice) snprintf(s->r->input, sizeof s->r->input, "%s", h->input);
}

/* The process gave no answer to case k. */
static void no_answer(struct session *s, const struct hidden_case *h, enum channel_answer a,
                      const char *todo, int k) {
    char end[280], text[320];
    case_failed(s, h);
    sandbox_finish(&s->run, a == CHANNEL_GARBAGE);
    if (a == CHANNEL_TODO) {
        s->r->todo = true;
        s->r->outcome = OUTCOME_NOT_RUN;
        s->r->kind[0] = s->r->input[0] = '\0';
        snprintf(s->r->message, sizeof s->r->message, "%s is not written yet", todo);
        return;
    }
    describe_end(s, end, sizeof end);
    s->r->endless = a != CHANNEL_GARBAGE && s->run.end == SANDBOX_TIMEOUT;
    if (a == CHANNEL_GARBAGE) {
        lose(s->r, "something else than an answer came through the answer channel");
    } else {
        snprintf(text, sizeof text, "no answer to case %d of %d: %s", k + 1, s->def->n_cases, end);
        lose(s->r, text);
    }
}

/* Asks case k. False when the process can't be asked any more. */
static bool ask(struct session *s, int k, bool *all_right) {
    static int64_t got[MAX_SLOTS];
    char todo[64] = "";
    struct hidden_case h = {0};
    struct err e;
    if (s->b->lab->make(s->def, s->b->seed, k, &h, &e)) {
        fault(s->r, &e);
        return false;
    }
    INVARIANT(h.n_wants > 0 && h.n_wants <= MAX_SLOTS);
    enum channel_answer a = channel_ask(&s->ch, &s->run, h.bytes, h.n_bytes, got, h.n_wants, todo);
    bool right = a == CHANNEL_OK;
    bool asked =
        s->def->kind != CHECK_CASES && s->def->kind != CHECK_HEAP; /* otherwise survival is */
    for (size_t i = 0; right && i < h.n_wants; i++) {
        asked |= h.wants[i].care;
        right = slot_right(&h.wants[i], got[i]);
    }
    if (a != CHANNEL_OK) {
        no_answer(s, &h, a, todo, k);
    } else if (right && asked) {
        s->r->cases_right++;
    } else if (!right) {
        if (*all_right) case_failed(s, &h);
        if (*all_right && s->b->practice) describe_difference(&h, got, s->r);
        *all_right = false;
    } else {
        err_set(&e, "case %d asks nothing", k);
        fault(s->r, &e);
    }
    hidden_case_release(&h);
    return a == CHANNEL_OK && s->r->outcome != OUTCOME_GRADER_FAULT;
}

/* After the last case: everything was answered. */
static void judge(struct session *s, bool all_right) {
    char text[320], end[280];
    if (all_right && s->def->kind == CHECK_QUIET && s->run.output_seen > 0) {
        lose(s->r, "the functions print something; a library leaves the terminal to its caller");
    } else if (all_right && (s->run.end != SANDBOX_EXITED || s->run.code != 0)) {
        describe_end(s, end, sizeof end);
        snprintf(text, sizeof text, "after the last answer, %s", end);
        lose(s->r, text);
    } else if (all_right) {
        s->r->outcome = OUTCOME_EARNED;
    } else {
        snprintf(text, sizeof text, "%d of %d cases are right", s->r->cases_right, s->def->n_cases);
        lose(s->r, text);
    }
}

static void run_cases(struct session *s) {
    struct err e;
    bool all_right = true, going = true;
    s->r->cases = s->def->n_cases;
    if (session_start(s, &e)) {
        fault(s->r, &e);
        return;
    }
    for (int k = 0; k < s->def->n_cases && going; k++) going = ask(s, k, &all_right);
    channel_close(&s->ch); /* the child reads an end of file and exits */
    sandbox_finish(&s->run, !going);
    if (going) judge(s, all_right);
    keep_printed(s);
    sandbox_release(&s->run);
}

/* ---- entry ----------------------------------------------------------------------------------- */

static const struct collected *file_of(const struct bench *b, const char *name) {
    for (size_t i = 0; i < b->lab->n_files; i++)
        if (name && !strcmp(b->lab->files[i].name, name)) return &b->place->file[i];
    return NULL;
}

static void run_evidence(const struct bench *b, const struct check_def *def,
                         struct check_result *r) {
    struct evidence ev = {.outcome = OUTCOME_NOT_RUN};
    b->lab->examine(def, b->place->src, &ev);
    r->outcome = ev.outcome;
    r->todo = ev.todo;
    snprintf(r->message, sizeof r->message, "%s", ev.message);
}

static void no_sanitisers(const struct bench *b, struct check_result *r) {
    struct err e;
    if (b->built->sanitised_problem[0]) {
        err_set(&e, "no program with sanitizers: %s", b->built->sanitised_problem);
        fault(r, &e);
        return;
    }
    r->outcome = OUTCOME_NOT_RUN;
    snprintf(r->message, sizeof r->message, "the compiler gave up on it under the sanitizers");
}

/* How many checks lost to an endless loop speak about what `def` asks: the same function, by its
 * section of the handout, or for a safety check the same file, and any file when it names none. */
static int count_loops(const struct bench *b, const struct check_def *def, const char **shown) {
    int seen = 0;
    for (size_t i = 0; i < b->lab->n_checks; i++) {
        const struct check_def *other = &b->lab->checks[i];
        if (!b->results[i].endless) continue;
        bool same = def->dimension == DIM_SAFETY
                        ? !def->file || (other->file && !strcmp(other->file, def->file))
                        : !strcmp(other->section, def->section);
        if (same && seen++ == 0) *shown = other->id;
    }
    return seen;
}

/* Loops that never end cost a second each, ten under the sanitizers, and all tell the same. After
 * two, the function's other checks wait; other functions of the file are still asked, as one broken
 * function must not take the points of those that work. */
static bool waits_for_loop(const struct bench *b, const struct check_def *def,
                           struct check_result *r) {
    const char *shown = NULL;
    if (count_loops(b, def, &shown) < 2) return false;
    r->outcome = OUTCOME_NOT_RUN;
    snprintf(r->message, sizeof r->message,
             "not run: the same endless loop, most likely; end the one that %s shows", shown);
    return true;
}

void run_check(const struct bench *b, const struct check_def *def, struct check_result *r) {
    const struct collected *file = file_of(b, def->file);
    struct session s = {b, def, r, {0}, {-1, -1}};
    if (file && file->state != FILE_OK) {
        r->outcome = OUTCOME_NOT_RUN;
        snprintf(r->message, sizeof r->message, "%.300s", file->message);
    } else if (def->kind == CHECK_EVIDENCE) {
        run_evidence(b, def, r);
    } else if (!b->built->plain[0]) {
        r->outcome = OUTCOME_NOT_RUN;
        snprintf(r->message, sizeof r->message, "nothing of the submission could be built");
    } else if (def->kind == CHECK_SURVIVES && !b->built->sanitised[0]) {
        no_sanitisers(b, r);
    } else if (!waits_for_loop(b, def, r)) {
        run_cases(&s);
    }
}
