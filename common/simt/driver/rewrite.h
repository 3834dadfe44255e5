/* rewrite.h: turns a preprocessed .cu file into plain C++ that calls the runtime.
 *
 *   k<<<g, b, s, st>>>(x)     a call into simt_launch.h that converts x as a direct call would
 *   __shared__ T a[N];        a reference into the block's shared memory
 *   extern __shared__ T a;    a reference to its dynamic part, for any T. If it is declared outside
 *                             of functions: in each device function that mentions the name
 *   __global__ ... k(...) {}  the function, and its registration after its body; `return;` in it
 *                             calls simt_leave
 *   __device__ T v;           the variable, and its registration after it
 *   __launch_bounds__(n)      kept in the registration
 *
 * What the CPU can't run is refused: inline PTX, textures, dynamic parallelism, clusters, grid-wide
 * synchronisation, graphs. The refusal names the file, the line and an alternative.
 */
#ifndef SIMT_REWRITE_H
#define SIMT_REWRITE_H

#include <stddef.h>

/* text: the preprocessor's output, NUL-terminated. name: for messages before the first line marker.
 * Returns the new text (the caller frees it), or NULL with "file:line: error: ..." in message. */
char *rewrite(const char *text, size_t length, const char *name, char *message, size_t cap);

#endif
