/* prefix.h: a store of the prefixes of earlier prompts, whose tokens needn't be computed again
 * (prefix reuse).
 *
 * Prompts often begin alike: the same system prompt, the same conversation one turn longer. A
 * prompt is cut into units (512 tokens in the Mooncake trace), and unit i has a hash of all tokens
 * from the prompt's first to the unit's last: equal hashes mean equal beginnings (a hash chain, as
 * in vLLM's automatic prefix caching). The store keeps the most recently used units up to a
 * capacity in tokens. It evicts the least recently used first, and of one prompt the last unit
 * first, since a unit is of no use without those before it.
 *
 * As in Mooncake (Qin et al., FAST 2025) the store is outside GPU memory (host memory, disks, other
 * machines) and loading overlaps with computing. So a hit saves the computing of those tokens and
 * nothing else: the request needs all its KV blocks, and its new tokens attend to the found ones. A
 * store inside GPU memory would also save blocks, and compete with running requests for them. The
 * time of loading isn't modelled.
 *
 * Each unit costs O(1). Not thread-safe.
 */
#ifndef SERVELAB_SIM_PREFIX_H
#define SERVELAB_SIM_PREFIX_H

#include <stdint.h>

struct prefix_store;

/* An empty store. capacity_tokens >= 0; with 0 nothing is ever found. */
struct prefix_store *prefix_store_create(int64_t capacity_tokens);
void prefix_store_free(struct prefix_store *s);

/* The number of leading tokens of a prompt that are stored: unit_tokens for each of hashes[0..n)
 * from the front up to the first that isn't stored; at most INT32_MAX. Marks the found units as
 * used. A unit stored with another unit_tokens isn't found.
 *
 * The last unit of a prompt may be longer than the rest of the prompt, and the last prompt token
 * must be computed to get the first output token: the caller uses at most prompt_tokens - 1. */
int32_t prefix_store_find(struct prefix_store *s, const uint64_t *hashes, int32_t n,
                          int32_t unit_tokens);

/* Stores the units of a computed prompt; marks known ones as used. Of a prompt longer than the
 * store the beginning is kept. unit_tokens >= 1. */
void prefix_store_add(struct prefix_store *s, const uint64_t *hashes, int32_t n,
                      int32_t unit_tokens);

/* Tokens stored now; never above the capacity. */
int64_t prefix_store_tokens(const struct prefix_store *s);

#endif
