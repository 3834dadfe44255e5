/* build.c: see build.h. build_errors.c turns compiler messages into text for the learner. */
#include "core/build.h"

#include "core/build_errors.h"
#include "core/object.h"

#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SCRIPT_BYTES = 16384,
    MAX_INTERMEDIATE = 32 * 1024 * 1024, /* the preprocessed headers have 150 kB */
    MAX_GLOBALS = 256,
    MAX_WARNINGS = 64 * 1024, /* bytes; some are shown */
    COMPILE_CPU_S = 10, /* for each process; the reference takes a tenth of a second per file */
    COMPILE_WALL_MS = 60000, /* all files together; high, so that a busy machine costs no points:
                                COMPILE_CPU_S ends a compiler bomb long before */
    PREPROCESS_WALL_S = 20,  /* it takes 0.05 s. An include of a device that sends nothing costs no
                                processor time, and must not hold up the other files */
    ATTEMPTS = 3
};

static int stage(const struct lab *lab, const char *home, const char *given, bool sanitised,
                 struct err *e);
static int compile_all(const struct sandbox *sb, const struct lab *lab, const struct workplace *w,
                       bool sanitised, struct err *e);
static void examine(const struct lab *lab, struct workplace *w, bool trust);
static int link_plain(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                      struct built *out, struct err *e);
static int link_sanitised(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                          struct built *out, struct err *e);

int build_submission(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                     const char *home, bool sanitised, bool trust_objects, struct built *out,
                     struct err *e) {
    memset(out, 0, sizeof *out);
    if (access("/usr/bin/gcc", X_OK) || access("/usr/bin/objcopy", X_OK))
        return err_set(e, "gcc isn't installed (package gcc); `make deps` installs it");
    if (stage(lab, home, w->given, sanitised, e) || compile_all(sb, lab, w, sanitised, e))
        return -1;
    examine(lab, w, trust_objects);
    if (link_plain(sb, lab, w, out, e)) return -1;
    if (sanitised && out->plain[0] && link_sanitised(sb, lab, w, out, e)) return -1;
    return workplace_full(w, e);
}

/* ---- what is given: headers and the prebuilt child ------------------------------------------- */

int build_find_home(char *home, size_t cap, struct err *e) {
    char path[PATH_MAX];
    const char *set = getenv("SERVELAB_HOME");
    if (set && set[0]) {
        snprintf(home, cap, "%s", set);
        return 0;
    }
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) return err_set(e, "/proc/self/exe: %s", strerror(errno));
    path[n] = '\0';
    for (char *slash; (slash = strrchr(path, '/')) && slash != path;) {
        char probe[PATH_MAX + 32];
        *slash = '\0';
        snprintf(probe, sizeof probe, "%s/build/grader/lab01.a", path);
        if (access(probe, R_OK)) continue;
        if ((size_t)snprintf(home, cap, "%s", path) >= cap)
            return err_set(e, "the path of servelab's folder is too long");
        return 0;
    }
    return err_set(e, "the grader's own parts (build/grader) are not there; run `make build`");
}

int build_give(const char *from, const char *name, const char *to, bool program, struct err *e) {
    size_t n = 0;
    char path[600];
    char *text = collect_read(from, name, MAX_INTERMEDIATE, &n);
    if (!text) return err_set(e, "%s/%s can't be read; run `make build`", from, name);
    snprintf(path, sizeof path, "%s/%s", to, name);
    FILE *f = fopen(path, "wx");
    bool ok = f && fwrite(text, 1, n, f) == n;
    if (f && fclose(f)) ok = false;
    free(text);
    if (!ok || chmod(path, program ? 0755 : 0644))
        return err_set(e, "%s: %s", path, strerror(errno));
    return 0;
}

static int copy_headers(const char *home, const char *concern, const char *given, struct err *e) {
    char from[512], to[512];
    snprintf(from, sizeof from, "%s/common/%s", home, concern);
    snprintf(to, sizeof to, "%s/%s", given, concern);
    DIR *d = opendir(from);
    if (!d) return err_set(e, "%s: %s; run `make build`", from, strerror(errno));
    int rc = 0;
    if (mkdir(to, 0755) || chmod(to, 0755)) rc = err_set(e, "%s: %s", to, strerror(errno));
    for (struct dirent *de; !rc && (de = readdir(d));) {
        size_t n = strlen(de->d_name);
        if (n > 2 && !strcmp(de->d_name + n - 2, ".h"))
            rc = build_give(from, de->d_name, to, false, e);
    }
    closedir(d);
    return rc;
}

static int stage(const struct lab *lab, const char *home, const char *given, bool sanitised,
                 struct err *e) {
    char from[512], name[64];
    for (const char *const *concern = lab->headers; *concern; concern++)
        if (copy_headers(home, *concern, given, e)) return -1;
    snprintf(from, sizeof from, "%s/build/grader", home);
    snprintf(name, sizeof name, "%s.a", lab->child);
    if (build_give(from, name, given, false, e)) return -1;
    if (!sanitised) return 0;
    snprintf(name, sizeof name, "%s.asan.a", lab->child);
    return build_give(from, name, given, false, e);
}

/* ---- running a script in the sandbox --------------------------------------------------------- */

/* Runs a script once. The script first makes the file out/started. If that file is missing, the
 * sandbox did not start: that is tried again, and then reported as the grader's fault. If it
 * exists, the compiler failed. */
static int run_script(const struct sandbox *sb, const struct workplace *w, const char *script,
                      struct sandbox_run *run, struct err *e) {
    char tmp[300], mark[300], shown[200];
    snprintf(tmp, sizeof tmp, "TMPDIR=%s", w->out);
    snprintf(mark, sizeof mark, "%s/started", w->out);
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    const char *env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", tmp, NULL};
    struct sandbox_job job = {.argv = argv,
                              .env = env,
                              .cwd = w->src,
                              .folders = {{w->src, false}, {w->given, false}, {w->out, true}},
                              .channel_fd = -1,
                              .cpu_s = COMPILE_CPU_S,
                              .wall_ms = COMPILE_WALL_MS,
                              .memory_bytes = INT64_C(1) << 31,
                              .file_bytes = MAX_INTERMEDIATE,
                              .processes = 512,
                              .output_cap = 4000};
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (sandbox_execute(sb, &job, run, e)) return -1;
        if (sandbox_stopped()) {
            sandbox_release(run);
            return err_set(e, "interrupted");
        }
        if (unlink(mark) == 0) return 0;
        text_first_line(shown, sizeof shown, run->output, run->output_len);
        err_set(e, "the compiler could not be started in the sandbox: %s", shown);
        sandbox_release(run);
        nanosleep(&(struct timespec){attempt, 200000000}, NULL);
    }
    return -1;
}

int build_script(const struct sandbox *sb, const struct workplace *w, const char *script,
                 struct err *e) {
    struct sandbox_run run;
    if (run_script(sb, w, script, &run, e)) return -1;
    sandbox_release(&run);
    return 0;
}

static bool append(char *script, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool append(char *script, const char *fmt, ...) {
    size_t n = strlen(script);
    va_list ap;
    va_start(ap, fmt);
    int put = vsnprintf(script + n, SCRIPT_BYTES - n, fmt, ap);
    va_end(ap);
    return put >= 0 && (size_t)put < SCRIPT_BYTES - n;
}

/* "intervals" of "intervals.c" */
static void stem(char *out, size_t cap, const char *name) {
    snprintf(out, cap, "%.*s", (int)(strlen(name) - 2), name);
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Preprocesses once for both builds, so that a submission can't tell the builds apart. Warnings
 * come from a run of their own (build_warnings): thousands of them are not a failure. Where the
 * compiler can, local variables without an initial value are filled with 0xfe, so that a result
 * doesn't depend on what the stack held. */
static int compile_all(const struct sandbox *sb, const struct lab *lab, const struct workplace *w,
                       bool sanitised, struct err *e) {
    static const char cc[] = "gcc -std=gnu17 -w -fmax-errors=5 -fno-diagnostics-show-caret "
                             "-fdiagnostics-color=never";
    static const char warn[] =
        "gcc -std=gnu17 -O1 -Wall -Wextra -Wno-unused-parameter -fanalyzer -fpreprocessed -S "
        "-fdiagnostics-path-format=none -fno-diagnostics-show-caret "
        "-fdiagnostics-color=never";
    char *script = calloc(1, SCRIPT_BYTES);
    if (!script) return err_set(e, "no memory");
    bool fits = append(script,
                       "O='%s'\n: >$O/started\nF=-ftrivial-auto-var-init=pattern\n"
                       "gcc $F -E -x c /dev/null >/dev/null 2>&1 || F=\n",
                       w->out);
    for (size_t i = 0; i < lab->n_files; i++) {
        char s[64];
        if (!lab->files[i].code || w->file[i].state != FILE_OK) continue;
        stem(s, sizeof s, lab->files[i].name);
        fits = append(script,
                      "( timeout --foreground %d %s -D_GNU_SOURCE -U_FORTIFY_SOURCE -I'%s' -MD -MF "
                      "$O/%s.d -E -o $O/%s.i %s.c && "
                      "%s $F -O1 -fpreprocessed -S -o $O/%s.s $O/%s.i && gcc -c -o $O/%s.o $O/%s.s "
                      ") 2>$O/%s.err &\n",
                      PREPROCESS_WALL_S, cc, w->given, s, s, s, cc, s, s, s, s, s);
    }
    fits = fits && append(script, "wait\n");
    for (size_t i = 0; i < lab->n_files && sanitised; i++) {
        char s[64];
        if (!lab->files[i].code || w->file[i].state != FILE_OK) continue;
        stem(s, sizeof s, lab->files[i].name);
        fits = append(script,
                      "test -f $O/%s.o && %s $F -O1 -g1 -fno-omit-frame-pointer "
                      "-fsanitize=address,undefined -fno-sanitize-recover=all -fpreprocessed -c "
                      "-o $O/%s.asan.o $O/%s.i 2>/dev/null &\n",
                      s, cc, s, s);
    }
    for (size_t i = 0; i < lab->n_files; i++) {
        char s[64];
        if (!lab->files[i].code || w->file[i].state != FILE_OK) continue;
        stem(s, sizeof s, lab->files[i].name);
        fits = append(
            script, "test -f $O/%s.o && %s -o /dev/null $O/%s.i 2>&1 | head -c %d >$O/%s.warn &\n",
            s, warn, s, MAX_WARNINGS, s);
    }
    fits = fits && append(script, "wait\n");
    INVARIANT(fits);
    int rc = build_script(sb, w, script, e);
    free(script);
    return rc;
}

/* ---- examining ------------------------------------------------------------------------------- */

struct name_list {
    char *names[MAX_GLOBALS];
    size_t n;
};

static void add_name(const char *name, void *ctx) {
    struct name_list *l = ctx;
    if (l->n < MAX_GLOBALS) {
        l->names[l->n] = strdup(name);
        if (l->names[l->n]) l->n++;
    }
}

static char *intermediate(const struct workplace *w, const char *source, const char *suffix,
                          size_t *n) {
    char s[64], name[96];
    stem(s, sizeof s, source);
    snprintf(name, sizeof name, "%s%s", s, suffix);
    return collect_read(w->out, name, MAX_INTERMEDIATE, n);
}

typedef int text_check(const char *file, const char *text, size_t n, const struct workplace *w,
                       struct err *e);

static int check_deps(const char *file, const char *text, size_t n, const struct workplace *w,
                      struct err *e) {
    return object_check_includes(file, text, n, w->given, e);
}
static int check_tokens(const char *file, const char *text, size_t n, const struct workplace *w,
                        struct err *e) {
    (void)w;
    return object_check_tokens(file, text, n, e);
}
static int check_assembly(const char *file, const char *text, size_t n, const struct workplace *w,
                          struct err *e) {
    (void)w;
    return object_check_assembly(file, text, n, e);
}

/* Runs a check over an intermediate file. 1 when the file does not exist, or not all of it. */
static int check_file(const struct workplace *w, const char *source, const char *suffix,
                      text_check *check, struct err *e) {
    size_t n = 0;
    char *text = intermediate(w, source, suffix, &n);
    if (!text) return 1;
    bool whole = n > 0 && text[n - 1] == '\n'; /* not cut off by the bound on the output */
    int rc = whole ? check(source, text, n, w, e) : 1;
    free(text);
    return rc;
}

/* The list of includes is checked first: a compiler message about a foreign file may quote the
 * file, so it is not shown. */
static int examine_text(const struct workplace *w, const char *source, struct err *e) {
    int deps = check_file(w, source, ".d", check_deps, e);
    if (deps < 0) return -1;
    int tokens = check_file(w, source, ".i", check_tokens, e);
    if (tokens < 0) return -1;
    int assembly = check_file(w, source, ".s", check_assembly, e);
    if (assembly < 0) return -1;
    return deps || tokens || assembly; /* 1: the compiler stopped before it wrote the file */
}

static void refuse(struct collected *c, const struct err *e) {
    c->state = FILE_REFUSED;
    snprintf(c->message, sizeof c->message, "%s", e->text);
}

struct objects {
    unsigned char *elf[COLLECT_MAX_FILES], *asan[COLLECT_MAX_FILES]; /* NULL: the file has none */
    size_t n[COLLECT_MAX_FILES], n_asan[COLLECT_MAX_FILES];
};

/* Examines the symbols of every accepted object once. A file may use what another accepted file
 * defines, so after a refusal all must be examined again; returns true then. */
static bool refuse_by_symbols(const struct lab *lab, struct workplace *w, const struct objects *o,
                              const char *const *interface) {
    struct name_list globals = {{NULL}, 0};
    bool refused = false;
    for (size_t i = 0; i < lab->n_files; i++)
        if (o->elf[i] && w->file[i].state == FILE_OK)
            object_each_global(o->elf[i], o->n[i], add_name, &globals);
    struct object_rules rules = {interface, NULL, lab->given, (const char *const *)globals.names,
                                 globals.n};
    for (size_t i = 0; i < lab->n_files; i++) {
        struct err why;
        const char *name = lab->files[i].name;
        if (!o->elf[i] || w->file[i].state != FILE_OK) continue;
        rules.own = lab->files[i].functions;
        if (!object_check_symbols(name, o->elf[i], o->n[i], &rules, &why) &&
            (!o->asan[i] || !object_check_sanitised(name, o->asan[i], o->n_asan[i], &rules, &why)))
            continue;
        refuse(&w->file[i], &why);
        refused = true;
    }
    while (globals.n > 0) free(globals.names[--globals.n]);
    return refused;
}

/* Marks each file as accepted or refused. */
static void examine(const struct lab *lab, struct workplace *w, bool trust) {
    const char *interface[64] = {NULL};
    struct objects o = {0};
    size_t k = 0;
    for (size_t i = 0; i < lab->n_files; i++) {
        const struct lab_file *f = &lab->files[i];
        struct err why;
        for (const char *const *fn = f->functions; fn && *fn && k < 63; fn++) interface[k++] = *fn;
        if (!f->code || w->file[i].state != FILE_OK) continue;
        int text = trust ? 0 : examine_text(w, f->name, &why);
        o.elf[i] = text ? NULL : (unsigned char *)intermediate(w, f->name, ".o", &o.n[i]);
        o.asan[i] =
            text ? NULL : (unsigned char *)intermediate(w, f->name, ".asan.o", &o.n_asan[i]);
        if (text < 0)
            refuse(&w->file[i], &why);
        else if (!o.elf[i])
            build_errors(w, f->name, &w->file[i]);
    }
    while (!trust && refuse_by_symbols(lab, w, &o, interface)) {
    }
    for (size_t i = 0; i < lab->n_files; i++) {
        free(o.elf[i]);
        free(o.asan[i]);
    }
}

/* ---- linking --------------------------------------------------------------------------------- */

/* Writes the script that joins the accepted objects, hides every symbol but the interface's, and
 * links the child. False when there is no object. */
static bool link_lines(char *script, const struct lab *lab, const struct workplace *w,
                       const char *variant, const char *flags) {
    bool any = false, fits = append(script, "O='%s'\n: >$O/started\n", w->out);
    fits = fits && append(script, "gcc -r -nostdlib -o $O/all%s.o", variant);
    for (size_t i = 0; i < lab->n_files; i++) {
        char s[64];
        if (!lab->files[i].code || w->file[i].state != FILE_OK) continue;
        stem(s, sizeof s, lab->files[i].name);
        fits = append(script, " $O/%s%s.o", s, variant);
        any = true;
    }
    fits = fits && append(script, " && objcopy");
    for (size_t i = 0; i < lab->n_files; i++)
        for (const char *const *fn = lab->files[i].functions; fn && *fn; fn++)
            fits = append(script, " --keep-global-symbol=%s", *fn);
    fits = fits && append(script,
                          " $O/all%s.o && gcc %s -o $O/run%s $O/all%s.o '%s/%s%s.a' "
                          "-Wl,--as-needed -lcjson -lm && chmod 755 $O/run%s\n",
                          variant, flags, variant, variant, w->given, lab->child, variant, variant);
    INVARIANT(fits);
    return any;
}

/* program becomes "" when the linker refused; *run then has its output. -1: the grader's fault. */
static int link_variant(const struct sandbox *sb, const struct lab *lab, const struct workplace *w,
                        const char *variant, const char *flags, char *program, size_t cap,
                        struct sandbox_run *run, struct err *e) {
    char *script = calloc(1, SCRIPT_BYTES);
    int rc = 0;
    program[0] = '\0';
    if (!script) return err_set(e, "no memory");
    if (link_lines(script, lab, w, variant, flags)) {
        rc = run_script(sb, w, script, run, e);
        if (!rc && run->end == SANDBOX_EXITED && run->code == 0)
            snprintf(program, cap, "%s/run%s", w->out, variant);
    }
    free(script);
    return rc;
}

static int link_plain(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                      struct built *out, struct err *e) {
    struct sandbox_run run = {.output_fd = -1};
    int rc = link_variant(sb, lab, w, "", "", out->plain, sizeof out->plain, &run, e);
    if (!rc && !out->plain[0] && run.output) rc = build_link_errors(lab, w, &run, e);
    sandbox_release(&run);
    return rc;
}

/* Whether every file also has an object with sanitizers. The compiler has limits that a large file
 * can meet in this build only. */
static bool have_sanitised(const struct lab *lab, const struct workplace *w) {
    for (size_t i = 0; i < lab->n_files; i++) {
        size_t n;
        if (!lab->files[i].code || w->file[i].state != FILE_OK) continue;
        char *object = intermediate(w, lab->files[i].name, ".asan.o", &n);
        if (!object) return false;
        free(object);
    }
    return true;
}

#define SANITISERS "-fsanitize=address,undefined"

int build_stand_ins(const struct sandbox *sb, const struct lab *lab, const struct workplace *w,
                    bool sanitised, char *program, size_t cap, struct err *e) {
    char script[1500], shown[200];
    const char *variant = sanitised ? ".asan" : "";
    struct sandbox_run run;
    snprintf(program, cap, "%s/stand_ins%s", w->out, variant);
    snprintf(script, sizeof script,
             "O='%s'\n: >$O/started\ngcc %s -o '%s' '%s/%s%s.a' -lcjson -lm && chmod 755 '%s'\n",
             w->out, sanitised ? SANITISERS : "", program, w->given, lab->child, variant, program);
    if (run_script(sb, w, script, &run, e)) return -1;
    int rc = 0;
    if (run.end != SANDBOX_EXITED || run.code != 0)
        rc = err_set(e, "stand-ins: %s",
                     text_first_line(shown, sizeof shown, run.output, run.output_len));
    sandbox_release(&run);
    return rc;
}

/* Links the objects with sanitizers. They linked without them; so would stand-ins, unless the
 * machine lacks the sanitizers. */
static int link_sanitised(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                          struct built *out, struct err *e) {
    struct sandbox_run run = {.output_fd = -1};
    if (!have_sanitised(lab, w)) return 0;
    int rc = link_variant(sb, lab, w, ".asan", SANITISERS, out->sanitised, sizeof out->sanitised,
                          &run, e);
    if (!rc && !out->sanitised[0]) {
        char program[320];
        struct err why;
        text_first_line(out->sanitised_problem, sizeof out->sanitised_problem, run.output,
                        run.output_len);
        out->sanitised_ours = build_stand_ins(sb, lab, w, true, program, sizeof program, &why) != 0;
    }
    sandbox_release(&run);
    return rc;
}
