/* sim_sweep.h: `servelab sim sweep`, called by cmd_sim.c. */
#ifndef SERVELAB_CLI_SIM_SWEEP_H
#define SERVELAB_CLI_SIM_SWEEP_H

#include "cli/sim_flags.h"

/* Runs the sweep, prints it, writes sweep.json and curve.svg. An exit status. */
int sim_sweep(const struct sim_flags *f);

#endif
