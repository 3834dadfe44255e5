/* prefix.h: which prefixes of earlier prompts are kept, so that their tokens need no computing.
 *
 * Prompts often begin alike: the same system text, the same conversation one turn longer. A prompt
 * is cut into units (512 tokens in the Mooncake trace), and unit i has a hash of everything from
 * the prompt's first token to the unit's last: equal hashes mean equal beginnings (a hash chain, as
 * in vLLM's automatic prefix caching). The store keeps the most recently used units up to a
 * capacity in tokens; the least recently used go first, and of one prompt the last unit before the
 * first, since a unit is useless without those in front of it.
 *
 * What a hit is worth: as in Mooncake (Qin et al., FAST 2025) the store lies outside GPU memory
 * (host memory, disks, other machines) and loading overlaps with computing. So a hit saves the
 * computing of those tokens and nothing else: the request needs all its KV blocks, and its new
 * tokens attend to the found ones. A store inside GPU memory would save blocks too, and compete
 * with running requests for them. Not here: the time that loading takes.
 *
 * Costs O(1) a unit, whatever is stored. One thread.
 */
#ifndef SERVELAB_SIM_PREFIX_H
#define SERVELAB_SIM_PREFIX_H

#include <stdint.h>

struct prefix_store;

/* An empty store; nothing is ever found in one of capacity 0. capacity_tokens >= 0. */
struct prefix_store *prefix_store_create(int64_t capacity_tokens);
void prefix_store_free(struct prefix_store *s);

/* How many leading tokens of a prompt are stored: unit_tokens for each of hashes[0..n) from the
 * front up to the first that isn't there. The found ones count as used just now. A unit stored with
 * another unit_tokens isn't found.
 *
 * Units are whole, the prompt may not be: the caller takes at most prompt_tokens - 1 of the answer,
 * since the last prompt token must be computed to get the first output token. At most INT32_MAX. */
int32_t prefix_store_find(struct prefix_store *s, const uint64_t *hashes, int32_t n,
                          int32_t unit_tokens);

/* Stores the units of a prompt that has been computed; known ones count as used just now. Of a
 * prompt longer than the whole store the beginning is kept. unit_tokens >= 1. */
void prefix_store_add(struct prefix_store *s, const uint64_t *hashes, int32_t n,
                      int32_t unit_tokens);

/* Tokens stored now; never above the capacity. */
int64_t prefix_store_tokens(const struct prefix_store *s);

#endif
