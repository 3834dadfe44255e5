/* rewrite_refuse.c: refuses what can't run on a CPU, each with an alternative. */
#include "rewrite_internal.h"

#include <string.h>

#define PTX                                                                                        \
    "inline PTX can't run on the CPU. Use the CUDA C function for it (nvcuda::wmma for mma, "      \
    "__pipeline_memcpy_async for cp.async, __ldg and __stcs for cache hints), or keep it under "   \
    "#ifndef SERVELAB_SIMT with plain C in the other branch"
#define TEXTURE                                                                                    \
    "textures and surfaces can't run on the CPU. Read the array through a const __restrict__ "     \
    "pointer; clamp the index yourself"
#define CLUSTER                                                                                    \
    "thread block clusters can't run on the CPU. Exchange data between blocks through global "     \
    "memory and a second launch"
#define GRID                                                                                       \
    "synchronising a whole grid can't run on the CPU, where blocks run one after another. Split "  \
    "the kernel in two launches at that point"

static const struct {
    const char *name, *followed_by, *why;
} refused[] = {
    {"asm", NULL, PTX},
    {"__asm__", NULL, PTX},
    {"__asm", NULL, PTX},
    {"texture", "<", TEXTURE},
    {"surface", "<", TEXTURE},
    {"cudaTextureObject_t", NULL, TEXTURE},
    {"cudaSurfaceObject_t", NULL, TEXTURE},
    {"cudaCreateTextureObject", NULL, TEXTURE},
    {"tex1Dfetch", NULL, TEXTURE},
    {"tex1D", NULL, TEXTURE},
    {"tex2D", NULL, TEXTURE},
    {"tex3D", NULL, TEXTURE},
    {"surf2Dread", NULL, TEXTURE},
    {"surf2Dwrite", NULL, TEXTURE},
    {"__cluster_dims__", NULL, CLUSTER},
    {"this_cluster", NULL, CLUSTER},
    {"cluster_group", NULL, CLUSTER},
    {"cudaLaunchKernelEx", NULL, CLUSTER},
    {"cudaLaunchKernelExC", NULL, CLUSTER},
    {"this_grid", NULL, GRID},
    {"grid_group", NULL, GRID},
    {"cudaLaunchCooperativeKernel", NULL, GRID},
};

void rewrite_refuse(struct rewriter *r) {
    for (int i = 0; i < r->t.count && !r->failed; i++) {
        const struct token *k = &r->t.list[i];
        if (k->kind != TOKEN_NAME || k->system) continue;
        for (size_t f = 0; f < sizeof refused / sizeof *refused; f++)
            if (token_is(&r->t, i, refused[f].name) &&
                (!refused[f].followed_by ||
                 token_is(&r->t, token_next(&r->t, i), refused[f].followed_by)))
                rewrite_fail(r, i, "%s", refused[f].why);
    }
}
