/* cmd_quality.c: `servelab quality`: measures how often a model answers the checkable questions
 * rightly, also under a planted fault or a coarser precision. Not here: the questions and the
 * checks (quality/). */
#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "base/home.h"
#include "cli/options.h"
#include "cli/serve_machine.h"
#include "quality/evaluate.h"
#include "quality/reference.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct condition {
    const char *name;
    struct backend_cpu_options options;
    bool lose_block;
};

enum quality_backend { ON_CPU, ON_SIMT, ON_CUDA };

static const struct condition CONDITIONS[] = {
    {"f32", {.weights = WEIGHTS_F32}, false},
    {"bf16", {.weights = WEIGHTS_BF16}, false},
    {"int8", {.weights = WEIGHTS_INT8}, false},
    {"int4", {.weights = WEIGHTS_INT4}, false},
    {"fp8", {.weights = WEIGHTS_FP8}, false},
    {"f32-kv-f16", {.weights = WEIGHTS_F32, .kv = KV_F16}, false},
    {"f32-kv-int8", {.weights = WEIGHTS_F32, .kv = KV_INT8}, false},
    {"bf16-fast", {.weights = WEIGHTS_BF16, .precision = PRECISION_FAST}, false},
    {"int8-fast", {.weights = WEIGHTS_INT8, .precision = PRECISION_FAST}, false},
    {"int4-fast", {.weights = WEIGHTS_INT4, .precision = PRECISION_FAST}, false},
    {"lost-kv-block", {.weights = WEIGHTS_F32}, true},
    {"rope-off-by-one", {.weights = WEIGHTS_F32, .fault = FAULT_ROPE_OFF_BY_ONE}, false},
    {"wrong-head-map", {.weights = WEIGHTS_F32, .fault = FAULT_WRONG_HEAD_MAP}, false},
    {"no-softmax-scale", {.weights = WEIGHTS_F32, .fault = FAULT_NO_SOFTMAX_SCALE}, false},
    {"skipped-layer",
     {.weights = WEIGHTS_F32, .fault = FAULT_SKIPPED_LAYER, .fault_arg = 2},
     false},
};
enum { N_CONDITIONS = sizeof CONDITIONS / sizeof *CONDITIONS };

/* --fault takes "none" or one of CONDITIONS by its name. */
static const char *const FAULTS[] = {"none",
                                     "lost-kv-block",
                                     "rope-off-by-one",
                                     "wrong-head-map",
                                     "no-softmax-scale",
                                     "skipped-layer",
                                     NULL};
/* "auto", then in the order of enum question_wording. */
static const char *const WORDING_NAMES[] = {"auto", "grammar", "plain", NULL};
/* In the order of enum quality_backend. */
static const char *const BACKENDS[] = {"cpu", "simt", "cuda", NULL};
/* In the order of enum backend_weights. */
static const char *const WEIGHTS[] = {"as-stored", "f32", "bf16", "int8", "int4", "fp8", NULL};

struct quality_args {
    const char *model, *reference, *write_reference;
    long long logs, per_kind, seed, threads;
    int backend; /* enum quality_backend */
    enum cuda_precision cuda;
    int weights, precision, kv_type, fault, wording;
    double min_pass_rate;
    bool table, json;
    struct evaluation_plan plan; /* from the flags */
    struct condition one;        /* what is asked without --table */
    char one_name[40];
};

#define T struct quality_args
static const struct option_flag flags[] = {
    OPTION_FILE(T, model, "model", "FILE",
                "a GGUF file or a Hugging Face folder (the embedded model)"),
    OPTION_INT(T, logs, "logs", "N", 1, 10000,
               "logs to ask about (50); prompts vary most from log to log"),
    OPTION_INT(T, per_kind, "per-kind", "N", 1, 100, "questions of each kind about each log (12)"),
    OPTION_INT(T, seed, "seed", "S", 0, 1LL << 31, "the first log's seed (1)"),
    OPTION_CHOICE(T, wording, "wording", "NAME", WORDING_NAMES,
                  "grammar (the embedded model's), plain (English, for a model that chats) or auto "
                  "(default): plain for a model whose chat template has turns"),
    OPTION_CHOICE(T, backend, "backend", "NAME", BACKENDS,
                  "cpu (default), cuda, or simt: the CUDA source on the CPU"),
    OPTION_CHOICE(T, weights, "weights", "NAME", WEIGHTS,
                  "as-stored (default), f32, bf16, int8, int4 or fp8: weights are rounded again on "
                  "loading"),
    OPTION_CHOICE(T, precision, "precision", "exact|fast|bf16", machine_precisions,
                  MACHINE_PRECISION_HELP),
    OPTION_CHOICE(T, kv_type, "kv-type", "f32|f16|int8", machine_kv_types, MACHINE_KV_TYPE_HELP),
    OPTION_CHOICE(T, fault, "fault", "NAME", FAULTS,
                  "none (default), lost-kv-block, rope-off-by-one, wrong-head-map, "
                  "no-softmax-scale or skipped-layer"),
    OPTION_SWITCH(T, table, "table", "all precisions and faults, one line each"),
    OPTION_INT(T, threads, "threads", "N", 1, 256, "of the computation (as many as cores)"),
    OPTION_FILE(T, reference, "reference", "FILE",
                "answer-nll/1: compare each answer's likelihood with this float32 run (the stored "
                "one for the embedded model)"),
    OPTION_FILE(T, write_reference, "write-reference", "FILE", "store this run as a reference"),
    OPTION_REAL(T, min_pass_rate, "min-pass-rate", "R", 0, 1,
                "the least pass rate of exit status 0 (0.95)"),
    OPTION_SWITCH(T, json, "json", "the same as JSON"),
    {0}};
#undef T
static const struct option_rule rules[] = {{OPTION_EXCLUDE, {"table", "write-reference"}}, {0}};

static int run(int argc, char **argv);

const struct command quality_command = {
    .name = "quality",
    .summary = "ask a model checkable questions; show what faults and precision do",
    .run = run,
    .usage = "[FLAGS]",
    .about = "Asks a model checkable questions at prompts of exactly 2,048 tokens.",
    .flags = flags,
    .rules = rules,
    .exits = "0 done; 1 a pass rate lies below --min-pass-rate or answer-nll/1 fails; 2 bad usage "
             "or input; 4 our own fault",
    .examples = "servelab quality --logs 2 --per-kind 4 --min-pass-rate 0.8"};

/* 95 % interval of a rate (Wilson 1927): right also near 0 and 1. */
static void wilson(int32_t passed, int32_t n, double *lo, double *hi) {
    double z = 1.96, p = n ? (double)passed / n : 0, d = 1 + z * z / n;
    double mid = (p + z * z / (2 * n)) / d,
           half = z * sqrt(p * (1 - p) / n + z * z / (4.0 * n * n)) / d;
    *lo = mid - half;
    *hi = mid + half;
}

/* ---- one condition ---- */

static int run_condition(const struct quality_args *a, const struct model *m,
                         const struct tokenizer *t, const struct condition *c,
                         struct evaluation *ev, struct err *e) {
    struct evaluation_plan plan = a->plan;
    plan.lose_block = c->lose_block;
    plan.progress = stderr;
    plan.redraws = isatty(STDERR_FILENO);
    static const enum cuda_weights on_cuda[] = {[WEIGHTS_INT8] = CUDA_WEIGHTS_INT8,
                                                [WEIGHTS_INT4] = CUDA_WEIGHTS_INT4,
                                                [WEIGHTS_FP8] = CUDA_WEIGHTS_FP8};
    struct backend_config config = {.model = m,
                                    .threads = (int32_t)a->threads,
                                    .kv_blocks = EVALUATION_KV_BLOCKS,
                                    .max_seqs = EVALUATION_MAX_SEQS};
    struct backend_cuda_options cuda = {.machine = a->backend == ON_SIMT ? CUDA_SIMT : CUDA_GPU,
                                        .precision = a->cuda,
                                        .weights = on_cuda[a->weights],
                                        .kv = a->kv_type == KV_INT8 ? CUDA_KV_INT8 : CUDA_KV_BF16};
    struct backend *b = a->backend == ON_CPU ? backend_cpu_create_with(&config, &c->options, e)
                                             : backend_cuda_create(&config, &cuda, e);
    if (!b) return -1;
    int rc = evaluate(b, t, &plan, ev, e);
    backend_free(b);
    return rc;
}

static cJSON *report_json(const struct quality_args *a, const struct condition *c,
                          const struct evaluation *ev, const struct nll_verdict *nll) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "condition", c->name);
    bool cpu = a->backend == ON_CPU, bf16 = a->cuda == CUDA_BF16;
    const char *precision = cpu    ? backend_precision_name(c->options.precision)
                            : bf16 ? "bf16"
                                   : "exact";
    cJSON_AddStringToObject(o, "backend", BACKENDS[a->backend]);
    cJSON_AddStringToObject(o, "precision", precision);
    if (cpu) cJSON_AddStringToObject(o, "kv_type", backend_kv_name(c->options.kv));
    if (!cpu && a->kv_type) cJSON_AddStringToObject(o, "kv_type", machine_kv_types[a->kv_type]);
    cJSON *checks = cJSON_AddArrayToObject(o, "checks");
    for (int k = 0; k < QUESTION_ALL_KINDS; k++) {
        struct evaluation_total total = evaluation_total(ev, (enum question_kind)k);
        if (!total.n) continue;
        cJSON *check = cJSON_CreateObject();
        double lo, hi;
        wilson(total.passed, total.n, &lo, &hi);
        cJSON_AddStringToObject(check, "check", question_check((enum question_kind)k));
        cJSON_AddNumberToObject(check, "n", total.n);
        cJSON_AddNumberToObject(check, "passed", total.passed);
        cJSON_AddNumberToObject(check, "pass_rate", (double)total.passed / total.n);
        cJSON_AddNumberToObject(check, "pass_rate_low_95", lo);
        cJSON_AddNumberToObject(check, "pass_rate_high_95", hi);
        if (k == QUESTION_TOOL)
            cJSON_AddNumberToObject(check, "structure_pass_rate",
                                    (double)total.structure_passed / total.n);
        cJSON_AddNumberToObject(check, "mean_answer_nll_nats", total.mean_answer_nll);
        cJSON_AddItemToArray(checks, check);
    }
    if (nll->compared) {
        cJSON *answer = cJSON_AddObjectToObject(o, "answer_nll");
        cJSON_AddStringToObject(answer, "check", "answer-nll/1");
        cJSON_AddStringToObject(answer, "verdict", verdict_name(nll->verdict));
        cJSON_AddNumberToObject(answer, "n", nll->compared);
        cJSON_AddNumberToObject(answer, "median_shift_nats", nll->median_shift);
        cJSON_AddNumberToObject(answer, "tolerance_nats", NLL_TOLERANCE_NATS);
    }
    return o;
}

static void print_heading(struct question_set set) {
    printf("%-22s", "");
    for (int k = set.first; k < set.first + set.n; k++) {
        char cell[48];
        snprintf(cell, sizeof cell, "%s%s", question_check((enum question_kind)k),
                 k == QUESTION_TOOL ? " (shape)" : "");
        printf(" %-22s", cell);
    }
    printf(" %s\n", set.first ? "" : "answer-nll/1: median |shift|, nats");
}

static void print_line(const struct condition *c, struct question_set set,
                       const struct evaluation *ev, const struct nll_verdict *nll) {
    printf("%-22s", c->name);
    for (int k = set.first; k < set.first + set.n; k++) {
        struct evaluation_total total = evaluation_total(ev, (enum question_kind)k);
        char cell[48] = "-";
        double lo, hi;
        wilson(total.passed, total.n, &lo, &hi);
        int at = total.n ? snprintf(cell, sizeof cell, "%5.1f %% of %d",
                                    100.0 * total.passed / total.n, total.n)
                         : 0;
        if (total.n && k == QUESTION_TOOL)
            snprintf(cell + at, sizeof cell - (size_t)at, " (%.1f)",
                     100.0 * total.structure_passed / total.n);
        printf(" %-22s", cell);
    }
    if (nll->compared)
        printf(" %.5f %s", nll->median_shift, nll->verdict == VERDICT_PASSED ? "passed" : "failed");
    else if (!set.first)
        printf(" not_evaluated");
    printf("\n");
    fflush(stdout);
}

static bool good_enough(const struct quality_args *a, const struct evaluation *ev,
                        const struct nll_verdict *nll) {
    bool good = !nll->compared || nll->verdict == VERDICT_PASSED;
    for (int k = 0; k < QUESTION_ALL_KINDS; k++) {
        struct evaluation_total total = evaluation_total(ev, (enum question_kind)k);
        good &= !total.n || (double)total.passed / total.n >= a->min_pass_rate;
    }
    return good;
}

static int run_all(const struct quality_args *a, const struct model *m, const struct tokenizer *t) {
    struct err e;
    struct nll_reference ref = {0};
    const char *no_reference = a->reference ? "--reference" : "--write-reference";
    if (a->plan.wording == WORDING_PLAIN && (a->reference || a->write_reference)) {
        err_at(&e, 0, no_reference,
               "answer-nll/1 needs the grammar wording; add --wording grammar");
        return cli_input_error("quality", NULL, &e, a->json);
    }
    if (a->reference && nll_reference_read(&ref, a->reference, &e))
        return cli_input_error("quality", a->reference, &e, a->json);
    if (a->write_reference && nll_reference_writable(a->write_reference, &e))
        return cli_input_error("quality", a->write_reference, &e, a->json);
    struct question_set set = question_set(a->plan.wording);
    int n = a->table ? N_CONDITIONS : 1, status = CLI_DONE;
    cJSON *all = cJSON_CreateArray();
    if (!a->json) {
        printf("%s: %d logs, %d questions of each kind a log, %s wording, prompts of %d tokens, "
               "greedy\n",
               m->config.name, a->plan.n_logs, a->plan.per_kind,
               question_wording_name(a->plan.wording), QUESTION_PROMPT_TOKENS);
        print_heading(set);
        fflush(stdout);
    }
    for (int i = 0; i < n; i++) {
        const struct condition *c = a->table ? &CONDITIONS[i] : &a->one;
        struct evaluation ev;
        if (run_condition(a, m, t, c, &ev, &e)) {
            status = cli_input_error("quality", a->model, &e, a->json);
            break;
        }
        struct nll_verdict nll = nll_compare(&ref, &a->plan, c->lose_block, &ev);
        if (a->json)
            cJSON_AddItemToArray(all, report_json(a, c, &ev, &nll));
        else
            print_line(c, set, &ev, &nll);
        fflush(stdout); /* a condition takes seconds: a pipe shows its line at once, too */
        if (!a->table && !good_enough(a, &ev, &nll)) status = CLI_NO;
        if (a->write_reference &&
            nll_reference_write(a->write_reference, m->config.name, &a->plan, &ev, &e)) {
            cli_input_error("quality", a->write_reference, &e, a->json);
            status = CLI_FAULT;
        }
        evaluation_release(&ev);
    }
    if (a->json) {
        char *text = cJSON_Print(a->table ? all : cJSON_GetArrayItem(all, 0));
        if (text && status <= CLI_NO) puts(text); /* otherwise the error is the JSON */
        cJSON_free(text);
    }
    cJSON_Delete(all);
    nll_reference_release(&ref);
    return status;
}

/* ---- entry ---- */

/* The plan and the condition that the flags describe. */
static void make_condition(struct quality_args *a) {
    a->plan = (struct evaluation_plan){
        .n_logs = (int32_t)a->logs, .per_kind = (int32_t)a->per_kind, .seed = (uint64_t)a->seed};
    a->one.name = WEIGHTS[a->weights];
    if (a->fault) {
        int i = 0;
        while (i < N_CONDITIONS && strcmp(FAULTS[a->fault], CONDITIONS[i].name)) i++;
        INVARIANT(i < N_CONDITIONS);
        a->one = CONDITIONS[i];
    }
    a->cuda = a->precision == MACHINE_EXACT ? CUDA_EXACT : CUDA_BF16;
    if (a->backend) {
        snprintf(a->one_name, sizeof a->one_name, "%s-%s%s", BACKENDS[a->backend],
                 a->weights             ? WEIGHTS[a->weights]
                 : a->cuda == CUDA_BF16 ? "bf16"
                                        : "exact",
                 a->kv_type ? "-kv-int8" : "");
        a->one.name = a->one_name;
        return;
    }
    a->one.options.weights = (enum backend_weights)a->weights;
    a->one.options.precision = a->precision == MACHINE_FAST ? PRECISION_FAST : PRECISION_EXACT;
    a->one.options.kv = (enum backend_kv)a->kv_type;
    snprintf(a->one_name, sizeof a->one_name, "%s%s%s", a->one.name,
             a->precision == MACHINE_FAST ? "-fast" : "",
             a->kv_type ? a->kv_type == KV_INT8 ? "-kv-int8" : "-kv-f16" : "");
    a->one.name = a->one_name;
    INVARIANT(!strcmp(WEIGHTS[a->weights], backend_weights_name(a->one.options.weights)));
}

static int check_backend(const struct quality_args *a, struct err *e) {
    if (!a->backend && a->precision == MACHINE_BF16)
        return err_at(e, 0, "--precision", "bf16 is of --backend cuda and simt");
    if (!a->backend) return 0;
    if (a->precision == MACHINE_FAST)
        return err_at(e, 0, "--precision", "fast is of --backend cpu");
    if (a->table || a->fault)
        return err_at(e, 0, "--backend", "cuda and simt have no --table and --fault");
    if (a->kv_type == KV_F16)
        return err_at(e, 0, "--kv-type", "f16 is of --backend cpu; cuda and simt have int8");
    if (a->weights == WEIGHTS_F32 || a->weights == WEIGHTS_BF16)
        return err_at(e, 0, "--weights",
                      "%s is of --backend cpu; cuda and simt have int8, int4 and fp8",
                      WEIGHTS[a->weights]);
    if (a->precision == MACHINE_EXACT && (a->weights || a->kv_type))
        return err_at(e, 0, "--precision", "exact has no int8, int4 and fp8; leave it out");
    return 0;
}

static int run(int argc, char **argv) {
    struct quality_args a = {
        .precision = MACHINE_DEFAULT, .logs = 50, .per_kind = 12, .seed = 1, .min_pass_rate = 0.95};
    struct option_words words;
    int rc;
    if (!options_parse(&quality_command, &a, argc, argv, &words, &rc)) return rc;
    struct err e;
    if (check_backend(&a, &e)) return cli_input_error("quality", NULL, &e, a.json);
    make_condition(&a);
    char model_path[4096], reference_path[4096];
    if (!a.model) {
        a.model = home_path(HOME_DEFAULT_MODEL, model_path, sizeof model_path);
        if (!a.reference && !a.write_reference && a.wording != 1 + WORDING_PLAIN)
            a.reference = home_path("common/model/embedded/reference-nll.txt", reference_path,
                                    sizeof reference_path);
    }
    struct model *m = model_open(a.model, &e);
    struct tokenizer *t = m ? tokenizer_create(m->file, &e) : NULL;
    if (t)
        a.plan.wording =
            a.wording ? (enum question_wording)(a.wording - 1) : question_wording_for(t);
    rc = t ? run_all(&a, m, t) : cli_input_error("quality", a.model, &e, a.json);
    tokenizer_free(t);
    model_free(m);
    return rc;
}
