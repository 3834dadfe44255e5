/* plugin.h: what a plug-in of the CUDA backend exports to the program that loads it. */
#ifndef SERVELAB_BACKEND_CUDA_PLUGIN_H
#define SERVELAB_BACKEND_CUDA_PLUGIN_H

#include "backend/cuda/cuda.h"

/* Gives CUDA_PLUGIN_ABI, by which a plug-in of another build is refused: the first 64 bits of the
 * SHA-256 of the headers that both sides share, from module.mk. */
typedef uint64_t cuda_plugin_abi(void);
#define CUDA_PLUGIN_ABI_NAME "servelab_cuda_abi"

/* As backend_cuda_create; o->machine is the plug-in's own. */
typedef struct backend *cuda_plugin_create(const struct backend_config *c,
                                           const struct backend_cuda_options *o, struct err *e);
#define CUDA_PLUGIN_CREATE_NAME "servelab_cuda_create"

#endif
