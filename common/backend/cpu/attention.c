/* attention.c: blocked attention over the paged cache. See attention.h for the layout and for the
 * order of summation. Not here: rotary positions (ops.c), ownership of blocks.
 *
 * The unit of work is a tile of queries of one KV head's group (prefill: it walks all chunks of
 * keys) or one chunk of keys of a single query (decode: the thread that finishes the last chunk
 * joins them). Both compute a chunk and join chunks with the same functions.
 */
#include "backend/cpu/attention.h"

#include "backend/cpu/dequant.h"
#include "backend/cpu/vec.h"
#include "base/err.h"
#include "sched/policy.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    KEY_VECS = KV_BLOCK_TOKENS / VW, /* vectors that hold one value of a block's keys */
    ROWS = VEC_REGISTERS >= 32 && VW == 16 ? 8 : 4, /* queries whose scores fit the registers */
    VALUE_ROWS = 4, /* queries whose weighted values fit, VALUE_VECS vectors at a time */
    VALUE_VECS = VEC_REGISTERS >= 32 ? 4 : 2,
    TILE_ROWS_WANTED = 64 /* queries times heads of a prefill tile: 16 KB of state at head_dim 64 */
};

/* One row is one query of one head. */
struct rows_state {
    float *max, *sum; /* (rows) */
    float *o;         /* (rows, head_pad): sum of exp(score - max) * value */
};

struct thread_scratch {
    float *packed;                        /* (rows / ROWS, head_dim, ROWS): scaled queries */
    struct rows_state state;              /* of a tile */
    float max[ROWS], sum[ROWS];           /* of a chunk */
    float *o;                             /* (ROWS, head_pad) of a chunk */
    float scores[ROWS * ATTENTION_CHUNK]; /* then exp(score - max) */
};

struct item {
    int32_t span, kv_head;
    int32_t first, n; /* queries of a tile; n = 0: `first` is the chunk of a single query */
};

struct attention {
    struct attention_shape shape;
    int32_t group, head_pad, tile_queries, tile_rows;
    int32_t threads, max_items, max_chunks;
    const struct attention_span *spans;
    struct item *items;
    int32_t n_items;
    float *partial; /* (span, kv_head, chunk, group * (head_pad + 2)) of single queries */
    _Atomic int32_t *chunks_left; /* (span, kv_head) */
    struct thread_scratch *t;     /* (threads) */
    /* of the running layer */
    const float *q;
    const uint8_t *keys, *values;
    float *out;
    int32_t q_stride, out_stride, window;
};

/* The keys of a chunk that a row sees: from `from` up to `to`; none: to = 0. */
struct seen {
    int32_t from, to;
};

static const float zero_block[KV_BLOCK_TOKENS * ATTENTION_MAX_HEAD_DIM];

/* ---- creation -------------------------------------------------------------------------------- */

static float *floats(size_t n) {
    return aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64);
}

static bool create_scratch(struct attention *a) {
    a->t = calloc((size_t)a->threads, sizeof *a->t);
    if (!a->t) return false;
    size_t rows = (size_t)(a->tile_rows + ROWS - 1) / ROWS * ROWS, pad = (size_t)a->head_pad;
    for (int32_t i = 0; i < a->threads; i++) {
        struct thread_scratch *t = &a->t[i];
        t->packed = floats(rows * (size_t)a->shape.head_dim);
        t->state = (struct rows_state){floats(rows), floats(rows), floats(rows * pad)};
        t->o = floats(ROWS * pad);
        if (!t->packed || !t->state.max || !t->state.sum || !t->state.o || !t->o) return false;
        memset(t->packed, 0, rows * (size_t)a->shape.head_dim * sizeof(float));
    }
    return true;
}

struct attention *attention_create(const struct attention_shape *shape, int32_t threads,
                                   int32_t max_spans, int32_t max_queries, int32_t max_seq_tokens) {
    INVARIANT(shape->head_dim <= ATTENTION_MAX_HEAD_DIM);
    struct attention *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->shape = *shape;
    a->threads = threads;
    a->group = shape->n_heads / shape->n_kv_heads;
    a->head_pad = attention_head_pad(shape->head_dim);
    a->tile_queries = a->group < TILE_ROWS_WANTED ? TILE_ROWS_WANTED / a->group : 1;
    a->tile_rows = a->tile_queries * a->group;
    a->max_chunks = (max_seq_tokens + ATTENTION_CHUNK - 1) / ATTENTION_CHUNK;
    int64_t tiles = max_queries / a->tile_queries + (int64_t)max_spans;
    int64_t items = (tiles + (int64_t)max_spans * a->max_chunks) * shape->n_kv_heads;
    if (items > INT32_MAX) {
        free(a);
        return NULL;
    }
    a->max_items = (int32_t)items;
    a->items = malloc((size_t)items * sizeof *a->items);
    size_t groups = (size_t)max_spans * (size_t)shape->n_kv_heads;
    a->partial =
        floats(groups * (size_t)a->max_chunks * (size_t)a->group * (size_t)(a->head_pad + 2));
    a->chunks_left = calloc(groups, sizeof *a->chunks_left);
    if (!a->items || !a->partial || !a->chunks_left || !create_scratch(a)) {
        attention_free(a);
        return NULL;
    }
    return a;
}

void attention_free(struct attention *a) {
    if (!a) return;
    for (int32_t i = 0; a->t && i < a->threads; i++) {
        free(a->t[i].packed);
        free(a->t[i].state.max);
        free(a->t[i].state.sum);
        free(a->t[i].state.o);
        free(a->t[i].o);
    }
    free(a->t);
    free(a->items);
    free(a->partial);
    free(a->chunks_left);
    free(a);
}

void attention_plan(struct attention *a, const struct attention_span *spans, int32_t n_spans) {
    a->spans = spans;
    a->n_items = 0;
    for (int32_t s = 0; s < n_spans; s++) {
        bool single = spans[s].n_queries == 1;
        int32_t n = single ? spans[s].pos0 / ATTENTION_CHUNK + 1 : spans[s].n_queries;
        int32_t step = single ? 1 : a->tile_queries;
        for (int32_t first = 0; first < n; first += step)
            for (int32_t h = 0; h < a->shape.n_kv_heads; h++) {
                INVARIANT(a->n_items < a->max_items);
                int32_t tile = n - first < step ? n - first : step;
                a->items[a->n_items++] = (struct item){s, h, first, single ? 0 : tile};
            }
    }
}

/* ---- the cache ------------------------------------------------------------------------------- */

VEC_INLINE void put_value(bool half, void *block, int32_t i, float v) {
    if (half)
        ((uint16_t *)block)[i] = f32_to_f16(v);
    else
        ((float *)block)[i] = v;
}

VEC_INLINE void put(bool half, const struct attention_shape *shape, void *keys, void *values,
                    int32_t slot, const float *k, const float *v) {
    int32_t pad = attention_head_pad(shape->head_dim);
    for (int32_t d = 0; d < pad; d++) {
        bool within = d < shape->head_dim;
        put_value(half, keys, d * KV_BLOCK_TOKENS + slot, within ? k[d] : 0);
        put_value(half, values, slot * pad + d, within ? v[d] : 0);
    }
}

void attention_put(const struct attention_shape *shape, void *keys, void *values, int32_t slot,
                   const float *k, const float *v) {
    if (shape->half)
        put(true, shape, keys, values, slot, k, v);
    else
        put(false, shape, keys, values, slot, k, v);
}

/* VW values of the cache, `i` values behind p. */
VEC_INLINE vf load_kv(bool half, const uint8_t *p, size_t i) {
    return half ? widen_f16(p + 2 * i) : vf_load((const float *)p + i);
}

static const uint8_t *block_of(const struct attention *a, const uint8_t *pool,
                               const struct attention_span *s, int32_t kv_head, int32_t logical) {
    if (logical == a->shape.lost_block) return (const uint8_t *)zero_block;
    size_t physical = (size_t)s->block_table[logical];
    return pool + (physical * (size_t)a->shape.n_kv_heads + (size_t)kv_head) *
                      attention_head_block(&a->shape);
}

static int32_t head_of_row(const struct attention *a, int32_t kv_head, int32_t i) {
    return a->shape.interleaved_groups ? kv_head + i * a->shape.n_kv_heads : kv_head * a->group + i;
}

/* ---- one chunk of keys ----------------------------------------------------------------------- */

/* Scores of `rows` packed queries against one block or two. */
VEC_INLINE void scores_of(bool half, int rows, int blocks, const float *packed,
                          const uint8_t *const k[2], int32_t head_dim, float *scores) {
    vf acc[ROWS][2 * KEY_VECS];
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < blocks * KEY_VECS; j++) acc[r][j] = (vf){0};
    for (int32_t d = 0; d < head_dim; d++) {
        vf key[2 * KEY_VECS];
        for (int b = 0; b < blocks; b++)
            for (int j = 0; j < KEY_VECS; j++) {
                key[b * KEY_VECS + j] = load_kv(half, k[b], (size_t)d * KV_BLOCK_TOKENS + j * VW);
                VEC_KEEP(key[b * KEY_VECS + j]);
            }
        for (int r = 0; r < rows; r++) {
            vf q = vf_set(packed[d * ROWS + r]);
            for (int j = 0; j < blocks * KEY_VECS; j++) acc[r][j] = vf_fma(q, key[j], acc[r][j]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < blocks * KEY_VECS; j++)
            vf_store(scores + r * ATTENTION_CHUNK + j * VW, acc[r][j]);
}

/* Few rows: two blocks at a time, because each multiply-add of a chain waits four cycles for the
 * one before it. */
VEC_INLINE void scores_of_few(bool half, const struct attention *a, const struct attention_span *s,
                              int32_t kv_head, int32_t block0, int32_t blocks, int32_t rows,
                              const float *packed, float *scores) {
    int32_t hd = a->shape.head_dim, last = block0 + blocks - 1;
    for (int32_t b = 0; b < blocks; b += 2) {
        const uint8_t *k[2];
        for (int32_t i = 0; i < 2;
             i++) { /* past the end: the last block again; its scores aren't read */
            int32_t at = block0 + b + i < last ? block0 + b + i : last;
            k[i] = block_of(a, a->keys, s, kv_head, at);
        }
        float *out = scores + b * KV_BLOCK_TOKENS;
        switch (rows) { /* one copy of the loop for each count of rows */
        case 1:
            scores_of(half, 1, 2, packed, k, hd, out);
            break;
        case 2:
            scores_of(half, 2, 2, packed, k, hd, out);
            break;
        case 3:
            scores_of(half, 3, 2, packed, k, hd, out);
            break;
        default:
            scores_of(half, 4, 2, packed, k, hd, out);
        }
    }
}

VEC_INLINE void chunk_scores(bool half, const struct attention *a, const struct attention_span *s,
                             int32_t kv_head, int32_t block0, int32_t blocks, int32_t rows,
                             const float *packed, float *scores) {
    if (rows * 2 * KEY_VECS <= ROWS) { /* the scores of two blocks fit the registers */
        scores_of_few(half, a, s, kv_head, block0, blocks, rows, packed, scores);
        return;
    }
    for (int32_t b = 0; b < blocks; b++) {
        const uint8_t *k[2] = {block_of(a, a->keys, s, kv_head, block0 + b)};
        scores_of(half, ROWS, 1, packed, k, a->shape.head_dim, scores + b * KV_BLOCK_TOKENS);
    }
}

/* The scores of the keys that are seen become exp(score - max), the rest of the chunk's `vecs`
 * vectors zero. */
static void chunk_softmax(float *scores, struct seen keys, int32_t vecs, float *max, float *sum) {
    vi lane;
    for (int i = 0; i < VW; i++) lane[i] = i;
    const vf none = vf_set(-INFINITY);
    vf m = none, l = {0};
    for (int32_t i = 0; i < vecs; i++) {
        vf s = vf_load(scores + i * VW);
        if (keys.to < (i + 1) * VW) s = vf_select(lane < vi_set(keys.to - i * VW), s, none);
        if (keys.from > i * VW) s = vf_select(lane < vi_set(keys.from - i * VW), none, s);
        if (keys.to < (i + 1) * VW || keys.from > i * VW) vf_store(scores + i * VW, s);
        m = vf_max(m, s);
    }
    *max = vf_max_lane(m);
    for (int32_t i = 0; i < vecs; i++) {
        vf p = vf_exp(vf_load(scores + i * VW) - vf_set(*max));
        if (keys.to < (i + 1) * VW) p = vf_select(lane < vi_set(keys.to - i * VW), p, (vf){0});
        vf_store(scores + i * VW, p);
        l += p;
    }
    *sum = vf_sum(l);
}

/* o[r][c ..] = sum over keys of scores[r][key] * value[key][c ..], nv vectors wide. */
VEC_INLINE void values_of(bool half, int rows, int nv, const float *scores, const uint8_t *const *v,
                          int32_t keys, int32_t pad, float *o) {
    vf acc[VALUE_ROWS][VALUE_VECS];
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < nv; j++) acc[r][j] = (vf){0};
    for (int32_t key0 = 0; key0 < keys; key0 += KV_BLOCK_TOKENS) {
        const uint8_t *block = v[key0 / KV_BLOCK_TOKENS];
        const float *p = scores + key0;
        int32_t n = keys - key0 < KV_BLOCK_TOKENS ? keys - key0 : KV_BLOCK_TOKENS;
        for (int32_t i = 0; i < n; i++) {
            vf value[VALUE_VECS];
            for (int j = 0; j < nv; j++) {
                value[j] = load_kv(half, block, (size_t)i * pad + j * VW);
                VEC_KEEP(value[j]);
            }
            for (int r = 0; r < rows; r++) {
                vf w = vf_set(p[r * ATTENTION_CHUNK + i]);
                for (int j = 0; j < nv; j++) acc[r][j] = vf_fma(w, value[j], acc[r][j]);
            }
        }
    }
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < nv; j++) vf_store(o + (size_t)r * pad + j * VW, acc[r][j]);
}

VEC_INLINE void chunk_values(bool half, const struct attention *a, const struct attention_span *s,
                             int32_t kv_head, int32_t block0, int32_t keys, int32_t rows,
                             const float *scores, float *o) {
    const uint8_t *v[ATTENTION_CHUNK / KV_BLOCK_TOKENS], *vc[ATTENTION_CHUNK / KV_BLOCK_TOKENS];
    int32_t blocks = (keys + KV_BLOCK_TOKENS - 1) / KV_BLOCK_TOKENS, pad = a->head_pad;
    for (int32_t b = 0; b < blocks; b++) v[b] = block_of(a, a->values, s, kv_head, block0 + b);
    for (int32_t c = 0; c < pad;) {
        bool wide = c + VALUE_VECS * VW <= pad;
        for (int32_t b = 0; b < blocks; b++) vc[b] = v[b] + (size_t)c * attention_value_bytes(half);
        for (int32_t r = 0; r < rows; r += VALUE_ROWS) {
            const float *p = scores + r * ATTENTION_CHUNK;
            float *out = o + (size_t)r * pad + c;
            switch ((rows - r < 4 ? rows - r : 4) + (wide ? 16 : 0)) {
            case 1:
                values_of(half, 1, 1, p, vc, keys, pad, out);
                break;
            case 2:
                values_of(half, 2, 1, p, vc, keys, pad, out);
                break;
            case 3:
                values_of(half, 3, 1, p, vc, keys, pad, out);
                break;
            case 4:
                values_of(half, 4, 1, p, vc, keys, pad, out);
                break;
            case 17:
                values_of(half, 1, VALUE_VECS, p, vc, keys, pad, out);
                break;
            case 18:
                values_of(half, 2, VALUE_VECS, p, vc, keys, pad, out);
                break;
            case 19:
                values_of(half, 3, VALUE_VECS, p, vc, keys, pad, out);
                break;
            case 20:
                values_of(half, 4, VALUE_VECS, p, vc, keys, pad, out);
                break;
            }
        }
        c += wide ? VALUE_VECS * VW : VW;
    }
}

/* Of the first `n_keys` keys of the sequence, those of a chunk that the last `window` keep. */
static struct seen seen_of(const struct attention *a, int32_t chunk, int32_t n_keys) {
    int32_t to = n_keys - chunk * ATTENTION_CHUNK, from = a->window > 0 ? to - a->window : 0;
    if (to <= 0 || from >= ATTENTION_CHUNK) return (struct seen){0, 0};
    return (struct seen){from < 0 ? 0 : from, to > ATTENTION_CHUNK ? ATTENTION_CHUNK : to};
}

/* The first chunk that a query sees anything of. */
static int32_t first_chunk(const struct attention *a, int32_t position) {
    int32_t from = a->window > 0 ? position + 1 - a->window : 0;
    return from < 0 ? 0 : from / ATTENTION_CHUNK;
}

/* One chunk for `rows` packed queries; row r sees keys[r]. The kernels may also compute rows past
 * `rows`; their results aren't read. */
VEC_INLINE void chunk_of(bool half, const struct attention *a, const struct attention_span *s,
                         int32_t kv_head, int32_t chunk, int32_t rows, const struct seen *keys,
                         const float *packed, float *scores, float *max, float *sum, float *o) {
    int32_t most = 0, block0 = chunk * (ATTENTION_CHUNK / KV_BLOCK_TOKENS);
    for (int32_t r = 0; r < rows; r++) most = keys[r].to > most ? keys[r].to : most;
    int32_t blocks = (most + KV_BLOCK_TOKENS - 1) / KV_BLOCK_TOKENS;
    chunk_scores(half, a, s, kv_head, block0, blocks, rows, packed, scores);
    for (int32_t r = 0; r < rows; r++)
        chunk_softmax(scores + r * ATTENTION_CHUNK, keys[r], blocks * KEY_VECS, &max[r], &sum[r]);
    chunk_values(half, a, s, kv_head, block0, most, rows, scores, o);
}

static void chunk_rows(const struct attention *a, const struct attention_span *s, int32_t kv_head,
                       int32_t chunk, int32_t rows, const struct seen *keys, const float *packed,
                       float *scores, float *max, float *sum, float *o) {
    if (a->shape.half) /* one copy of the kernels for each type */
        chunk_of(true, a, s, kv_head, chunk, rows, keys, packed, scores, max, sum, o);
    else
        chunk_of(false, a, s, kv_head, chunk, rows, keys, packed, scores, max, sum, o);
}

/* Joins one chunk's row into the running state of that row. All chunks are joined here. */
static __attribute__((noinline)) void join(float *max, float *sum, float *o, float chunk_max,
                                           float chunk_sum, const float *chunk_o, int32_t pad) {
    float m = *max > chunk_max ? *max : chunk_max;
    vf weights = {0};
    weights[0] = *max - m;
    weights[1] = chunk_max - m;
    weights = vf_exp(weights);
    vf old = vf_set(weights[0]), new = vf_set(weights[1]);
    for (int32_t c = 0; c < pad; c += VW)
        vf_store(o + c, vf_fma(vf_load(chunk_o + c), new, vf_load(o + c) * old));
    *sum = *sum * weights[0] + chunk_sum * weights[1];
    *max = m;
}

static void start(struct rows_state *st, int32_t rows, int32_t pad) {
    for (int32_t r = 0; r < rows; r++) {
        st->max[r] = -INFINITY;
        st->sum[r] = 0;
    }
    memset(st->o, 0, (size_t)rows * (size_t)pad * sizeof(float));
}

static void finish(const struct attention *a, const struct rows_state *st, int32_t r, int32_t row,
                   int32_t head) {
    float *out = a->out + (size_t)row * (size_t)a->out_stride + head * a->shape.head_dim;
    const float *o = st->o + (size_t)r * (size_t)a->head_pad;
    for (int32_t d = 0; d < a->shape.head_dim; d++) out[d] = o[d] / st->sum[r];
}

/* Query `row` of every head of the group, as rows r0 .. r0 + group - 1 of the packed queries. */
static void pack(const struct attention *a, int32_t kv_head, int32_t row, int32_t r0,
                 float *packed) {
    for (int32_t i = 0; i < a->group; i++) {
        int32_t r = r0 + i;
        const float *q = a->q + (size_t)row * (size_t)a->q_stride +
                         head_of_row(a, kv_head, i) * a->shape.head_dim;
        float *p = packed + (size_t)(r / ROWS) * (size_t)a->shape.head_dim * ROWS + r % ROWS;
        for (int32_t d = 0; d < a->shape.head_dim; d++) p[d * ROWS] = q[d] * a->shape.scale;
    }
}

/* ---- the two units of work ------------------------------------------------------------------- */

static void run_tile(struct attention *a, const struct item *it, struct thread_scratch *t) {
    const struct attention_span *s = &a->spans[it->span];
    int32_t rows = it->n * a->group, pad = a->head_pad, pos = s->pos0 + it->first;
    size_t packed_rows = (size_t)a->shape.head_dim * ROWS;
    for (int32_t i = 0; i < it->n; i++)
        pack(a, it->kv_head, s->row0 + it->first + i, i * a->group, t->packed);
    start(&t->state, rows, pad);
    for (int32_t chunk = first_chunk(a, pos); chunk * ATTENTION_CHUNK < pos + it->n; chunk++)
        for (int32_t r0 = 0; r0 < rows; r0 += ROWS) {
            int32_t n = rows - r0 < ROWS ? rows - r0 : ROWS, most = 0;
            struct seen keys[ROWS];
            for (int32_t r = 0; r < n; r++) {
                keys[r] = seen_of(a, chunk, pos + (r0 + r) / a->group + 1);
                most = keys[r].to > most ? keys[r].to : most;
            }
            if (most == 0) continue;
            chunk_rows(a, s, it->kv_head, chunk, n, keys,
                       t->packed + (size_t)(r0 / ROWS) * packed_rows, t->scores, t->max, t->sum,
                       t->o);
            for (int32_t r = 0; r < n; r++)
                if (keys[r].to > 0)
                    join(&t->state.max[r0 + r], &t->state.sum[r0 + r],
                         t->state.o + (size_t)(r0 + r) * pad, t->max[r], t->sum[r],
                         t->o + (size_t)r * pad, pad);
        }
    for (int32_t r = 0; r < rows; r++)
        finish(a, &t->state, r, s->row0 + it->first + r / a->group,
               head_of_row(a, it->kv_head, r % a->group));
}

/* A chunk's result for a single query: (group) maxima, (group) sums, (group, head_pad) values. */
static float *partial_of(const struct attention *a, const struct item *it, int32_t chunk) {
    size_t i = ((size_t)it->span * (size_t)a->shape.n_kv_heads + (size_t)it->kv_head) *
                   (size_t)a->max_chunks +
               (size_t)chunk;
    return a->partial + i * (size_t)a->group * (size_t)(a->head_pad + 2);
}

static void join_chunks(struct attention *a, const struct item *it, int32_t chunks,
                        struct thread_scratch *t) {
    int32_t group = a->group, pad = a->head_pad;
    start(&t->state, group, pad);
    for (int32_t c = first_chunk(a, a->spans[it->span].pos0); c < chunks; c++) {
        const float *p = partial_of(a, it, c);
        for (int32_t r = 0; r < group; r++)
            join(&t->state.max[r], &t->state.sum[r], t->state.o + (size_t)r * pad, p[r],
                 p[group + r], p + 2 * group + (size_t)r * pad, pad);
    }
    for (int32_t r = 0; r < group; r++)
        finish(a, &t->state, r, a->spans[it->span].row0, head_of_row(a, it->kv_head, r));
}

static void run_chunk(struct attention *a, const struct item *it, struct thread_scratch *t) {
    const struct attention_span *s = &a->spans[it->span];
    int32_t group = a->group, pad = a->head_pad, chunks = s->pos0 / ATTENTION_CHUNK + 1;
    struct seen seen = seen_of(a, it->first, s->pos0 + 1);
    float *p = partial_of(a, it, it->first);
    pack(a, it->kv_head, s->row0, 0, t->packed);
    for (int32_t r0 = 0; r0 < group && seen.to > 0; r0 += ROWS) {
        int32_t n = group - r0 < ROWS ? group - r0 : ROWS;
        struct seen keys[ROWS];
        for (int32_t r = 0; r < n; r++) keys[r] = seen;
        chunk_rows(a, s, it->kv_head, it->first, n, keys,
                   t->packed + (size_t)(r0 / ROWS) * (size_t)a->shape.head_dim * ROWS, t->scores,
                   p + r0, p + group + r0, p + 2 * group + (size_t)r0 * pad);
    }
    _Atomic int32_t *left = &a->chunks_left[it->span * a->shape.n_kv_heads + it->kv_head];
    if (atomic_fetch_sub(left, 1) == 1) join_chunks(a, it, chunks, t);
}

static void run_item(void *ctx, int32_t item, int32_t thread) {
    struct attention *a = ctx;
    const struct item *it = &a->items[item];
    if (it->n)
        run_tile(a, it, &a->t[thread]);
    else
        run_chunk(a, it, &a->t[thread]);
}

void attention_run(struct attention *a, struct pool *pool, const float *q, int32_t q_stride,
                   const void *keys, const void *values, int32_t window, float *out,
                   int32_t out_stride) {
    a->window = window;
    a->q = q;
    a->q_stride = q_stride;
    a->keys = keys;
    a->values = values;
    a->out = out;
    a->out_stride = out_stride;
    for (int32_t i = 0; i < a->n_items; i++) {
        const struct item *it = &a->items[i];
        if (it->n == 0)
            a->chunks_left[it->span * a->shape.n_kv_heads + it->kv_head] =
                a->spans[it->span].pos0 / ATTENTION_CHUNK + 1;
    }
    pool_run(pool, run_item, a, a->n_items);
}
