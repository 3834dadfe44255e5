/* test_fuzz_rewrite.c: some thousand fixed mutations of CUDA files through the rewriter. */
#include "fuzz_rewrite.c"

#include "testing/check_main.h"

static const char *const seeds[] = {
    "# 1 \"a.cu\"\n__global__ void __launch_bounds__(128, 2) k(float *x, int n) { x[n] = 1; }\n"
    "int main() { k<<<dim3(1, 2), 32, 0, s>>>(p, f(1, 2)); }\n",
    "template <typename T, int N> __global__ void k(T *x) { __shared__ T a[N][N + 1], *b, c;\n"
    "extern __shared__ __attribute__((aligned(16))) float pool[]; }\nvoid f() { k<float, "
    "2>\n<<<1,\n"
    "2>>>(x); ns::k<A<B>, (1 > 2)><<<g, b>>>(); (*p)<<<1, 1>>>(0); }\n",
    "__device__ float t[3] = {1, 2, 3}, u; static __constant__ int c; namespace n {\n"
    "extern \"C\" { __device__ __noinline__ int f(int a) { return a; } } }\n",
    "const char *s = \"asm <<< \\\" >>>\"; /* __shared__ */ char q = '\\''; // k<<<1,1>>>()\n"
    "auto r = R\"x(__global__)x\"; int m = 1'000; int z = a << 2 >> 3;\n# 7 \"b.h\" 1 "
    "3\nasm(\"\");\n",
    "extern __shared__ struct box b, *p; namespace n { extern float __shared__ q[][4]; __device__ "
    "int\nf(int b) { return b; } __global__ void k() { if (q[0][1]) return; b.head = 1; } }\n",
    "__shared__",
    "<<<",
    "k<<<1, 2",
    "__global__ ;",
};

START_TEST(any_bytes_are_refused_or_keep_their_lines) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 20000, 11);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_rewrite");
    TCase *t = tcase_create("fuzz_rewrite");
    tcase_add_test(t, any_bytes_are_refused_or_keep_their_lines);
    suite_add_tcase(s, t);
    return check_main(s);
}
