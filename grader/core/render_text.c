/* render_text.c: the verdict for a person at a terminal. See render.h. Short: the totals, then the
 * few next steps. Functions that are not written yet take one line, not one failure for each check.
 */
#include "core/render.h"

#include <string.h>

enum { DETAILED = 5, FEW_CHECKS = 3, FEW_LINES = 20, BAR = 30 };

struct style {
    const char *bold, *dim, *red, *green, *off;
};

static void print_total_line(const struct grade_verdict *v, const struct style *s, FILE *out) {
    struct totals t = verdict_totals(v);
    fprintf(out, "%sLab %s: %d of %d points%s%s%s\n", s->bold, v->lab, t.earned, t.total,
            v->partial ? " (of the chosen checks)" : "",
            t.complete ? "" : ", incomplete: the grader failed", s->off);
}

static void print_dimensions(const struct grade_verdict *v, const struct style *s, FILE *out) {
    fputc('\n', out);
    for (int d = 0; d < DIM_N; d++) {
        struct totals t = verdict_dimension_totals(v, (enum dimension)d);
        if (t.total + t.faults == 0) continue;
        int full = t.total ? BAR * t.earned / t.total : 0;
        fprintf(out, "  %-24s %3d / %-3d %s", dimension_title((enum dimension)d), t.earned, t.total,
                s->green);
        for (int i = 0; i < BAR; i++) {
            if (i == full) fputs(s->off, out);
            fputc(i < full ? '#' : '.', out);
        }
        fprintf(out, "%s", s->off);
        if (t.faults) fprintf(out, "  %d could not be graded", t.faults);
        fputc('\n', out);
    }
}

/* Prints a text of one or more lines, indented. */
static void print_block(const char *label, const char *text, FILE *out) {
    if (!text[0]) return;
    fprintf(out, "      %-9s", label);
    for (const char *p = text; *p; p++) {
        fputc(*p, out);
        if (*p == '\n' && p[1]) fprintf(out, "      %-9s", "");
    }
    fputc('\n', out);
}

static int count_lines(const char *text) {
    int n = 1;
    for (const char *p = text; (p = strchr(p, '\n')); p++) n++;
    return n;
}

static void print_failure(const struct check_result *c, bool detailed, bool in_full,
                          const struct style *s, FILE *out) {
    fprintf(out, "\n  %s%s%s  %s  %s(%d point%s)%s\n", s->red, c->id, s->off, c->title, s->dim,
            c->points, c->points == 1 ? "" : "s", s->off);
    print_block("", c->message, out);
    if (!detailed) return;
    print_block("case", c->kind, out);
    if (in_full || count_lines(c->input) <= FEW_LINES) print_block("input", c->input, out);
    print_block("yours", c->got, out);
    print_block("expected", c->want, out);
    if (in_full) print_block("printed", c->printed, out);
    print_block("open", c->file ? c->file : "", out);
    print_block("read", c->section ? c->section : "", out);
    print_block("hint", c->hint, out);
    print_block("again", c->rerun, out);
}

/* Lists why checks were not run, each reason once, with the sum of their points. */
static void print_not_run(const struct grade_verdict *v, const struct style *s, FILE *out) {
    bool heading = false;
    for (size_t i = 0; i < v->n; i++) {
        int points = 0;
        bool first = true;
        if (v->checks[i].outcome != OUTCOME_NOT_RUN) continue;
        for (size_t k = 0; k < v->n; k++) {
            if (v->checks[k].outcome != OUTCOME_NOT_RUN) continue;
            if (strcmp(v->checks[k].message, v->checks[i].message) != 0) continue;
            if (k < i) first = false;
            points += v->checks[k].points;
        }
        if (!first || strstr(v->problem, v->checks[i].message)) continue; /* printed already */
        if (!heading) fprintf(out, "\n  %sStill to come%s\n", s->bold, s->off);
        heading = true;
        fprintf(out, "    %3d point%s %s\n", points, points == 1 ? " " : "s", v->checks[i].message);
        if (v->n <= FEW_CHECKS) print_block("hint", v->checks[i].hint, out);
    }
}

/* Lists the refused files, one a line, with the points that depend on each. With --check, missing
 * files that no chosen check needs are left out. */
static void print_problem(const struct grade_verdict *v, const struct style *s, FILE *out) {
    bool heading = false;
    for (const char *p = v->problem; *p;) {
        size_t n = strcspn(p, "\n");
        int points = 0;
        for (size_t i = 0; i < v->n; i++) {
            const struct check_result *c = &v->checks[i];
            size_t len = strlen(c->message); /* the check's own copy of a long message is cut */
            if (c->outcome == OUTCOME_NOT_RUN && len > 0 && len <= n && !memcmp(p, c->message, len))
                points += c->points;
        }
        bool missing = n > 11 && !memcmp(p + n - 11, " is missing", 11);
        if (points > 0 || !v->partial || !missing) {
            if (!heading) fprintf(out, "\n  %sNot accepted%s\n", s->bold, s->off);
            heading = true;
            fprintf(out, "    %3d point%s %.*s\n", points, points == 1 ? " " : "s", (int)n, p);
        }
        p += n + (p[n] == '\n');
    }
}

static void print_lines(const char *heading, const char *lines, const struct style *s, FILE *out) {
    if (!lines[0]) return;
    fprintf(out, "\n  %s%s%s\n", s->bold, heading, s->off);
    for (const char *p = lines; *p;) {
        size_t n = strcspn(p, "\n");
        fprintf(out, "    %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

static void print_slow(const struct grade_verdict *v, FILE *out) {
    enum { SLOW_MS = 1000 };
    bool any = false;
    for (size_t i = 0; i < v->n; i++) {
        if (v->checks[i].took_ms < SLOW_MS) continue;
        fprintf(out, "%s%s %.1f s", any ? ", " : "\n  Took longer than a second: ", v->checks[i].id,
                (double)v->checks[i].took_ms / 1000);
        any = true;
    }
    if (any) fputc('\n', out);
}

static void print_frame(const struct grade_verdict *v, const struct style *s, FILE *out) {
    fprintf(out, "\n%sgrader %s, ", s->dim, GRADER_VERSION);
    if (v->practice)
        fprintf(out, "practice seed %llu", (unsigned long long)v->seed);
    else
        fprintf(out, "instructor's seed");
    fprintf(out, "; sandbox: %s; %s%s%s%s\n", v->sandbox, v->machine_class,
            v->counting[0] ? "; counts: " : "", v->counting, s->off);
}

static void print_first_step(const struct grade_verdict *v, const struct lab *lab,
                             const struct style *s, FILE *out) {
    bool begins = !v->partial;
    for (size_t i = 0; i < v->n; i++)
        begins |= strstr(v->checks[i].id, lab->first_check) == v->checks[i].id;
    fprintf(out,
            v->partial ? "%sLab %s: the chosen checks are not attempted yet.%s\n"
                       : "%sLab %s is not attempted yet.%s\n",
            s->bold, v->lab, s->off);
    if (begins) { /* whoever chose other checks may have made the first step long ago */
        fprintf(out, "\n  First step: %s.\n", lab->first_step);
        fprintf(out, "  Then:       make grade LAB=%s CHECK=%s\n", lab->number, lab->first_check);
    }
    if (v->partial) print_not_run(v, s, out); /* the reasons why the chosen checks were not run */
    print_frame(v, s, out);
}

void render_text(const struct grade_verdict *v, const struct lab *lab, bool colour, FILE *out) {
    static const struct style plain = {"", "", "", "", ""};
    static const struct style fancy = {"\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[0m"};
    const struct style *s = colour ? &fancy : &plain;
    int shown = 0, lost = 0;
    bool endless = false; /* details are printed for the first endless loop only; the others would
                             repeat them */
    if (verdict_exit_status(v) == 3) {
        print_first_step(v, lab, s, out);
        return;
    }
    print_total_line(v, s, out);
    print_dimensions(v, s, out);
    print_problem(v, s, out);
    print_lines("The compiler warns", v->warnings, s, out);
    for (size_t i = 0; i < v->n; i++) {
        enum outcome o = v->checks[i].outcome;
        if (o == OUTCOME_LOST || o == OUTCOME_GRADER_FAULT) {
            bool again = v->checks[i].endless && endless;
            print_failure(&v->checks[i], !again && shown++ < DETAILED, v->n <= FEW_CHECKS, s, out);
            endless |= v->checks[i].endless;
            lost += o == OUTCOME_LOST;
        }
    }
    if (lost > DETAILED && v->practice)
        fprintf(out, "\n  Details are shown for the first %d; CHECK=name shows any other.\n",
                DETAILED);
    print_not_run(v, s, out);
    print_slow(v, out);
    for (size_t i = 0; i < v->n; i++)
        if (v->checks[i].note[0]) fprintf(out, "\n  %s: %s\n", v->checks[i].id, v->checks[i].note);
    if (!v->practice)
        print_lines("To be read by a person; no points depend on it", v->to_read, s, out);
    if (verdict_exit_status(v) == 0 && !v->partial)
        fprintf(out, "\n  Everything is there. The functions of this lab now carry the rest of the "
                     "system.\n");
    print_frame(v, s, out);
}
