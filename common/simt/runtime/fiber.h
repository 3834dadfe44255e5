/* fiber.h: stacks that switch in a few nanoseconds, for x86-64 and 64-bit ARM Linux.
 *
 * A fiber runs CUDA threads one after another and is left only where a thread must wait. Not here:
 * who runs next (schedule.c).
 */
#ifndef SIMT_FIBER_H
#define SIMT_FIBER_H

#include <stddef.h>

enum {
    FIBER_STACK_BYTES = 64 << 10, /* larger local arrays hit the guard page */
    FIBER_GUARD_BYTES = 4 << 10   /* also keeps stacks from lying a power of two apart: 64 KiB
                                     strides collide in L2 and cost a factor of three */
};

struct fiber {
    void *sp;         /* where it was left */
    char *low, *high; /* its stack */
    struct fiber *next;
};

/* Saves the running context's stack pointer in *save and continues at `load`. */
void fiber_switch(void **save, void *load);
/* Makes f start at entry() when first switched to. entry must not return. */
void fiber_reset(struct fiber *f, void (*entry)(void));
/* Reserves n stacks (memory is taken as it is touched); NULL where the system has no room. */
char *fiber_stacks_create(int n);
void fiber_place(struct fiber *f, char *stacks, int i);

#endif
