/* command.c: runs the compilers for simtcc, with their options for checked code. */
#include "command.h"
#include "rewrite.h"

#include "../ir/instrument.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { DONE = 0, REFUSED = 1, BAD_INPUT = 2, OUR_FAULT = 4 };

void words_add(struct words *w, const char *word) {
    const char **grown = realloc(w->list, (size_t)(w->count + 2) * sizeof *grown);
    if (!grown) exit(OUR_FAULT);
    grown[w->count++] = word;
    grown[w->count] = NULL;
    w->list = grown;
}

static void words_add_all(struct words *w, const char *const *list) {
    for (; list && *list; list++) words_add(w, *list);
}

struct paths {
    char home[PATH_MAX]; /* the folder `simt` beside this program */
    char work[PATH_MAX]; /* temporary files */
};

static const char *keep_string(const char *format, const char *a, const char *b) {
    char *s;
    if (asprintf(&s, format, a, b) < 0) exit(OUR_FAULT);
    return s;
}

static int find_home(struct paths *p) {
    char self[PATH_MAX - 16];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash) *slash = 0;
    snprintf(p->home, sizeof p->home, "%s/simt", self);
    if (access(p->home, R_OK) == 0) return DONE;
    fprintf(stderr, "simtcc: %s is missing: run `make build`\n", p->home);
    return OUR_FAULT;
}

/* An interrupt ends the running command, then removes the temporary files, then ends simtcc. */
static volatile sig_atomic_t stopped_by;
static volatile pid_t running;

static void stop(int signal_number) {
    stopped_by = signal_number;
    if (running) kill(running, signal_number);
}

static void catch_interrupts(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before, ours = {.sa_handler = stop};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &ours, NULL);
}

static void end_as_interrupted(void) {
    if (!stopped_by) return;
    signal(stopped_by, SIG_DFL);
    raise(stopped_by);
}

/* Runs a command; its exit status. errors: the file that gets its messages; NULL: the terminal. */
static int run_into(const struct words *argv, const char *errors) {
    pid_t pid;
    int status;
    if (stopped_by) return REFUSED;
    posix_spawn_file_actions_t to;
    posix_spawn_file_actions_init(&to);
    if (errors)
        posix_spawn_file_actions_addopen(&to, STDERR_FILENO, errors, O_WRONLY | O_CREAT | O_TRUNC,
                                         0600);
    int e = posix_spawnp(&pid, argv->list[0], &to, NULL, (char *const *)argv->list, environ);
    posix_spawn_file_actions_destroy(&to);
    if (e != 0) {
        fprintf(stderr, "simtcc: can't run %s: %s. Install it, or name another with --cxx=\n",
                argv->list[0], strerror(e));
        return BAD_INPUT;
    }
    running = pid;
    if (stopped_by) kill(pid, stopped_by); /* the signal came before `running` was set */
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return OUR_FAULT;
    running = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? DONE : REFUSED;
}

static int run(const struct words *argv) {
    return run_into(argv, NULL);
}

/* Fills local variables that have no initial value, so that a result never depends on what the
 * stack held: 0xfe in each byte (g++), which is -1.7e38 as a float. Compilers before g++ 12 don't
 * have it. */
static const char fill_locals[] = "-ftrivial-auto-var-init=pattern";

static bool can_fill_locals(const struct command *c) {
    const char *words[] = {c->cxx, fill_locals, "-E", "-x", "c++", "/dev/null", NULL};
    const char *quiet[] = {"-o", "/dev/null", NULL};
    struct words w = {0};
    words_add_all(&w, words);
    words_add_all(&w, quiet);
    bool can = run_into(&w, "/dev/null") == DONE;
    free(w.list);
    return can;
}

/* Every access stays one call of a __tsan_ function, where the source has it. Each basic block
 * calls a hook with its place, which check_merge.c needs to bring diverged lanes together. */
static const char *const check_gcc[] = {"-fsanitize=thread",
                                        "-fsanitize-coverage=trace-pc",
                                        "--param=tsan-instrument-func-entry-exit=0",
                                        "--param=tsan-distinguish-volatile=1",
                                        "-fno-tree-vectorize",
                                        "-fno-tree-loop-distribute-patterns",
                                        "-fno-toplevel-reorder",
                                        "-fno-ipa-icf", /* equal kernels would share their lines */
                                        NULL};
static const char *const check_clang[] = {"-fsanitize=thread",
                                          "-fsanitize-coverage=trace-pc,no-prune",
                                          "-fno-vectorize",
                                          "-fno-slp-vectorize",
                                          "-fno-unroll-loops",
                                          "-mllvm",
                                          "-tsan-instrument-func-entry-exit=0",
                                          "-mllvm",
                                          "-tsan-instrument-read-before-write=1",
                                          "-mllvm",
                                          "-tsan-distinguish-volatile=1",
                                          "-mllvm",
                                          "-disable-loop-idiom-all",
                                          "-mllvm", /* or a vector is loaded by elements */
                                          "-disable-vector-combine",
                                          NULL};
/* The same code without hooks; they come later. A jump table is a jump through a pointer; printf
 * stays printf. */
static const char *const check_ir[] = {"-emit-llvm",
                                       "-fno-vectorize",
                                       "-fno-slp-vectorize",
                                       "-fno-unroll-loops",
                                       "-fno-jump-tables",
                                       "-fno-builtin-printf",
                                       "-mllvm",
                                       "-disable-loop-idiom-all",
                                       "-mllvm",
                                       "-disable-vector-combine",
                                       "-mllvm", /* two places stay two: calls in both branches */
                                       "-sink-common-insts=false",
                                       NULL};
static const char *const cuda_flags[] = {"-D__CUDACC__=1",       "-D__SIMT__=1",
                                         "-DSERVELAB_SIMT=1",    "-Wno-unknown-pragmas",
                                         "-Wno-unused-function", NULL};

static void common_flags(const struct command *c, const struct paths *p, struct words *w,
                         bool device) {
    static char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof cwd)) cwd[0] = 0;
    words_add(w, "-O2");
    words_add(w, "-g");
    words_add(w, "-gdwarf-4");                                       /* addr2line reads it */
    words_add(w, keep_string("-fdebug-prefix-map=%s=%s", cwd, ".")); /* paths as the user gave */
    words_add(w, "-fPIC");
    words_add(w, keep_string("-isystem%s%s", p->home, "/include"));
    if (device) {
        words_add(w, "-std=c++17");
        words_add(w, "-ftls-model=initial-exec");
        words_add(w, "-fno-math-errno");          /* as on a GPU: a root is one instruction */
        words_add(w, "-fstack-clash-protection"); /* so that an overrun meets the guard page */
        words_add_all(w, cuda_flags);
        if (c->check) words_add(w, "-DSIMT_CHECK=1");
    }
    words_add_all(w, c->compile.list);
}

static char *read_all(const char *path, size_t *length) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (!f) return NULL;
    if (fseek(f, 0, SEEK_END) == 0) {
        long n = ftell(f);
        rewind(f);
        text = n >= 0 ? malloc((size_t)n + 8) : NULL;
        if (text) {
            *length = fread(text, 1, (size_t)n, f);
            memset(text + *length, 0, 8);
        }
    }
    fclose(f);
    return text;
}

static int rewrite_file(const char *source, const char *from, const char *to) {
    char message[1024];
    size_t length = 0;
    char *text = read_all(from, &length), *out = NULL;
    if (text) out = rewrite(text, length, source, message, sizeof message);
    free(text);
    if (!out) {
        fprintf(stderr, "%s\n", text ? message : "simtcc: can't read the preprocessor's output");
        return BAD_INPUT;
    }
    FILE *f = strcmp(to, "-") == 0 ? stdout : fopen(to, "wb");
    bool good = f && fputs(out, f) >= 0;
    if (f && f != stdout) good &= fclose(f) == 0;
    free(out);
    if (!good) fprintf(stderr, "simtcc: can't write %s\n", to);
    return good ? DONE : OUR_FAULT;
}

static int put_hooks(const struct command *c, const char *bitcode, const char *object) {
    char message[1024];
    int rc = instrument(c->cxx, bitcode, object, c->kernel, message, sizeof message);
    if (rc != DONE) fprintf(stderr, "%s%s\n", rc == REFUSED ? "" : "simtcc: ", message);
    return rc;
}

/* Lets g++ search the rewritten text for locals that are read before they are written, and writes
 * its messages to `messages`. */
static int search_unwritten(const struct command *c, const struct paths *p, const char *rewritten,
                            const char *messages, bool every_path) {
    /* with -fno-math-errno the analyzer also names structures that were written */
    static const char *const flags[] = {"-O2",
                                        "-fmath-errno",
                                        "-Wuninitialized",
                                        "-Wmaybe-uninitialized",
                                        "-Wanalyzer-use-of-uninitialized-value",
                                        "-fdiagnostics-path-format=none",
                                        "-fno-diagnostics-show-caret",
                                        "-fdiagnostics-color=never",
                                        "-x",
                                        "c++-cpp-output",
                                        "-S",
                                        "-o",
                                        "/dev/null",
                                        NULL};
    struct words w = {0};
    words_add(&w, c->cxx);
    common_flags(c, p, &w, true);
    words_add_all(&w, flags);
    if (every_path) words_add(&w, "-fanalyzer");
    words_add(&w, rewritten);
    int rc = run_into(&w, messages);
    free(w.list);
    return rc;
}

/* Prints each place once. g++'s analyzer keeps every variable's value for each way through the
 * kernel: 400 scalars with a branch each take it 37 s. It gets ANALYZER_CPU_S; then the optimiser's
 * warnings alone are taken. */
static int find_unwritten(const struct command *c, const struct paths *p, const char *source,
                          const char *rewritten) {
    enum { ANALYZER_CPU_S = 4 }; /* below the grader's 10; the references take half a second */
    const char *messages = keep_string("%s/%s", p->work, "unwritten.txt");
    struct rlimit before, bounded;
    setenv("LC_ALL", "C", 1);
    bool limited = getrlimit(RLIMIT_CPU, &before) == 0;
    bounded = before;
    if (limited && bounded.rlim_cur > ANALYZER_CPU_S) bounded.rlim_cur = ANALYZER_CPU_S;
    if (limited) setrlimit(RLIMIT_CPU, &bounded); /* the compiler inherits it */
    int rc = search_unwritten(c, p, rewritten, messages, true);
    if (limited) setrlimit(RLIMIT_CPU, &before);
    if (rc == REFUSED) rc = search_unwritten(c, p, rewritten, messages, false);
    size_t length = 0;
    char *text = rc == DONE ? read_all(messages, &length) : NULL;
    if (text && unwritten_print(source, text, stdout) > 0) rc = REFUSED;
    if (rc == REFUSED && !text) fprintf(stderr, "simtcc: %s doesn't compile\n", source);
    free(text);
    return rc;
}

static int compile_cu(const struct command *c, const struct paths *p, const char *source,
                      const char *object) {
    bool clang = strstr(c->cxx, "clang") != NULL;
    const char *plain = keep_string("%s/%s", p->work, "plain.i");
    const char *rewritten = c->only_text ? "-" : keep_string("%s/%s", p->work, "rewritten.ii");
    struct words w = {0};
    words_add(&w, c->cxx);
    common_flags(c, p, &w, true);
    words_add(&w, "-include");
    words_add(&w, "cuda_runtime.h");
    const char *tail[] = {"-x", "c++", "-E", source, "-o", plain, NULL};
    words_add_all(&w, tail);
    int rc = run(&w);
    free(w.list);
    if (rc == DONE) rc = rewrite_file(source, plain, rewritten);
    if (rc != DONE || c->only_text) return rc;
    w = (struct words){0};
    words_add(&w, c->cxx);
    common_flags(c, p, &w, true);
    if (c->unwritten) {
        free(w.list);
        return find_unwritten(c, p, source, rewritten);
    }
    const char *bitcode = keep_string("%s/%s", p->work, "kernel.bc");
    if (c->check) words_add_all(&w, c->ir ? check_ir : clang ? check_clang : check_gcc);
    if (c->kernel) words_add(&w, "-fno-exceptions");
    if (c->check && !c->ir && can_fill_locals(c)) words_add(&w, fill_locals);
    if (clang) words_add(&w, "-Wno-unused-command-line-argument"); /* -I and -D are done with */
    const char *last[] = {"-x", "c++-cpp-output",         "-c", rewritten,
                          "-o", c->ir ? bitcode : object, NULL};
    words_add_all(&w, last);
    rc = run(&w);
    free(w.list);
    return rc == DONE && c->ir ? put_hooks(c, bitcode, object) : rc;
}

/* C and C++ of the host: not instrumented, so a harness runs at full speed. */
static int compile_host(const struct command *c, const struct paths *p, const char *source,
                        const char *object) {
    size_t n = strlen(source);
    bool plain_c = n > 2 && strcmp(source + n - 2, ".c") == 0;
    char cc[PATH_MAX];
    snprintf(cc, sizeof cc, "%s", c->cxx);
    if (plain_c) { /* g++-12: gcc-12; clang++: clang */
        char *plus = strstr(cc, "++");
        bool clang = strstr(cc, "clang") != NULL;
        if (plus && clang)
            memmove(plus, plus + 2, strlen(plus + 2) + 1);
        else if (plus)
            memcpy(plus, "cc", 2);
    }
    struct words w = {0};
    words_add(&w, cc);
    common_flags(c, p, &w, false);
    const char *tail[] = {
        "-D__SIMT__=1", "-DSERVELAB_SIMT_HOST=1", "-c", source, "-o", object, NULL};
    words_add_all(&w, tail);
    int rc = run(&w);
    free(w.list);
    return rc;
}

static bool ends_with(const char *s, const char *tail) {
    size_t n = strlen(s), k = strlen(tail);
    return n > k && strcmp(s + n - k, tail) == 0;
}

/* -c without -o leaves name.o in the current folder, as compilers do. */
static const char *object_name(const struct command *c, const struct paths *p, int i) {
    const char *base = strrchr(c->inputs.list[i], '/');
    base = base ? base + 1 : c->inputs.list[i];
    if (c->only_object && c->output) return c->output;
    int stem = (int)(strrchr(base, '.') - base);
    char *name;
    int n = c->only_object ? asprintf(&name, "%.*s.o", stem, base)
                           : asprintf(&name, "%s/%d-%.*s.o", p->work, i, stem, base);
    if (n < 0) exit(OUR_FAULT);
    return name;
}

static int link_all(const struct command *c, const struct paths *p, const struct words *objects) {
    struct words w = {0};
    words_add(&w, c->cxx);
    if (c->shared) {
        words_add(&w, "-shared");
        words_add(&w, "-Wl,-z,nodelete"); /* the runtime's OS threads never end */
        words_add(&w, "-Wl,-Bsymbolic");  /* its own hooks, also if the program has others */
    }
    words_add_all(&w, objects->list);
    words_add_all(&w, c->link.list);
    words_add(&w, keep_string("%s/%s", p->home, c->check ? "libsimt_check.a" : "libsimt.a"));
    const char *tail[] = {"-pthread", "-ldl", "-lm", "-o", c->output ? c->output : "a.out", NULL};
    words_add_all(&w, tail);
    int rc = run(&w);
    free(w.list);
    return rc;
}

static void remove_work(const struct command *c, const struct paths *p) {
    if (c->keep) {
        fprintf(stderr, "simtcc: temporary files in %s\n", p->work);
        return;
    }
    int interrupt = stopped_by;
    struct words w = {0};
    const char *words[] = {"rm", "-rf", p->work, NULL};
    words_add_all(&w, words);
    stopped_by = 0;
    run(&w);
    if (interrupt) stopped_by = interrupt;
    free(w.list);
}

int command_run(const struct command *c) {
    struct paths p;
    int rc = find_home(&p);
    if (rc != DONE) return rc;
    const char *tmp = getenv("TMPDIR");
    snprintf(p.work, sizeof p.work, "%s/simtcc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(p.work)) {
        fprintf(stderr, "simtcc: can't make a folder in %s: %s\n", tmp ? tmp : "/tmp",
                strerror(errno));
        return OUR_FAULT;
    }
    catch_interrupts();
    struct words objects = {0};
    for (int i = 0; i < c->inputs.count && rc == DONE; i++) {
        const char *in = c->inputs.list[i];
        if (access(in, R_OK) != 0) {
            fprintf(stderr, "simtcc: %s: %s\n", in, strerror(errno));
            rc = BAD_INPUT;
        } else if (ends_with(in, ".cu")) {
            words_add(&objects, object_name(c, &p, i));
            rc = compile_cu(c, &p, in, objects.list[objects.count - 1]);
        } else if (ends_with(in, ".c") || ends_with(in, ".cpp") || ends_with(in, ".cc")) {
            words_add(&objects, object_name(c, &p, i));
            rc = compile_host(c, &p, in, objects.list[objects.count - 1]);
        } else {
            words_add(&objects, in);
        }
    }
    if (rc == DONE && !c->only_object && !c->only_text && !c->unwritten)
        rc = link_all(c, &p, &objects);
    remove_work(c, &p);
    free(objects.list);
    end_as_interrupted();
    return rc;
}
