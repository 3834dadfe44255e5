/* bench_cpu.c: how fast the native backend is: prefill of a prompt, decode at the start and behind
 * the prompt. One JSON line a repetition; bench_vs_llamacpp.py runs it beside llama.cpp.
 *
 *   bench_cpu MODEL [--threads N] [--prompt N] [--decode N] [--step N] [--reps N]
 *             [--batch N] [--precision exact|fast] [--kv-type f32|f16]
 *
 * MODEL: a GGUF file, a Hugging Face folder, or synthetic:SHAPE (backend/synthetic.h).
 * --batch: so many sequences are decoded together, one token each in a step, each behind a prompt
 * of its own.
 *
 * Wall time is what a person waits. CPU time (all threads together) is printed beside it because a
 * shared machine's neighbours stretch the first and not the second; where the quotient of the two
 * is below the number of threads by more than a few percent, the wall time is the neighbours'.
 */
#include "backend/cpu/cpu.h"
#include "backend/synthetic.h"
#include "base/clock.h"
#include "base/home.h"
#include "base/rng.h"
#include "sched/policy.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_BATCH = 256 };

struct timing {
    double wall_s, cpu_s;
};

static double cpu_now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long resident_kib(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

struct run {
    struct backend *b;
    int32_t *prompt, *table;
    int32_t n_prompt, n_decode, step, n_blocks, batch;
    float *logits;
};

static int step(struct run *r, const struct backend_seq *seqs, int32_t n) {
    struct err e;
    if (backend_step(r->b, &(struct backend_batch){seqs, n}, r->logits, &e) == 0) return 0;
    fprintf(stderr, "bench_cpu: %s\n", e.text);
    return -1;
}

static struct backend_seq part(const struct run *r, int32_t seq, const int32_t *tokens, int32_t n,
                               int32_t pos0) {
    return (struct backend_seq){tokens, n, pos0, r->table + seq * r->n_blocks, r->n_blocks, true};
}

static int prefill(struct run *r, struct timing *t) {
    double w = (double)clock_monotonic_ns() * 1e-9, c = cpu_now_s();
    for (int32_t seq = 0; seq < r->batch; seq++)
        for (int32_t at = 0; at < r->n_prompt; at += r->step) {
            int32_t n = r->n_prompt - at < r->step ? r->n_prompt - at : r->step;
            struct backend_seq s = part(r, seq, r->prompt + at, n, at);
            if (step(r, &s, 1)) return -1;
        }
    *t = (struct timing){(double)clock_monotonic_ns() * 1e-9 - w, cpu_now_s() - c};
    return 0;
}

static int decode(struct run *r, int32_t depth, struct timing *t) {
    double w = (double)clock_monotonic_ns() * 1e-9, c = cpu_now_s();
    for (int32_t i = 0; i < r->n_decode; i++) {
        struct backend_seq seqs[MAX_BATCH];
        for (int32_t s = 0; s < r->batch; s++)
            seqs[s] = part(r, s, r->prompt + (i + s) % r->n_prompt, 1, depth + i);
        if (step(r, seqs, r->batch)) return -1;
    }
    *t = (struct timing){(double)clock_monotonic_ns() * 1e-9 - w, cpu_now_s() - c};
    return 0;
}

static int usage(void) {
    fprintf(stderr,
            "usage: bench_cpu MODEL|synthetic:SHAPE [--threads N] [--prompt N] [--decode N] "
            "[--step N] [--reps N] [--batch N] [--precision exact|fast] "
            "[--kv-type f32|f16]\n");
    return 2;
}

static int measure(struct run *r, int32_t threads, int reps, const char *precision) {
    /* One step that isn't timed: it maps the pages of the weights and of the activations, as
     * llama.cpp does when it loads a model. */
    struct backend_seq first =
        part(r, 0, r->prompt, r->n_prompt < r->step ? r->n_prompt : r->step, 0);
    if (step(r, &first, 1)) return 1;
    for (int i = 0; i < reps; i++) {
        struct timing p, deep, shallow;
        if (prefill(r, &p) || decode(r, r->n_prompt, &deep) || decode(r, 0, &shallow)) return 1;
        printf("{\"engine\": \"servelab\", \"kernels\": \"%s\", \"precision\": \"%s\", "
               "\"threads\": %d, \"batch\": %d, \"resident_kib\": %ld, "
               "\"prompt_tokens\": %d, \"step_tokens\": %d, \"decode_tokens\": %d, "
               "\"prefill_wall_s\": %.6f, \"prefill_cpu_s\": %.6f, "
               "\"decode_deep_wall_s\": %.6f, \"decode_deep_cpu_s\": %.6f, "
               "\"decode_shallow_wall_s\": %.6f, \"decode_shallow_cpu_s\": %.6f}\n",
               backend_cpu_kernels(), precision, threads, r->batch, resident_kib(),
               r->batch * r->n_prompt, r->step, r->batch * r->n_decode, p.wall_s, p.cpu_s,
               deep.wall_s, deep.cpu_s, shallow.wall_s, shallow.cpu_s);
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    static const struct option flags[] = {{"threads", required_argument, 0, 't'},
                                          {"prompt", required_argument, 0, 'p'},
                                          {"decode", required_argument, 0, 'd'},
                                          {"step", required_argument, 0, 's'},
                                          {"reps", required_argument, 0, 'r'},
                                          {"batch", required_argument, 0, 'b'},
                                          {"precision", required_argument, 0, 'x'},
                                          {"kv-type", required_argument, 0, 'k'},
                                          {0}};
    struct backend_cpu_options options = {0};
    int32_t threads = 0, reps = 3;
    struct run r = {.n_prompt = 2048, .n_decode = 128, .step = 0, .batch = 1};
    for (int c; (c = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (c == 'x' && !strcmp(optarg, "fast")) options.precision = PRECISION_FAST;
        if (c == 'k' && !strcmp(optarg, "f16")) options.kv = KV_F16;
        if (c == 'x' || c == 'k') continue;
        int32_t v = optarg ? atoi(optarg) : 0;
        if (c == '?' || v < 1) return usage();
        *(c == 't'   ? &threads
          : c == 'p' ? &r.n_prompt
          : c == 'd' ? &r.n_decode
          : c == 's' ? &r.step
          : c == 'b' ? &r.batch
                     : &reps) = v;
    }
    if (optind + 1 != argc || r.batch > MAX_BATCH) return usage();
    struct err e;
    const char *path = argv[optind], *made = strstr(path, "synthetic:") == path ? path + 10 : NULL;
    struct model *m = made ? synthetic_open(made, HOME_DEFAULT_MODEL, &e) : model_open(path, &e);
    struct backend_config config = {.model = m,
                                    .threads = threads,
                                    .max_seqs = r.batch,
                                    .max_seq_tokens = r.n_prompt + r.n_decode,
                                    .max_step_tokens = r.step};
    r.b = m ? backend_cpu_create_with(&config, &options, &e) : NULL;
    if (!r.b) {
        fprintf(stderr, "bench_cpu: %s: %s %s\n", argv[optind], e.field, e.text);
        return 2;
    }
    r.step = r.b->info.max_step_tokens;
    r.n_blocks = policy_blocks_for(r.n_prompt + r.n_decode);
    r.prompt = malloc((size_t)r.n_prompt * sizeof *r.prompt);
    r.table = malloc((size_t)r.batch * (size_t)r.n_blocks * sizeof *r.table);
    r.logits = malloc((size_t)r.batch * (size_t)m->config.vocab_size * sizeof *r.logits);
    struct rng g;
    rng_seed(&g, 1);
    for (int32_t i = 0; i < r.n_prompt; i++)
        r.prompt[i] = (int32_t)rng_below(&g, (uint64_t)m->config.vocab_size);
    for (int32_t i = 0; i < r.batch * r.n_blocks; i++) r.table[i] = i;
    int rc = measure(&r, threads, reps, backend_precision_name(options.precision));
    free(r.prompt);
    free(r.table);
    free(r.logits);
    backend_free(r.b);
    model_free(m);
    return rc;
}
