/* session.c: starts one process of a submission for a check, and describes how it ended. See
 * session.h. */
#include "core/session.h"

#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CPU_S = 1,           /* a check of the reference takes 5 ms */
    CPU_SANITISED_S = 2, /* the reference's longest takes 0.2 s */
    WALL_MS = 20000, /* from one answer to the next (sandbox_progress); high, since the machine may
                        be busy. CPU_S stops a computing program long before */
    OUTPUT_BYTES = 64 * 1024,
    PROCESSES =
        512, /* the limit counts all processes of the user, so this leaves room for other runs */
    ATTEMPTS = 3
};

void check_fault(struct check_result *r, const struct err *e) {
    r->outcome = OUTCOME_GRADER_FAULT;
    snprintf(r->message, sizeof r->message, "the grader failed: %.280s", e->text);
}

void check_lose(struct check_result *r, const char *message) {
    r->outcome = OUTCOME_LOST;
    snprintf(r->message, sizeof r->message, "%.310s", message);
}

static int session_launch(struct session *s, const char *program, struct err *e) {
    bool asan = s->def->kind == CHECK_SURVIVES;
    const char *argv[] = {program, NULL};
    const char *env[] = {
        "PATH=/nowhere", "LC_ALL=C",
        /* the C library would count freed blocks that it caches as memory in use */
        "GLIBC_TUNABLES=glibc.malloc.tcache_count=0",
        "ASAN_OPTIONS=exitcode=86:detect_leaks=0:allocator_may_return_null=1:"
        "max_allocation_size_mb=256:hard_rss_limit_mb=600:external_symbolizer_path=:color=never",
        "UBSAN_OPTIONS=halt_on_error=1:color=never", NULL};
    struct sandbox_job job = {.argv = argv,
                              .env = env,
                              .cwd = "/",
                              .folders = {{s->g->place->out, false}},
                              .cpu_s = asan ? CPU_SANITISED_S : CPU_S,
                              .wall_ms = WALL_MS,
                              .memory_bytes = asan ? 0 : INT64_C(512) << 20,
                              .file_bytes = 1 << 20,
                              .processes = PROCESSES,
                              .output_cap = OUTPUT_BYTES};
    if (channel_open(&s->ch, e)) return -1;
    job.channel_fd = s->ch.child_fd;
    int rc = sandbox_start(s->g->sandbox, &job, &s->run, e);
    channel_close_child(&s->ch);
    if (rc) channel_close(&s->ch);
    return rc;
}

static int start_program(struct session *s, const char *program, struct err *e) {
    char shown[200];
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (session_launch(s, program, e)) return -1;
        if (channel_greet(&s->ch, &s->run) == CHANNEL_OK) return 0;
        channel_close(&s->ch);
        sandbox_finish(&s->run, false);
        text_first_line(shown, sizeof shown, s->run.output, s->run.output_len);
        err_set(e, "the program could not be started in the sandbox: %s", shown);
        sandbox_release(&s->run);
        if (sandbox_stopped()) return -1;
        nanosleep(&(struct timespec){attempt, 200000000}, NULL);
    }
    return -1;
}

/* Whether a program without a line of the submission starts. */
static bool stand_ins_start(struct session *s) {
    char program[320];
    struct err e;
    bool asan = s->def->kind == CHECK_SURVIVES;
    if (build_stand_ins(s->g->sandbox, s->g->lab, s->g->place, asan, program, sizeof program, &e) ||
        start_program(s, program, &e))
        return false;
    channel_close(&s->ch);
    sandbox_finish(&s->run, true);
    sandbox_release(&s->run);
    return true;
}

int session_start(struct session *s, struct err *e) {
    bool asan = s->def->kind == CHECK_SURVIVES;
    bool *never = &s->g->built->never_starts[asan];
    if (!*never && !start_program(s, asan ? s->g->built->sanitised : s->g->built->plain, e))
        return 0;
    *never = s->theirs = *never || (!sandbox_stopped() && stand_ins_start(s));
    if (s->theirs)
        err_set(e, "the program doesn't start with your files, and it starts with stand-ins in "
                   "their place: is there code that runs before main()?");
    return -1;
}

void session_blame(struct session *s, const struct err *e) {
    s->r->settled = true; /* no case was made yet */
    if (s->theirs)
        check_lose(s->r, e->text);
    else
        check_fault(s->r, e);
}

/* Finds where in the submission a sanitizer's finding is: "intervals.c:42". */
static void finding_place(const struct session *s, char *out, size_t cap) {
    out[0] = '\0';
    const char *first = NULL, *end = s->run.output + s->run.output_len;
    for (size_t i = 0; i < s->g->lab->n_files; i++) {
        char name[64];
        int n = snprintf(name, sizeof name, "%s:", s->g->lab->files[i].name);
        const char *at = memmem(s->run.output, s->run.output_len, name, (size_t)n);
        if (!at || (first && at > first) || at + n == end || at[n] < '0' || at[n] > '9') continue;
        first = at;
        snprintf(out, cap, "%s%d", name, atoi(at + n));
    }
}

/* A sanitizer's finding in a few words: "heap-buffer-overflow, intervals.c:42". */
static bool describe_finding(const struct session *s, char *out, size_t cap) {
    static const char *const marks[] = {"ERROR: AddressSanitizer: ", "runtime error: "};
    char what[120], place[80];
    for (size_t i = 0; i < 2; i++) {
        const char *at = memmem(s->run.output, s->run.output_len, marks[i], strlen(marks[i]));
        if (!at) continue;
        at += strlen(marks[i]);
        size_t n = (size_t)(s->run.output + s->run.output_len - at);
        if (i == 0) { /* the kind only; addresses follow */
            const char *blank = memchr(at, ' ', n);
            if (blank) n = (size_t)(blank - at);
        }
        finding_place(s, place, sizeof place);
        text_first_line(what, sizeof what, at, n);
        out[0] = '\0';
        text_append(out, cap, "%s%s%s", what, place[0] ? ", " : "", place);
        return true;
    }
    return false;
}

void session_describe_end(const struct session *s, char *out, size_t cap) {
    const struct sandbox_run *run = &s->run;
    char finding[200];
    if (s->def->kind == CHECK_SURVIVES && describe_finding(s, finding, sizeof finding))
        snprintf(out, cap, "the memory checks found: %s", finding);
    else if (run->end == SANDBOX_TIMEOUT && run->waited)
        snprintf(out, cap,
                 "it didn't come to an end within %d s by the clock: does it wait for something, "
                 "such as a lock?",
                 WALL_MS / 1000);
    else if (run->end == SANDBOX_TIMEOUT)
        snprintf(out, cap, "it didn't come to an end within %d s: an endless loop?",
                 s->def->kind == CHECK_SURVIVES ? CPU_SANITISED_S : CPU_S);
    else if (run->end == SANDBOX_FLOODED)
        snprintf(out, cap, "it printed more than %d kB and was stopped", OUTPUT_BYTES * 10 / 1024);
    else if (run->end == SANDBOX_SIGNAL && run->code == SIGSEGV && s->def->kind == CHECK_READ_ONLY)
        snprintf(out, cap,
                 "it was ended by SIGSEGV: the inputs of this check can't be written, and "
                 "nothing behind their end can be read");
    else if (run->end == SANDBOX_SIGNAL)
        snprintf(out, cap, "it was ended by %s", sandbox_signal_text(run->code));
    else
        snprintf(out, cap, "it ended the program (exit status %d) instead of returning", run->code);
}

bool session_todo(const struct session *s, const char *name, char *out, size_t cap) {
    for (size_t i = 0; i < s->g->lab->n_files; i++) {
        const struct collected *file = &s->g->place->file[i];
        for (const char *const *f = s->g->lab->files[i].functions; f && *f; f++)
            if (!strcmp(*f, name) && file->state == FILE_REFUSED) {
                snprintf(out, cap, "%s", file->message);
                return false;
            }
    }
    snprintf(out, cap, "%s is not written yet", name);
    return true;
}

void session_keep_printed(struct session *s) {
    if (s->run.output_len > 0 && s->def->kind != CHECK_SURVIVES)
        text_clean(s->r->printed, sizeof s->r->printed, s->run.output, s->run.output_len);
}
