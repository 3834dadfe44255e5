/* cpu.h: options of the native backend beyond backend.h: the precision of its weights and of its
 * products, and planted faults.
 *
 * Re-rounded weights and faults test whether a quality check notices a change. Re-rounded weights
 * are the weights of a smaller file of the same model. A planted fault is one wrong line of a
 * serving engine, as it happens in practice. By default the model runs as it is stored, and the
 * options cost nothing.
 *
 * Numerics. Weights are widened to float exactly (dequant.h), activations, and by default keys and
 * values, are float, every product is a fused multiply-add in float, in an order that matmul.h and
 * attention.h fix. With PRECISION_FAST, products with quantised and with bfloat16 matrices have
 * rounded activations, and an order that packed.h and packed_bf16.h fix. Either way a token's
 * logits have the same bits for every batch, every division of its prompt into steps, every choice
 * of blocks and every number of threads.
 */
#ifndef SERVELAB_BACKEND_CPU_CPU_H
#define SERVELAB_BACKEND_CPU_CPU_H

#include "backend/backend.h"

/* Matrices only, the embedding and the head among them; norms and biases stay as they are. */
enum backend_weights {
    WEIGHTS_AS_STORED, /* used in place, from the mapped file */
    WEIGHTS_F32,       /* widened once: the same numbers, four bytes each */
    WEIGHTS_BF16,      /* rounded to 8 significant bits */
    WEIGHTS_INT8,      /* groups of 32 along a row, half-precision scale: the format Q8_0 */
    WEIGHTS_INT4,      /* groups of 32, half-precision scale, codes -8..7: the format Q4_0 */
    WEIGHTS_FP8        /* as floats, the values of fp8_from_row (fp8.h), which the CUDA backend
                          keeps in 8 bits: for quality, it saves no bytes */
};

/* FAST rounds the activations of every product: with matrices of type Q8_0, Q4_0 and Q4_1 to 8 bits
 * in blocks of 32, and sums integers (packed.h); with BF16 to bfloat16, and sums floats
 * (packed_bf16.h). It changes no result for F32 and F16. All weights are copied into huge pages,
 * and the file's pages are given back. */
enum backend_precision { PRECISION_EXACT, PRECISION_FAST };

/* The type of the cache's keys and values. F16 rounds each to 11 significant bits: half the bytes
 * for the same tokens. A key or value above 65,504 becomes infinite. INT8 holds, as floats, the
 * values that the CUDA backend's cache of 8 bits has (cuda.h): for quality, it saves no bytes. */
enum backend_kv { KV_F32, KV_F16, KV_INT8 };

enum backend_fault {
    FAULT_NONE,
    FAULT_LOST_KV_BLOCK,    /* logical block fault_arg of every sequence reads as zeros */
    FAULT_ROPE_OFF_BY_ONE,  /* queries are rotated by the next position */
    FAULT_WRONG_HEAD_MAP,   /* query head h reads KV head h % n_kv_heads */
    FAULT_NO_SOFTMAX_SCALE, /* scores aren't divided by sqrt(head_dim) */
    FAULT_SKIPPED_LAYER     /* layer fault_arg passes its input on */
};

struct backend_cpu_options {
    enum backend_weights weights;
    enum backend_precision precision;
    enum backend_kv kv;
    enum backend_fault fault;
    int32_t fault_arg; /* 0 where the fault takes none */
};

/* backend_cpu_create with options; NULL: the defaults. Refused with a reason: INT8 or INT4 for
 * widths that aren't multiples of 32, a block or layer that doesn't exist, and a wrong head map
 * where it would change nothing (one query head per KV head, or one KV head). */
struct backend *backend_cpu_create_with(const struct backend_config *c,
                                        const struct backend_cpu_options *o, struct err *e);

/* "f32", "bf16", ...; "exact", "fast"; "f32", "f16"; and "lost-kv-block", ...; for tables and
 * flags. */
const char *backend_weights_name(enum backend_weights w);
const char *backend_precision_name(enum backend_precision p);
const char *backend_kv_name(enum backend_kv kv);
const char *backend_fault_name(enum backend_fault f);

/* How the kernels were compiled: "avx512", "avx2", "neon" or "portable". */
const char *backend_cpu_kernels(void);

#endif
