/* mma.h: nvcuda::wmma, 16 x 16 x 16, half or bf16 into float (or half into half), on the CPU.
 *
 * A fragment holds 8 consecutive elements a lane, moved by the vector accesses that the layout
 * allows. As on a GPU, the place of an element is not defined. Sums are float, in the
 * order of k: a tensor core's order differs, so compare with a tolerance.
 */
#ifndef SIMT_MMA_H
#define SIMT_MMA_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    static_assert(M == 16 && N == 16 && K == 16,
                  "simt has wmma for 16 x 16 x 16 only: use that shape");
    enum { num_elements = 8 };
    T x[8];
};

template <class Layout> struct simt_by_column {
    enum { value = 0 };
};
template <> struct simt_by_column<col_major> {
    enum { value = 1 };
};

template <class Use, class T, class Layout>
SIMT_INLINE void fill_fragment(fragment<Use, 16, 16, 16, T, Layout> &f, T v) {
    for (int i = 0; i < 8; i++) f.x[i] = v;
}

/* Lane l's 8 elements: line l / 2 of the layout, from (l % 2) * 8 on. */
template <class T> SIMT_INLINE T *simt_fragment_at(T *p, unsigned ldm) {
    unsigned lane = simt_lane();
    return p + (size_t)(lane / 2) * ldm + lane % 2 * 8;
}
template <class T> SIMT_INLINE void simt_fragment_load(T *x, const T *p) {
    for (unsigned i = 0; i < 8 * sizeof(T) / 16; i++) {
        uint4 v = ((const uint4 *)p)[i];
        __builtin_memcpy((void *)((char *)x + 16 * i), (const void *)&v, 16);
    }
}
template <class Use, class T, class Layout>
SIMT_INLINE void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout> &f, const T *p, unsigned ldm,
                                  unsigned line = (unsigned)__builtin_LINE()) {
    simt_fragment_load(f.x, simt_fragment_at(p, ldm));
    simt_warp_op(SIMT_OP_MMA_LOAD, 0xffffffffu, 0, 0, 0xffe00000u | line);
}
template <class T>
SIMT_INLINE void load_matrix_sync(fragment<accumulator, 16, 16, 16, T> &f, const T *p, unsigned ldm,
                                  layout_t layout, unsigned line = (unsigned)__builtin_LINE()) {
    if (layout == mem_row_major) {
        simt_fragment_load(f.x, simt_fragment_at(p, ldm));
    } else {
        unsigned lane = simt_lane();
        for (unsigned i = 0; i < 8; i++) f.x[i] = p[(lane % 2 * 8 + i) * (size_t)ldm + lane / 2];
    }
    simt_warp_op(SIMT_OP_MMA_LOAD, 0xffffffffu, 0, 0, 0xffd00000u | line);
}
template <class T>
SIMT_INLINE void store_matrix_sync(T *p, const fragment<accumulator, 16, 16, 16, T> &f,
                                   unsigned ldm, layout_t layout,
                                   unsigned line = (unsigned)__builtin_LINE()) {
    if (layout == mem_row_major) {
        T *to = simt_fragment_at(p, ldm);
        for (unsigned i = 0; i < 8 * sizeof(T) / 16; i++) {
            uint4 v;
            __builtin_memcpy((void *)&v, (const char *)f.x + 16 * i, 16);
            ((uint4 *)to)[i] = v;
        }
    } else {
        unsigned lane = simt_lane();
        for (unsigned i = 0; i < 8; i++) p[(lane % 2 * 8 + i) * (size_t)ldm + lane / 2] = f.x[i];
    }
    simt_warp_op(SIMT_OP_MMA_STORE, 0xffffffffu, 0, 0, 0xffc00000u | line);
}

template <class D, class T, class LA, class LB, class C>
SIMT_INLINE void mma_sync(fragment<accumulator, 16, 16, 16, D> &d,
                          const fragment<matrix_a, 16, 16, 16, T, LA> &a,
                          const fragment<matrix_b, 16, 16, 16, T, LB> &b,
                          const fragment<accumulator, 16, 16, 16, C> &c,
                          unsigned line = (unsigned)__builtin_LINE()) {
    struct simt_mma m;
    m.a_by_column = simt_by_column<LA>::value, m.b_by_column = simt_by_column<LB>::value;
    for (int i = 0; i < 8; i++) {
        m.a[i] = (float)a.x[i], m.b[i] = (float)b.x[i], m.c[i] = (float)c.x[i];
    }
    simt_warp_op(SIMT_OP_MMA, 0xffffffffu, (uint64_t)(uintptr_t)&m, 0, 0xffb00000u | line);
    for (int i = 0; i < 8; i++) d.x[i] = D(m.d[i]);
}

} // namespace wmma
} // namespace nvcuda

#endif
