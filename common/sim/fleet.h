/* fleet.h: N simulated servers behind a router, on one simulated clock.
 *
 * The router sees what a load balancer sees: how many requests each server has outstanding, and the
 * request's prefix. Routers, by these names:
 */
// clang-format off
/*   round-robin          one server after the other
 *   random               a server drawn at random
 *   least-outstanding    the server with the fewest; of equal ones the lowest number
 *   power-of-two         two servers drawn at random, the one with fewer outstanding (Mitzenmacher,
 *                        IEEE TPDS 12(10), 2001)
 *   prefix-affinity      the server that a hash of the prefix names, unless it has more than 5/4 of
 *                        the mean outstanding: then the next that hasn't (consistent hashing with
 *                        bounded loads: Mirrokni, Thorup, Zadimoghaddam, SODA 2018). A request
 *                        without a known prefix goes to the server with the fewest
 *   central              one queue in front of all servers: a request goes to a server only when
 *                        that has none; central:N: when it has fewer than N. With one batch position
 *                        per server this is M/M/c of queueing theory; the other routers assign a
 *                        request at its arrival, so that one server can idle while another has a
 *                        queue
 */
// clang-format on
/* At one instant the effects of iterations come first, in all servers, then arrivals, then the
 * policies' decisions; among equals the lowest server number is first. So outcomes are in order of
 * time over all servers.
 *
 * A server is visited only when it can have an event (sim_next_ns), not at every arrival elsewhere:
 * a hundred servers cost little more than one with the same load.
 */
#ifndef SERVELAB_SIM_FLEET_H
#define SERVELAB_SIM_FLEET_H

#include "sim/sim.h"

struct fleet;

/* `servers` servers with the configuration *c, each with its own policy state, created from
 * policy_arg. `seed` is the router's. NULL and *e naming the flag at fault. */
struct fleet *fleet_create(const struct sim_config *c, const char *policy_arg, int32_t servers,
                           const char *router, uint64_t seed, struct err *e);
void fleet_free(struct fleet *f);

/* As sim_run_until, sim_run_to_end, sim_push and sim_finish, for all servers. */
int fleet_run_until(struct fleet *f, int64_t t_ns, struct err *e);
int fleet_run_to_end(struct fleet *f, int64_t t_ns, struct err *e);
int fleet_push(struct fleet *f, const struct sim_request *r, struct err *e);
int fleet_finish(struct fleet *f, struct err *e);

/* Sums over the servers (peaks: the highest). A request in the central queue counts as in the
 * system; the server's own counters have it from the time it gets there. */
void fleet_counters(const struct fleet *f, struct sim_counters *out);
int32_t fleet_servers(const struct fleet *f);
const struct sim_counters *fleet_server_counters(const struct fleet *f, int32_t server);

#endif
