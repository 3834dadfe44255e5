/* A tentative definition whose alignment is 256 MB: the program of all files has no room to start.
 * examined: refused; says: static
 * trusted: nothing
 */
//reference percentile_nearest_rank right
char common[16] __attribute__((common, aligned(1 << 28)));
struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    return right(obs_ns, n_ok, n_failed, percentile_milli);
}
