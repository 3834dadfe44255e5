/* serve_machine.h: opens the model, the tokenizer and the backend of `servelab serve` as the flags
 * say.
 */
#ifndef SERVELAB_CLI_SERVE_MACHINE_H
#define SERVELAB_CLI_SERVE_MACHINE_H

#include "backend/backend.h"
#include "backend/cpu/cpu.h"
#include "model/tokenizer.h"

#include <limits.h>

/* AUTO: the GPU, or the CPU where there is none. SIMT: the GPU's source on the CPU. */
enum machine_backend { MACHINE_AUTO, MACHINE_CPU, MACHINE_CUDA, MACHINE_SIMT, MACHINE_NONE };
/* EXACT and FAST as in enum backend_precision. */
enum machine_precision { MACHINE_EXACT, MACHINE_FAST, MACHINE_BF16 };
enum { MACHINE_DEFAULT = -1 };                 /* a choice that no flag made */
extern const char *const machine_backends[];   /* their names, NULL at the end */
extern const char *const machine_precisions[]; /* likewise */
extern const char *const machine_kv_types[];   /* of enum backend_kv, likewise */
extern const char *const machine_weights[];    /* of enum cuda_weights, likewise */
#define MACHINE_KV_TYPE_HELP                                                                       \
    "of the computed cache: f32, or f16: keys and values are rounded and take half the bytes "     \
    "(f32). cuda and simt: int8, half the bytes of their bf16 (bf16)"
#define MACHINE_PRECISION_HELP                                                                     \
    "exact, or fast: products round their inputs, to 8 bits with Q8_0, Q4_0 and Q4_1 weights and " \
    "to bfloat16 with BF16; changes no result for F32 and F16 (exact). cuda and simt have bf16 "   \
    "and exact (bf16)"

/* Numbers that are 0 take the default. */
struct machine_flags {
    const char *model;     /* NULL: the embedded one */
    const char *synthetic; /* a shape (backend/synthetic.h): `model` gives the tokenizer; or NULL */
    int backend;           /* enum machine_backend */
    int precision;         /* enum machine_precision, or MACHINE_DEFAULT */
    int kv_type;           /* enum backend_kv, or MACHINE_DEFAULT */
    int weights;           /* enum cuda_weights */
    long long threads, context, max_batch, token_budget, kv_blocks, kv_bytes;
    const char *pace; /* "llama-2-7b:h100", or NULL */
    long long weight_bits, kv_bits;
    double pace_scale;
    const char *draft; /* the draft model's file (serve/speculation.h), or NULL */
    long long draft_tokens;
    double draft_cost; /* paced time of a step of the draft / of the same step of the target */
};

struct machine {
    const char *path; /* of the model's file */
    char path_room[PATH_MAX];
    struct model *model;
    struct tokenizer *tokenizer;
    struct backend *backend;
    struct model *draft_model; /* NULL: no draft model, likewise */
    struct backend *draft;
    char no_gpu[400]; /* why AUTO took the CPU; "" otherwise */
};

/* -1 and *e, which names the flag at fault or belongs to the model's file; machine_close after
 * either. */
int machine_open(struct machine *m, const struct machine_flags *f, struct err *e);
void machine_close(struct machine *m);

#endif
