/* cuda.h: the CUDA backend: CUDA C and cuBLAS in a plug-in, for a GPU or, from the same source, for
 * the CPU.
 *
 * The plug-in is a shared object, loaded when a backend is created, so that one program starts with
 * or without a GPU. There are two of them, from the same files: nvcc compiles one for the GPU,
 * simtcc (simt/simt.h) the other for the CPU. The kernels are lab 03's (solutions/03_kernels;
 * with MINE=03 the learner's, where they are written), launched as their launch.json says. A
 * prompt's attention with CUDA_BF16 is a kernel of this folder (prompt.cuh), which also knows
 * windows and caches of 8 bits; the learner's attention_prefill takes its place where it can.
 *
 * Numerics. CUDA_BF16 holds keys and values in bf16, and weights in bf16, as models are published,
 * or quantised (enum cuda_weights). Activations are float. A product of several rows rounds them to
 * bf16 first; all sums are taken in float. Quantised weights are widened where they are used: in
 * float for up to 8 rows, whose activations are not rounded; else to bf16, a piece of the matrix at
 * a time, for cuBLAS. So weights of type FP8 need no tensor cores that multiply FP8 (sm_89 and
 * later), which would ask for activations in FP8: they run on every device that the rest runs on.
 *
 * CUDA_EXACT follows the native backend, with products that tensor cores can do. A number is split
 * into bf16 pieces: its rounded value, the rounded value of what that leaves, and so on. An
 * activation has three pieces, which are all of its 24 bits. A weight has as many as its stored
 * type needs: one for BF16, two for F16 and Q4_0, three for others; so a BF16 model takes no more
 * memory than with CUDA_BF16. Of the products of pieces, those that a float sum can't see are left
 * out: 3, 5 or 6 products of bf16 are left, summed in float, the smallest first. One row of a
 * matrix of one piece goes to gemv, which takes activations in float. Each key and value is two
 * bf16, so 16 significant bits. A head is then twice as wide for the kernels; heads of more than
 * KERNEL_MAX_HEAD_DIM / 2 values keep one bf16. Measured through simtcc, as the greatest difference
 * from transformers' logits on the small random models, of the greatest logit: 5.4e-5 (float
 * products: 5.2e-5; two pieces: 8.3e-5). Keys and values of 16 bits are the greatest part of it.
 *
 * A token's logits agree for every batch, division into steps and choice of blocks up to the order
 * of sums.
 *
 * The plan of the device's memory is exact, made before anything is loaded: weights, KV blocks,
 * workspace, and a reserve for what the driver takes. A plan that doesn't fit is refused with its
 * numbers. Where the caller leaves the number of KV blocks open, it is as many as fit, at most what
 * max_seqs sequences need.
 *
 * It makes choices itself (backend_step_choosing): 24 bytes a row come back instead of 4 times the
 * vocabulary. choose.cu says how they are exactly the host's.
 *
 * So far it has run through simtcc only, never on a GPU.
 */
#ifndef SERVELAB_BACKEND_CUDA_CUDA_H
#define SERVELAB_BACKEND_CUDA_CUDA_H

#include "backend/backend.h"

#include <stdio.h>

enum cuda_machine { CUDA_GPU, CUDA_SIMT };
enum cuda_precision { CUDA_BF16, CUDA_EXACT };
/* What CUDA_BF16 makes of matrices: those of the types Q8_0, Q4_0 and Q4_1 stay as they are stored,
 * others become bf16; or all are rounded to Q8_0 or Q4_0 (groups of 32), or to codes of 8 bits with
 * an exponent, E4M3, and a power of two for each row. */
enum cuda_weights { CUDA_WEIGHTS_STORED, CUDA_WEIGHTS_INT8, CUDA_WEIGHTS_INT4, CUDA_WEIGHTS_FP8 };

/* The cache of CUDA_BF16. INT8: codes of 8 bits and a float scale for each head's key and value of
 * each token; half the bytes. Decode then has a kernel without tensor cores (paged.cuh). */
enum cuda_kv { CUDA_KV_BF16, CUDA_KV_INT8 };

struct backend_cuda_options {
    enum cuda_machine machine;
    enum cuda_precision precision;
    FILE *say; /* the memory plan and the progress of loading; NULL: nothing */
    enum cuda_weights weights;
    enum cuda_kv kv;
};

/* Free it with backend_free. NULL and *e on failure: the plug-in's file, the driver or the device
 * at fault, a model that the kernels can't take, or a plan of memory that doesn't fit. */
struct backend *backend_cuda_create(const struct backend_config *c,
                                    const struct backend_cuda_options *o, struct err *e);

/* Names the machine's plug-in beside the program, or the file that SERVELAB_CUDA or SERVELAB_SIMT
 * names; "" where neither is known (/proc is absent). Returns out. */
const char *backend_cuda_plugin(enum cuda_machine machine, char *out, size_t cap);

#endif
