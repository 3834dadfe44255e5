/* energy.h: the energy that the GPU has used, from NVML's counter.
 *
 * NVML (libnvidia-ml.so.1) comes with the driver and is loaded at run time. Without it there is no
 * meter, and the reason says so. SERVELAB_LIBNVML names another library. NVML counts every GPU of
 * the machine, CUDA only those of CUDA_VISIBLE_DEVICES; so with several GPUs the meter asks for
 * that variable to name one by its UUID (nvidia-smi -L). It has never read a real GPU.
 */
#ifndef SERVELAB_BACKEND_ENERGY_H
#define SERVELAB_BACKEND_ENERGY_H

#include "base/err.h"

struct energy_meter;

/* NULL and *e: joules can't be measured here, and why. */
struct energy_meter *energy_open(struct err *e);
/* Joules since the driver was loaded; NaN if the counter can't be read. The counter moves in steps
 * of some tens of milliseconds. */
double energy_joules(struct energy_meter *m);
void energy_close(struct energy_meter *m);

#endif
