/* quant.cu: the kernels of quantised matrices against the same codes and scales multiplied out in
 * double on the host, and the values of all 256 codes of QUANT_FP8 against a table; TAP.
 *
 *   quant CASES
 *
 * A weight is exact up to one rounding to float. Tolerance of a product: 1e-6 of the sum of its
 * terms' magnitudes, for the float sum.
 */
#include "backend/cuda/quant.cuh"
#include "model/tensor.h"
#include "simt/tests/tap.cuh"

#include <string.h>

#define GOLDEN "common/backend/cpu/tests/golden/fp8_e4m3.txt"

enum { TYPES = 4, CODES = 256 };
static const int32_t types[TYPES] = {QUANT_FP8, DTYPE_Q8_0, DTYPE_Q4_0, DTYPE_Q4_1};
static const char *const names[TYPES] = {"FP8", "Q8_0", "Q4_0", "Q4_1"};
static float value_of[CODES]; /* of a code of QUANT_FP8 */

static unsigned state = 1;
static int below(int n) {
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (unsigned)n);
}
static float unit() {
    return (float)(below(1 << 16) - (1 << 15)) / (1 << 15);
}

static int read_golden() {
    char line[100];
    unsigned code, bits;
    int n = 0;
    FILE *f = fopen(GOLDEN, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "value %x %x", &code, &bits) == 2 && code < CODES) {
            memcpy(&value_of[code], &bits, 4);
            n++;
        }
    if (f) fclose(f);
    return n;
}

struct drawn { /* a matrix, as the kernels take it and multiplied out */
    std::vector<uint8_t> codes, scales;
    std::vector<float> w;
    float row_scale; /* of QUANT_FP8, while it is drawn */
};

template <class T> static void append(std::vector<uint8_t> &to, T v) {
    to.insert(to.end(), (uint8_t *)&v, (uint8_t *)&v + sizeof v);
}

/* A code drawn at random, none of NaN, and its value in steps of the scale. */
static uint8_t draw_code(int32_t type, double *steps) {
    uint8_t c = (uint8_t)below(type == DTYPE_Q4_0 || type == DTYPE_Q4_1 ? 16 : CODES);
    if (type == QUANT_FP8 && (c & 0x7f) == 0x7f) c--;
    *steps = type == DTYPE_Q8_0 ? (int8_t)c : type == DTYPE_Q4_0 ? c - 8 : c;
    if (type == QUANT_FP8) *steps = value_of[c];
    return c;
}

static drawn draw(int32_t type, int rows, int cols) {
    drawn m;
    bool halves = type == DTYPE_Q4_0 || type == DTYPE_Q4_1;
    for (int group = 0; group < rows * cols / 32; group++) {
        float scale = (1 + unit() / 2) / 512, least = 0;
        if (type != QUANT_FP8) append(m.scales, __float2half(scale));
        if (type != QUANT_FP8) scale = __half2float(__float2half(scale));
        if (type == DTYPE_Q4_1) append(m.scales, __float2half(least = -8 * scale));
        if (type == DTYPE_Q4_1) least = __half2float(__float2half(least));
        if (type == QUANT_FP8 && group % (cols / 32) == 0) append(m.scales, m.row_scale = scale);
        if (type == QUANT_FP8) scale = m.row_scale;
        uint8_t code[32];
        for (int i = 0; i < 32; i++) {
            double steps;
            code[i] = draw_code(type, &steps);
            m.w.push_back((float)(scale * steps + least));
        }
        for (int i = 0; i < (halves ? 16 : 32); i++)
            m.codes.push_back((uint8_t)(code[i] | (halves ? code[i + 16] << 4 : 0)));
    }
    return m;
}

static unsigned grid(int64_t threads) {
    return (unsigned)((threads + 255) / 256);
}

/* All are exact, but for Q4_1, where a multiplication and an addition may be one operation: then
 * the last bit may differ, of a float and of a bf16. */
static bool same(int32_t type, float a, float b, double last_bit) {
    return type == DTYPE_Q4_1 ? fabs((double)a - b) <= last_bit * fabs((double)b) + 1e-9 : a == b;
}

static void compare(int i) {
    int32_t type = types[i % TYPES];
    int rows = 1 + below(70), cols = 32 * (1 + below(9)), n = 1 + below(QUANT_ROWS);
    drawn m = draw(type, rows, cols);
    std::vector<float> x;
    for (int k = 0; k < n * cols; k++) x.push_back(unit());
    std::vector<int32_t> id;
    for (int t = 0; t < n; t++) id.push_back(below(rows));
    uint8_t *codes = device_copy(m.codes), *scales = device_copy(m.scales);
    float *dx = device_copy(x), *y = device_filled<float>((size_t)n * rows, 0x11),
          *e = device_filled<float>((size_t)n * cols, 0x11);
    int first = below(rows), tile_rows = 1 + below(rows - first);
    bf16 *tile = device_filled<bf16>((size_t)tile_rows * cols, 0x11);
    int32_t *ids = device_copy(id);
    gemv_quant<<<grid(((int64_t)rows + 3) / 4 * 32), 256>>>(y, codes, scales, dx, n, rows, cols,
                                                            type);
    widen_tile<<<grid((int64_t)tile_rows * cols / 4), 256>>>(tile, codes, scales, first, tile_rows,
                                                             cols, type);
    embedding_quant<<<grid((int64_t)n * cols / 4), 256>>>(e, codes, scales, ids, n, cols, type);
    std::vector<float> got = host_copy(y, (size_t)n * rows),
                       rows_of = host_copy(e, (size_t)n * cols);
    std::vector<bf16> wide = host_copy(tile, (size_t)tile_rows * cols);

    double far = 0;
    for (int t = 0; t < n; t++)
        for (int r = 0; r < rows; r++) {
            double sum = 0, size = 0;
            for (int c = 0; c < cols; c++) {
                double term = (double)m.w[(size_t)r * cols + c] * x[(size_t)t * cols + c];
                sum += term;
                size += fabs(term);
            }
            double error = fabs(got[(size_t)t * rows + r] - sum) / size;
            far = std::isfinite(error) ? fmax(far, error) : 9;
        }
    bool rounded = true, looked_up = true;
    for (int64_t k = 0; k < (int64_t)tile_rows * cols; k++) {
        float w = __bfloat162float(__float2bfloat16(m.w[(size_t)first * cols + k]));
        rounded &= same(type, __bfloat162float(wide[k]), w, 0x1p-7);
    }
    for (int t = 0; t < n; t++)
        for (int c = 0; c < cols; c++)
            looked_up &=
                same(type, rows_of[(size_t)t * cols + c], m.w[(size_t)id[t] * cols + c], 0x1p-20);
    TAP(far <= 1e-6 && rounded && looked_up,
        "%s, %d rows times (%d, %d): %.1e of the terms; rounded and looked up", names[i % TYPES], n,
        rows, cols, far);
    void *all[] = {codes, scales, dx, y, e, tile, ids};
    for (void *p : all) cudaFree(p);
}

/* All codes as one row of 256, with a scale of one. */
static void all_codes(int found) {
    std::vector<uint8_t> codes;
    for (int c = 0; c < CODES; c++) codes.push_back((uint8_t)c);
    std::vector<float> one = {1};
    std::vector<int32_t> zero = {0};
    uint8_t *d_codes = device_copy(codes);
    float *scale = device_copy(one), *out = device_filled<float>(CODES, 0x11);
    int32_t *id = device_copy(zero);
    embedding_quant<<<1, 256>>>(out, d_codes, scale, id, 1, CODES, QUANT_FP8);
    std::vector<float> got = host_copy(out, CODES);
    int wrong = 0;
    for (int c = 0; c < CODES; c++)
        wrong +=
            std::isnan(value_of[c]) ? !std::isnan(got[c]) : memcmp(&got[c], &value_of[c], 4) != 0;
    TAP(found == CODES && wrong == 0, "%d of %d codes have the table's value", CODES - wrong,
        found);
    void *all[] = {d_codes, scale, out, id};
    for (void *p : all) cudaFree(p);
}

int main(int argc, char **argv) {
    int cases = argc > 1 ? atoi(argv[1]) : 24;
    all_codes(read_golden());
    for (int i = 1; i < cases; i++) compare(i);
    printf("1..%d\n", tap_count);
    return tap_failed > 0;
}
