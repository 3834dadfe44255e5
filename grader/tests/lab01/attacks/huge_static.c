/* 600 MB of static variables: the process has no room for them and does not start.
 * examined: refused; says: MB of static
 * trusted: nothing
 */
//reference percentile_nearest_rank right_rank

static volatile char huge[600u << 20];

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    huge[n_ok] = 1;
    return right_rank(obs_ns, n_ok, n_failed, percentile_milli);
}
