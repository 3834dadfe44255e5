/* rewrite.h: CUDA's own syntax out of a preprocessed .cu file.
 *
 *   k<<<g, b, s, st>>>(x)     a call into simt_launch.h that converts x as a direct call would
 *   __shared__ T a[N];        a reference into the block's shared memory
 *   extern __shared__ T a[];  a pointer to its dynamic part
 *   __global__ ... k(...) {}  the function, and an announcement of it after its body
 *   __device__ T v;           the variable, and an announcement after it
 *   __launch_bounds__(n)      kept in the announcement
 *
 * What the CPU can't run is refused: inline PTX, textures, dynamic parallelism, clusters, grid-wide
 * synchronisation, graphs. The refusal names the file, the line and another way.
 */
#ifndef SIMT_REWRITE_H
#define SIMT_REWRITE_H

#include <stddef.h>

/* text: the preprocessor's output, NUL-terminated. name: for messages before the first line marker.
 * Returns the new text (the caller frees it), or NULL with "file:line: error: ..." in message. */
char *rewrite(const char *text, size_t length, const char *name, char *message, size_t cap);

#endif
