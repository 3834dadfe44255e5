/* Data in the section of comments, which is not loaded: the linker gives up on all files.
 * examined: refused; says: plain C|data among
 * trusted: nothing
 */
//reference percentile_nearest_rank right
static const char data[] __attribute__((section(".comment"), used)) = "text";
struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    return right(obs_ns, n_ok, n_failed, percentile_milli);
}
