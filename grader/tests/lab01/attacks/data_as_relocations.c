/* Data in a section that the linker takes for relocations, so that no file links.
 * examined: refused; says: plain C
 * trusted: nothing
 */
//reference percentile_nearest_rank right
static const long data[3] __attribute__((section(".rela.text"), used)) = {1, 2, 3};
struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    return right(obs_ns, n_ok, n_failed, percentile_milli);
}
