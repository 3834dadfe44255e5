/* fleet.h: N simulated servers behind a router, on one clock.
 *
 * The router sees what a load balancer sees: how many requests each server has outstanding, and the
 * request's prefix. Reference routers, by these names:
 *   round-robin
 *   least-outstanding    of equal ones the lowest number
 *   power-of-two         two servers drawn at random, the one with fewer outstanding (Mitzenmacher,
 *                        2001)
 *   prefix-affinity      the server that a hash of the prefix names, unless it has more than
 *                        FLEET_AFFINITY_SLACK times the mean outstanding: then the next (bounded
 *                        loads: Mirrokni et al., 2018)
 */
#ifndef SERVELAB_SIM_FLEET_H
#define SERVELAB_SIM_FLEET_H

#include "sim/sim.h"

struct fleet;

/* `servers` servers, each as *c says but with its own policy state, created from policy_arg. NULL
 * and *e naming the flag at fault. seed: the router's own draws. */
struct fleet *fleet_create(const struct sim_config *c, const char *policy_arg, int32_t servers,
                           const char *router, uint64_t seed, struct err *e);
void fleet_free(struct fleet *f);

/* As sim_run_until, sim_run_to_end, sim_push and sim_finish, for all servers. */
int fleet_run_until(struct fleet *f, int64_t t_ns, struct err *e);
int fleet_run_to_end(struct fleet *f, int64_t t_ns, struct err *e);
int fleet_push(struct fleet *f, const struct sim_request *r, struct err *e);
int fleet_finish(struct fleet *f, struct err *e);

/* Sums over the servers (peaks: the highest). */
void fleet_counters(const struct fleet *f, struct sim_counters *out);
int32_t fleet_servers(const struct fleet *f);
const struct sim_counters *fleet_server_counters(const struct fleet *f, int32_t server);

#endif
