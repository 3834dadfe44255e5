/* names.c: precisions, planted faults and the compiled kernels by name. See cpu.h. */
#include "backend/cpu/cpu.h"

#include "backend/cpu/vec.h"

const char *backend_weights_name(enum backend_weights w) {
    static const char *const names[] = {"as-stored", "f32", "bf16", "int8", "int4", "fp8"};
    return w >= WEIGHTS_AS_STORED && w <= WEIGHTS_FP8 ? names[w] : "?";
}

const char *backend_precision_name(enum backend_precision p) {
    return p == PRECISION_EXACT ? "exact" : p == PRECISION_FAST ? "fast" : "?";
}

const char *backend_kv_name(enum backend_kv kv) {
    return kv == KV_F32 ? "f32" : kv == KV_F16 ? "f16" : kv == KV_INT8 ? "int8" : "?";
}

const char *backend_fault_name(enum backend_fault f) {
    static const char *const names[] = {"none",           "lost-kv-block",    "rope-off-by-one",
                                        "wrong-head-map", "no-softmax-scale", "skipped-layer"};
    return f >= FAULT_NONE && f <= FAULT_SKIPPED_LAYER ? names[f] : "?";
}

const char *backend_cpu_kernels(void) {
#if VEC_AVX512
    return "avx512";
#elif VEC_AVX2
    return "avx2";
#elif VEC_NEON
    return "neon";
#else
    return "portable";
#endif
}
