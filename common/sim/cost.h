/* cost.h: computes the time of one iteration by one of three cost models, whose assumptions it
 * states.
 *
 * 1. setup-plus-per-request: an iteration with n requests takes setup + n * per_request. One
 * iteration serves a whole request. The model of the examples worked by hand: batching pays because
 * the batch shares the fixed cost.
 *
 * 2. service: each request has its own service time, an iteration takes their sum. The model of
 * queueing theory.
 *
 * 3. transformer: the roofline (Williams, Waterman, Patterson, CACM 2009). An iteration is three
 * groups of kernels, one after the other, and each takes the longer of the time that its bytes and
 * the time that its operations need:
 *
 *   matrices   bytes: the layers' weights, once an iteration for any batch
 *              operations: 2 * parameters of the layers, for each new token
 *   attention  bytes: the keys and values of every token in the batch's caches
 *              operations: 4 * width * layers, for each pair (new token, position it attends to)
 *   head       bytes: the output matrix
 *              operations: 2 * width * vocabulary, for each sequence: only its last token is
 *              turned into logits
 *   + overhead starting and ending the kernels, and the time between them
 *
 * The weights are read once for the whole batch: so batching pays in decode, until the operations
 * take longer than the bytes. Attention shares nothing between sequences: batching doesn't make it
 * cheaper, and a long context costs time in every iteration.
 *
 * Two refinements of the matrices, both visible in measured times (calibration.h):
 *   tiles    matrix kernels work on tiles of 128 tokens: 129 tokens take as long as 256. Up to 64
 *            tokens other kernels run, without tiles.
 *   overlap  where bytes and operations take about equally long, neither hides the other entirely:
 *            time = longer + loss * shorter^2 / longer. The correction vanishes away from the
 *            ridge, where the roofline is the plain maximum.
 *
 * The figures of a deployment come from hardware.h, with the errors of the fit. All arithmetic is
 * in integers, so that a run is the same to the last bit on every machine. Nothing overflows up to
 * 512 sequences of 131,072 tokens, all in prefill (test_hardware.c).
 */
#ifndef SERVELAB_SIM_COST_H
#define SERVELAB_SIM_COST_H

#include <stdbool.h>
#include <stdint.h>

/* The work of one iteration. */
struct sim_work {
    int32_t requests;       /* sequences in the batch */
    int64_t new_tokens;     /* tokens processed, all sequences together */
    int64_t context_tokens; /* sum over the sequences of the tokens in their cache, the new ones
                               included */
    int64_t attended;       /* sum over the new tokens of the positions each attends to */
    int64_t service_ns;     /* sum of the requests' own service times (model 2) */
};

enum cost_kind { COST_PER_REQUEST, COST_SERVICE, COST_TRANSFORMER };

enum {
    COST_KNOWN = 512
}; /* sizes whose matrix times are in a table: decode, and the experts touched */

struct cost_model {
    enum cost_kind kind;
    int64_t setup_ns, per_request_ns; /* COST_PER_REQUEST */

    /* COST_TRANSFORMER; a cost of 0 is left out */
    int64_t memory_fixed_ps;       /* reading the weights */
    int64_t memory_per_context_ps; /* reading one token's keys and values */
    int64_t compute_per_token_ps;
    int64_t compute_per_attended_fs; /* femtoseconds: one position of one token's attention */
    int64_t overhead_ns;

    int64_t head_memory_ps;       /* reading the output matrix */
    int64_t head_compute_ps;      /* one sequence's logits */
    int32_t tile_mask, tile_from; /* tokens of a tile less 1 (127); no tiles up to tile_from */
    int32_t overlap_loss_1024;    /* 1024 times the loss */
    int64_t launch_floor_ns;      /* time in which the host starts the kernels: no iteration is
                                     shorter (unfused operators) */
    int32_t draft_tokens;         /* speculative decoding, see hardware.h */
    int64_t draft_1048576;        /* 2^20 times the drafts' share of a plain iteration */
    int64_t round_share_1048576;  /* 2^20 / tokens per round */
    bool tabled; /* known_ps holds the matrices' times of 0 .. COST_KNOWN - 1 tokens */
    int64_t known_ps[COST_KNOWN];
};

/* longer + loss * shorter^2 / longer */
static inline int64_t cost_overlap_ps(const struct cost_model *m, int64_t a_ps, int64_t b_ps) {
    int64_t longer = a_ps > b_ps ? a_ps : b_ps, shorter = a_ps > b_ps ? b_ps : a_ps;
    if (m->overlap_loss_1024 == 0 || longer < 65536) return longer;
    int64_t ratio_65536 = shorter / (longer / 65536);
    return longer + shorter / 65536 * ratio_65536 / 1024 * m->overlap_loss_1024;
}

/* The time of the matrices, whose weights take memory_ps to read. */
static inline int64_t cost_matrices_ps(const struct cost_model *m, int64_t memory_ps,
                                       int64_t tokens) {
    int64_t padded = tokens <= m->tile_from ? tokens : (tokens + m->tile_mask) & ~m->tile_mask;
    return cost_overlap_ps(m, memory_ps, padded * m->compute_per_token_ps);
}

static inline int64_t cost_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* One forward pass, in nanoseconds. */
static inline int64_t cost_pass_ns(const struct cost_model *m, int64_t sequences, int64_t tokens,
                                   int64_t context, int64_t attended) {
    int64_t matrices = m->tabled && (uint64_t)tokens < COST_KNOWN
                           ? m->known_ps[tokens]
                           : cost_matrices_ps(m, m->memory_fixed_ps, tokens);
    /* in two parts, because attended * femtoseconds can exceed 63 bits */
    int64_t whole = m->compute_per_attended_fs / 1000, rest = m->compute_per_attended_fs % 1000;
    int64_t attention =
        cost_max(context * m->memory_per_context_ps, attended * whole + attended * rest / 1000);
    int64_t head = cost_max(m->head_memory_ps, sequences * m->head_compute_ps);
    return cost_max((matrices + attention + head) / 1000 + m->overhead_ns, m->launch_floor_ns);
}

/* A token's share of a round of speculative decoding: drafts, then one pass over draft_tokens + 1
 * tokens of each sequence. */
static inline int64_t cost_speculative_ns(const struct cost_model *m, const struct sim_work *w,
                                          int64_t plain_ns) {
    int64_t each = m->draft_tokens + 1;
    int64_t check_ns = cost_pass_ns(m, w->requests * each, w->new_tokens * each, w->context_tokens,
                                    w->attended * each);
    int64_t round_ns = check_ns + (int64_t)((__int128)plain_ns * m->draft_1048576 >> 20);
    return (int64_t)((__int128)round_ns * m->round_share_1048576 >> 20);
}

static inline int64_t cost_iteration_ns(const struct cost_model *m, const struct sim_work *w) {
    if (m->kind == COST_PER_REQUEST) return m->setup_ns + w->requests * m->per_request_ns;
    if (m->kind == COST_SERVICE) return w->service_ns;
    int64_t ns = cost_pass_ns(m, w->requests, w->new_tokens, w->context_tokens, w->attended);
    if (m->draft_tokens == 0 || w->new_tokens != w->requests) return ns; /* some prefill in it */
    return cost_speculative_ns(m, w, ns);
}

#endif
