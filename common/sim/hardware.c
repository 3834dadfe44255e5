/* hardware.c: the known models and GPUs, and the formulas of a deployment's cost model. See
 * hardware.h. Not here: the fit of the calibrated figures (calibration/fit.py).
 *
 * The cost model is computed in integers: products have 128 bits where 64 don't suffice, fractions
 * are first rounded to multiples of 2^-30. */
#include "sim/hardware.h"

#include "base/nearest.h"
#include "sched/policy.h"
#include "sim/calibration.h"

#include <string.h>

/* ---- models: shapes from the published config.json of each, parameters counted from them ---- */

static const struct model_shape models[] = {
    {"llama-2-7b", 4096, 32, 32, 32, 128, 11008, 32000, INT64_C(6738415616), 1, 1, false},
    {"mistral-7b", 4096, 32, 32, 8, 128, 14336, 32768, INT64_C(7248023552), 1, 1, false}, /* v0.3 */
    {"qwen2.5-7b", 3584, 28, 28, 4, 128, 18944, 152064, INT64_C(7615616512), 1, 1, false},
    {"llama-3.1-8b", 4096, 32, 32, 8, 128, 14336, 128256, INT64_C(8030261248), 1, 1, false},
    {"smollm2-135m", 576, 30, 9, 3, 64, 1536, 49152, INT64_C(134515008), 1, 1, true},
    /* Jiang et al., "Mixtral of Experts", 2024: 46.7e9 parameters, 12.9e9 of them for each token */
    {"mixtral-8x7b", 4096, 32, 32, 8, 128, 14336, 32000, INT64_C(46702792704), 8, 2, false},
};

/* NVIDIA A100 80GB SXM data sheet (2021): 2,039 GB/s, 312 TFLOPS of bfloat16. NVIDIA H100 SXM data
 * sheet (2023): 3.35 TB/s, 1,979 TFLOPS with sparsity, which is half of that without. */
static const struct gpu gpus[] = {
    {"a100", INT64_C(80) << 30, 2.039e12, 312e12, A100_BANDWIDTH, A100_FLOPS, A100_OVERHEAD_NS},
    {"h100", INT64_C(80) << 30, 3.35e12, 989.5e12, H100_BANDWIDTH, H100_FLOPS, H100_OVERHEAD_NS},
};
enum { N_MODELS = sizeof models / sizeof *models, N_GPUS = sizeof gpus / sizeof *gpus };

static int no_such_name(const char *flag, const char *what, const char *text,
                        const char *const *names, size_t n, struct err *e) {
    char known[200];
    return err_at(e, 0, flag, "there is no %s '%.40s'; did you mean '%s'? Known: %s", what, text,
                  nearest_name(text, names, n), list_names(names, n, known, sizeof known));
}

int deployment_find(const char *model, const char *gpu, struct deployment *out, struct err *e) {
    const char *names[N_MODELS > N_GPUS ? N_MODELS : N_GPUS];
    size_t m = 0, g = 0;
    while (m < N_MODELS && strcmp(models[m].name, model)) m++;
    while (g < N_GPUS && strcmp(gpus[g].name, gpu)) g++;
    if (m == N_MODELS) {
        for (size_t i = 0; i < N_MODELS; i++) names[i] = models[i].name;
        return no_such_name("--model", "model", model, names, N_MODELS, e);
    }
    if (g == N_GPUS) {
        for (size_t i = 0; i < N_GPUS; i++) names[i] = gpus[i].name;
        return no_such_name("--gpu", "GPU", gpu, names, N_GPUS, e);
    }
    *out = (struct deployment){.model = &models[m],
                               .gpu = &gpus[g],
                               .weight_bits = 16,
                               .kv_bits = 16,
                               .fused = true,
                               .memory_reserve = 0.1};
    return 0;
}

static bool in_range(double x, double lo, double hi) {
    return x >= lo && x <= hi; /* false for NaN */
}

static int check(const struct deployment *d, struct err *e) {
    if (d->weight_bits != 16 && d->weight_bits != 8 && d->weight_bits != 4)
        return err_at(e, 0, "weight_bits", "is %d; 16, 8 and 4 are modelled", d->weight_bits);
    if (d->kv_bits != 16 && d->kv_bits != 8 && d->kv_bits != 4)
        return err_at(e, 0, "kv_bits", "is %d; 16, 8 and 4 are modelled", d->kv_bits);
    if (d->draft_tokens < 0 || d->draft_tokens > 64)
        return err_at(e, 0, "draft_tokens", "is %d; give 0 (off) to 64", d->draft_tokens);
    if (!in_range(d->acceptance, 0, 1))
        return err_at(e, 0, "acceptance", "is %g; a probability lies between 0 and 1",
                      d->acceptance);
    if (!in_range(d->draft_cost, 0, 10))
        return err_at(e, 0, "draft_cost",
                      "is %g; give the draft's step as a share of the target's, 0 to 10",
                      d->draft_cost);
    if (!in_range(d->memory_reserve, 0, 0.99))
        return err_at(e, 0, "memory_reserve", "is %g; give a share from 0 to 0.99",
                      d->memory_reserve);
    return 0;
}

/* ---- counting parameters ---- */

/* One layer's, without the experts; and one expert's. Norms and biases are left out: 0.01 %. */
static int64_t attention_parameters(const struct model_shape *m) {
    int64_t q = (int64_t)m->heads * m->head_size, kv = (int64_t)m->kv_heads * m->head_size;
    int64_t router = m->experts > 1 ? (int64_t)m->width * m->experts : 0;
    return m->width * (2 * q + 2 * kv) + router;
}

static int64_t expert_parameters(const struct model_shape *m) {
    return (int64_t)3 * m->width * m->ffn; /* gate, up, down */
}

static int64_t layer_parameters(const struct model_shape *m, int64_t experts) {
    return m->layers * (attention_parameters(m) + experts * expert_parameters(m));
}

static int64_t head_parameters(const struct model_shape *m) {
    return (int64_t)m->width * m->vocabulary;
}

/* ---- weight and KV precision ----
 *
 * Weight-only quantisation (GPTQ: Frantar et al., ICLR 2023; AWQ: Lin et al., MLSys 2024) stores
 * weights in 8 or 4 bits and dequantises them to 16 bits inside the kernel: fewer bytes, the same
 * 16-bit operations. Assumed: only the layers' matrices are quantised, embedding and head keep 16
 * bits, as in published checkpoints; scales (0.16 bits a weight for groups of 128) are left out;
 * dequantisation is free. The last is optimistic: calibration/README.md has measured figures. KV
 * precision (KIVI: Liu et al., ICML 2024) likewise: fewer bytes to read and to store, the same
 * operations.
 */
int64_t deployment_weight_bytes(const struct deployment *d) {
    int64_t outside = head_parameters(d->model) * (d->model->tied ? 1 : 2);
    return layer_parameters(d->model, d->model->experts) * d->weight_bits / 8 + outside * 2;
}

int64_t deployment_kv_bytes_per_token(const struct deployment *d) {
    const struct model_shape *m = d->model;
    return (int64_t)2 * m->layers * m->kv_heads * m->head_size * d->kv_bits / 8;
}

static int64_t bytes_ps(const struct deployment *d, int64_t bytes) {
    return (int64_t)((__int128)bytes * 1000000000000 / d->gpu->effective_bandwidth);
}

/* amount operations, in units of 1/per second */
static int64_t operations_time(const struct deployment *d, int64_t operations, int64_t per) {
    return (int64_t)((__int128)operations * per / d->gpu->effective_flops);
}

/* ---- mixture of experts ----
 *
 * Each token goes to k of E experts (Shazeer et al., ICLR 2017; Mixtral: Jiang et al., 2024). Only
 * k experts compute for it, so operations count active parameters; but an iteration must read every
 * expert that any token of the batch uses. With uniform, independent routing that is
 * E * (1 - (1 - k/E)^tokens) experts of each layer on average: nearly all of them from a few dozen
 * tokens on. So a mixture decodes like a small model at batch 1 and reads like a large one in a
 * batch. Assumed: uniform routing (trained routers are balanced on average, not in each batch:
 * fewer are touched); tiles as in a dense model, though each expert sees only its part of the
 * tokens.
 */
int64_t experts_touched_65536(int32_t experts, int32_t active, int64_t tokens) {
    int64_t untouched = INT64_C(1)
                        << 40; /* (1 - k/E)^tokens in 2^-40; times E it stays below 2^63 */
    for (int64_t t = 0; t < tokens && untouched > 0; t++)
        untouched = untouched * (experts - active) / experts;
    return experts * (INT64_C(65536) - (untouched >> 24));
}

static int64_t weights_ps(const struct deployment *d, int64_t tokens) {
    const struct model_shape *m = d->model;
    int64_t whole = bytes_ps(d, m->layers * attention_parameters(m) * d->weight_bits / 8);
    int64_t expert = bytes_ps(d, m->layers * expert_parameters(m) * d->weight_bits / 8);
    int64_t touched = experts_touched_65536(m->experts, m->active_experts, tokens);
    return whole + (int64_t)((__int128)expert * touched >> 16);
}

/* ---- speculative decoding ----
 *
 * A draft proposes g tokens, the target checks them in one pass over g + 1 tokens, and keeps the
 * longest accepted beginning and adds one token (Leviathan, Kalman, Matias, ICML 2023). With
 * independent acceptance of probability a, a round yields E = 1 + a + ... + a^g =
 * (1 - a^(g+1)) / (1 - a) tokens, and costs g draft steps and one pass.
 *
 * In this simulator a decode iteration gives each sequence one token and lasts 1/E of a round. So
 * the time per token and the throughput are those of speculative decoding, but three things differ:
 * tokens come evenly instead of E at once (ITL percentiles are smoothed, TPOT is right), there are
 * E times as many iterations as a real engine has passes, and acceptance doesn't vary between
 * requests. An iteration with any prefill is computed without speculation: prefill uses the rest of
 * its budget. Assumed: the draft's weights and cache take no memory from the target's.
 */
static int64_t fraction_2_30(double x) {
    return (int64_t)(x * 1073741824.0 + 0.5);
}

static int64_t tokens_per_round_2_30(const struct deployment *d) {
    int64_t a = fraction_2_30(d->acceptance), one = INT64_C(1) << 30, sum = one;
    for (int i = 0; i < d->draft_tokens; i++)
        sum = one + (int64_t)((__int128)a * sum >> 30); /* Horner */
    return sum;
}

double deployment_tokens_per_round(const struct deployment *d) {
    return (double)tokens_per_round_2_30(d) / 1073741824.0;
}

/* ---- operator fusion ----
 *
 * The calibrated figures were measured with fused operators (and recorded launches, CUDA graphs).
 * Without them the host launches every small operator by itself, and at small batches the GPU waits
 * for the host. Launches are asynchronous, so that they set a lower bound on the time and add
 * nothing where the GPU is slower: time = max(time, layers * host time of a layer's launches). The
 * host time is that of eager PyTorch: Llama-2-7B at batch 1 on an A100 at 25.5 tokens/s before
 * compiling
 * ("Accelerating Generative AI with PyTorch II: GPT, Fast", pytorch.org, 2023), which is 1.225 ms
 * for each of 32 layers. Assumed: the same host for every GPU; the additional reads and writes
 * of unfused operators are left out.
 */
enum { UNFUSED_LAYER_NS = 1225000 };

/* ---- the cost model and the cache ---- */

int deployment_cost(const struct deployment *d, struct cost_model *out, struct err *e) {
    if (check(d, e)) return -1;
    const struct model_shape *m = d->model;
    int64_t active = layer_parameters(m, m->active_experts);
    *out = (struct cost_model){
        .kind = COST_TRANSFORMER,
        .memory_fixed_ps = weights_ps(d, INT64_MAX),
        .memory_per_context_ps = bytes_ps(d, deployment_kv_bytes_per_token(d)),
        .compute_per_token_ps = operations_time(d, 2 * active, 1000000000000),
        .compute_per_attended_fs =
            operations_time(d, (int64_t)4 * m->heads * m->head_size * m->layers, 1000000000000000),
        .overhead_ns = d->gpu->overhead_ns * m->layers / CALIBRATED_LAYERS,
        .head_memory_ps = bytes_ps(d, 2 * head_parameters(m)),
        .head_compute_ps = operations_time(d, 2 * head_parameters(m), 1000000000000),
        .tile_mask = CALIBRATED_TILE_TOKENS - 1,
        .tile_from = CALIBRATED_TILE_FROM,
        .overlap_loss_1024 = CALIBRATED_OVERLAP_LOSS_1024,
        .launch_floor_ns = d->fused ? 0 : (int64_t)UNFUSED_LAYER_NS * m->layers,
        .draft_tokens = d->draft_tokens,
        .draft_1048576 = d->draft_tokens * (fraction_2_30(d->draft_cost) >> 10),
        .round_share_1048576 = (INT64_C(1) << 50) / tokens_per_round_2_30(d),
        .tabled = true};
    for (int64_t t = 1; t < COST_KNOWN; t++)
        out->known_ps[t] = cost_matrices_ps(out, weights_ps(d, t), t);
    return 0;
}

int64_t deployment_kv_blocks(const struct deployment *d, struct err *e) {
    if (check(d, e)) return -1;
    int64_t kept =
        (int64_t)((__int128)d->gpu->memory_bytes * fraction_2_30(d->memory_reserve) >> 30);
    int64_t weights = deployment_weight_bytes(d), left = d->gpu->memory_bytes - kept - weights;
    int64_t block = deployment_kv_bytes_per_token(d) * KV_BLOCK_TOKENS;
    if (left < block)
        return err_at(e, 0, "--gpu",
                      "%s at %d bits needs %.1f GB for its weights; of %s's %.1f GB %.1f are kept "
                      "for activations. Fewer weight bits or another model",
                      d->model->name, d->weight_bits, (double)weights / 1e9, d->gpu->name,
                      (double)d->gpu->memory_bytes / 1e9, (double)kept / 1e9);
    return left / block;
}

int32_t kv_unused_slots(int32_t tokens) {
    return policy_blocks_for(tokens) * KV_BLOCK_TOKENS - tokens;
}
