/* kernel_glue.h: the device that kernel_run.c uses: memory, and the launch of one kernel.
 *
 * kernel_glue_simt.c implements it on the CPU, where the kernel is linked in (simtcc).
 */
#ifndef SERVELAB_BACKEND_TESTS_KERNEL_GLUE_H
#define SERVELAB_BACKEND_TESTS_KERNEL_GLUE_H

#include "backend/launch.h"

#include <stddef.h>

/* Each returns NULL, or the runtime's error message. */
const char *glue_open(const char *kernel);
const char *glue_alloc(void **device, size_t bytes);
const char *glue_free(void *device);
const char *glue_upload(void *device, const void *host, size_t bytes);
const char *glue_download(void *host, const void *device, size_t bytes);
/* Launches the kernel that was opened and waits for its end. args as kernel_case_args makes them.
 */
const char *glue_launch(const struct launch_shape *shape, void **args);

#endif
