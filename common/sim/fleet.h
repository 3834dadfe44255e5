/* fleet.h: N simulated servers behind a router, on one clock.
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
 *                        bounded loads: Mirrokni, Thorup, Zadimoghaddam, SODA 2018). A request whose
 *                        prefix isn't known goes to the one with the fewest
 *   central              one queue in front of all: a request goes to a server only when that server
 *                        has none; central:N when it has fewer than N. With one position a server
 *                        this is the M/M/c of queueing theory; the others route at once, and can
 *                        leave one server idle while another has a queue
 */
// clang-format on
/* At one instant the effects of iterations come first, in all servers, then arrivals, then the
 * policies' decisions; where that leaves a choice, the lowest server is first. So outcomes come in
 * order of time over all servers.
 *
 * A server is looked at only when something can happen in it (sim_next_ns), not at every arrival
 * elsewhere: a hundred servers cost little more than one with the same load.
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

/* Sums over the servers (peaks: the highest). What waits in a central queue counts as in the
 * system; a server's own counters know of it only when it has come. */
void fleet_counters(const struct fleet *f, struct sim_counters *out);
int32_t fleet_servers(const struct fleet *f);
const struct sim_counters *fleet_server_counters(const struct fleet *f, int32_t server);

#endif
