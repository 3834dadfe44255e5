/* Data in the section by which a stack is unwound.
 * examined: refused; says: plain C|data among
 * trusted: earned
 */
//reference percentile_nearest_rank right
static const int data __attribute__((section(".eh_frame"), used)) = 1;
struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    return right(obs_ns, n_ok, n_failed, percentile_milli);
}
