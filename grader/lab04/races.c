/* races.c: see races.h. ThreadSanitizer follows which access happened before which by the locks
 * that were taken, so that it finds a missing lock also when the threads did not collide. The
 * program's labs 01 and 02 are the reference's. */
#include "lab04/races.h"

#include "lab04/stall.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    LEAST_WHOLE = 77, /* of 96 requests 19 leave (child/lab04_threads.c) */
    RACE_FOUND = 66,
    CPU_S = 10,
    WALL_MS = 30000,
    OUTPUT_BYTES = 32 * 1024
};

static const char *const files[] = {"kv_blocks", "engine_step", "stamps"};

/* Whether ThreadSanitizer runs here: in a program without a line of the submission. */
static bool runs_here(const struct grading *g, struct sandbox_job job) {
    char script[1200], program[320];
    struct sandbox_run run = {.output_fd = -1};
    struct err e;
    snprintf(program, sizeof program, "%s/stand_in", g->place->out);
    snprintf(script, sizeof script,
             ": >'%s/started'\necho 'int main(void) { return 0; }' | gcc -fsanitize=thread -x c - "
             "-o '%s' && chmod 755 '%s'\n",
             g->place->out, program, program);
    const char *argv[] = {job.argv[0], job.argv[1], program, NULL};
    bool fixed = job.argv[1] && !strcmp(job.argv[1], "-R");
    job.argv = fixed ? argv : argv + 2;
    if (build_script(g->sandbox, g->place, script, &e) ||
        sandbox_execute(g->sandbox, &job, &run, &e))
        return false;
    bool ok = run.end == SANDBOX_EXITED && run.code == 0;
    sandbox_release(&run);
    return ok;
}

int lab04_races_build(const struct sandbox *sb, struct workplace *w, const char *home,
                      struct err *e) {
    char from[1100], script[6000] = "";
    snprintf(from, sizeof from, "%s/build/grader", home);
    if (build_give(from, "lab04_threads.a", w->given, false, e)) return -1;
    text_append(script, sizeof script, "O='%s'\n: >$O/started\n", w->out);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        text_append(script, sizeof script,
                    "gcc -std=gnu17 -w -O1 -g1 -fsanitize=thread -fpreprocessed -c -o "
                    "$O/%s.tsan.o $O/%s.i &\n",
                    files[i], files[i]);
    text_append(script, sizeof script,
                "wait\ngcc -r -nostdlib -o $O/tsan.o $O/*.tsan.o && objcopy -w "
                "-G 'kv_*' -G engine_step -G 'stamp_*' $O/tsan.o && gcc -fsanitize=thread -o "
                "$O/races $O/tsan.o '%s/lab04_threads.a' -lcjson -lm && chmod 755 $O/races\n",
                w->given);
    return build_script(sb, w, script, e);
}

/* "a data race, engine_step.c:42": the first place in the learner's files. */
static void describe(const struct sandbox_run *run, char *out, size_t cap) {
    static const char mark[] = "WARNING: ThreadSanitizer: ";
    const char *end = run->output + run->output_len;
    const char *at = memmem(run->output, run->output_len, mark, sizeof mark - 1);
    size_t n = 0, kind = sizeof mark - 1;
    snprintf(out, cap, "a race between threads");
    if (!at) return;
    while (at + kind + n < end && at[kind + n] != '(' && at[kind + n] != '\n') n++;
    while (n > 0 && at[kind + n - 1] == ' ') n--;
    text_clean(out, cap, at + kind, n);
    for (const char *p = at; p < end; p++)
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            char name[32];
            size_t len = (size_t)snprintf(name, sizeof name, "%s.c:", files[i]);
            if ((size_t)(end - p) <= len || memcmp(p, name, len) != 0) continue;
            text_append(out, cap, ", %s%d", name, atoi(p + len));
            return;
        }
}

/* What follows the nonce in the output; -1: it is not there. */
static int whole_answers(const struct sandbox_run *run, const char *nonce) {
    const char *at = memmem(run->output, run->output_len, nonce, strlen(nonce));
    char number[8] = "";
    if (!at) return -1;
    at += strlen(nonce);
    size_t left = (size_t)(run->output + run->output_len - at);
    memcpy(number, at, left < sizeof number - 1 ? left : sizeof number - 1);
    return atoi(number);
}

/* Runs the program to its end, or until it is clear that it has none. */
static enum stall run_threads(const struct sandbox *sb, const struct sandbox_job *job,
                              struct sandbox_run *run, struct err *e) {
    struct stall_watch watch = {0};
    enum stall stalled = STALL_NONE;
    if (sandbox_start(sb, job, run, e)) return STALL_NONE;
    while (!sandbox_pump(run) && !sandbox_ended(run) && !stalled) {
        stalled = stall_look(&watch, run->pid);
        usleep(2000);
    }
    sandbox_finish(run, stalled != STALL_NONE);
    return stalled;
}

void lab04_races_run(const struct grading *g, struct check_result *r) {
    char program[320], nonce[24], what[160], shown[160];
    struct sandbox_run run = {.output_fd = -1};
    struct err e;
    snprintf(program, sizeof program, "%s/races", g->place->out);
    r->outcome = OUTCOME_NOT_RUN;
    if (access(program, X_OK)) {
        r->settled = true;
        snprintf(r->message, sizeof r->message,
                 "needs all functions of kv_blocks.c, engine_step.c and stamps.c, and gcc's "
                 "ThreadSanitizer (libtsan)");
        return;
    }
    /* another one for each run, which says nothing about the seed */
    unsigned long long number = 0;
    INVARIANT(getrandom(&number, sizeof number, 0) == sizeof number);
    snprintf(nonce, sizeof nonce, "%016llx", number);
    /* addresses as they were before they were random: ThreadSanitizer needs them in their places */
    const char *fixed[] = {"/usr/bin/setarch", "-R", program, nonce, NULL};
    const char *env[] = {"PATH=/nowhere", "LC_ALL=C",
                         "TSAN_OPTIONS=exitcode=66:halt_on_error=1:color=never", NULL};
    struct sandbox_job job = {.argv = access(fixed[0], X_OK) ? fixed + 2 : fixed,
                              .env = env,
                              .cwd = "/",
                              .folders = {{g->place->out, false}},
                              .channel_fd = -1,
                              .cpu_s = CPU_S,
                              .wall_ms = WALL_MS,
                              .file_bytes = 1 << 20,
                              .processes = 64,
                              .output_cap = OUTPUT_BYTES};
    r->outcome = OUTCOME_GRADER_FAULT;
    snprintf(r->message, sizeof r->message, "the threads could not be run");
    enum stall stalled = run_threads(g->sandbox, &job, &run, &e);
    if (run.end == SANDBOX_RUNNING) return;
    static const char foreign[] = "FATAL: ThreadSanitizer";
    bool answered = run.output && whole_answers(&run, nonce) >= LEAST_WHOLE;
    bool ours = memmem(run.output, run.output_len, foreign, sizeof foreign - 1) != NULL;
    text_first_line(shown, sizeof shown, run.output, run.output_len);
    if (run.end == SANDBOX_EXITED && run.code == 0 && answered) {
        r->outcome = OUTCOME_EARNED;
        r->cases_right = 1;
        r->message[0] = '\0';
    } else if ((run.end == SANDBOX_BROKEN || ours) && !runs_here(g, job)) {
        snprintf(r->message, sizeof r->message, "ThreadSanitizer does not run here: %.140s", shown);
    } else {
        r->outcome = OUTCOME_LOST;
        if (run.end == SANDBOX_EXITED && run.code == RACE_FOUND)
            describe(&run, what, sizeof what);
        else if (stalled || run.end == SANDBOX_TIMEOUT)
            snprintf(what, sizeof what,
                     "the threads did not come to an end: do they wait for each other, or is there "
                     "an endless loop?");
        else
            snprintf(what, sizeof what, "the threads ended before all requests were answered");
        snprintf(r->message, sizeof r->message, "%s", what);
    }
    sandbox_release(&run);
}
