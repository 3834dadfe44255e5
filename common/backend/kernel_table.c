/* kernel_table.c: the kernels' parameters, closed forms, versions and budgets. See kernel_spec.h.
 *
 * A comment explains each limit. Sectors have 32 bytes, a warp 32 lanes; a "% 8" in a precondition
 * makes every row a whole number of sectors, so most forms are exact.
 */
#include "backend/kernels.h"
#include "backend/kernel_spec.h"

#define IN(name, dtype, shape)                                                                     \
    { name, KERNEL_IN, dtype, shape, 0 }
#define OUT(name, dtype, shape, tolerance)                                                         \
    { name, KERNEL_OUT, dtype, shape, tolerance }
#define INOUT(name, dtype, shape, tolerance)                                                       \
    { name, KERNEL_INOUT, dtype, shape, tolerance }
#define SIZE(name)                                                                                 \
    { name, KERNEL_SIZE, KERNEL_I32, NULL, 0 }
#define SCALAR(name)                                                                               \
    { name, KERNEL_SCALAR, KERNEL_F32, NULL, 0 }
#define F32  KERNEL_F32
#define BF16 KERNEL_BF16
#define I32  KERNEL_I32
#define I8   KERNEL_I8

/* Tolerances. A float sum of n terms in any order stays within n * 2^-24 of their magnitudes; with
 * at most a few thousand terms and a few partial sums a lane, 2e-5 is enough and a hundred times
 * less than the error of a missing term. A value stored as bf16 is off by up to 2^-8 of itself. */
#define T_SUM  2e-5
#define T_ONE  2e-6
#define T_BF16 4e-3

#define POOL "(pool_blocks, kv_heads, 16, head_dim)"
/* Keys that all queries of a prefill see, together. */
#define CAUSAL_KEYS "(tokens * pos0 + tokens * (tokens + 1) / 2)"
/* Blocks of 16 keys that 16 queries share: the i-th 16 see i more than the first ones do. */
#define TILE_BLOCKS "ceil(tokens, 16) * (2 * ceil(pos0, 16) + ceil(tokens, 16) + 1) / 2"

const struct kernel_spec kernel_specs[] = {
    {
        .name = "copy",
        .title = "copy",
        .param = {OUT("out", F32, "(n)", T_ONE), IN("in", F32, "(n)"), SIZE("n")},
        .size = {{"n", true, 1, 0}},
        .bytes_min = "8 * n",
        .operations = "0",
        .version = {"each thread copies 16 neighbours", "neighbours go to neighbouring threads",
                    "four values at once"},
        .budget = {{2, KERNEL_BYTES, "64 * ceil(n, 8)"},
                   {3, KERNEL_REQUESTS, "2 * ceil(n, 128) + 2"}}, /* + 2: up to 3 values left */
    },
    {
        .name = "copy_strided",
        .title = "copy of a part of each row",
        .param = {OUT("out", F32, "(rows, cols)", T_ONE), IN("in", F32, "(rows, stride)"),
                  SIZE("rows"), SIZE("cols"), SIZE("stride")},
        .size = {{"rows", true, 1, 0}, {"cols", true, 8, 0}, {"stride", true, 8, 0}},
        .bytes_min = "8 * rows * cols",
        .operations = "0",
        .version = {"a thread a row", "a block a row, neighbours to neighbouring threads",
                    "four values at once, and no lane idle at a row's end"},
        .budget = {{2, KERNEL_BYTES, "8 * rows * cols"},
                   {3, KERNEL_REQUESTS, "2 * ceil(rows * cols, 128)"}},
    },
    {
        .name = "rmsnorm",
        .title = "RMSNorm with the residual added",
        .param = {OUT("out", F32, "(rows, d)", T_SUM), INOUT("residual", F32, "(rows, d)", T_ONE),
                  IN("x", F32, "(rows, d)"), IN("weight", F32, "(d)"), SIZE("rows"), SIZE("d"),
                  SCALAR("eps")},
        .size = {{"rows", true, 1, 0}, {"d", true, 8, KERNEL_MAX_NORM}},
        .bytes_min = "16 * rows * d + 4 * d",
        .operations = "5 * rows * d", /* add; square and add; scale; weight */
        .version = {"a thread a row", "a block a row, a tree in shared memory",
                    "warps reduce by shuffles", "the row stays in registers, four values at once"},
        /* 2: x, residual in and out, residual again, weight, out. 4: without "again". */
        .budget = {{2, KERNEL_BYTES, "24 * rows * d"},
                   {3, KERNEL_BARRIERS, "2 * rows"},
                   {4, KERNEL_BYTES, "20 * rows * d"},
                   {4, KERNEL_REQUESTS, "5 * rows * ceil(d, 128)"}},
    },
    {
        .name = "softmax",
        .title = "softmax of rows",
        .param = {OUT("out", F32, "(rows, d)", T_SUM), IN("x", F32, "(rows, d)"), SIZE("rows"),
                  SIZE("d")},
        .size = {{"rows", true, 1, 0}, {"d", true, 8, 0}},
        .bytes_min = "8 * rows * d",
        .operations = "5 * rows * d", /* compare; subtract, exp, add; multiply */
        .version = {"a thread a row", "a block a row, three passes",
                    "online: maximum and sum in one pass",
                    "four values at once, warps join by shuffles"},
        .budget = {{2, KERNEL_BYTES, "16 * rows * d"},
                   {3, KERNEL_BYTES, "12 * rows * d"},
                   {4, KERNEL_REQUESTS, "3 * rows * ceil(d, 128)"},
                   {4, KERNEL_BARRIERS, "2 * rows"}},
    },
    {
        .name = "rope",
        .title = "rotary positions, with the write into the paged cache",
        .param = {INOUT("q", F32, "(tokens, q_heads, head_dim)", T_ONE),
                  INOUT("kpool", BF16, POOL, T_BF16), INOUT("vpool", BF16, POOL, T_BF16),
                  IN("k", F32, "(tokens, kv_heads, head_dim)"),
                  IN("v", F32, "(tokens, kv_heads, head_dim)"),
                  IN("cosines", F32, "(positions, head_dim / 2)"),
                  IN("sines", F32, "(positions, head_dim / 2)"), IN("position", I32, "(tokens)"),
                  IN("slot", I32, "(tokens)"), SIZE("tokens"), SIZE("q_heads"), SIZE("kv_heads"),
                  SIZE("head_dim")},
        .size = {{"tokens", true, 1, 0},
                 {"q_heads", true, 1, 0},
                 {"kv_heads", true, 1, 0},
                 {"head_dim", true, 8, 0},
                 {"positions", false, 1, 0},
                 {"pool_blocks", false, 1, 0}},
        .bytes_min = "tokens * (head_dim * (8 * q_heads + 12 * kv_heads + 4) + 8)",
        .operations = "3 * tokens * head_dim * (q_heads + kv_heads)",
        .version = {"a thread a head", "a thread a pair", "four pairs a thread"},
        /* A query's value: in, out and half a cosine and a sine. A key's and value's: in, out, and
         * the same. Beside them each warp reads the position, and a key's warp the slot. */
        .budget = {{2, KERNEL_BYTES,
                    "tokens * (head_dim * (12 * q_heads + 16 * kv_heads) + "
                    "32 * (q_heads + 2 * kv_heads) * ceil(head_dim, 64))"},
                   {3, KERNEL_REQUESTS,
                    "7 * ceil(tokens * q_heads * head_dim, 256) + "
                    "12 * (ceil(tokens * kv_heads * head_dim, 256) + 1)"}},
    },
    {
        .name = "swiglu",
        .title = "SwiGLU's gate",
        .param = {OUT("out", F32, "(rows, d)", T_SUM), IN("gate_up", F32, "(rows, 2 * d)"),
                  SIZE("rows"), SIZE("d")},
        .size = {{"rows", true, 1, 0}, {"d", true, 8, 0}},
        .bytes_min = "12 * rows * d",
        .operations = "4 * rows * d", /* exp, add, divide, multiply */
        .version = {"a thread a row", "a thread a value", "four values at once"},
        .budget = {{2, KERNEL_BYTES, "12 * rows * d"},
                   {3, KERNEL_REQUESTS, "3 * ceil(rows * d, 128)"}},
    },
    {
        .name = "embedding",
        .title = "embedding",
        .param = {OUT("out", F32, "(tokens, d)", T_ONE), IN("table", BF16, "(vocab, d)"),
                  IN("id", I32, "(tokens)"), SIZE("tokens"), SIZE("d")},
        .size = {{"tokens", true, 1, 0}, {"d", true, 8, 0}, {"vocab", false, 1, 0}},
        .bytes_min = "tokens * (6 * d + 4)",
        .operations = "0",
        .version = {"a thread a token", "a thread a value", "four values at once"},
        /* 32: each warp reads its id; 16: rows that begin in the middle of a sector */
        .budget = {{2, KERNEL_BYTES, "tokens * (6 * d + 48 * ceil(d, 32))"},
                   {3, KERNEL_REQUESTS, "3 * ceil(tokens * d, 128)"}},
    },
    {
        .name = "gemm",
        .title = "matrix product in float",
        .param = {OUT("c", F32, "(m, n)", T_SUM), IN("a", F32, "(m, k)"), IN("b", F32, "(k, n)"),
                  SIZE("m"), SIZE("n"), SIZE("k")},
        .size = {{"m", true, 1, 0}, {"n", true, 4, 0}, {"k", true, 4, 0}},
        .bytes_min = "4 * (m * k + k * n + m * n)",
        .operations = "2 * m * n * k",
        .version = {"neighbouring threads take neighbouring rows",
                    "neighbouring threads take neighbouring columns", "tiles in shared memory",
                    "a padded tile, without bank conflicts", "4 by 4 results a thread"},
        .budget =
            {/* a warp and a k: one sector of a, four of b */
             {2, KERNEL_BYTES, "160 * m * ceil(n, 32) * k + 32 * m * ceil(n, 8)"},
             /* a 32 by 32 tile of each */
             {3, KERNEL_BYTES,
              "8192 * ceil(m, 32) * ceil(n, 32) * ceil(k, 32) + 32 * m * "
              "ceil(n, 8)"},
             /* none, but for what a transposing store of a larger tile may cost */
             {4, KERNEL_CONFLICTS, "64 * ceil(m, 32) * ceil(n, 32) * ceil(k, 32)"},
             /* a 64 by 64 tile and 16 of k: 8 warps; stores 8 + 4; 16 times two float4, of 4 each
              */
             {5, KERNEL_WAVEFRONTS, "1120 * ceil(m, 64) * ceil(n, 64) * ceil(k, 16)"}},
    },
    {
        .name = "gemv",
        .title = "matrix times vector, bf16 weights",
        .param = {OUT("y", F32, "(rows)", T_SUM), IN("w", BF16, "(rows, cols)"),
                  IN("x", F32, "(cols)"), SIZE("rows"), SIZE("cols")},
        .size = {{"rows", true, 1, 0}, {"cols", true, 8, 0}},
        .bytes_min = "2 * rows * cols + 4 * cols + 4 * rows",
        .operations = "2 * rows * cols",
        .version = {"a thread a row", "a warp a row", "four weights at once",
                    "a warp takes four rows: x is read once for them"},
        /* Every other row begins in the middle of a sector when cols isn't a multiple of 16: half a
         * sector a request. A row's result is a sector. */
        .budget = {{2, KERNEL_BYTES, "rows * (6 * cols + 16 * ceil(cols, 32) + 32)"},
                   {3, KERNEL_REQUESTS, "rows * (2 * ceil(cols, 128) + 1)"},
                   {4, KERNEL_BYTES,
                    "rows * (2 * cols + 16 * ceil(cols, 128) + 32) + 4 * ceil(rows, 4) * cols"}},
    },
    {
        .name = "gemv_int8",
        .title = "matrix times vector, int8 weights",
        .param = {OUT("y", F32, "(rows)", T_SUM), IN("w", I8, "(rows, cols)"),
                  IN("scale", F32, "(rows)"), IN("x", F32, "(cols)"), SIZE("rows"), SIZE("cols")},
        .size = {{"rows", true, 1, 0}, {"cols", true, 16, 0}},
        .bytes_min = "rows * cols + 4 * cols + 8 * rows",
        .operations = "2 * rows * cols + rows",
        .version = {"a warp a row", "four weights at once",
                    "a warp takes four rows: x is read once for them"},
        .budget = {{2, KERNEL_REQUESTS, "rows * (2 * ceil(cols, 128) + 2)"},
                   {3, KERNEL_BYTES,
                    "rows * (cols + 16 * ceil(cols, 128) + 64) + 4 * ceil(rows, 4) * cols"}},
    },
    {
        .name = "attention_prefill",
        .title = "causal attention of a prompt",
        .param = {OUT("out", F32, "(tokens, q_heads, head_dim)", 1e-4),
                  IN("q", F32, "(tokens, q_heads, head_dim)"), IN("kpool", BF16, POOL),
                  IN("vpool", BF16, POOL), IN("block_table", I32, "(ceil(pos0 + tokens, 16))"),
                  SIZE("pos0"), SIZE("tokens"), SIZE("q_heads"), SIZE("kv_heads"), SIZE("head_dim"),
                  SCALAR("scale")},
        .size = {{"pos0", true, 1, 0},
                 {"tokens", true, 1, 0},
                 {"q_heads", true, 1, 0},
                 {"kv_heads", true, 1, 0},
                 {"head_dim", true, 16, KERNEL_MAX_HEAD_DIM},
                 {"pool_blocks", false, 1, 0}},
        .bytes_min = "8 * tokens * q_heads * head_dim + 4 * (pos0 + tokens) * kv_heads * head_dim "
                     "+ 4 * ceil(pos0 + tokens, 16)",
        .operations = "4 * q_heads * head_dim * " CAUSAL_KEYS,
        .version = {"a block a query, a thread a key", "a warp a query, online softmax",
                    "16 queries share each block of keys", "tensor cores"},
        /* 2: keys and values once a query, q and out once. 3: once for 16 queries. 4: 16 rows of
         * tiles; a block of keys: queries, scores and weights; a tile of queries: the results. */
        .budget = {{2, KERNEL_BYTES,
                    "q_heads * (4 * head_dim + 4) * " CAUSAL_KEYS
                    " + 8 * tokens * q_heads * head_dim"},
                   {3, KERNEL_BYTES,
                    "4 * q_heads * head_dim * (16 * (" TILE_BLOCKS
                    ") + 2 * tokens) + 64 * q_heads * "
                    "ceil(tokens, 16)"},
                   {4, KERNEL_WAVEFRONTS,
                    "q_heads * (" TILE_BLOCKS " * (5 * head_dim / 2 + 48) + ceil(tokens, 16) * "
                    "(5 * head_dim + 128))"}},
    },
    {
        .name = "attention_decode",
        .title = "attention of one new token, the keys split",
        .param = {OUT("partial", F32, "(seqs, q_heads, splits, head_dim)", 1e-4),
                  OUT("split_max", F32, "(seqs, q_heads, splits)", T_SUM),
                  OUT("split_sum", F32, "(seqs, q_heads, splits)", 1e-4),
                  IN("q", F32, "(seqs, q_heads, head_dim)"), IN("kpool", BF16, POOL),
                  IN("vpool", BF16, POOL), IN("block_tables", I32, "(seqs, max_blocks)"),
                  IN("length", I32, "(seqs)"), SIZE("seqs"), SIZE("max_blocks"), SIZE("q_heads"),
                  SIZE("kv_heads"), SIZE("head_dim"), SIZE("splits"), SCALAR("scale")},
        .size = {{"seqs", true, 1, 0},
                 {"max_blocks", true, 1, 0},
                 {"q_heads", true, 1, 0},
                 {"kv_heads", true, 1, 0},
                 {"head_dim", true, 16, KERNEL_MAX_HEAD_DIM},
                 {"splits", true, 1, 0},
                 {"context", false, 1, 0}, /* the longest sequence */
                 {"keys", false, 1, 0},    /* of all sequences, see kernel_case.h */
                 {"pool_blocks", false, 1, 0}},
        .bytes_min = "4 * kv_heads * keys * head_dim + 4 * seqs * q_heads * head_dim * "
                     "(1 + splits) + 8 * seqs * (q_heads * splits + 1)",
        .operations = "4 * q_heads * head_dim * keys",
        .version = {"a thread a key", "a warp a query, online softmax",
                    "the query heads of a group share each block of keys"},
        /* Keys and values; q in and partial out; lengths, maxima, sums and the table beside them.
         */
        .budget =
            {{2, KERNEL_BYTES,
              "4 * q_heads * (keys + 15 * seqs) * (head_dim + 1) + seqs * q_heads * splits * "
              "(8 * head_dim + 128)"},
             {3, KERNEL_BYTES,
              "4 * kv_heads * (keys + 15 * seqs) * (head_dim + 4) + seqs * q_heads * splits * "
              "(8 * head_dim + 128)"}},
    },
    {
        .name = "attention_merge",
        .title = "joining the splits",
        .param = {OUT("out", F32, "(seqs, q_heads, head_dim)", T_SUM),
                  IN("partial", F32, "(seqs, q_heads, splits, head_dim)"),
                  IN("split_max", F32, "(seqs, q_heads, splits)"),
                  IN("split_sum", F32, "(seqs, q_heads, splits)"), SIZE("seqs"), SIZE("q_heads"),
                  SIZE("head_dim"), SIZE("splits")},
        .size = {{"seqs", true, 1, 0},
                 {"q_heads", true, 1, 0},
                 {"head_dim", true, 8, 0},
                 {"splits", true, 1, 0}},
        .bytes_min = "4 * seqs * q_heads * (head_dim * (splits + 1) + 2 * splits)",
        .operations = "2 * seqs * q_heads * splits * (head_dim + 2)",
        .version = {"a thread a head", "a thread a value"},
        .budget = {{2, KERNEL_BYTES,
                    "seqs * q_heads * (4 * head_dim * (splits + 1) + 96 * splits * "
                    "ceil(head_dim, 32))"}},
    },
    {
        .name = "argmax",
        .title = "the greatest logit",
        .param = {OUT("out", I32, "(rows)", 0), IN("logits", F32, "(rows, vocab)"), SIZE("rows"),
                  SIZE("vocab")},
        .size = {{"rows", true, 1, 0}, {"vocab", true, 8, 0}},
        .bytes_min = "4 * rows * vocab + 4 * rows",
        .operations = "rows * vocab",
        .version = {"a thread a row", "a block a row, a tree in shared memory",
                    "four values at once, warps join by shuffles"},
        .budget = {{2, KERNEL_BYTES, "4 * rows * vocab + 32 * rows"},
                   {3, KERNEL_REQUESTS, "rows * (ceil(vocab, 128) + 1)"},
                   {3, KERNEL_BARRIERS, "2 * rows"}},
    },
    {
        .name = "sample",
        .title = "a draw from the top k and the top p",
        .param = {OUT("out", I32, "(rows)", 0), IN("logits", F32, "(rows, vocab)"),
                  IN("uniform", F32, "(rows)"), SIZE("rows"), SIZE("vocab"), SIZE("top_k"),
                  SCALAR("temperature"), SCALAR("top_p")},
        .size = {{"rows", true, 1, 0}, {"vocab", true, 8, 0}, {"top_k", true, 1, 0}},
        .bytes_min = "4 * rows * vocab + 8 * rows",
        .operations = "4 * rows * vocab", /* compare; subtract, exp, add */
        .version = {"finds the limits bit by bit", "finds the limits eight bits a pass"},
        /* 2: about 11 passes: the maximum; four and one that sums up, for each of top_k and top_p;
         * the draw. 20, since lanes that part ways at a bin may load apart. Counted with both in
         * force, as kernel_case_init sets them where top_k is given. */
        .budget = {{2, KERNEL_BYTES, "80 * rows * vocab"}},
    },
};

const int kernel_spec_count = sizeof kernel_specs / sizeof *kernel_specs;
