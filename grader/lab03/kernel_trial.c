/* kernel_trial.c: see kernel_trial.h. Data and expected values come from backend/kernel_case.h, in
 * the grader's process; the kernel's process gets the inputs only. */
#include "lab03/kernel_trial.h"

#include "core/channel.h"
#include "lab03/kernel_maps.h"
#include "lab03/kernel_report.h"
#include "lab03/kernel_shapes.h"
#include "lab03/kernel_wire.h"

#include "backend/kernel_case.h"
#include "backend/launch.h"
#include "base/json.h"
#include "base/text.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CPU_S = 40, /* of all shapes; the reference takes half a second at most */
    WALL_MS = 90000,
    OUTPUT_BYTES = 64 * 1024,
    MANY_THREADS = 10 * 1000 * 1000, /* a thousand for each value of the largest shape */
    PROCESSES = 512,
    ATTEMPTS = 3
};

struct running {
    const struct grading *g;
    const struct kernel_program *p;
    struct trial *t;
    struct launch_rule rule;
    double threads; /* of the last launch */
    struct sandbox_run run;
    struct channel ch;
    const char *doubt; /* why the counts of the judged launch can't be; or NULL */
};

static bool run_shapes(struct running *r, int from, int to, bool judged);
static void doubt_counts(struct trial *t, const char *doubt, bool practice);
static void explain_unwritten(const struct grading *g, const struct kernel_program *p,
                              struct trial *t);

void lab03_trial_run(const struct grading *g, const struct kernel_program *p, struct trial *t) {
    struct running r = {.g = g, .p = p, .t = t, .run = {.output_fd = -1}};
    struct err e;
    char path[400];
    *t = (struct trial){.done = true, .shapes = lab03_shape_count(p->spec)};
    snprintf(path, sizeof path, "%s/launch.json", g->place->src);
    if (launch_rule_read(path, p->spec->name, &r.rule, &e)) {
        char shown[600];
        snprintf(t->wrong, sizeof t->wrong, "%.310s",
                 err_format(&e, "launch.json", shown, sizeof shown));
        t->bad_launch = true;
        return;
    }
    if (!strcmp(r.rule.grid[0], "TODO") || !strcmp(r.rule.block[0], "TODO")) {
        t->todo = true;
        return;
    }
    bool good = run_shapes(&r, 0, t->shapes - 1, false);
    if (good) good = run_shapes(&r, t->shapes - 1, t->shapes, true);
    t->right = good && !t->wrong[0];
    if (t->right && t->counted && !t->finding[0]) doubt_counts(t, r.doubt, g->practice);
    if (!t->right && !t->endless && !t->fault.text[0]) explain_unwritten(g, p, t);
}

/* A result that comes from a local variable which was never written has one cause, whatever else is
 * said about it. */
static void explain_unwritten(const struct grading *g, const struct kernel_program *p,
                              struct trial *t) {
    char place[160], text[320];
    if (lab03_kernel_unwritten(g->sandbox, g->place, p->spec->name, place, sizeof place,
                               &t->fault) ||
        !place[0])
        return;
    snprintf(text, sizeof text, "%.150s. %.150s", place, t->wrong);
    memcpy(t->wrong, text, sizeof t->wrong);
}

static void wrong(struct trial *t, const char *text) {
    if (!t->wrong[0]) snprintf(t->wrong, sizeof t->wrong, "%s", text);
}

/* Counts that no right kernel can have. They are a finding: something moved that nobody saw. */
static void doubt_counts(struct trial *t, const char *doubt, bool practice) {
    int64_t counted = t->counts.value[KERNEL_BYTES], least = kernel_bytes_min(&t->sizes);
    bool few = counted < least;
    if (few) doubt = "there are fewer bytes counted in all than a right answer needs";
    if (!doubt) return;
    snprintf(t->finding, sizeof t->finding,
             "the counts are impossible: %s, so data moved where the checks don't see it", doubt);
    if (few && practice)
        text_append(t->finding, sizeof t->finding, " (%lld of at least %lld)", (long long)counted,
                    (long long)least);
}

/* ---- the process ----------------------------------------------------------------------------- */

static int launch_process(struct running *r, struct err *e) {
    const char *argv[] = {r->p->path, NULL};
    const char *env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", "SIMT_REPORT=fd:3",
                         "SIMT_TIME_LIMIT_S=8", NULL};
    struct sandbox_job job = {.argv = argv,
                              .env = env,
                              .cwd = "/",
                              .folders = {{r->g->place->out, false}},
                              .cpu_s = CPU_S,
                              .wall_ms = WALL_MS,
                              .file_bytes = 1 << 20,
                              .processes = PROCESSES,
                              .output_cap = OUTPUT_BYTES};
    if (channel_open(&r->ch, e)) return -1;
    job.channel_fd = r->ch.child_fd;
    int rc = sandbox_start(r->g->sandbox, &job, &r->run, e);
    channel_close_child(&r->ch);
    if (rc) channel_close(&r->ch);
    return rc;
}

static int start_program(struct running *r, struct err *e) {
    char shown[200];
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (launch_process(r, e)) return -1;
        if (channel_greet(&r->ch, &r->run) == CHANNEL_OK) return 0;
        channel_close(&r->ch);
        sandbox_finish(&r->run, false);
        text_first_line(shown, sizeof shown, r->run.output, r->run.output_len);
        err_set(e, "the kernel's program could not be started in the sandbox: %s", shown);
        sandbox_release(&r->run);
        if (sandbox_stopped()) return -1;
        nanosleep(&(struct timespec){attempt, 200000000}, NULL);
    }
    return -1;
}

/* Whether the program starts with an empty kernel in the place of the learner's. */
static bool stand_in_starts(const struct running *r) {
    struct kernel_program empty = *r->p;
    struct running other = {.g = r->g, .p = &empty, .t = r->t, .run = {.output_fd = -1}};
    struct err e;
    if (lab03_kernel_stand_in(r->g->sandbox, r->g->place, r->p, empty.path, sizeof empty.path,
                              &e) ||
        start_program(&other, &e))
        return false;
    channel_close(&other.ch);
    sandbox_finish(&other.run, true);
    sandbox_release(&other.run);
    return true;
}

/* -1 when the program doesn't start: the trial is then wrong, or has the grader's fault. */
static int start(struct running *r) {
    struct err *e = &r->t->fault;
    if (!start_program(r, e)) return 0;
    if (sandbox_stopped() || !stand_in_starts(r)) return -1;
    e->text[0] = '\0';
    wrong(r->t, "the program doesn't start with your kernel, and it starts with an empty kernel in "
                "its place: which code or data of the file is there before the launch?");
    return -1;
}

/* ---- one launch ------------------------------------------------------------------------------ */

static void describe_case(struct trial *t, const struct shape *shape, bool practice) {
    snprintf(t->kind, sizeof t->kind, "%s", shape->kind);
    if (practice) snprintf(t->input, sizeof t->input, "%s", shape->text);
}

/* The line of a kernel's field in launch.json. */
static int line_of_launch(const struct running *r, const char *kernel, const char *field) {
    char path[160];
    size_t n = 0;
    char *text = collect_read(r->g->place->src, "launch.json", 1 << 20, &n);
    snprintf(path, sizeof path, "%s.%s", kernel, field);
    int line = text ? json_line_of(text, n, 1, path) : 0;
    free(text);
    return line;
}

/* 0, or -1: the learner's launch shape is invalid. */
static int fill_question(struct running *r, struct kernel_case *c, struct lab03_launch *launch) {
    struct kernel_names names;
    struct launch_shape shape;
    struct err e;
    char text[320];
    kernel_launch_names(&c->sizes, &names);
    if (launch_shape_of(&r->rule, &(struct launch_names){names.name, names.value, names.n}, &shape,
                        &e)) {
        snprintf(text, sizeof text, "launch.json:%d: %s.%s: %.200s",
                 line_of_launch(r, c->spec->name, e.field), c->spec->name, e.field,
                 r->g->practice ? e.text : "is not a valid launch shape");
        wrong(r->t, text);
        r->t->bad_launch = true;
        return -1;
    }
    snprintf(launch->kernel, sizeof launch->kernel, "%s", c->spec->name);
    r->threads = 1;
    for (int i = 0; i < 3; i++) {
        r->threads *= (double)shape.grid[i] * (double)shape.block[i];
        launch->grid[i] = (int32_t)shape.grid[i];
        launch->block[i] = (int32_t)shape.block[i];
    }
    launch->shared_bytes = (int32_t)shape.shared_bytes;
    launch->n_params = kernel_param_count(c->spec);
    for (int i = 0; i < launch->n_params; i++) {
        enum kernel_role role = c->spec->param[i].role;
        struct kernel_wire_param *p = &launch->param[i];
        p->kind = role == KERNEL_SIZE     ? KWIRE_SIZE
                  : role == KERNEL_SCALAR ? KWIRE_SCALAR
                  : role == KERNEL_OUT    ? KWIRE_OUTPUT
                                          : KWIRE_INPUT;
        p->size = c->size[i];
        if (role == KERNEL_SCALAR) memcpy(&p->size, &c->scalar[i], sizeof p->size);
        p->bytes = c->tensor[i].bytes;
        p->data = c->tensor[i].data;
    }
    return 0;
}

/* Describes a wrong output, for practice. An unchanged value (a NaN or -1, except in an array that
 * is changed in place) is reported as such, which says more than a number. */
static void tell_value(struct trial *t, const char *name, const struct kernel_tensor *tensor,
                       const void *got, const struct comparison *v) {
    char how[200];
    size_t width = tensor->bytes / (size_t)tensor->n;
    bool same = v->n == (size_t)tensor->n && !v->fault &&
                !memcmp((const char *)got + v->worst * width,
                        (const char *)tensor->data + v->worst * width, width);
    if (same)
        snprintf(t->wrong, sizeof t->wrong,
                 "%s: element %zu of %zu is as it was before the launch%s: no thread wrote it, or "
                 "it was computed from memory that was not written",
                 name, v->worst, v->n, isnan(v->got) ? " (NaN)" : "");
    else
        snprintf(t->wrong, sizeof t->wrong, "%s: %s", name, comparison_text(v, how, sizeof how));
    snprintf(t->got, sizeof t->got, "%s[%zu] %.9g", name, v->worst, v->got);
    snprintf(t->want, sizeof t->want, "%s[%zu] %.9g", name, v->worst, v->want);
}

/* A kernel that leaves out a scalar computes as if it were this. */
static const struct neutral {
    const char *name;
    float value;
} neutral[] = {{"eps", 0}, {"scale", 1}, {"temperature", 1}, {"top_p", 1}};

/* Adds the scalar without which the result would be right, if there is one. */
static void tell_missing_scalar(struct trial *t, struct kernel_case *c, int param,
                                const void *got) {
    for (int p = 0; p < kernel_param_count(c->spec); p++)
        for (size_t i = 0; i < sizeof neutral / sizeof *neutral; i++) {
            float kept = c->scalar[p];
            if (c->spec->param[p].role != KERNEL_SCALAR || kept == neutral[i].value ||
                strcmp(c->spec->param[p].name, neutral[i].name))
                continue;
            c->scalar[p] = neutral[i].value;
            kernel_case_compute(c);
            bool fits = kernel_case_check(c, param, got).ok;
            c->scalar[p] = kept;
            kernel_case_compute(c);
            if (!fits) continue;
            text_append(t->wrong, sizeof t->wrong,
                        ". It is as if %s were %g (here it is %g): is it used?", neutral[i].name,
                        (double)neutral[i].value, (double)kept);
            return;
        }
}

/* An input that a kernel leaves out, or takes with the other sign: every value of it, times
 * `factor` plus `more`, gives what came. */
static const struct misused {
    const char *name;
    float factor, more;
    const char *text;
} misused[] = {
    {"scale", 0, 1, ". It is as if each scale were 1: is it used?"},
    {"sines", -1, 0,
     ". It is as if the sines had the other sign: a becomes a cos - b sin, and b becomes "
     "a sin + b cos"}};

static void tell_misused_input(struct trial *t, struct kernel_case *c, int param, const void *got) {
    for (int p = 0; p < kernel_param_count(c->spec); p++)
        for (size_t i = 0; i < sizeof misused / sizeof *misused; i++) {
            struct kernel_tensor *input = &c->tensor[p];
            if (strcmp(c->spec->param[p].name, misused[i].name) != 0 || input->want ||
                c->spec->param[p].role == KERNEL_SCALAR)
                continue;
            float *own = input->data, *other = malloc(input->bytes);
            if (!other) return;
            for (size_t k = 0; k < input->bytes / sizeof *own; k++)
                other[k] = own[k] * misused[i].factor + misused[i].more;
            input->data = other;
            kernel_case_compute(c);
            bool fits = kernel_case_check(c, param, got).ok;
            input->data = own;
            kernel_case_compute(c);
            free(other);
            if (!fits) continue;
            text_append(t->wrong, sizeof t->wrong, "%s", misused[i].text);
            return;
        }
}

/* argmax: adds that the two indices have equal logits, of which the lower index is asked for. */
static void tell_tie(struct trial *t, const struct kernel_case *c, int param,
                     const struct comparison *v) {
    size_t rows = c->tensor[param].bytes / sizeof(int32_t);
    for (int p = 0; p < kernel_param_count(c->spec); p++) {
        if (strcmp(c->spec->param[p].name, "logits") != 0 || c->tensor[p].want || v->worst >= rows)
            continue;
        size_t n = c->tensor[p].bytes / sizeof(float) / rows;
        const float *row = (const float *)c->tensor[p].data + v->worst * n;
        if (v->got < 0 || v->got >= (double)n || v->want < 0 || v->want >= (double)n) return;
        if (row[(size_t)v->got] == row[(size_t)v->want])
            text_append(t->wrong, sizeof t->wrong,
                        ". Both have the same logit: of equal ones the lowest index is asked for");
    }
}

/* Compares what came back, parameter by parameter. */
static void compare(struct running *r, struct kernel_case *c, const struct lab03_launch *launch,
                    const int64_t *slots) {
    char text[320];
    size_t at = 1;
    for (int i = 0; i < launch->n_params && !r->t->wrong[0]; i++) {
        const struct kernel_tensor *tensor = &c->tensor[i];
        const char *name = c->spec->param[i].name;
        if (launch->param[i].kind >= KWIRE_SIZE) continue;
        const void *got = slots + at;
        at += kernel_wire_slots(tensor->bytes);
        if (launch->counted) at += 2 * kernel_wire_map_slots(tensor->bytes);
        if (!tensor->want) {
            if (!kernel_case_input_changed(c, i, got)) continue;
            snprintf(text, sizeof text, "%s, an input, was changed", name);
            wrong(r->t, text);
            continue;
        }
        struct comparison v = kernel_case_check(c, i, got);
        if (v.ok) continue;
        snprintf(text, sizeof text, "%s isn't right", name);
        wrong(r->t, text);
        if (!r->g->practice) continue;
        tell_value(r->t, name, tensor, got, &v);
        tell_missing_scalar(r->t, c, i, got);
        tell_misused_input(r->t, c, i, got);
        if (!strcmp(c->spec->name, "argmax")) tell_tie(r->t, c, i, &v);
    }
}

/* Describes why the process gave no answer. */
static void no_answer(struct running *r, enum channel_answer a) {
    char text[320];
    sandbox_finish(&r->run, a == CHANNEL_LATE);
    lab03_report_from_output(r->run.output, r->run.output_len, r->g->practice, r->t->finding,
                             sizeof r->t->finding);
    r->t->endless = r->run.end == SANDBOX_TIMEOUT || strstr(r->t->finding, "time-limit");
    if (r->t->endless && r->threads > MANY_THREADS)
        snprintf(text, sizeof text,
                 "launch.json asks for more than %d million threads, which came to no end in the "
                 "time they had: is the grid larger than the work?",
                 MANY_THREADS / 1000000);
    else if (r->t->endless)
        snprintf(text, sizeof text,
                 "the launch came to no end: a loop without one, or a grid that waits on itself. "
                 "Blocks run in no order, so a block must never wait for another one: split the "
                 "work into two launches, or share it out so that no block needs another");
    else if (r->t->finding[0])
        snprintf(text, sizeof text, "%.310s", r->t->finding);
    else if (r->run.end == SANDBOX_SIGNAL && r->run.code == SIGILL)
        snprintf(text, sizeof text,
                 "the kernel came to a place that is never reached, in the compiler's view: a loop "
                 "without an end that does nothing, a function that ends without its return, or "
                 "__builtin_unreachable");
    else if (r->run.end == SANDBOX_SIGNAL)
        snprintf(text, sizeof text, "the launch was ended by %s", sandbox_signal_text(r->run.code));
    else if (r->run.end == SANDBOX_FLOODED)
        snprintf(text, sizeof text, "it printed more than %d kB and was stopped",
                 OUTPUT_BYTES * 10 / 1024);
    else
        snprintf(text, sizeof text, "the launch ended its process (exit status %d)", r->run.code);
    wrong(r->t, text);
}

static enum channel_answer exchange(struct running *r, struct lab03_launch *launch,
                                    int64_t *slots) {
    static unsigned char bytes[WIRE_MAX_PAYLOAD];
    char todo[64];
    struct wire w = wire_writer(bytes, sizeof bytes);
    lab03_launch_codec(&w, launch);
    size_t n = lab03_launch_slots(launch);
    INVARIANT(!w.bad && n <= KERNEL_WIRE_SLOTS);
    return channel_ask(&r->ch, &r->run, bytes, sizeof bytes - w.left, slots, n, NULL, todo);
}

/* Changes what was never read, by the counts, and launches once more in a fresh process. */
static void ask_again(struct running *r, struct lab03_launch *launch, const int64_t *answer) {
    static int64_t expected[KERNEL_WIRE_SLOTS], slots[KERNEL_WIRE_SLOTS];
    struct running again = {.g = r->g, .p = r->p, .t = r->t, .run = {.output_fd = -1}};
    void *copies = lab03_maps_change_unread(launch, answer, expected);
    if (!copies || start(&again)) {
        free(copies);
        return;
    }
    size_t n = lab03_launch_slots(launch);
    if (exchange(&again, launch, slots) != CHANNEL_OK || memcmp(slots, expected, n * 8) != 0)
        r->doubt = "the result follows from data that was never counted as read";
    channel_close(&again.ch);
    sandbox_finish(&again.run, true);
    sandbox_release(&again.run);
    free(copies);
}

/* Runs one shape; true when it was right and the process can be asked again. `judged`: what was
 * counted must explain what happened. */
static bool ask(struct running *r, struct kernel_case *c, bool judged) {
    static int64_t slots[KERNEL_WIRE_SLOTS];
    static struct lab03_launch launch;
    memset(&launch, 0, sizeof launch);
    if (fill_question(r, c, &launch)) return false;
    launch.counted = judged;
    enum channel_answer a = exchange(r, &launch, slots);
    if (a != CHANNEL_OK) {
        no_answer(r, a);
        return false;
    }
    if (slots[0] != 0) { /* the report's finding says more, and comes later */
        wrong(r->t, "the launch failed");
        return false;
    }
    compare(r, c, &launch, slots);
    if (r->t->wrong[0]) return false;
    if (!judged) return true;
    if (lab03_maps_unwritten(&launch, slots))
        r->doubt = "an output changed that was never counted as written";
    else
        ask_again(r, &launch, slots);
    return true;
}

/* ---- a process's shapes ---------------------------------------------------------------------- */

/* Kept in the work folder (--keep), for simtcc --annotate. */
static void keep_report(const struct running *r, const char *text, size_t n) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s.report.json", r->g->place->root, r->p->spec->name);
    FILE *f = r->g->practice ? fopen(path, "w") : NULL;
    if (!f) return;
    fwrite(text, 1, n, f);
    fclose(f);
}

/* Takes the report after the last question. */
static void take_report(struct running *r, bool judged) {
    size_t n = 0;
    char *text = channel_last_words(&r->ch, &r->run, KERNEL_WIRE_REPORT_BYTES, &n);
    struct trial *t = r->t;
    struct err e;
    if (!text || lab03_report_read(text, n, r->p->spec->name, r->g->practice, t->finding,
                                   sizeof t->finding, judged ? &t->counts : NULL, &e)) {
        /* without a report the run can't be called clean */
        if (!t->wrong[0]) wrong(t, "the checks' report didn't arrive");
        if (!t->finding[0] && !t->bad_launch)
            snprintf(t->finding, sizeof t->finding, "the checks' report didn't arrive%s%.200s",
                     text ? ": " : "", text ? e.text : "");
    } else if (judged) {
        t->counted = true;
    }
    if (text) keep_report(r, text, n);
    free(text);
    /* a launch that was refused wrote nothing: the finding says more */
    bool refused = strstr(t->finding, "illegal-launch") || !strcmp(t->wrong, "the launch failed");
    if (refused && t->finding[0] && t->wrong[0])
        snprintf(t->wrong, sizeof t->wrong, "%.310s", t->finding);
    channel_close(&r->ch);
    sandbox_finish(&r->run, false);
}

/* Runs shapes from .. to-1 in one process. False at the first wrong one. */
static bool run_shapes(struct running *r, int from, int to, bool judged) {
    struct trial *t = r->t;
    bool good = true;
    if (start(r)) return false;
    for (int k = from; k < to && good; k++) {
        struct shape shape;
        struct kernel_case c;
        lab03_shape_draw(r->p->spec, r->g->seed, k, &shape);
        if (kernel_sizes_parse(r->p->spec, shape.text, &t->sizes, &t->fault) ||
            kernel_case_init(&c, &t->sizes, shape.seed, &t->fault))
            break;
        t->fault.text[0] = '\0';
        good = ask(r, &c, judged);
        t->shapes_right += good;
        if (!good) describe_case(t, &shape, r->g->practice);
        kernel_case_release(&c);
    }
    bool alive = r->run.end == SANDBOX_RUNNING;
    if (alive)
        take_report(r, judged && good);
    else
        channel_close(&r->ch);
    if (r->g->practice && r->run.output_len > 0 && !t->finding[0])
        text_clean(t->printed, sizeof t->printed, r->run.output, r->run.output_len);
    sandbox_release(&r->run);
    return good && !t->fault.text[0];
}
