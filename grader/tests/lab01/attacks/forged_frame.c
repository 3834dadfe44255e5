/* Writes answer frames to the channel's descriptor without having been given the nonce, then
 * exits.
 * examined: refused; says: write
 * trusted: nothing; also in bubblewrap
 */
#include "objective/percentile.h"
#include <stdint.h>
#include <unistd.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    struct {
        uint32_t magic, type;
        uint64_t nonce;
        uint32_t length, pad;
        int64_t slots[6];
    } forged = {0x31474c53, 2, 0, 48, 0, {1, 0, 5000000, 1, 0, 1}};
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    for (int i = 0; i < 100; i++)
        if (write(3, &forged, sizeof forged) < 0) break;
    _exit(0);
}
