/* calibration.h: the constants that calibration/fit.py fitted for Llama-2-7B; calibration/README.md
 * has the method and the errors on points that weren't fitted. Generated: don't edit, run fit.py.
 */
#ifndef SERVELAB_SIM_CALIBRATION_H
#define SERVELAB_SIM_CALIBRATION_H

#include <stdint.h>

#define CALIBRATED_OVERLAP_LOSS_1024 352
#define CALIBRATED_TILE_TOKENS       128
#define CALIBRATED_TILE_FROM         64
#define CALIBRATED_LAYERS            32 /* the overheads are of so many */

#define A100_BANDWIDTH   INT64_C(1540000000000)   /* bytes/s */
#define A100_FLOPS       INT64_C(212000000000000) /* operations/s */
#define A100_OVERHEAD_NS 790000

#define H100_BANDWIDTH   INT64_C(2540000000000)   /* bytes/s */
#define H100_FLOPS       INT64_C(622000000000000) /* operations/s */
#define H100_OVERHEAD_NS 670000

#endif
