/* Right answers, but the observations are sorted where they stand.
 * watch: safety.inputs_unchanged
 * examined: lost; says: SIGSEGV
 * trusted: nothing
 */
//reference percentile_nearest_rank right_answer

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    int64_t *mine = (int64_t *)(uintptr_t)obs_ns;
    for (size_t i = 0; i < n_ok; i++)
        for (size_t k = i; k > 0 && mine[k - 1] > mine[k]; k--) {
            int64_t t = mine[k];
            mine[k] = mine[k - 1];
            mine[k - 1] = t;
        }
    return right_answer(obs_ns, n_ok, n_failed, percentile_milli);
}
