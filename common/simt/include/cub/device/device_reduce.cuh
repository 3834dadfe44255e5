/* device_reduce.cuh: cub::DeviceReduce: a reduction of an array in device memory, by one block. */
#ifndef SIMT_CUB_DEVICE_REDUCE_CUH
#define SIMT_CUB_DEVICE_REDUCE_CUH

#include "../block/block_reduce.cuh"

#include <limits>

namespace cub {

enum { SIMT_CUB_DEVICE_THREADS = 256 };

template <class In, class Out, class Op, class T>
void simt_cub_device_reduce(In in, Out out, int n, Op op, T initial) {
    typedef BlockReduce<T, SIMT_CUB_DEVICE_THREADS> Block;
    int valid = n < SIMT_CUB_DEVICE_THREADS ? n : SIMT_CUB_DEVICE_THREADS;
    T v = initial;
    for (int i = (int)threadIdx.x; i < n; i += SIMT_CUB_DEVICE_THREADS)
        v = i < SIMT_CUB_DEVICE_THREADS ? T(in[i]) : op(v, T(in[i]));
    v = Block().Reduce(v, op, valid);
    if (threadIdx.x == 0) *out = n > 0 ? op(initial, v) : initial;
}

/* With storage NULL each function only sets `bytes`, the size of the storage it wants. */
struct DeviceReduce {
    template <class In, class Out, class Op, class T>
    static cudaError_t Reduce(void *storage, size_t &bytes, In in, Out out, int n, Op op, T initial,
                              cudaStream_t stream = 0) {
        if (!storage) {
            bytes = 1;
            return cudaSuccess;
        }
        simt_typed<In, Out, int, Op, T>::go(
            simt_config(dim3(1), dim3(SIMT_CUB_DEVICE_THREADS), 0, stream),
            {"cub::DeviceReduce", __FILE__, __LINE__}, simt_cub_device_reduce<In, Out, Op, T>, in,
            out, n, op, initial);
        return cudaPeekAtLastError();
    }
    template <class In, class Out>
    static cudaError_t Sum(void *storage, size_t &bytes, In in, Out out, int n,
                           cudaStream_t stream = 0) {
        typedef typename std::decay<decltype(*out)>::type T;
        return Reduce(storage, bytes, in, out, n, cub::Sum(), T(), stream);
    }
    template <class In, class Out>
    static cudaError_t Max(void *storage, size_t &bytes, In in, Out out, int n,
                           cudaStream_t stream = 0) {
        typedef typename std::decay<decltype(*in)>::type T;
        return Reduce(storage, bytes, in, out, n, cub::Max(), std::numeric_limits<T>::lowest(),
                      stream);
    }
    template <class In, class Out>
    static cudaError_t Min(void *storage, size_t &bytes, In in, Out out, int n,
                           cudaStream_t stream = 0) {
        typedef typename std::decay<decltype(*in)>::type T;
        return Reduce(storage, bytes, in, out, n, cub::Min(), std::numeric_limits<T>::max(),
                      stream);
    }
};

} // namespace cub

#endif
