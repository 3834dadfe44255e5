/* warp_scan.cuh: cub::WarpScan: a prefix scan over the threads of a warp, or of a part of one. */
#ifndef SIMT_CUB_WARP_SCAN_CUH
#define SIMT_CUB_WARP_SCAN_CUH

#include "../simt_cub.cuh"

namespace cub {

/* An exclusive scan without an initial value leaves the first lane's result undefined (here: its
 * input), as CUB's does. warp_aggregate: the reduction of all inputs, without the initial value. */
template <class T, int N = 32, int = 0> class WarpScan {
  public:
    SIMT_CUB_NO_TEMPORARIES;
    explicit WarpScan(TempStorage &) {}

    template <class Op> SIMT_CUB void InclusiveScan(T in, T &out, Op op, SIMT_CUB_AT) {
        int lane = (int)(simt_lane() % N);
        for (int delta = 1; delta < N; delta *= 2) {
            T other = simt_cub_up<N>(in, delta, line);
            if (lane >= delta) in = op(other, in);
        }
        out = in;
    }
    template <class Op>
    SIMT_CUB void InclusiveScan(T in, T &out, Op op, T &warp_aggregate, SIMT_CUB_AT) {
        InclusiveScan(in, out, op, line);
        warp_aggregate = simt_cub_from<N>(out, N - 1, line);
    }
    template <class Op> SIMT_CUB void ExclusiveScan(T in, T &out, Op op, SIMT_CUB_AT) {
        T inclusive;
        Scan(in, inclusive, out, op, line);
    }
    template <class Op> SIMT_CUB void ExclusiveScan(T in, T &out, T initial, Op op, SIMT_CUB_AT) {
        T inclusive;
        Scan(in, inclusive, out, initial, op, line);
    }
    template <class Op>
    SIMT_CUB void ExclusiveScan(T in, T &out, Op op, T &warp_aggregate, SIMT_CUB_AT) {
        T inclusive;
        Scan(in, inclusive, out, op, line);
        warp_aggregate = simt_cub_from<N>(inclusive, N - 1, line);
    }
    template <class Op>
    SIMT_CUB void ExclusiveScan(T in, T &out, T initial, Op op, T &warp_aggregate, SIMT_CUB_AT) {
        T inclusive;
        Scan(in, inclusive, out, op, line);
        warp_aggregate = simt_cub_from<N>(inclusive, N - 1, line);
        out = simt_lane() % N ? op(initial, out) : initial;
    }
    /* Both scans at once. */
    template <class Op> SIMT_CUB void Scan(T in, T &inclusive, T &exclusive, Op op, SIMT_CUB_AT) {
        InclusiveScan(in, inclusive, op, line);
        exclusive = simt_cub_up<N>(inclusive, 1, line);
    }
    template <class Op>
    SIMT_CUB void Scan(T in, T &inclusive, T &exclusive, T initial, Op op, SIMT_CUB_AT) {
        Scan(in, inclusive, exclusive, op, line);
        inclusive = op(initial, inclusive);
        exclusive = simt_lane() % N ? op(initial, exclusive) : initial;
    }

    SIMT_CUB void InclusiveSum(T in, T &out, SIMT_CUB_AT) {
        InclusiveScan(in, out, cub::Sum(), line);
    }
    SIMT_CUB void InclusiveSum(T in, T &out, T &warp_aggregate, SIMT_CUB_AT) {
        InclusiveScan(in, out, cub::Sum(), warp_aggregate, line);
    }
    SIMT_CUB void ExclusiveSum(T in, T &out, SIMT_CUB_AT) {
        ExclusiveScan(in, out, T(), cub::Sum(), line);
    }
    SIMT_CUB void ExclusiveSum(T in, T &out, T &warp_aggregate, SIMT_CUB_AT) {
        ExclusiveScan(in, out, T(), cub::Sum(), warp_aggregate, line);
    }
    SIMT_CUB T Broadcast(T v, unsigned lane, SIMT_CUB_AT) {
        return simt_cub_from<N>(v, (int)lane, line);
    }
};

} // namespace cub

#endif
