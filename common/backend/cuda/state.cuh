/* state.cuh: the state of the CUDA backend, shared by the plug-in's files, and how they call CUDA.
 *
 * Sizes in the comments: T = max_step_tokens, S = max_seqs, L = backend_max_logits, P =
 * max_seq_tokens. A head of the model
 * has head_dim values; a head of the kernels has `head` values (struct heads).
 */
#ifndef SERVELAB_BACKEND_CUDA_STATE_CUH
#define SERVELAB_BACKEND_CUDA_STATE_CUH

extern "C" {
#include "backend/cuda/plugin.h"
}
#include "backend/kernels.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stddef.h>

/* ---- calls that can fail: they return -1, or leave through `return` with *e filled ----------- */

int cuda_failed(struct err *e, cudaError_t status, const char *call);
int blas_failed(struct err *e, cublasStatus_t status, const char *call);
#define CUDA_TRY(call)                                                                             \
    do {                                                                                           \
        cudaError_t status_ = (call);                                                              \
        if (status_ != cudaSuccess) return cuda_failed(e, status_, #call);                         \
    } while (0)
#define BLAS_TRY(call)                                                                             \
    do {                                                                                           \
        cublasStatus_t status_ = (call);                                                           \
        if (status_ != CUBLAS_STATUS_SUCCESS) return blas_failed(e, status_, #call);               \
    } while (0)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        if (call) return -1;                                                                       \
    } while (0)

/* ---- shapes ---------------------------------------------------------------------------------- */

/* How a head lies in the kernels' tensors. Its first half holds the a of each pair (a, b) that RoPE
 * turns, its second half the b. A half is `parts` copies of pad / 2 values: with two parts, the
 * cache holds rounded values in the first copy and remainders in the second, and q is the same in
 * both, so that q . k adds them up; the output matrix then has each column twice. Padding is zero.
 */
struct heads {
    int32_t head_dim, pad, parts, head; /* head = parts * pad, a multiple of 16 */
    int32_t q, kv;                      /* heads of a token */
};

/* With CUDA_EXACT a value is the sum of so many bf16 at most: each is what the ones before it
 * leave, rounded. Three have all 24 bits of a float. */
enum { MOST_PIECES = 3 };

struct matrix {          /* (rows, cols); of BF16 (pieces, rows, cols), which add up to it */
    void *data, *scales; /* scales: of a quantised type (quant.cuh) */
    int32_t rows, cols, pieces;
    int32_t type; /* DTYPE_BF16, _Q8_0, _Q4_0, _Q4_1 or QUANT_FP8 */
};

static inline bool is_quantised(const struct matrix *m) {
    return m->type != DTYPE_BF16;
}

struct cuda_layer {
    float *attn_norm, *ffn_norm; /* (d_model) */
    float *bq, *bk, *bv;         /* NULL without bias */
    struct matrix wq, wk, wv;    /* (heads * head, d_model) */
    struct matrix wo;            /* (d_model, q heads * head) */
    struct matrix gate_up, down; /* (2 d_ffn, d_model), (d_model, d_ffn) */
    int32_t window;              /* tokens that a token sees, itself among them; 0: all */
};

/* A step's numbers, in one piece of pinned memory on the host and one on the device. */
struct inputs {
    int32_t *token, *position, *slot; /* (T): of each row */
    int32_t *wanted;                  /* (L): rows whose logits are wanted, in the batch's order */
    int32_t *length;                  /* (S): of the sequences with one row, that row included */
    int32_t *table;                   /* (S, table_blocks): rows in the order of the step's rows */
};

/* ---- memory ---------------------------------------------------------------------------------- */

enum memory_use { OF_WEIGHTS, OF_KV, OF_WORKSPACE, MEMORY_USES };

/* The same walk over all tensors first adds up their bytes and then allocates them. */
struct memory {
    bool allocate;
    int64_t bytes[MEMORY_USES];
    void **held; /* (n) */
    int32_t n;
};

/* Of choose.cu: for each row of logits four draws around the exact one, and what they gave. */
enum { DRAWS = 4 };
struct draws {
    int32_t *id;    /* (DRAWS, L); of a greedy row the first is the choice */
    int32_t *odd;   /* (L): not 0 when a logit of the row is not finite. Behind the ids in memory */
    float *logprob; /* (L): of the first id. Behind odd in memory */
    float *uniform; /* (DRAWS, L) */
};

struct cuda_backend {
    struct backend base;
    struct model_config config;
    bool exact;
    enum cuda_weights weights;
    enum cuda_kv kv;
    struct heads heads;
    int32_t table_blocks;
    char lost[400]; /* what base.lost points to */

    cudaStream_t stream;
    bool timed;                 /* a GPU's steps are; simt's times mean nothing */
    cudaEvent_t started, ended; /* of a step's work on the device */
    cudaEvent_t last_ended;     /* of the step before; these three change places */
    cudaGraphExec_t *decode;    /* (S + 1): of a decode step of so many sequences; NULL: not yet */
    cublasHandle_t blas;
    struct memory memory;

    /* weights */
    struct matrix embedding, head; /* (vocab, d_model) */
    int64_t tile_values;           /* of the largest piece of a matrix that is widened at once */
    float *final_norm;
    struct cuda_layer *layers; /* (n_layers), on the host */
    float *cosines, *sines;    /* (P, head / 2) */

    /* the KV pool: (layer, block, kv_head, 16, head), bf16 or, with key_scales, int8_t */
    void *keys, *values;
    float *key_scales, *value_scales; /* (layer, block, kv_head, 16); NULL: bf16 */
    size_t layer_kv;                  /* values of one layer in either pool */

    /* workspace, one row a token */
    float *residual, *delta, *normed;       /* (T, d_model); delta is still to be added */
    float *q, *k, *v, *mixed;               /* (T, heads * head) */
    float *gate_up, *hidden;                /* (T, 2 d_ffn), (T, d_ffn) */
    bf16 *rounded;                          /* (pieces, T, widest input of a product) */
    bf16 *tile;                             /* (tile_values): rows of a quantised matrix */
    float *partial, *split_max, *split_sum; /* (sequences * splits, q heads[, head]) */
    float *last, *logits;                   /* (L, d_model), (L, vocab) */
    struct draws draws, host_draws;         /* on the device; in pinned memory */
    struct inputs in, host_in;
    int32_t input_words; /* of either, up to the tables */
    int32_t *first_row;  /* (S), on the host: of each sequence of the step */
    void *blas_space;
};

/* device.cu: adds, or allocates, `bytes` for *p. */
int memory_take(struct cuda_backend *b, enum memory_use use, void **p, int64_t bytes,
                struct err *e);
/* device.cu: opens the device, and closes it with all that is held. */
int device_open(struct cuda_backend *b, struct err *e);
void device_close(struct cuda_backend *b);
/* device.cu: after a step: how long it ran, in base.device_start_ns and _end_ns. */
int device_time(struct cuda_backend *b, struct err *e);
/* device.cu: cuBLAS's workspace. */
int device_blas_space(struct cuda_backend *b, struct err *e);
/* device.cu: checks the plan against the device's free memory; open_blocks: kv_blocks may shrink.
 */
int device_plan(struct cuda_backend *b, bool open_blocks, FILE *say, struct err *e);

/* weights.cu: takes memory for the weights and the angles; loads them. */
int weights_take(struct cuda_backend *b, const struct model *m, struct err *e);
int weights_load(struct cuda_backend *b, const struct model *m, FILE *say, struct err *e);

/* choose.cu: takes memory for the step's choices. */
int choose_take(struct cuda_backend *b, struct err *e);
/* choose.cu: after a step that left `wanted` rows in b->logits: the tokens that were chosen on the
 * device, and the rows that are wanted, or could not be decided for certain. */
int choose_tokens(struct cuda_backend *b, int32_t wanted, struct backend_choice *choices,
                  float *logits, struct err *e);

/* forward.cu: backend_ops.step, and backend.step_choosing. */
int forward_step(struct backend *base, const struct backend_batch *batch, float *logits,
                 struct err *e);
int forward_step_choosing(struct backend *base, const struct backend_batch *batch,
                          struct backend_choice *choices, float *logits, struct err *e);
/* forward.cu: the divisions of the keys in a decode step of so many sequences. */
int32_t forward_splits(const struct cuda_backend *b, int32_t seqs);

#endif
