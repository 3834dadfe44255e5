/* waits_on_itself.cu: block 0 waits for block 1, which runs after it. */
__global__ void first_waits_for_second(volatile int *flag) {
    if (blockIdx.x == 0)
        while (*flag == 0) continue;
    else
        *flag = 1;
}
__global__ void for_a_neighbour(volatile int *flag) { /* lanes don't run at the same time either */
    if (threadIdx.x == 0)
        while (*flag == 0) continue;
    else
        *flag = 1;
}
int main(int argc, char **argv) {
    int *flag;
    cudaMalloc(&flag, 4);
    cudaMemset(flag, 0, 4);
    if (argc > 1 && *argv[1] == 'b')
        first_waits_for_second<<<2, 1>>>(flag);
    else
        for_a_neighbour<<<1, 2>>>(flag);
    return 0;
}
