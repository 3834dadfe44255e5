/* streams.cu: work of streams is postponed until something waits, in order; events; graphs; TAP.
 * With -DFAULTS the host touches two copies' memory too early. */
#include "tap.cuh"

enum { N = 256 };

__global__ void add(int *x, int by) {
    x[threadIdx.x] += by;
}
__global__ void twice(const int *x, int *y) {
    y[threadIdx.x] = 2 * x[threadIdx.x];
}

struct pair { /* pinned memory and device memory */
    int *host, *device;
    pair() {
        cudaMallocHost(&host, N * sizeof(int));
        cudaMalloc(&device, N * sizeof(int));
        for (int i = 0; i < N; i++) host[i] = i;
    }
    ~pair() {
        cudaFreeHost(host);
        cudaFree(device);
    }
    void up(cudaStream_t s) {
        cudaMemcpyAsync(device, host, N * sizeof(int), cudaMemcpyHostToDevice, s);
    }
    void down(cudaStream_t s) {
        cudaMemcpyAsync(host, device, N * sizeof(int), cudaMemcpyDeviceToHost, s);
    }
};

#ifndef FAULTS
static void postponed() {
    cudaStream_t s;
    pair a, b;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    a.up(s);
    add<<<1, N, 0, s>>>(a.device, 10);
    cudaMemcpyAsync(b.host, a.device, N * sizeof(int), cudaMemcpyDeviceToHost, s);
    TAP(b.host[5] != 15, "a copy to page-locked memory is not there before the program waits");
    cudaDeviceSynchronize();
    TAP(b.host[5] == 15, "and is there after it");
    std::vector<int> plain(N, 3);
    cudaMemcpyAsync(a.device, plain.data(), N * sizeof(int), cudaMemcpyHostToDevice, s);
    plain.assign(N, 0);
    cudaMemcpyAsync(plain.data(), a.device, N * sizeof(int), cudaMemcpyDeviceToHost, s);
    TAP(plain[7] == 3, "pageable memory is read at the call, and written when the call returns");
    cudaStreamDestroy(s);
}

static void blocking() {
    cudaStream_t s, apart;
    pair a, b;
    int got[N];
    cudaStreamCreate(&s);
    cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking);
    cudaMemset(b.device, 0, N * sizeof(int));
    a.up(s);
    b.up(apart);
    cudaMemcpy(got, a.device, sizeof got, cudaMemcpyDeviceToHost);
    TAP(got[9] == 9, "cudaMemcpy waits for a stream of cudaStreamCreate");
    cudaMemcpy(got, b.device, sizeof got, cudaMemcpyDeviceToHost);
    TAP(got[9] == 0, "but not for a non-blocking one");
    cudaStreamDestroy(s);
    cudaStreamDestroy(apart);
}

static void events() {
    cudaStream_t s, t;
    cudaEvent_t ready;
    pair a, b;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaEventCreate(&ready);
    a.up(s);
    add<<<1, N, 0, s>>>(a.device, 1);
    cudaEventRecord(ready, s);
    add<<<1, N, 0, s>>>(a.device, 100);
    cudaStreamWaitEvent(t, ready, 0);
    twice<<<1, N, 0, t>>>(a.device, b.device);
    b.down(t);
    TAP(cudaEventQuery(ready) == cudaErrorNotReady, "an event is not ready at once");
    cudaStreamSynchronize(t);
    TAP(b.host[4] == 10, "a stream waits for the event, not for what is behind it");
    TAP(cudaEventQuery(ready) == cudaSuccess, "then the event is ready");
    int asked = 0;
    while (cudaStreamQuery(s) == cudaErrorNotReady) asked++;
    a.down(s);
    cudaStreamSynchronize(s);
    TAP(a.host[4] == 105, "a loop over cudaStreamQuery ends");
    cudaEventDestroy(ready);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}

static void graphs() {
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    pair a;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
    a.up(s);
    for (int by = 1; by <= 2; by++) add<<<1, N, 0, s>>>(a.device, by);
    TAP(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported,
        "a stream that captures can't be waited for");
    cudaGetLastError();
    a.down(s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    for (int i = 0; i < 3; i++) cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    TAP(a.host[20] == 29, "a graph does its work each time that it is launched");
    cudaGraphExecDestroy(exec);
    cudaStreamDestroy(s);
}

int main() {
    postponed();
    blocking();
    events();
    graphs();
    return tap_failed != 0;
}
#else
int main() {
    cudaStream_t s;
    pair a, b;
    cudaStreamCreate(&s);
    cudaMemcpyAsync(a.device, a.host, 64, cudaMemcpyHostToDevice, s); //! reads
    a.host[3] = 77;
    cudaMemcpyAsync(b.host, a.device, 64, cudaMemcpyDeviceToHost, s); //! writes
    b.host[2] = 5;
    cudaStreamSynchronize(s);
    return 0;
}
#endif
