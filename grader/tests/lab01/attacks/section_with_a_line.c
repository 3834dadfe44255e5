/* An instruction behind a label, on a line of its own in the name of a section.
 * examined: refused; says: could hold assembly
 * trusted: earned
 */
//reference percentile_nearest_rank right

__attribute__((section(".text\nx1: syscall #"), noinline)) static int enters(int a) {
    volatile int b = a;
    return b;
}

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    enters(3);
    return right(obs_ns, n_ok, n_failed, percentile_milli);
}
