/* kernel_build.c: see kernel_build.h. */
#include "lab03/kernel_build.h"

#include "core/build.h"
#include "core/build_errors.h"
#include "lab03/kernel_object.h"
#include "lab03/kernel_source.h"

#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SCRIPT_BYTES = 32768,
    MAX_SOURCE = 4 << 20,
    MAX_INTERMEDIATE = 32 << 20,
    MAX_OBJECT = 16 << 20, /* half of what may be written: the runtime is linked to it */
    LANES = 2 /* compilers at a time: more would only wait for each other on a laptop */
};

#define OFFICIAL "official" /* the file that says that clang and its library are there */

static void look_at_text(const struct lab *lab, struct workplace *w, struct kernel_program *p);
static int give(const char *home, const char *given, char *cuda, size_t cap, struct err *e);
static int blame_link(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                      struct kernel_program *p, struct err *e);
static int run_lines(const struct sandbox *sb, const struct workplace *w, const char *cuda,
                     const struct kernel_program *programs,
                     void (*line)(char *, const struct kernel_program *), struct err *e);
static void compile_line(char *script, const struct kernel_program *p);
static void examine(const struct lab *lab, struct workplace *w, struct kernel_program *p);
static void link_line(char *script, const struct kernel_program *p);
static void append(char *script, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void compile(char *script, const struct kernel_program *p, const char *header);
static struct collected *file_of(const struct lab *lab, struct workplace *w, const char *kernel,
                                 char name[64]);
static void refuse(struct kernel_program *p, struct collected *c, const char *why);

/* Once for all files: the official way's library is looked for, and its path kept. */
static const char find_library[] =
    "$G/simtcc --check --hooks=ir --ready >$O/" OFFICIAL " 2>$O/ready.err || rm -f $O/" OFFICIAL
    "\n"
    "[ ! -e $O/" OFFICIAL " ] || export SIMTCC_LIBLLVM=$(cat $O/" OFFICIAL ")\n";

int lab03_kernel_build(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                       const char *home, struct kernel_program *programs, struct err *e) {
    char cuda[320];
    bool any = false;
    for (int i = 0; i < kernel_spec_count; i++) {
        if (programs[i].state != KERNEL_UNWANTED) look_at_text(lab, w, &programs[i]);
        any |= programs[i].state == KERNEL_BUILT;
    }
    if (!any) return 0;
    if (access("/usr/bin/g++", X_OK) || access("/usr/bin/objcopy", X_OK))
        return err_set(e, "g++ isn't installed (package g++); `make deps` installs it");
    if (give(home, w->given, cuda, sizeof cuda, e) ||
        run_lines(sb, w, cuda, programs, compile_line, e))
        return -1;
    char official[400];
    snprintf(official, sizeof official, "%s/" OFFICIAL, w->out);
    for (int i = 0; i < kernel_spec_count; i++) {
        programs[i].official = access(official, F_OK) == 0;
        if (programs[i].state == KERNEL_BUILT) examine(lab, w, &programs[i]);
    }
    if (run_lines(sb, w, cuda, programs, link_line, e)) return -1;
    for (int i = 0; i < kernel_spec_count; i++) {
        struct kernel_program *p = &programs[i];
        if (p->state != KERNEL_BUILT) continue;
        snprintf(p->path, sizeof p->path, "%s/k_%s", w->out, p->spec->name);
        if (access(p->path, X_OK) && blame_link(sb, lab, w, p, e)) return -1;
    }
    return 0;
}

/* The accepted object can't be linked: 0 when it is the submission's fault, -1 the grader's. */
static int blame_link(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                      struct kernel_program *p, struct err *e) {
    char program[320], name[64], why[300];
    struct collected *c = file_of(lab, w, p->spec->name, name);
    if (lab03_kernel_stand_in(sb, w, p, program, sizeof program, e))
        return err_set(e, "%s: its accepted object could not be linked, nor could an empty kernel",
                       name);
    snprintf(why, sizeof why,
             "%s: with this kernel the program can't be linked, and with an empty one in its place "
             "it can: which function or variable of it comes from outside of the file?",
             name);
    refuse(p, c, why);
    return 0;
}

int lab03_kernel_stand_in(const struct sandbox *sb, const struct workplace *w,
                          const struct kernel_program *p, char *program, size_t cap,
                          struct err *e) {
    char *script = calloc(1, SCRIPT_BYTES);
    if (!script) return err_set(e, "no memory");
    append(script,
           "O='%s/stand_ins' G='%s/cuda'\n: >'%s/started'\n"
           "mkdir -p -m 755 $O && cd $O || exit 1\n"
           "echo 'extern \"C\" __global__ void %s() {}' >%s.cu\n",
           w->out, w->given, w->out, p->spec->name, p->spec->name);
    if (p->official) append(script, "%s", find_library);
    compile(script, p, "");
    link_line(script, p);
    int rc = build_script(sb, w, script, e);
    free(script);
    if (rc) return -1;
    snprintf(program, cap, "%s/stand_ins/k_%s", w->out, p->spec->name);
    return access(program, X_OK) ? err_set(e, "an empty kernel can't be built") : 0;
}

/* ---- what is given: simtcc, its headers, the runtime, the prebuilt child --------------------- */

static int make_folder(const char *parent, const char *name, char *out, size_t cap, struct err *e) {
    if ((size_t)snprintf(out, cap, "%s/%s", parent, name) >= cap)
        return err_set(e, "the path of the work folder is too long");
    if (mkdir(out, 0755) || chmod(out, 0755)) return err_set(e, "%s: %s", out, strerror(errno));
    return 0;
}

/* Copies every file of a folder, and of its folders, one level deep. */
static int give_folder(const char *from, const char *to, int depth, struct err *e) {
    DIR *d = opendir(from);
    int rc = 0;
    if (!d) return err_set(e, "%s: %s; run `make build`", from, strerror(errno));
    for (struct dirent *de; !rc && (de = readdir(d));) {
        char inner[900], below[900];
        if (de->d_name[0] == '.') continue;
        snprintf(inner, sizeof inner, "%.600s/%.200s", from, de->d_name);
        struct stat st;
        if (stat(inner, &st)) continue;
        if (!S_ISDIR(st.st_mode))
            rc = build_give(from, de->d_name, to, false, e);
        else if (depth > 0)
            rc = make_folder(to, de->d_name, below, sizeof below, e) ||
                 give_folder(inner, below, depth - 1, e);
    }
    closedir(d);
    return rc ? -1 : 0;
}

/* Fills given/cuda with the headers of kernel files and the tools. */
static int give(const char *home, const char *given, char *cuda, size_t cap, struct err *e) {
    char bin[500], from[560], to[500], include[560];
    snprintf(bin, sizeof bin, "%s/build/bin", home);
    if (make_folder(given, "cuda", cuda, cap, e)) return -1;
    if (build_give(bin, "simtcc", cuda, true, e)) return -1;
    snprintf(from, sizeof from, "%s/build/grader", home);
    if (build_give(from, "lab03_kernel.a", cuda, false, e)) return -1;
    snprintf(from, sizeof from, "%s/common/backend", home);
    if (make_folder(cuda, "backend", to, sizeof to, e) ||
        build_give(from, "kernels.h", to, false, e))
        return -1;
    snprintf(from, sizeof from, "%s/common/base", home); /* what kernels.h includes */
    if (make_folder(cuda, "base", to, sizeof to, e) ||
        build_give(from, "kv_block.h", to, false, e) || make_folder(cuda, "simt", to, sizeof to, e))
        return -1;
    snprintf(from, sizeof from, "%s/simt", bin);
    if (build_give(from, "libsimt_check.a", to, false, e)) return -1;
    snprintf(from, sizeof from, "%s/simt/include", bin);
    if (make_folder(to, "include", include, sizeof include, e)) return -1;
    return give_folder(from, include, 1, e);
}

/* ---- the text -------------------------------------------------------------------------------- */

static struct collected *file_of(const struct lab *lab, struct workplace *w, const char *kernel,
                                 char name[64]) {
    snprintf(name, 64, "%.50s.cu", kernel);
    for (size_t i = 0; i < lab->n_files; i++)
        if (!strcmp(lab->files[i].name, name)) return &w->file[i];
    INVARIANT(!"every kernel has its file among the lab's");
    return NULL;
}

static void refuse(struct kernel_program *p, struct collected *c, const char *why) {
    p->state = KERNEL_REFUSED;
    snprintf(p->why, sizeof p->why, "%s", why);
    c->state = FILE_REFUSED;
    snprintf(c->message, sizeof c->message, "%s", why);
}

/* Sets the state KERNEL_BUILT if there is something to compile; compile errors change it later. */
static void look_at_text(const struct lab *lab, struct workplace *w, struct kernel_program *p) {
    char name[64];
    size_t n = 0;
    struct err why;
    struct collected *c = file_of(lab, w, p->spec->name, name);
    if (c->state != FILE_OK) return;
    char *text = collect_read(w->src, name, MAX_SOURCE, &n);
    if (!text) return;
    if (kernel_not_attempted(text, n))
        p->state = KERNEL_ABSENT;
    else if (lab03_source_check(name, text, n, &why))
        refuse(p, c, why.text);
    else
        p->state = KERNEL_BUILT;
    free(text);
}

/* ---- compiling and linking ------------------------------------------------------------------- */

/* The official way: simtcc puts the calls that count into clang's bitcode. Indices of arrays whose
 * size is in the text are checked by the compiler; the calls see whole variables. */
static const char official_flags[] =
    "--check --hooks=ir -Wno-everything -Wuninitialized -Wsometimes-uninitialized "
    "-ferror-limit=5 -fno-caret-diagnostics -fno-color-diagnostics "
    "-fsanitize=array-bounds -fno-sanitize-recover=all";

/* For practice, where clang isn't there: the compiler puts the calls. */
static const char practice_flags[] =
    "--check -Wuninitialized -Wmaybe-uninitialized -fmax-errors=5 -fno-diagnostics-show-caret "
    "-fdiagnostics-color=never "
    /* a jump table is a jump through a pointer */
    "-fno-jump-tables "
    /* the compiler would turn it into puts */
    "-fno-builtin-printf "
    /* the memory hooks do not see local arrays that never leave a thread */
    "-fsanitize=bounds-strict -fno-sanitize-recover=all -save-temps=obj";

static void append(char *script, const char *fmt, ...) {
    size_t n = strlen(script);
    va_list ap;
    va_start(ap, fmt);
    int put = vsnprintf(script + n, SCRIPT_BYTES - n, fmt, ap);
    va_end(ap);
    INVARIANT(put >= 0 && (size_t)put < SCRIPT_BYTES - n);
}

static void compile(char *script, const struct kernel_program *p, const char *header) {
    const char *k = p->spec->name;
    append(script,
           "if [ -e $O/" OFFICIAL " ]; then HOW='%s --kernel=%s'; else HOW='%s'; fi\n"
           "$G/simtcc $HOW -c %s %s.cu -o $O/%s.o 2>$O/%s.err || rm -f $O/%s.o\n",
           official_flags, k, practice_flags, header, k, k, k, k);
}

static void compile_line(char *script, const struct kernel_program *p) {
    compile(script, p, "-I $G -include backend/kernels.h");
}

int lab03_kernel_unwritten(const struct sandbox *sb, const struct workplace *w, const char *kernel,
                           char *out, size_t cap, struct err *e) {
    char script[1200] = "", name[80];
    size_t n = 0;
    snprintf(script, sizeof script,
             "O='%s' G='%s/cuda'\n: >$O/started\n"
             "$G/simtcc --unwritten -I $G -include backend/kernels.h %s.cu >$O/%s.unwritten "
             "2>/dev/null\n",
             w->out, w->given, kernel, kernel);
    out[0] = '\0';
    if (build_script(sb, w, script, e)) return -1;
    snprintf(name, sizeof name, "%s.unwritten", kernel);
    char *text = collect_read(w->out, name, MAX_SOURCE, &n);
    if (text) text_first_line(out, cap, text, n);
    free(text);
    return 0;
}

/* Hides all names of the object but the kernel's, so that none can replace a function of the
 * grader. */
static void link_line(char *script, const struct kernel_program *p) {
    append(script,
           "objcopy --keep-global-symbol=%s $O/%s.o && $G/simtcc --check $O/%s.o "
           "$G/lab03_kernel.a -o $O/k_%s && chmod 755 $O/k_%s\n",
           p->spec->name, p->spec->name, p->spec->name, p->spec->name, p->spec->name);
}

/* Runs one line for each program that is still to be built, LANES at a time. */
static int run_lines(const struct sandbox *sb, const struct workplace *w, const char *cuda,
                     const struct kernel_program *programs,
                     void (*line)(char *, const struct kernel_program *), struct err *e) {
    const char *practice = getenv("SERVELAB_HOOKS"); /* "compiler": as if clang weren't there */
    char *script = calloc(1, SCRIPT_BYTES);
    if (!script) return err_set(e, "no memory");
    append(script, "O='%s' G='%s'\n: >$O/started\n", w->out, cuda);
    if (line == compile_line && !(practice && !strcmp(practice, "compiler")))
        append(script, "%s", find_library);
    for (int lane = 0; lane < LANES; lane++) {
        int at = 0;
        append(script, "(\n");
        for (int i = 0; i < kernel_spec_count; i++)
            if (programs[i].state == KERNEL_BUILT && at++ % LANES == lane)
                line(script, &programs[i]);
        append(script, ":\n) &\n");
    }
    append(script, "wait\n");
    int rc = build_script(sb, w, script, e);
    free(script);
    return rc;
}

/* ---- what the compiler wrote ----------------------------------------------------------------- */

static char *written(const struct workplace *w, const char *kernel, const char *suffix, size_t *n) {
    char name[80];
    snprintf(name, sizeof name, "%s%s", kernel, suffix);
    return collect_read(w->out, name, MAX_INTERMEDIATE, n);
}

static void examine(const struct lab *lab, struct workplace *w, struct kernel_program *p) {
    char name[64];
    size_t n_text = 0, n_elf = 0, n_source = 0;
    struct err why;
    struct collected *c = file_of(lab, w, p->spec->name, name);
    char *text = written(w, p->spec->name, ".s", &n_text);
    char *elf = written(w, p->spec->name, ".o", &n_elf);
    char *source = collect_read(w->src, name, MAX_SOURCE, &n_source);
    if (!elf || !source || (!text && !p->official)) {
        build_errors(w, name, c);
        if (strstr(c->message, "_Float16"))
            text_append(c->message, sizeof c->message, "; a half is CUDA's __half, of cuda_fp16.h");
        refuse(p, c, strdupa(c->message));
    } else if (n_elf > MAX_OBJECT) {
        snprintf(why.text, sizeof why.text, "%s compiles to more than %d MB", name,
                 MAX_OBJECT >> 20);
        refuse(p, c, why.text);
    } else if ((text && lab03_kernel_check_assembly(name, text, n_text, &why)) ||
               lab03_kernel_check_symbols(name, p->spec->name, (unsigned char *)elf, n_elf, source,
                                          n_source, &why)) {
        refuse(p, c, why.text);
    }
    free(text);
    free(elf);
    free(source);
}
