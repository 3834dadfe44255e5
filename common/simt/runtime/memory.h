/* memory.h: device memory and the runtime's error state.
 *
 * Device memory is one reserved range of addresses: a pointer's value shows whether it belongs to
 * the device. A table over granules of 256 bytes gives the allocation.
 */
#ifndef SIMT_MEMORY_H
#define SIMT_MEMORY_H

#include "../include/cuda_runtime_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GRANULE_BYTES = 256 }; /* cudaMalloc's alignment; a free granule separates allocations */

struct allocation {
    char *start;
    size_t bytes;
    bool live, managed;
    void *shadow;       /* check mode: struct cell a word */
    struct cell *split; /* check mode: a byte, where words are accessed in parts; or NULL */
    uint8_t *known;     /* check mode: a bit a byte that the host has written */
    uint64_t *touched;  /* check mode: see struct region */
};

/* The device's range; 0 before the first allocation. Read by the checks at every access. */
extern uintptr_t memory_start;
extern size_t memory_bytes;
extern uint32_t *memory_granules; /* allocation's number + 1, 0: none */
extern struct allocation *memory_allocations;

static inline struct allocation *memory_find(uintptr_t p) {
    size_t at = p - memory_start;
    uint32_t n = at < memory_bytes ? memory_granules[at / GRANULE_BYTES] : 0;
    return n ? &memory_allocations[n - 1] : NULL;
}

/* Allocations that were made and not freed so far, and their bytes. */
void memory_live(uint32_t *live, size_t *bytes);

/* Page-locked host memory, which kernels may use too. */
bool memory_is_pinned(const void *p, size_t bytes);

/* The error state. An error of a running kernel is permanent: nothing runs after it. */
cudaError_t memory_error(int error); /* notes it and returns it */
bool memory_dead(void);

/* symbols: the device variable that contains p, or NULL */
const struct simt_symbol *symbol_find(const void *p);

#endif
