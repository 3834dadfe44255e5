/* kernel_shapes.c: see kernel_shapes.h. A template has {lo..hi} or {lo..hi/step} where a number is
 * drawn. Shapes are so small that a launch takes a few hundredths of a second under the checks, and
 * that the data fits into one question and its answer (WIRE_MAX_PAYLOAD). Where it costs little, a
 * kernel gets more rows or values than 64 blocks process, so that a grid of a fixed size fails.
 *
 * Not formatted by clang-format: a table.
 */
#include "lab03/kernel_shapes.h"

#include "lab03/lab03.h"

#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
static const struct {
    const char *kernel, *sizes, *kind;
} shapes[] = {
    {"copy", "n=1", "one value"},
    {"copy", "n={2..9}", "a few values"},
    {"copy", "n={1001..1023}", "a length that is not a multiple of anything"},
    {"copy", "n={70000..80000}", "many values"},

    {"copy_strided", "rows=1 cols=8 stride=8", "one row, nothing between rows"},
    {"copy_strided", "rows={2..5} cols={8..72/8} stride={80..160/8}", "a few narrow rows"},
    {"copy_strided", "rows={3..7} cols={1032..1080/8} stride={1088..1120/8}", "rows wider than a block"},
    {"copy_strided", "rows={30..44} cols={200..392/8} stride={400..480/8}", "many rows"},

    {"rmsnorm", "rows=1 d=8", "one narrow row"},
    {"rmsnorm", "rows={260..300} d={16..72/8}", "a width below that of a block, many rows"},
    {"rmsnorm", "rows={2..3} d={1032..1600/8}", "a width that is not a multiple of the block"},
    {"rmsnorm", "rows=1 d=8192", "the widest row"},
    {"rmsnorm", "rows={10..16} d={1024..2048/128}", "many rows"},

    {"softmax", "rows=1 d=8", "one narrow row"},
    {"softmax", "rows={260..300} d={16..72/8}", "rows of large and small logits"},
    {"softmax", "rows={3..4} d={1032..1600/8}", "a width that is not a multiple of the block"},
    {"softmax", "rows={10..16} d={1024..2048/128}", "many rows"},

    {"rope", "tokens=1 q_heads=1 kv_heads=1 head_dim=8", "one token, one head"},
    {"rope", "tokens={2..5} q_heads=6 kv_heads=2 head_dim=80", "heads of 80"},
    {"rope", "tokens={3..9} q_heads=4 kv_heads=4 head_dim=64", "heads of 64, as many for keys"},
    {"rope", "tokens={17..20} q_heads=3 kv_heads=1 head_dim=128", "heads of 128, tokens of several blocks"},
    {"rope", "tokens={20..28} q_heads=8 kv_heads=2 head_dim={64..128/64}", "many tokens"},

    {"swiglu", "rows=1 d=8", "one narrow row"},
    {"swiglu", "rows={260..270} d={264..304/8}", "many narrow rows"},
    {"swiglu", "rows={2..3} d={1032..1600/8}", "a width that is not a multiple of the block"},
    {"swiglu", "rows={10..16} d={1000..2000/8}", "many rows"},

    {"embedding", "tokens=1 d=8", "one token"},
    {"embedding", "tokens={260..300} d={248..320/8}", "many short tokens"},
    {"embedding", "tokens={2..3} d={1032..1600/8}", "a width that is not a multiple of the block"},
    {"embedding", "tokens={24..40} d={512..1024/64}", "many tokens"},

    {"gemm", "m=1 n=4 k=4", "one row"},
    {"gemm", "m={2..7} n={36..60/4} k={20..44/4}", "sizes below a tile"},
    {"gemm", "m={65..80} n={68..76/4} k={4..36/4}", "sizes just above a tile"},
    {"gemm", "m=33 n={132..140/4} k={100..116/4}", "sizes that are not multiples of a tile"},
    {"gemm", "m={260..270} n={516..520/4} k={4..8/4}", "many tiles"},
    {"gemm", "m=128 n=128 k={32..64/32}", "whole tiles"},

    {"gemv", "rows=1 cols=8", "one narrow row"},
    {"gemv", "rows={1030..1100} cols={72..136/8}", "many narrow rows"},
    {"gemv", "rows={33..39} cols={1032..1096/8}", "a width that is not a multiple of the warp's"},
    {"gemv", "rows={64..96/32} cols={1024..2048/128}", "many rows"},

    {"gemv_int8", "rows=1 cols=16", "one narrow row"},
    {"gemv_int8", "rows={1030..1100} cols={80..144/16}", "many narrow rows"},
    {"gemv_int8", "rows={33..39} cols={1040..1104/16}", "a width that is not a multiple of the warp's"},
    {"gemv_int8", "rows={64..96/32} cols={1024..2048/128}", "many rows"},

    {"attention_prefill", "tokens=1 q_heads=1 kv_heads=1 head_dim=16", "one token, one head"},
    {"attention_prefill", "pos0={1..20} tokens={2..20} q_heads=4 kv_heads=2 head_dim=80", "heads of 80, tokens before"},
    {"attention_prefill", "tokens={17..31} q_heads=3 kv_heads=1 head_dim=64", "heads of 64, a block that isn't full"},
    {"attention_prefill", "pos0={70..100} tokens={5..18} q_heads=2 kv_heads=2 head_dim=128", "heads of 128, many tokens before"},
    {"attention_prefill", "tokens={80..96/16} q_heads=4 kv_heads=2 head_dim=64", "many tokens"},

    {"attention_decode", "seqs=1 context=1 q_heads=1 kv_heads=1 head_dim=16 splits=1", "one token, one head"},
    {"attention_decode", "seqs={2..3} context={35..60} q_heads=4 kv_heads=2 head_dim=80 splits=3", "heads of 80, sequences of several lengths"},
    {"attention_decode", "seqs=2 context={18..40} q_heads=2 kv_heads=2 head_dim=128 splits=5", "more splits than blocks of keys"},
    {"attention_decode", "seqs=2 context={50..90} q_heads=6 kv_heads=2 head_dim=64 splits=2", "three query heads a key head"},
    {"attention_decode", "seqs=2 context={200..280} q_heads=8 kv_heads=2 head_dim=64 splits=4", "long sequences"},

    {"attention_merge", "seqs=1 q_heads=1 head_dim=8 splits=1", "one split"},
    {"attention_merge", "seqs={2..3} q_heads=3 head_dim=80 splits={2..5}", "heads of 80, empty splits"},
    {"attention_merge", "seqs=2 q_heads=4 head_dim=128 splits={6..9}", "heads of 128, many splits"},
    {"attention_merge", "seqs=4 q_heads=8 head_dim=64 splits={4..8}", "many heads"},

    {"argmax", "rows=1 vocab=8", "one short row"},
    {"argmax", "rows={260..300} vocab={16..208/8}", "rows with ties"},
    {"argmax", "rows=2 vocab={2056..3000/8}", "a length that is not a multiple of the block"},
    {"argmax", "rows={4..6} vocab={4096..8192/128}", "long rows"},

    {"sample", "rows=1 vocab=8", "one short row"},
    {"sample", "rows=4 vocab={96..1000/8} top_k={1..50}", "top k and top p"},
    {"sample", "rows={12..15} vocab={496..1000/8}", "without top k"},
    {"sample", "rows=2 vocab={104..504/8} top_k=1000", "top k of more than there is"},
    {"sample", "rows={2..3} vocab={2048..4096/128} top_k=40", "long rows"},
};
// clang-format on

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

int lab03_shape_count(const struct kernel_spec *kernel) {
    int n = 0;
    for (int i = 0; i < N_SHAPES; i++) n += !strcmp(shapes[i].kernel, kernel->name);
    return n;
}

/* Draws a number for {lo..hi/step} at *p, and moves *p behind it. */
static long draw_number(const char **p, struct rng *rng) {
    char *at;
    long lo = strtol(*p + 1, &at, 10), hi = strtol(at + 2, &at, 10), step = 1;
    if (*at == '/') step = strtol(at + 1, &at, 10);
    *p = at + 1;
    return lo + step * (long)rng_below(rng, (uint64_t)((hi - lo) / step + 1));
}

bool lab03_shape_draw(const struct kernel_spec *kernel, uint64_t seed, int k, struct shape *out) {
    struct rng rng;
    int i = 0, left = k;
    while (i < N_SHAPES && (strcmp(shapes[i].kernel, kernel->name) != 0 || left-- > 0)) i++;
    if (i == N_SHAPES) return false;
    rng_seed(&rng, case_sequence(seed, kernel->name, k));
    *out = (struct shape){.kind = shapes[i].kind, .seed = rng_next(&rng)};
    size_t n = 0;
    for (const char *p = shapes[i].sizes; *p && n + 24 < sizeof out->text;) {
        if (*p == '{')
            n +=
                (size_t)snprintf(out->text + n, sizeof out->text - n, "%ld", draw_number(&p, &rng));
        else
            out->text[n++] = *p++;
    }
    out->text[n] = '\0';
    return true;
}
