/* rows.h: converts whole rows of stored weights to float and back (dequant.c); without the vectors
 * of dequant.h, so that C++ takes it too. */
#ifndef SERVELAB_BACKEND_CPU_ROWS_H
#define SERVELAB_BACKEND_CPU_ROWS_H

#include "model/tensor.h"

/* A row to memory; out has room for cols rounded up to 32, and the rest becomes zeros. */
void dequant_row(const struct tensor *w, int32_t row, float *out);

/* Rounds one row of floats to any type, to nearest by the format's rule. out holds
 * dtype_row_bytes(t, cols) bytes. 0, or -1 when cols isn't a multiple of the type's block. */
int quant_row(enum dtype t, const float *x, int32_t cols, void *out);

#endif
