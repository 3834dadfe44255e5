/* card.c: `servelab grade 03 --device cuda`: compiles with nvcc, starts a process for each kernel
 * that drives the card (card_run.c), waits for it with a limit, and prints the table. Gives no
 * points; the counted run does. Makes no CUDA call in this process, since a failing kernel would
 * break its context. */
#include "lab03/card.h"

#include "core/build.h"
#include "core/build_errors.h"
#include "core/grading.h"
#include "core/render.h"
#include "lab03/kernel_source.h"
#include "lab03/lab03.h"
#include "labs.h"

#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LAUNCH_LIMIT_S = 10, /* the slowest right kernel takes well under a second */
    TOTAL_LIMIT_S = 300, /* filling data and checking a kernel, on a slow processor */
    MAX_SOURCE = 4 << 20
};

struct run {
    const struct grading *g;
    const char *home;
    char nvcc[512], reference[600]; /* the compiler, the reference's folder */
    char given[300];
    struct card_result *shared;
    struct card_result about;
    int right, lost, absent, faults; /* kernels */
};

static bool is_chosen(const bool *chosen, const char *kernel);
static int in_process(struct run *run, const struct card_job *job, struct card_result *r,
                      struct err *e);
static int find_nvcc(struct run *run, struct err *e);
static int give(struct run *run, struct err *e);
static int run_chosen(struct run *run, const bool *chosen, int n,
                      void (*progress)(const char *, size_t, size_t), struct err *e);

int lab03_on_card(const struct grading *g, const char *home, const bool *chosen,
                  void (*progress)(const char *, size_t, size_t), int *status, bool *usage,
                  struct err *e) {
    struct run run = {.g = g, .home = home};
    int n = 0;
    for (int i = 0; i < kernel_spec_count; i++) n += is_chosen(chosen, kernel_specs[i].name);
    *usage = true;
    if (n == 0) return err_at(e, 0, "--check", "chooses no kernel; only kernels run on a GPU");
    run.shared =
        mmap(NULL, sizeof *run.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.shared == MAP_FAILED) return err_set(e, "no memory");
    int rc = in_process(&run, NULL, &run.about, e);
    if (!rc && run.about.verdict != CARD_TIMED)
        rc = err_set(e, "%.300s. `make grade LAB=03` grades without a GPU", run.about.why);
    if (!rc) rc = find_nvcc(&run, e);
    if (!rc) {
        *usage = false;
        rc = give(&run, e) || run_chosen(&run, chosen, n, progress, e) ? -1 : 0;
    }
    munmap(run.shared, sizeof *run.shared);
    *status = run.faults ? 4 : run.absent == n ? 3 : run.lost || run.absent ? 1 : 0;
    return rc;
}

/* ---- a process that drives the card ---------------------------------------------------------- */

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* SERVELAB_GPU_LIMIT_S: how many seconds one launch may take; tests set it. */
static int64_t launch_limit_ns(void) {
    const char *set = getenv("SERVELAB_GPU_LIMIT_S");
    int s = set ? atoi(set) : 0;
    return (s > 0 ? s : LAUNCH_LIMIT_S) * INT64_C(1000000000);
}

static void ended_badly(struct card_result *r, bool endless, bool late, int status) {
    if (endless) {
        r->verdict = CARD_ENDLESS;
        snprintf(r->why, sizeof r->why,
                 "the launch came to no end: a loop without one, or a grid that waits on itself");
    } else if (late) {
        r->verdict = CARD_FAULT;
        snprintf(r->why, sizeof r->why, "the card's process took more than %d s", TOTAL_LIMIT_S);
    } else if (r->launched_ns) {
        r->verdict = CARD_FAILED;
        snprintf(r->why, sizeof r->why, "the launch ended its process%s%s",
                 WIFSIGNALED(status) ? ": " : "",
                 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
    } else {
        r->verdict = CARD_FAULT;
        snprintf(r->why, sizeof r->why, "the card's process ended by itself");
    }
}

/* Runs job in a process, or only looks at the card if job is NULL; r is the process's result. -1
 * with *e: the grader's fault. */
static int in_process(struct run *run, const struct card_job *job, struct card_result *r,
                      struct err *e) {
    volatile struct card_result *shared = run->shared;
    int64_t begun = now_ns(), limit = launch_limit_ns();
    bool endless = false, late = false;
    int status = 0;
    memset(run->shared, 0, sizeof *run->shared);
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) return err_set(e, "no process for the card: %s", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (job)
            lab03_card_run(job, run->shared);
        else
            lab03_card_look(run->shared);
        _exit(0);
    }
    while (waitpid(pid, &status, WNOHANG) != pid) {
        int64_t launched = shared->launched_ns, now = now_ns();
        endless = launched && now - launched > limit;
        late = now - begun > TOTAL_LIMIT_S * INT64_C(1000000000);
        if (endless || late || sandbox_stopped()) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            break;
        }
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    if (sandbox_stopped()) return err_set(e, "interrupted");
    *r = *run->shared;
    if (status != 0 || r->verdict == CARD_UNFINISHED) ended_badly(r, endless, late, status);
    return 0;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* SERVELAB_NVCC, or the first nvcc in PATH. The compiler runs in the sandbox, where it sees /usr
 * only. */
static int find_nvcc(struct run *run, struct err *e) {
    const char *set = getenv("SERVELAB_NVCC"), *path = getenv("PATH");
    char found[1024] = "", real[4096];
    for (const char *p = path; !set && p && *p && !found[0];) {
        size_t n = strcspn(p, ":");
        snprintf(found, sizeof found, "%.*s/nvcc", (int)(n < 1000 ? n : 1000), p);
        if (access(found, X_OK)) found[0] = '\0';
        p += n + (p[n] == ':');
    }
    if (!set && !found[0] && !access("/usr/local/cuda/bin/nvcc", X_OK))
        snprintf(found, sizeof found, "/usr/local/cuda/bin/nvcc");
    if (!realpath(set ? set : found, real) || access(real, X_OK) || strchr(real, '\''))
        return err_set(e, "nvcc is not installed; it comes with the CUDA toolkit. `make grade "
                          "LAB=03` grades without it");
    if (run->g->sandbox->mode == SANDBOX_BWRAP && strncmp(real, "/usr/", 5) != 0)
        return err_set(e,
                       "nvcc lies outside of /usr (%.300s), where the sandbox can't see it; "
                       "`build/bin/servelab grade 03 --device cuda --sandbox rlimits` uses it",
                       real);
    if ((size_t)snprintf(run->nvcc, sizeof run->nvcc, "%s", real) >= sizeof run->nvcc)
        return err_set(e, "the path of nvcc is too long");
    return 0;
}

static int make_folder(char *out, size_t cap, const char *parent, const char *name, struct err *e) {
    if ((size_t)snprintf(out, cap, "%s/%s", parent, name) >= cap || mkdir(out, 0755) ||
        chmod(out, 0755))
        return err_set(e, "%s/%s: %s", parent, name, strerror(errno));
    return 0;
}

/* Fills given/card with the interface's header and the reference's files. */
static int give(struct run *run, struct err *e) {
    char from[600], to[330], name[64];
    if (make_folder(run->given, sizeof run->given, run->g->place->given, "card", e) ||
        make_folder(to, sizeof to, run->given, "backend", e))
        return -1;
    snprintf(from, sizeof from, "%.500s/common/backend", run->home);
    if (build_give(from, "kernels.h", to, false, e)) return -1;
    snprintf(from, sizeof from, "%.500s/common/base", run->home); /* what kernels.h includes */
    if (make_folder(to, sizeof to, run->given, "base", e) ||
        build_give(from, "kv_block.h", to, false, e))
        return -1;
    snprintf(run->reference, sizeof run->reference, "%.500s/solutions/03_kernels", run->home);
    for (int i = 0; i < kernel_spec_count; i++) {
        snprintf(name, sizeof name, "%s.cu", kernel_specs[i].name);
        if (build_give(run->reference, name, run->given, false, e)) return -1;
    }
    return 0;
}

/* Compiles both files at once. nvcc writes FILE.cu(17), which build_errors.h expects as FILE.cu:17.
 */
static int compile(struct run *run, const char *kernel, struct err *e) {
    const struct workplace *w = run->g->place;
    char script[6000];
    const struct gpu_about *a = &run->about.about;
    int n = snprintf(
        script, sizeof script,
        "O='%s' G='%s' K=%s\n: >$O/started\n"
        "one() { # one FILE PREFIX\n"
        "  '%s' -std=c++17 -O3 -arch=sm_%d%d -cubin -I $G -include backend/kernels.h \"$1\" \\\n"
        "    -o \"$O/$2$K.cubin\" >\"$O/$2$K.said\" 2>&1\n"
        "  sed 's/^\\([a-z_0-9]*\\.cu\\)(\\([0-9]*\\)): /\\1:\\2: /' \"$O/$2$K.said\" "
        ">\"$O/$2$K.err\"\n"
        "}\none $K.cu '' &\none $G/$K.cu reference_ &\nwait\n",
        w->out, run->given, kernel, run->nvcc, a->compute_major, a->compute_minor);
    if (n < 0 || (size_t)n >= sizeof script) return err_set(e, "the compiler's paths are too long");
    return build_script(run->g->sandbox, w, script, e);
}

/* ---- one kernel ------------------------------------------------------------------------------ */

static void refuse(struct card_result *r, const char *why) {
    r->verdict = CARD_REFUSED;
    snprintf(r->why, sizeof r->why, "%.390s", why);
}

/* Refuses what the counted run refuses. False: nothing to compile. */
static bool look_at_text(const struct run *run, const char *kernel, struct card_result *r,
                         bool *absent) {
    char name[64];
    size_t n = 0;
    struct err why;
    snprintf(name, sizeof name, "%.50s.cu", kernel);
    for (size_t i = 0; i < lab03.n_files; i++)
        if (!strcmp(lab03.files[i].name, name) && run->g->place->file[i].state == FILE_REFUSED)
            refuse(r, run->g->place->file[i].message);
    if (r->verdict == CARD_REFUSED) return false;
    char *text = collect_read(run->g->place->src, name, MAX_SOURCE, &n);
    *absent = !text || kernel_not_attempted(text, n);
    if (!*absent && lab03_source_check(name, text, n, &why)) refuse(r, why.text);
    free(text);
    return !*absent && r->verdict != CARD_REFUSED;
}

static int run_kernel(struct run *run, const struct kernel_spec *spec, struct card_result *r,
                      bool *absent, struct err *e) {
    const struct workplace *w = run->g->place;
    char module[400], reference[400], launch[400], ours[700], name[64];
    memset(r, 0, sizeof *r);
    if (!look_at_text(run, spec->name, r, absent)) return 0;
    if (compile(run, spec->name, e)) return -1;
    snprintf(module, sizeof module, "%s/%s.cubin", w->out, spec->name);
    snprintf(reference, sizeof reference, "%s/reference_%s.cubin", w->out, spec->name);
    snprintf(launch, sizeof launch, "%s/launch.json", w->src);
    snprintf(ours, sizeof ours, "%s/launch.json", run->reference);
    if (access(reference, R_OK))
        return err_set(e, "nvcc doesn't compile the reference's %s.cu for this card", spec->name);
    if (access(module, R_OK)) {
        struct collected c;
        snprintf(name, sizeof name, "%s.cu", spec->name);
        build_errors(w, name, &c);
        refuse(r, c.message);
        return 0;
    }
    struct card_job job = {.spec = spec,
                           .module = module,
                           .launch = launch,
                           .reference_module = reference,
                           .reference_launch = ours,
                           .seed = run->g->seed,
                           .practice = run->g->practice,
                           .small = getenv("SERVELAB_GPU_SMALL") != NULL};
    return in_process(run, &job, r, e);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *const verdicts[] = {
    "unfinished",        "no device",       "the grader's fault",      "refused",   "wrong",
    "the launch failed", "comes to no end", "not physically possible", "too noisy", "timed"};

static void print_head(const struct card_result *r) {
    printf("%s, compute capability %d.%d, driver %d.%d\n", r->about.name, r->about.compute_major,
           r->about.compute_minor, r->about.driver / 1000, r->about.driver % 1000 / 10);
    if (getenv("SERVELAB_GPU_SMALL")) printf("a dry run on small shapes: its times mean nothing\n");
    printf("\n%-18s %-6s %10s %12s %6s %9s  %s\n", "kernel", "right?", "us", "reference us",
           "speed", "roofline", "verdict");
}

/* A wrong kernel scores zero before its speed is read, so no time is shown. */
static void print_row(struct run *run, const char *kernel, const struct card_result *r,
                      bool absent) {
    char why[400];
    bool right = r->verdict >= CARD_NOT_PHYSICAL;
    text_clean(why, sizeof why, r->why, strlen(r->why));
    printf("%-18s ", kernel);
    run->absent += absent;
    if (absent) {
        printf("%-6s %10s %12s %6s %9s  not written yet\n", "-", "-", "-", "-", "-");
        return;
    }
    run->right += r->verdict >= CARD_NOISY;
    run->faults += r->verdict < CARD_REFUSED;
    run->lost += r->verdict >= CARD_REFUSED && r->verdict <= CARD_NOT_PHYSICAL;
    if (r->verdict == CARD_TIMED)
        printf("%-6s %10.1f %12.1f %6.2f %7.0f %%  ", "yes", r->yours.median_us,
               r->reference.median_us, r->reference.median_us / r->yours.median_us,
               100 * r->fraction);
    else if (right)
        printf("%-6s %10.1f %12.1f %6s %9s  ", "yes", r->yours.median_us, r->reference.median_us,
               "-", "-");
    else
        printf("%-6s %10s %12s %6s %9s  ", r->verdict < CARD_REFUSED ? "?" : "no", "-", "-",
               r->verdict < CARD_REFUSED ? "-" : "0", "-");
    printf("%s%s%s\n", verdicts[r->verdict], why[0] ? ": " : "", why);
}

static void print_foot(const struct run *run, int kernels) {
    const struct card_result *r = &run->about;
    printf("\n");
    if (r->copy_gb_s > 0) {
        printf("measured in this run: copy %.0f GB/s", r->copy_gb_s);
        if (r->sgemm_gflop_s > 0)
            printf(", cublasSgemm %.0f GFLOP/s\n", r->sgemm_gflop_s);
        else
            printf("; no cuBLAS here, so rates of operations weren't judged\n");
    }
    printf("medians of %d launches, fresh data and the L2 cache overwritten before each; speed is "
           "the reference's time over yours\n",
           CARD_ROUNDS);
    printf("%d kernels: %d right, %d not, %d not written yet. Points are given by the "
           "counted run: make grade LAB=03\n",
           kernels, run->right, run->lost, run->absent);
}

static bool is_chosen(const bool *chosen, const char *kernel) {
    for (size_t i = 0; i < LAB03_CHECKS; i++)
        if (chosen[i] && lab03_checks[i].kind == CHECK_OWN &&
            lab03_is_about(&lab03_checks[i], kernel))
            return true;
    return false;
}

static int run_chosen(struct run *run, const bool *chosen, int n,
                      void (*progress)(const char *, size_t, size_t), struct err *e) {
    size_t done = 0;
    print_head(&run->about);
    for (int i = 0; i < kernel_spec_count; i++) {
        struct card_result r;
        bool absent = false;
        if (!is_chosen(chosen, kernel_specs[i].name)) continue;
        if (progress) progress(kernel_specs[i].name, done++, (size_t)n);
        int rc = run_kernel(run, &kernel_specs[i], &r, &absent, e);
        if (progress) progress(NULL, 0, 0);
        if (rc) return -1;
        if (r.copy_gb_s > 0) run->about = r;
        print_row(run, kernel_specs[i].name, &r, absent);
        if (render_flush(e)) return -1;
    }
    print_foot(run, n);
    return render_flush(e);
}
