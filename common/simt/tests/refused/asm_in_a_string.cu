// accepted: what looks like it in strings, comments and names
#include <cstdio>
/* asm("nop"); k<<<1, 1>>>(); */
static const char *text = "asm volatile __shared__ k<<<1, 2>>>(x)";
static const char *raw = R"(__global__ <<< " )";
static int asm_count = 1'000, texture_size = 1 << 3 << 1;
struct texture { int x; };
__global__ void k(int *x) { *x = 7; }
int main() {
    texture t = {asm_count + texture_size};
    int *p, v = 0;
    cudaMalloc(&p, 4);
    k<<<1, 1>>>(p);
    cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost);
    printf("%s%s%d\n", text, raw, t.x);
    return v != 7;
}
