/* grade.c: the order of a grading run. See grade.h. run_check.c runs one check. */
#include "core/grade.h"

#include "core/build.h"
#include "core/build_errors.h"
#include "core/collect.h"
#include "core/run_check.h"
#include "core/to_read.h"

#include "base/clock.h"
#include "base/nearest.h"
#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Signals that interrupt a grading: all that end a program and that someone sends, or a limit. The
 * handler only sets a flag. The run ends at its next check of
 * the flag, its processes are killed, the work folder is removed, and then the signal is raised
 * again with the caller's handler. */
static const int interruptions[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,   SIGALRM, SIGUSR1,
                                    SIGUSR2, SIGXCPU, SIGXFSZ, SIGPROF, SIGVTALRM, SIGIO,   SIGPWR};
enum { N_INTERRUPTIONS = sizeof interruptions / sizeof *interruptions };

static void catch_interruptions(struct sigaction before[N_INTERRUPTIONS + 1]);
static void describe_machine(char *out, size_t cap);
static int grade_in(struct grade_options *o, struct workplace *w, const struct sandbox *sb,
                    struct grade_verdict *v, bool *usage, struct err *e);
static void restore_interruptions(const struct sigaction before[N_INTERRUPTIONS + 1]);

static int raise_limits(struct err *e);

int grade_run(struct grade_options *o, struct grade_verdict *v, bool *usage, struct err *e) {
    struct sigaction before[N_INTERRUPTIONS + 1];
    struct sandbox sb;
    struct workplace w;
    memset(v, 0, sizeof *v);
    *usage = false;
    if (verdict_check_rubric(o->lab->checks, o->lab->n_checks, e) || raise_limits(e)) return -1;
    catch_interruptions(before);
    sandbox_probe(&sb, o->force_rlimits);
    if (o->require_bwrap && sb.mode != SANDBOX_BWRAP) {
        restore_interruptions(before);
        return err_set(e, "--sandbox required: nothing was run, there is only this: %s", sb.text);
    }
    snprintf(v->lab, sizeof v->lab, "%s", o->lab->name);
    text_clean(v->folder, sizeof v->folder, o->folder, strlen(o->folder));
    snprintf(v->sandbox, sizeof v->sandbox, "%s", sb.text);
    describe_machine(v->machine_class, sizeof v->machine_class);
    v->practice = o->practice;
    v->seed = o->practice ? o->seed : 0;
    mode_t mask = umask(022); /* with the user's own, one compiler might not read another's files */
    int rc = workplace_create(&w, sb.drop, e);
    if (!rc) rc = grade_in(o, &w, &sb, v, usage, e);
    if (o->keep) {
        snprintf(o->kept, sizeof o->kept, "%s", w.root);
        workplace_keep(&w);
    } else {
        workplace_remove(&w);
    }
    umask(mask);
    if (sandbox_stopped() && o->progress) o->progress(NULL, 0, 0);
    restore_interruptions(before);
    return rc;
}

/* Compilers and submissions inherit the limits of the shell; a small one must not cost points. More
 * than is needed isn't taken for the stack, since an unlimited one moves where memory is mapped. */
static int raise_limits(struct err *e) {
    static const struct {
        int what;
        rlim_t least;
        const char *name, *text;
        char option; /* of ulimit */
    } needed[] = {{RLIMIT_STACK, 8 << 20, "the stack", "8192 kB", 's'},
                  {RLIMIT_NOFILE, 256, "open files", "256", 'n'},
                  {RLIMIT_FSIZE, 64 << 20, "a file's size", "64 MB", 'f'},
                  {RLIMIT_CPU, 60, "processor time", "60 s", 't'},
                  {RLIMIT_NPROC, 600, "processes", "600", 'u'},
                  {RLIMIT_DATA, UINT64_C(4) << 30, "a program's data", "4 GB", 'd'},
                  {RLIMIT_AS, UINT64_C(4) << 30, "a program's memory", "4 GB", 'v'}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        struct rlimit r;
        if (getrlimit(needed[i].what, &r) || r.rlim_cur >= needed[i].least) continue;
        if (r.rlim_max < needed[i].least) r.rlim_max = needed[i].least;
        r.rlim_cur = needed[i].what == RLIMIT_STACK ? needed[i].least : r.rlim_max;
        if (setrlimit(needed[i].what, &r))
            return err_set(e, "the shell's limit on %s (ulimit -H%c) is below %s; raise it",
                           needed[i].name, needed[i].option, needed[i].text);
    }
    return 0;
}

/* ---- which checks ---------------------------------------------------------------------------- */

static bool item_chooses(const char *item, size_t n, const struct check_def *def) {
    const char *dimension = dimension_name(def->dimension);
    const char *part = strchr(def->id, '.');
    size_t len = part ? strcspn(++part, ".") : 0; /* "rmsnorm" of "slo.rmsnorm.v4" */
    return (strlen(def->id) == n && !memcmp(def->id, item, n)) ||
           (strlen(dimension) == n && !memcmp(dimension, item, n)) ||
           (len == n && !memcmp(part, item, n));
}

bool grade_chosen(const char *check, const struct check_def *def) {
    for (const char *p = check; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (item_chooses(p, strcspn(p, ","), def)) return true;
    return check == NULL;
}

/* A dimension or a check with a similar name. */
static const char *nearest_check(const struct lab *lab, const char *text) {
    const char *names[DIM_N + 128];
    size_t n = 0;
    for (enum dimension d = 0; d < DIM_N; d++) names[n++] = dimension_name(d);
    for (size_t i = 0; i < lab->n_checks && n < DIM_N + 128; i++) names[n++] = lab->checks[i].id;
    return nearest_name(text, names, n);
}

/* -1 when an item chooses no check: a typing error must not look like a pass. */
static int check_choice(const struct lab *lab, const char *check, struct err *e) {
    for (const char *p = check; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        size_t n = strcspn(p, ","), i = 0;
        char shown[80];
        while (i < lab->n_checks && !item_chooses(p, n, &lab->checks[i])) i++;
        text_clean(shown, sizeof shown, p, n);
        if (i == lab->n_checks)
            return err_at(e, 0, "--check",
                          "lab %s has no check '%s' (CHECK= with make); did you mean '%s'? "
                          "`build/bin/servelab grade %s --list` shows them",
                          lab->number, shown, nearest_check(lab, shown), lab->number);
    }
    return 0;
}

/* ---- the verdict's frame --------------------------------------------------------------------- */

static void describe_machine(char *out, size_t cap) {
    struct utsname u;
    if (uname(&u)) memset(&u, 0, sizeof u);
    snprintf(out, cap, "%s %s, %ld CPU%s", u.sysname, u.machine, sysconf(_SC_NPROCESSORS_ONLN),
             sysconf(_SC_NPROCESSORS_ONLN) == 1 ? "" : "s");
}

/* Quotes text for a shell. False for text that can't be shown as it is, and for $, which make would
 * expand. */
static bool shell_quote(char *out, size_t cap, const char *text) {
    size_t n = 0;
    char shown[400];
    if (strcmp(text_clean(shown, sizeof shown, text, strlen(text)), text) != 0) return false;
    if (strchr(text, '$')) return false;
    if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+") ==
        strlen(text))
        return (size_t)snprintf(out, cap, "%s", text) < cap;
    if (n + 1 < cap) out[n++] = '\'';
    for (const char *p = text; *p && n + 5 < cap; p++) {
        if (*p == '\'') {
            memcpy(out + n, "'\\''", 4);
            n += 4;
        } else {
            out[n++] = *p;
        }
    }
    if (n + 2 > cap) return false;
    out[n++] = '\'';
    out[n] = '\0';
    return true;
}

static void fill_rerun(const struct grade_options *o, struct check_result *r) {
    char folder[120] = "";
    if (!o->practice || r->outcome == OUTCOME_EARNED) return;
    if (o->rerun_folder && !shell_quote(folder, sizeof folder, o->rerun_folder)) return;
    snprintf(r->rerun, sizeof r->rerun, "make grade LAB=%s %s%s%s%sCHECK=%s SEED=%llu",
             o->lab->number, o->own ? "OWN=all " : "", folder[0] ? "DIR=" : "", folder,
             folder[0] ? " " : "", r->id, (unsigned long long)o->seed);
}

static void fill_hint(const struct grade_options *o, const struct check_def *def,
                      struct check_result *r) {
    if (r->outcome == OUTCOME_EARNED) return;
    for (int i = 0; i < o->hints && i < CHECK_HINTS && def->hints[i]; i++)
        text_append(r->hint, sizeof r->hint, "%s%s", i ? "\n" : "", def->hints[i]);
}

/* ---- prerequisites --------------------------------------------------------------------------- */

static int points_with(const struct lab *lab, const struct check_result *all, enum dimension d,
                       enum outcome outcome) {
    int points = 0;
    for (size_t i = 0; i < lab->n_checks; i++)
        if (lab->checks[i].dimension == d && all[i].outcome == outcome)
            points += lab->checks[i].points;
    return points;
}

/* A safety check counts only with half of the points of each dimension it needs: an empty function
 * is safe but earns nothing. False when the check can't count. If grader faults decide that, its
 * outcome is a grader fault, too. */
static bool meets_prerequisites(const struct lab *lab, const struct check_def *def,
                                const struct check_result *all, struct check_result *r) {
    for (enum dimension d = 0; d < DIM_N; d++) {
        if (!(def->needs & 1u << d)) continue;
        int earned = points_with(lab, all, d, OUTCOME_EARNED);
        int unknown = points_with(lab, all, d, OUTCOME_GRADER_FAULT);
        if (2 * earned >= dimension_points[d]) continue;
        bool ours = 2 * (earned + unknown) >= dimension_points[d];
        r->outcome = ours ? OUTCOME_GRADER_FAULT : OUTCOME_NOT_RUN;
        r->settled = true;
        snprintf(r->message, sizeof r->message,
                 ours ? "builds on %s checks that could not be graded"
                      : "locked until half of the %s points are earned",
                 dimension_name(d));
        return false;
    }
    return true;
}

/* ---- the run --------------------------------------------------------------------------------- */

struct plan {
    bool *run;                  /* parallel to lab->checks: chosen, or needed by a chosen one */
    bool build, sanitised, own; /* what must be built for these checks */
};

static int make_plan(const struct grade_options *o, struct plan *p, struct err *e) {
    const struct lab *lab = o->lab;
    unsigned needed = 0;
    p->run = calloc(lab->n_checks, sizeof *p->run);
    if (!p->run) return err_set(e, "no memory");
    for (size_t i = 0; i < lab->n_checks; i++) {
        p->run[i] = grade_chosen(o->check, &lab->checks[i]);
        if (!p->run[i]) continue;
        needed |= lab->checks[i].needs;
        enum check_kind kind = lab->checks[i].kind;
        if (kind == CHECK_SURVIVES || kind == CHECK_READ_ONLY) p->sanitised = true;
    }
    for (size_t i = 0; i < lab->n_checks; i++) {
        if (needed & 1u << lab->checks[i].dimension) p->run[i] = true;
        bool own = lab->checks[i].kind == CHECK_OWN;
        if (p->run[i] && !own && lab->checks[i].kind != CHECK_EVIDENCE) p->build = true;
        p->own |= p->run[i] && own;
    }
    return 0;
}

/* A quantity that is wrong already in an earlier check is said to be the cause. */
static void fill_cause(struct check_result *all, size_t i) {
    struct check_result *r = &all[i];
    char text[sizeof r->message];
    if (r->outcome != OUTCOME_LOST || !r->wrong[0]) return;
    for (size_t k = 0; k < i; k++) {
        if (all[k].outcome != OUTCOME_LOST || strcmp(all[k].wrong, r->wrong)) continue;
        snprintf(text, sizeof text,
                 "follows from %s, most likely: %s is wrong in that check already. %.180s",
                 all[k].id, r->wrong, r->message);
        memcpy(r->message, text, sizeof text);
        return;
    }
}

static void run_all(const struct grade_options *o, const struct plan *p, const struct grading *g,
                    struct check_result *all) {
    const struct lab *lab = o->lab;
    size_t done = 0, total = 0;
    for (size_t i = 0; i < lab->n_checks; i++) total += p->run[i];
    for (size_t i = 0; i < lab->n_checks && !sandbox_stopped(); i++) {
        const struct check_def *def = &lab->checks[i];
        struct check_result *r = &all[i];
        *r = (struct check_result){.id = def->id,
                                   .title = def->title,
                                   .dimension = def->dimension,
                                   .points = def->points,
                                   .section = def->section,
                                   .file = def->file};
        if (!p->run[i]) continue;
        if (o->progress) o->progress(def->id, done++, total);
        int64_t began_ns = clock_monotonic_ns();
        if (meets_prerequisites(lab, def, all, r)) run_one_check(g, def, r);
        r->took_ms = (clock_monotonic_ns() - began_ns) / NS_PER_MS;
        fill_cause(all, i);
        fill_rerun(o, r);
        fill_hint(o, def, r);
    }
    for (size_t i = 0; i < lab->n_checks && !o->practice; i++) {
        all[i].cases = p->run[i] ? lab->checks[i].n_cases : 0;
        verdict_conceal(&all[i]);
    }
    if (o->progress) o->progress(NULL, total, total);
}

/* Whether the submission differs from the starter, whose functions all end in LAB_TODO and whose
 * data has blanks. */
static bool was_attempted(const struct lab *lab, const struct workplace *w, const struct plan *p,
                          const struct check_result *all) {
    for (size_t i = 0; i < lab->n_files; i++)
        if (w->file[i].state == FILE_REFUSED) return true;
    for (size_t i = 0; i < lab->n_checks; i++)
        if (p->run[i] && all[i].outcome != OUTCOME_NOT_RUN) return true;
    return false;
}

/* Keeps the chosen checks only, in the lab's order. */
static void keep_chosen(const struct grade_options *o, struct check_result *all,
                        struct grade_verdict *v) {
    v->checks = all;
    for (size_t i = 0; i < o->lab->n_checks; i++)
        if (grade_chosen(o->check, &o->lab->checks[i])) v->checks[v->n++] = all[i];
    v->partial = v->n < o->lab->n_checks;
}

static void list_problems(const struct lab *lab, const struct workplace *w,
                          struct grade_verdict *v) {
    for (size_t i = 0; i < lab->n_files; i++) {
        const struct collected *c = &w->file[i];
        bool shown =
            c->state == FILE_REFUSED || (c->state == FILE_MISSING && !c->optional && v->attempted);
        if (shown && !strstr(v->problem, c->message)) /* several files may have the same message */
            text_append(v->problem, sizeof v->problem, "%s%s", v->problem[0] ? "\n" : "",
                        c->message);
    }
}

static void list_warnings(const struct lab *lab, const struct workplace *w,
                          struct grade_verdict *v) {
    for (size_t i = 0; i < lab->n_files; i++)
        if (w->file[i].state == FILE_OK)
            build_warnings(w, lab->files[i].name, lab->files[i].code ? ".warn" : ".err",
                           v->warnings, sizeof v->warnings);
}

static int grade_on_card(struct grade_options *o, const struct workplace *w,
                         const struct sandbox *sb, const char *home, bool *usage, struct err *e) {
    struct grading g = {.lab = o->lab, .sandbox = sb, .place = w, .seed = o->seed};
    bool *chosen = calloc(o->lab->n_checks, sizeof *chosen);
    g.practice = o->practice;
    if (!chosen) return err_set(e, "no memory");
    for (size_t i = 0; i < o->lab->n_checks; i++)
        chosen[i] = grade_chosen(o->check, &o->lab->checks[i]);
    int rc = o->lab->on_card(&g, home, chosen, o->progress, &o->card_status, usage, e);
    free(chosen);
    return rc;
}

static int grade_in(struct grade_options *o, struct workplace *w, const struct sandbox *sb,
                    struct grade_verdict *v, bool *usage, struct err *e) {
    char home[1024];
    struct built built = {0};
    struct plan plan = {NULL, false, false, false};
    void *own = NULL;
    struct check_result *all = calloc(o->lab->n_checks, sizeof *all);
    int rc = -1;
    *usage = true;
    if (!all) {
        err_set(e, "no memory");
        goto done;
    }
    if (check_choice(o->lab, o->check, e) || collect(w, o->lab, o->folder, usage, e)) goto done;
    *usage = false;
    if (make_plan(o, &plan, e)) goto done;
    snprintf(home, sizeof home, "%s", o->home ? o->home : "");
    if (!o->home && build_find_home(home, sizeof home, e)) goto done;
    if (o->cuda) {
        rc = grade_on_card(o, w, sb, home, usage, e);
        goto done;
    }
    if (o->progress && (plan.build || plan.own)) o->progress("compiling", 0, 1);
    if (plan.build &&
        build_submission(sb, o->lab, w, home, plan.sanitised, o->trust_objects, &built, e))
        goto done;
    if (plan.own && o->lab->prepare(sb, w, home, plan.run, &own, e)) goto done;
    if (own && o->lab->counting)
        snprintf(v->counting, sizeof v->counting, "%s", o->lab->counting(own));
    struct grading g = {o->lab, sb, w, &built, o->seed, o->practice, all, own};
    run_all(o, &plan, &g, all);
    if (sandbox_stopped()) {
        err_set(e, "interrupted");
        goto done;
    }
    v->attempted = was_attempted(o->lab, w, &plan, all);
    list_problems(o->lab, w, v);
    list_warnings(o->lab, w, v);
    to_read_collect(o->lab, w, v);
    keep_chosen(o, all, v);
    verdict_clean(v);
    all = NULL;
    rc = 0;
done:
    if (own) o->lab->release(own);
    free(plan.run);
    free(all);
    return rc;
}

/* ---- interruptions -----------------------------------------------------------------------------
 */

static void catch_interruptions(struct sigaction before[N_INTERRUPTIONS + 1]) {
    struct sigaction mark = {.sa_handler = sandbox_stop};
    sandbox_resume();
    for (int i = 0; i < N_INTERRUPTIONS; i++) {
        sigaction(interruptions[i], NULL, &before[i]);
        /* a signal that is ignored, as under nohup, stays ignored */
        if (before[i].sa_handler != SIG_IGN) sigaction(interruptions[i], &mark, NULL);
    }
    /* where this one is ignored, nobody can wait for a process */
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &before[N_INTERRUPTIONS]);
}

static void restore_interruptions(const struct sigaction before[N_INTERRUPTIONS + 1]) {
    int sig = sandbox_stopped();
    for (int i = 0; i < N_INTERRUPTIONS; i++) sigaction(interruptions[i], &before[i], NULL);
    sigaction(SIGCHLD, &before[N_INTERRUPTIONS], NULL);
    sandbox_resume();
    if (sig) raise(sig);
}
