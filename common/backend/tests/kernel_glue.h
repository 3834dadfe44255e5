/* kernel_glue.h: the CUDA side of kernel_run.c, which is plain C: memory and one kernel's launch. */
#ifndef SERVELAB_BACKEND_TESTS_KERNEL_GLUE_H
#define SERVELAB_BACKEND_TESTS_KERNEL_GLUE_H

#include <stddef.h>

struct launch_shape;

#ifdef __cplusplus
extern "C" {
#endif
/* Each returns NULL, or what went wrong in the CUDA runtime's words. */
const char *glue_alloc(void **device, size_t bytes);
const char *glue_free(void *device);
const char *glue_upload(void *device, const void *host, size_t bytes);
const char *glue_download(void *host, const void *device, size_t bytes);
/* Launches the kernel that this was compiled for (-DKERNEL=name) and waits for its end. args as
 * kernel_case_args makes them. */
const char *glue_launch(const struct launch_shape *shape, void **args);
#ifdef __cplusplus
}
#endif

#endif
