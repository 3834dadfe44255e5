/* simtcc.c: the command line of simtcc, which replaces nvcc on a machine without a GPU.
 *
 * It preprocesses a .cu file, rewrites CUDA's syntax (rewrite.h), compiles with g++ or clang++, and
 * links the simt runtime from the folder beside this program. Not here: what a kernel may use
 * (common/simt/simt.h).
 */
#include "command.h"

#include "../ir/instrument.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "simtcc: compiles CUDA C for the CPU\n"
    "\n"
    "  simtcc [--check] FILE.cu [FILE.c FILE.o ...] -o PROGRAM\n"
    "  simtcc --unwritten FILE.cu\n"
    "  simtcc --annotate REPORT.json [FILE.cu]\n"
    "  simtcc --roofline REPORT.json --ops KERNEL=OPERATIONS [-o FILE.svg]\n"
    "\n"
    "  --check        find races, bad accesses and divergent barriers, count memory requests.\n"
    "                 The program then exits 86 if there are findings; SIMT_REPORT=FILE writes\n"
    "                 findings and counts as JSON. A local variable that was never written\n"
    "                 holds 0xfe in each byte, -1.7e38 as a float\n"
    "  --hooks=ir     with --check: simtcc puts the calls that count into clang's bitcode, where\n"
    "                 nothing in the text can avoid them. Default: --hooks=compiler. "
    "--kernel=NAME\n"
    "                 with -c: the file is that kernel and nothing else, for a grader. --ready\n"
    "                 instead of files: prints which libLLVM is used (SIMTCC_LIBLLVM names one)\n"
    "  --unwritten    name the local variables that are read before they are written, with their\n"
    "                 lines; compiles nothing (needs g++ 12)\n"
    "  --cxx=COMPILER g++ (default; clang++ where it is missing), or SIMTCC_CXX in the "
    "environment\n"
    "  -c, -shared    an object or a plug-in instead of a program\n"
    "  -E             the rewritten text on standard output\n"
    "  --keep         keep the temporary files and print their folder\n"
    "  -I -D -U -O -std= -W -f -l -L -g as the compiler takes them. nvcc's -arch, -gencode,\n"
    "  -lineinfo, -Xptxas, -Xcompiler, --use_fast_math are accepted\n"
    "\n"
    "  Example:  simtcc --check common/simt/tests/hello.cu -o build/hello && \\\n"
    "            SIMT_REPORT=build/hello.json build/hello && simtcc --annotate build/hello.json\n"
    "\n"
    "The program reads SIMT_THREADS, SIMT_TIME_LIMIT_S (120), SIMT_REPORT. Exit status of simtcc: "
    "0\n"
    "done, 1 the compiler refused a file, 2 bad usage or CUDA that can't run here, 4 our own "
    "fault.\n";

/* Options of nvcc that are ignored. takes: a value follows as a separate word. */
static const struct {
    const char *name;
    bool takes;
} ignored[] = {
    {"-arch", true},
    {"--gpu-architecture", true},
    {"-gencode", true},
    {"--generate-code", true},
    {"-code", true},
    {"-Xptxas", true},
    {"--ptxas-options", true},
    {"-lineinfo", false},
    {"--generate-line-info", false},
    {"-use_fast_math", false},
    {"--use_fast_math", false},
    {"-rdc", true},
    {"-G", false},
    {"-lcudart", false},
    {"-lcublas", false},
    {"-lcublasLt", false},
    {"-lcuda", false},
    {"-maxrregcount", true},
    {"--expt-relaxed-constexpr", false},
    {"--extended-lambda", false},
    {"-cudart", true},
    {"-ccbin", true},
    {"-diag-suppress", true},
};

/* simtcc doesn't free all of its memory: no leak report from a sanitized build. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}

static bool is_ignored(const char *arg, bool *takes) {
    size_t n = strcspn(arg, "=");
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strlen(ignored[i].name) == n && strncmp(ignored[i].name, arg, n) == 0) {
            *takes = ignored[i].takes && arg[n] == 0;
            return true;
        }
    return false;
}

static bool ends(const char *s, const char *tail) {
    size_t n = strlen(s), k = strlen(tail);
    return n > k && strcmp(s + n - k, tail) == 0;
}

static const char *value_of(int argc, char **argv, int *i) {
    if (*i + 1 >= argc) {
        fprintf(stderr, "simtcc: %s needs a value\n", argv[*i]);
        exit(2);
    }
    return argv[++*i];
}

static void one_argument(struct command *c, int argc, char **argv, int *i) {
    const char *arg = argv[*i];
    bool takes = false;
    if (strcmp(arg, "--check") == 0)
        c->check = true;
    else if (strcmp(arg, "--hooks=ir") == 0)
        c->ir = true;
    else if (strcmp(arg, "--hooks=compiler") == 0)
        c->ir = false;
    else if (strcmp(arg, "--ready") == 0)
        c->only_ready = true;
    else if (strncmp(arg, "--kernel=", 9) == 0)
        c->kernel = arg + 9;
    else if (strcmp(arg, "--unwritten") == 0)
        c->unwritten = true;
    else if (strcmp(arg, "--keep") == 0)
        c->keep = true;
    else if (strncmp(arg, "--cxx=", 6) == 0)
        c->cxx = arg + 6;
    else if (strcmp(arg, "-c") == 0)
        c->only_object = true;
    else if (strcmp(arg, "-E") == 0)
        c->only_text = true;
    else if (strcmp(arg, "-shared") == 0 || strcmp(arg, "--shared") == 0)
        c->shared = true;
    else if (strcmp(arg, "-o") == 0)
        c->output = value_of(argc, argv, i);
    else if (strcmp(arg, "-Xcompiler") == 0) {
        char *list = strdup(value_of(argc, argv, i));
        for (char *p = strtok(list, ","); p; p = strtok(NULL, ",")) words_add(&c->compile, p);
    } else if (is_ignored(arg, &takes)) {
        if (takes) value_of(argc, argv, i);
    } else if (strncmp(arg, "--std=", 6) == 0) {
        words_add(&c->compile, arg + 1);
    } else if (strcmp(arg, "-I") == 0 || strcmp(arg, "-D") == 0 || strcmp(arg, "-U") == 0 ||
               strcmp(arg, "-include") == 0 || strcmp(arg, "-isystem") == 0) {
        words_add(&c->compile, arg);
        words_add(&c->compile, value_of(argc, argv, i));
    } else if (strncmp(arg, "-l", 2) == 0 || strncmp(arg, "-L", 2) == 0 ||
               strncmp(arg, "-Wl,", 4) == 0) {
        words_add(&c->link, arg);
    } else if (arg[0] == '-') {
        words_add(&c->compile, arg);
    } else if (ends(arg, ".cu") || ends(arg, ".c") || ends(arg, ".cpp") || ends(arg, ".cc") ||
               ends(arg, ".o") || ends(arg, ".a") || ends(arg, ".so")) {
        words_add(&c->inputs, arg);
    } else {
        fprintf(stderr,
                "simtcc: %s is not a .cu, .c, .cpp, .cc, .o, .a or .so file (simtcc --help)\n",
                arg);
        exit(2);
    }
}

static bool on_path(const char *program) {
    const char *path = getenv("PATH");
    char full[4096];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        snprintf(full, sizeof full, "%.*s/%s", (int)n, path, program);
        if (access(full, X_OK) == 0) return true;
        path += n + (path[n] == ':');
    }
    return false;
}

static int is_ready(const struct command *c) {
    char message[512];
    if (instrument_ready(c->cxx, message, sizeof message) == 0) return puts(message) < 0;
    fprintf(stderr, "simtcc: %s\n", message);
    return 1;
}

int main(int argc, char **argv) {
    struct command c = {0};
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? 2 : 0;
    }
    if (strcmp(argv[1], "--annotate") == 0) return annotate_main(argc - 2, argv + 2);
    if (strcmp(argv[1], "--roofline") == 0) return roofline_main(argc - 2, argv + 2);
    for (int i = 1; i < argc; i++) one_argument(&c, argc, argv, &i);
    if (c.only_object && c.inputs.count > 1 && c.output) {
        fputs("simtcc: -c with -o takes one file\n", stderr);
        return 2;
    }
    if (!c.cxx) c.cxx = getenv("SIMTCC_CXX");
    if ((!c.cxx || !*c.cxx) && c.ir) c.cxx = "clang++";
    if (c.ir && (!c.check || !strstr(c.cxx, "clang"))) {
        fputs("simtcc: --hooks=ir goes with --check and with clang++ (--cxx=clang++)\n", stderr);
        return 2;
    }
    if (c.ir && c.only_ready) return is_ready(&c);
    if (!c.inputs.count) {
        fputs("simtcc: no file to compile (simtcc --help)\n", stderr);
        return 2;
    }
    if (c.kernel && (!c.ir || !c.only_object)) {
        fputs("simtcc: --kernel=NAME goes with --hooks=ir and -c\n", stderr);
        return 2;
    }
    if (!c.cxx || !*c.cxx) c.cxx = on_path("g++") || !on_path("clang++") ? "g++" : "clang++";
    return command_run(&c);
}
