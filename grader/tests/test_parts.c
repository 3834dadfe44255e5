/* test_parts.c: the small parts of the grader's core: totals and rubric, escaping, what an object
 * may contain; and lab 01's codec and cases. */
#include "core/grade.h"
#include "core/object.h"
#include "lab01/lab01.h"
#include "labs.h"

#include "base/text.h"
#include "testing/check_main.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- verdict --------------------------------------------------------------------------------- */

static struct check_result result(enum dimension d, int points, enum outcome o) {
    return (struct check_result){.id = "x", .dimension = d, .points = points, .outcome = o};
}

START_TEST(four_outcomes) {
    struct check_result c[4] = {
        result(DIM_INTERVALS, 30, OUTCOME_EARNED), result(DIM_QUALITY, 25, OUTCOME_LOST),
        result(DIM_SLO, 25, OUTCOME_NOT_RUN), result(DIM_SAFETY, 20, OUTCOME_GRADER_FAULT)};
    struct grade_verdict v = {.checks = c, .n = 4, .attempted = true};
    struct totals t = verdict_totals(&v);
    ck_assert_int_eq(t.earned, 30);
    ck_assert_int_eq(t.total, 80); /* only a grader fault leaves the total */
    ck_assert_int_eq(t.faults, 20);
    ck_assert(!t.complete);
    ck_assert_int_eq(verdict_exit_status(&v), 4);
    v.n = 3;
    ck_assert_int_eq(verdict_exit_status(&v), 1);
    ck_assert_int_eq(verdict_dimension_totals(&v, DIM_SLO).total, 25);
    v.n = 1;
    ck_assert_int_eq(verdict_exit_status(&v), 0);
    v.attempted = false;
    ck_assert_int_eq(verdict_exit_status(&v), 3);
}
END_TEST

START_TEST(nothing_examined_is_no_pass) {
    struct grade_verdict v = {.attempted = true};
    struct err e;
    ck_assert_int_eq(verdict_exit_status(&v), 4);
    ck_assert(!verdict_totals(&v).complete);
    ck_assert_int_eq(verdict_check_rubric(lab01.checks, 0, &e), -1);
    struct check_def none = lab01.checks[0];
    none.n_cases = 0; /* a check that asserts nothing */
    ck_assert_int_eq(verdict_check_rubric(&none, 1, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "without cases"));
}
END_TEST

START_TEST(duplicate_ids_are_refused) {
    struct check_def defs[LAB01_CHECKS];
    struct err e;
    memcpy(defs, lab01.checks, sizeof defs);
    ck_assert_int_eq(verdict_check_rubric(defs, LAB01_CHECKS, &e), 0);
    defs[7].id = defs[2].id;
    ck_assert_int_eq(verdict_check_rubric(defs, LAB01_CHECKS, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, defs[2].id));
    memcpy(defs, lab01.checks, sizeof defs);
    defs[3].points++; /* points are integers and add up to 100 */
    ck_assert_int_eq(verdict_check_rubric(defs, LAB01_CHECKS, &e), -1);
    defs[3].points = 0;
    ck_assert_int_eq(verdict_check_rubric(defs, LAB01_CHECKS, &e), -1);
    memcpy(defs, lab01.checks, sizeof defs);
    defs[3].id = "quality.in_the_wrong_place";
    ck_assert_int_eq(verdict_check_rubric(defs, LAB01_CHECKS, &e), -1);
}
END_TEST

START_TEST(every_check_has_its_words) {
    for (size_t i = 0; i < lab01.n_checks; i++) {
        const struct check_def *c = &lab01.checks[i];
        ck_assert_msg(c->title && c->section, "%s", c->id);
        for (int h = 0; h < CHECK_HINTS; h++)
            ck_assert_msg(c->hints[h], "%s: hint %d", c->id, h + 1);
    }
}
END_TEST

START_TEST(choosing_checks) {
    const struct check_def *c = &lab01.checks[0]; /* intervals.client_ttft */
    ck_assert(grade_chosen(NULL, c));
    ck_assert(grade_chosen("intervals", c));
    ck_assert(grade_chosen("slo,intervals.client_ttft", c));
    ck_assert(!grade_chosen("intervals.client", c));
    ck_assert(!grade_chosen("slo,quality", c));
    ck_assert(!grade_chosen("", c));
}
END_TEST

/* ---- text ------------------------------------------------------------------------------------ */

static void cleans(const char *from, size_t n, const char *want) {
    char buf[200];
    ck_assert_str_eq(text_clean(buf, sizeof buf, from, n), want);
}

START_TEST(escaping) {
#define CLEANS(text, want) cleans(text, sizeof text - 1, want)
    CLEANS("plain, with \"quotes\" and \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
           "plain, with \"quotes\" and \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    CLEANS("a\nb\rc\td\x1b[2J\x7f", "a\\nb\\x0dc\\x09d\\x1b[2J\\x7f");
    CLEANS("nul \0 inside", "nul \\x00 inside");
    CLEANS("\xff\xfe\xc0\x80", "\\xff\\xfe\\xc0\\x80"); /* overlong */
    CLEANS("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
    CLEANS("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* past U+10FFFF */
    CLEANS("cut \xe2\x82", "cut \\xe2\\x82");           /* at its end */
    CLEANS("\xc2\x9b"
           "31m",
           "\\xc2\\x9b"
           "31m"); /* C1: another escape */
    CLEANS("\xe2\x80\xae"
           "live",
           "\\xe2\\x80\\xae"
           "live");                            /* right-to-left override */
    CLEANS("\xe2\x80\xa8", "\\xe2\\x80\\xa8"); /* line separator */
    CLEANS("", "");
}
END_TEST

START_TEST(a_verdict_has_one_cleaner) {
    struct check_result c = {.message = "cut \xe2\x82",
                             .hint = "a\xe2\x80\x8b\xf3\xa0\x81\x81\xe2\x80\x8d",
                             .rerun = "DIR=\xe2\x80\xae",
                             .input = "a\nb\xc2\x9b"};
    struct grade_verdict v = {.checks = &c, .n = 1, .problem = "one\ntwo\xff"};
    verdict_clean(&v);
    ck_assert_str_eq(c.message, "cut \\xe2\\x82");
    ck_assert_str_eq(c.hint, "a\\xe2\\x80\\x8b\\xf3\\xa0\\x81\\x81\xe2\x80\x8d"); /* invisible */
    ck_assert_str_eq(c.rerun, "DIR=\\xe2\\x80\\xae");
    ck_assert_str_eq(c.input, "a\nb\\xc2\\x9b"); /* lines stay lines */
    ck_assert_str_eq(v.problem, "one\ntwo\\xff");
}
END_TEST

START_TEST(no_bytes_among_the_code) {
#define ASSEMBLY(text) object_check_assembly("f.c", text, sizeof text - 1, NULL)
    ck_assert_int_eq(ASSEMBLY("\t.text\n\t.byte 0x0f,0x05\n"), -1);
    ck_assert_int_eq(ASSEMBLY("\t.section .rodata\n\t.byte 1\n\t.text\n\t.quad 5\n"), -1);
    ck_assert_int_eq(ASSEMBLY("\t.section .text.unlikely\n\t.long 5\n"), -1);
    ck_assert_int_eq(ASSEMBLY("\t.section .data.mine,\"awx\"\n\t.long 5\n"), -1);
    ck_assert_int_eq(ASSEMBLY("\t.section .rodata.str1.1,\"aMS\",@progbits,1\n\t.string \"x\"\n"),
                     0);
    ck_assert_int_eq(ASSEMBLY("\t.text\n\tret\n\t.data\n\t.long 5\n\t.bss\n\t.zero 8\n"), 0);
}
END_TEST

START_TEST(names_for_the_assembler) {
#define TOKENS(text) object_check_tokens("f.c", text, sizeof text - 1, NULL)
    ck_assert_int_eq(TOKENS("int f(void) __asm__ (\"\" \"__isoc99_f\");"), 0);
    ck_assert_int_eq(TOKENS("const char *s = \"asm\"; char c = '\"';"), 0);
    ck_assert_int_eq(TOKENS("char s[] = R\"(\")\"; int f(void) asm(\"f+1\");"), -1);
    ck_assert_int_eq(TOKENS("int f(void) asm\n# 3 \"x.c\"\n(\"f+1\");"), -1);
    ck_assert_int_eq(TOKENS("int f(void) asm(\"f\" \"+1\");"), -1);
    ck_assert_int_eq(TOKENS("int f(void) __asm(\n \"f\\n ret\");"), -1);
    ck_assert_int_eq(TOKENS("int f(void) __asm__(u8\"f+1\");"), -1);
    ck_assert_int_eq(TOKENS("int f(void) __asm__(\"1f\");"), -1);
    ck_assert_int_eq(TOKENS("int f(void) __asm__(\"__as\" \"an_f\");"), -1);
    ck_assert_int_eq(TOKENS("int __asan_f(void);"), -1);
    ck_assert_int_eq(TOKENS("int f(void) __attribute__((section(\".text\\nx: syscall #\")));"), -1);
    ck_assert_int_eq(TOKENS("int f(void) __attribute__((section(R\"(.text\nx: syscall #)\")));"),
                     -1);
    ck_assert_int_eq(
        TOKENS("int f(void) __attribute__((section(\".text.f\"))) ; char *s = \"\\n\";"), 0);
    ck_assert_int_eq(TOKENS("int f(void) __asm__(\n# 3 \"x.c\"\n\"f+1\");"),
                     -1); /* a line mark between */
    ck_assert_int_eq(TOKENS("const char *s = \"asm (fast) asm(\\\"f+1\\\")\";"), 0);
    ck_assert_int_eq(TOKENS("const char *s = R\"x(asm(\"f+1\") )\" no_sanitize)x\";"), 0);
}
END_TEST

START_TEST(what_changes_the_language) {
    struct err e;
    static const char *const good[] = {"#pragma once\n",
                                       "#pragma GCC diagnostic ignored \"-Wshadow\"\n",
                                       "#pragma STDC FP_CONTRACT OFF\n",
                                       "#pragma GCC unroll 4\nint optimize;",
                                       "int optimize(int target) { return x[i[y]] + target; }",
                                       "int f(void) __attribute__((nonnull(1))); int target;",
                                       "char *s = \"#pragma GCC optimize no_sanitize\";",
                                       "[[nodiscard]] int target(void);",
                                       "int gr\\U000000f6\\u00dfe, \\U000000e4;",
                                       "int a = 1.5e+3 + 0x1p-4, b = '\\'' + L'\"';"};
    static const char *const bad[] = {"int x;\n#pragma GCC optimize (\"wrapv\")\n",
                                      " # pragma   GCC  optimize(\"wrapv\")\n",
                                      "%:pragma GCC optimize 3\n",
                                      "#pragma GCC push_options\n",
                                      "#pragma GCC target(\"avx2\")\n",
                                      "#pragma clang optimize off\n",
                                      "#pragma pack(1)\n",
                                      "#pragma redefine_extname f g\n",
                                      "#pragma message R\"(\n",
                                      "#pragma",
                                      "__attribute__((optimize(\"wrapv\"))) int f(void);",
                                      "__attribute((__optimize__(\"wrapv\"))) int f(void);",
                                      "__attribute__\n# 3 \"x.c\"\n((a(1), optimize(\"wrapv\")))",
                                      "[[gnu::optimize(\"wrapv\")]] int f(void);",
                                      "[ [gnu::__optimize__(\"wrapv\")] ] int f(void);",
                                      "<:<:gnu::optimize(\"wrapv\"):>:> int f(void);",
                                      "int f(void) __attribute__((no_sanitize_undefined));",
                                      "char *s = \"; __attribute__((optimize(3)))",
                                      "char *s = R\"a(; int f;",
                                      "char *s = \"\\\\\"; [[gnu::optimize(3)]] char *t = \"\";",
                                      "char c = '\"'; [[gnu::optimize(3)]] char *t = \"\";",
                                      "int x; \\\nint y;",
                                      "int x\\U000000f",
                                      "int \\u00fg;",
                                      "int x; // comment",
                                      "int x; /* comment */"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(!object_check_tokens("f.c", good[i], strlen(good[i]), &e), "%s: %s", good[i],
                      e.text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(object_check_tokens("f.c", bad[i], strlen(bad[i]), &e) == -1, "%s", bad[i]);
    const char *placed =
        "# 1 \"/usr/include/x.h\" 3\nint x;\n# 41 \"f.c\" 2\nint y;\n#pragma pack(1)\n";
    ck_assert_int_eq(object_check_tokens("f.c", placed, strlen(placed), &e), -1);
    ck_assert_str_eq(e.text, "f.c:42: `#pragma pack(1)` changes what the code means; take it out");
}
END_TEST

START_TEST(long_texts_are_cut_at_a_character) {
    char buf[12];
    ck_assert_str_eq(text_clean(buf, sizeof buf, "0123456789a", 11), "0123456789a");
    ck_assert_str_eq(text_clean(buf, sizeof buf, "0123456789ab", 12), "01234567...");
    ck_assert_str_eq(text_clean(buf, sizeof buf, "0123456\xe2\x82\xac\xe2\x82\xac", 13),
                     "0123456...");
    ck_assert_str_eq(text_clean(buf, 1, "abc", 3), "");
    for (size_t cap = 1; cap < sizeof buf; cap++) {
        memset(buf, 'z', sizeof buf);
        text_clean(buf, cap, "\n\n\n\n\n\n\n\n\n", 9);
        ck_assert_ptr_nonnull(memchr(buf, '\0', cap));
        ck_assert_int_eq(buf[cap], 'z');
    }
}
END_TEST

START_TEST(first_line_and_numbers) {
    char buf[64];
    ck_assert_str_eq(text_first_line(buf, sizeof buf, "\n\r\none\ntwo", 10), "one");
    ck_assert_str_eq(text_first_line(buf, sizeof buf, "", 0), "");
    ck_assert_str_eq(text_ns(buf, sizeof buf, 1234567), "1 234 567 ns");
    ck_assert_str_eq(text_ns(buf, sizeof buf, -999), "-999 ns");
    ck_assert_str_eq(text_ns(buf, sizeof buf, LLONG_MIN), "-9 223 372 036 854 775 808 ns");
}
END_TEST

/* ---- what an object may contain -------------------------------------------------------------- */

START_TEST(includes) {
    struct err e;
    static const char *const good[] = {
        "x.o: intervals.c /usr/include/stdc-predef.h \\\n /w/given/record/record.h \\\n "
        "percentile.c\n",
        "x.o: intervals.c /usr/lib/gcc/x86_64-linux-gnu/12/include/stddef.h\n"};
    static const char *const bad[] = {"x.o: intervals.c /etc/shadow\n",
                                      "x.o: intervals.c \\\n ../src/other.c\n",
                                      "x.o: intervals.c /usr/include/../../etc/passwd\n",
                                      "x.o: intervals.c /w/given/../../x\n",
                                      "x.o: intervals.c /w/givenness/x.h\n",
                                      "x.o: intervals.c sub/x.h\n",
                                      "x.o: intervals.c /etc/with\\ blank\n",
                                      "nothing"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_int_eq(object_check_includes("x.c", good[i], strlen(good[i]), "/w/given", &e), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(object_check_includes("x.c", bad[i], strlen(bad[i]), "/w/given", &e) == -1,
                      "%s", bad[i]);
}
END_TEST

START_TEST(assembly) {
    struct err e;
    static const char good[] =
        "\t.file\t\"a;b.c\"\n\t.text\n\t.globl\tf\nf:\n.LFB0:\n\t.cfi_startproc\n"
        "\tmovl\t$1, %eax\n\trep stosq\n\tmovq\t%fs:0, "
        "%rax\n\tret\n\t.section\t.rodata.str1.1,\"aMS\"\n"
        "\t.string\t\"#APP; .incbin \\\"x\\\"\"\n# comment\n\n";
    static const char *const bad[] = {"#APP\n",
                                      "\t.incbin \"/etc/passwd\"\n",
                                      "\t.include \"x\"\n",
                                      "\t.macro m\n",
                                      "\tret; .incbin \"x\"\n",
                                      "\tsyscall\n",
                                      "\tint\t$0x80\n",
                                      "x: syscall\n",
                                      "x:syscall\n",
                                      "x:\tnop\n",
                                      "\tdata16 syscall\n",
                                      "\t.section .text\"; nop\n",
                                      "\t.section\t.data,\"aw\"; .long 1\n",
                                      "\t.s\n",
                                      ".rept 9\n",
                                      "\t.altmacro\n",
                                      "\t.irp x,1\n"};
    ck_assert_int_eq(object_check_assembly("x.c", good, strlen(good), &e), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(object_check_assembly("x.c", bad[i], strlen(bad[i]), &e) == -1, "%s", bad[i]);
}
END_TEST

START_TEST(libc_list) {
    static const char *const yes[] = {"malloc",
                                      "qsort",
                                      "snprintf",
                                      "printf",
                                      "abort",
                                      "strcmp",
                                      "atoi",
                                      "sscanf",
                                      "__isoc99_sscanf",
                                      "__isoc23_sscanf",
                                      "strtof",
                                      "sqrtf",
                                      "fmaxf",
                                      "sinl",
                                      "lgamma",
                                      "aligned_alloc",
                                      "isalpha",
                                      "__divti3",
                                      "__floatuntixf",
                                      "__extenddftf2",
                                      "__powidf2",
                                      "__muldc3"};
    static const char *const no[] = {
        "write",  "open",          "fork",       "dlopen",         "syscall",
        "signal", "mmap",          "system",     "fopen",          "longjmp",
        "atexit", "clock_gettime", "getenv",     "_exit",          "raise",
        "kill",   "scanf",         "setlocale",  "pthread_create", "__cxa_atexit",
        "rand",   "time",          "sinx",       "signalf",        "__fix",
        "__addx", "__fixdfdfdf",   "__fixup_pc", "__divti9",       "__libc_start_main"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) ck_assert(object_libc_allowed(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        ck_assert_msg(!object_libc_allowed(no[i]), "%s", no[i]);
}
END_TEST

/* ---- cases ----------------------------------------------------------------------------------- */

/* Every case of every check decodes to the same bytes, asks for something, and names its kind. */
START_TEST(cases_survive_the_codec) {
    static unsigned char again[WIRE_MAX_PAYLOAD];
    for (size_t i = 0; i < lab01.n_checks; i++) {
        const struct check_def *def = &lab01.checks[i];
        for (int k = 0; k < def->n_cases; k++) {
            struct hidden_case h = {0}, twin = {0};
            struct lab01_case c;
            struct err e;
            ck_assert_int_eq(lab01.make(def, 5, k, &h, &e), 0);
            ck_assert_int_eq(lab01.make(def, 5, k, &twin, &e), 0);
            ck_assert_msg(h.n_bytes == twin.n_bytes && !memcmp(h.bytes, twin.bytes, h.n_bytes),
                          "%s: one seed, two cases", def->id);
            struct wire w = wire_reader(h.bytes, h.n_bytes);
            ck_assert_int_eq(lab01_case_codec(&w, &c), 0);
            ck_assert_uint_eq(lab01_case_slots(&c), h.n_wants);
            struct wire out = wire_writer(again, sizeof again);
            ck_assert_int_eq(lab01_case_codec(&out, &c), 0);
            ck_assert_uint_eq(sizeof again - out.left, h.n_bytes);
            ck_assert(!memcmp(again, h.bytes, h.n_bytes));
            bool asks = false;
            for (size_t s = 0; s < h.n_wants; s++) asks |= h.wants[s].care;
            ck_assert(asks == (def->kind == CHECK_CASES || def->kind == CHECK_HEAP));
            ck_assert(h.kind[0] && h.input[0]);
            for (size_t cut = 0; cut < h.n_bytes;
                 cut += 1 + h.n_bytes / 40) { /* truncated: refused */
                struct lab01_case part;
                struct wire r = wire_reader(h.bytes, cut);
                ck_assert_int_eq(lab01_case_codec(&r, &part), -1);
            }
            lab01_case_release(&c);
            hidden_case_release(&h);
            hidden_case_release(&twin);
        }
    }
}
END_TEST

/* A check in which all answers are equal would be earned by a constant. */
START_TEST(no_check_is_earned_by_a_constant) {
    for (size_t i = 0; i < lab01.n_checks; i++) {
        const struct check_def *def = &lab01.checks[i];
        if (def->kind != CHECK_CASES) continue;
        static int64_t first[4096];
        static bool cared[4096];
        bool differs = false;
        memset(cared, 0, sizeof cared);
        for (int k = 0; k < def->n_cases; k++) {
            struct hidden_case h = {0};
            struct err e;
            ck_assert_int_eq(lab01.make(def, 5, k, &h, &e), 0);
            for (size_t s = 0; s < h.n_wants; s++) {
                if (!h.wants[s].care) continue;
                differs |= cared[s] && first[s] != h.wants[s].value;
                cared[s] = true;
                first[s] = h.wants[s].value;
            }
            hidden_case_release(&h);
        }
        ck_assert_msg(differs, "%s: every case has the same answer", def->id);
    }
}
END_TEST

/* The answers that a check's cases want, in their order; 0 where a slot isn't compared. Returns how
 * many, cap at most. */
static size_t answers_of(const struct lab *lab, const struct check_def *def, uint64_t seed,
                         int64_t *to, size_t cap) {
    size_t n = 0;
    for (int k = 0; k < def->n_cases; k++) {
        struct hidden_case h = {0};
        struct err e;
        ck_assert_int_eq(lab->make(def, seed, k, &h, &e), 0);
        for (size_t s = 0; s < h.n_wants && n < cap; s++)
            to[n++] = h.wants[s].care ? h.wants[s].value : 0;
        hidden_case_release(&h);
    }
    return n;
}

/* A submission that knows the answers of other seeds by their place would earn a check whose
 * answers and whose order are the same under two seeds. */
START_TEST(no_check_is_earned_by_a_table_of_another_seed) {
    enum { CAP = 1 << 16, SEEDS = 24 };
    static const struct lab *const labs[] = {&lab01, &lab02, &lab03, &lab04};
    const struct lab *lab = labs[_i];
    static int64_t a[SEEDS][CAP];
    for (size_t i = 0; i < lab->n_checks; i++) {
        const struct check_def *def = &lab->checks[i];
        if (def->kind != CHECK_CASES) continue;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            size_t n = answers_of(lab, def, 5 + seed, a[seed], CAP);
            for (uint64_t other = 0; other < seed; other++)
                ck_assert_msg(memcmp(a[seed], a[other], n * sizeof **a) != 0,
                              "%s: the same answers under two seeds", def->id);
        }
    }
}
END_TEST

static char kind_of_case[4096][CASE_KIND_BYTES];

/* The kinds of a check's cases, in their order, with their numbers of slots. */
static uint64_t order_of(const struct lab *lab, const struct check_def *def, uint64_t seed,
                         bool *several) {
    uint64_t h = 0;
    *several = false;
    for (int k = 0; k < def->n_cases; k++) {
        struct hidden_case c = {0};
        struct err e;
        ck_assert_int_eq(lab->make(def, seed, k, &c, &e), 0);
        memcpy(kind_of_case[k], c.kind, sizeof c.kind);
        *several |= strcmp(kind_of_case[k], kind_of_case[0]) != 0;
        for (const char *p = c.kind; *p; p++) h = (h ^ (unsigned char)*p) * 0x100000001b3u;
        h = (h ^ '\n') * 0x100000001b3u;
        hidden_case_release(&c);
    }
    return h;
}

/* A check whose cases are of several kinds asks them in another order under another seed: fails
 * when the shuffle alone is taken out (core/lab.c). */
START_TEST(the_order_of_kinds_follows_the_seed) {
    static const struct lab *const labs[] = {&lab01, &lab02, &lab03, &lab04};
    const struct lab *lab = labs[_i];
    int checked = 0;
    for (size_t i = 0; i < lab->n_checks; i++) {
        const struct check_def *def = &lab->checks[i];
        bool several, differs = false, is_cases = def->kind < CHECK_DIALOGUE;
        if (!is_cases || def->n_cases < 3) continue;
        uint64_t first = order_of(lab, def, 5, &several);
        for (uint64_t seed = 6; seed < 11 && several; seed++)
            differs |= order_of(lab, def, seed, &several) != first;
        ck_assert_msg(differs || !several, "%s: one order under six seeds", def->id);
        checked += several;
    }
    ck_assert_int_ge(checked, 10);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("grader parts");
    TCase *tc = tcase_create("parts");
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, four_outcomes);
    tcase_add_test(tc, nothing_examined_is_no_pass);
    tcase_add_test(tc, duplicate_ids_are_refused);
    tcase_add_test(tc, every_check_has_its_words);
    tcase_add_test(tc, choosing_checks);
    tcase_add_test(tc, no_bytes_among_the_code);
    tcase_add_test(tc, names_for_the_assembler);
    tcase_add_test(tc, what_changes_the_language);
    tcase_add_test(tc, escaping);
    tcase_add_test(tc, a_verdict_has_one_cleaner);
    tcase_add_test(tc, long_texts_are_cut_at_a_character);
    tcase_add_test(tc, first_line_and_numbers);
    tcase_add_test(tc, includes);
    tcase_add_test(tc, assembly);
    tcase_add_test(tc, libc_list);
    tcase_add_test(tc, cases_survive_the_codec);
    tcase_add_test(tc, no_check_is_earned_by_a_constant);
    tcase_add_loop_test(tc, no_check_is_earned_by_a_table_of_another_seed, 0, 4);
    tcase_add_loop_test(tc, the_order_of_kinds_follows_the_seed, 0, 4);
    suite_add_tcase(suite, tc);
    return check_main(suite);
}
