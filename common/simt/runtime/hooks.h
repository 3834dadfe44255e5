/* hooks.h: the calls by which the runtime reports its events to the checks.
 *
 * Without SIMT_CHECK all of them are empty, except the one for a stuck block.
 */
#ifndef SIMT_HOOKS_H
#define SIMT_HOOKS_H

#include "block.h"

void hook_block_stuck(struct worker *w); /* no thread of the block can go on */

/* What the host must leave alone until a copy is done: an input it must not change, an output it
 * must not read. */
struct host_guard {
    void *output;
    const void *input;
    size_t bytes;
    uint64_t sum;     /* of the input's bytes */
    uintptr_t caller; /* of cudaMemcpyAsync */
};

#ifdef SIMT_CHECK
void hook_guard(struct host_guard *g, void *output, const void *input, size_t bytes,
                uintptr_t caller); /* either may be NULL */
void hook_guard_check(const struct host_guard *g);
void hook_launch(struct job *j);
void hook_launch_end(struct job *j);
void hook_launch_refused(const struct simt_launch *l, const char *why);
void hook_block(struct worker *w);
void hook_barrier(struct worker *w); /* every thread has arrived */
void hook_barrier_after_exit(struct worker *w);
void hook_barriers_differ(struct worker *w, unsigned site);
void hook_warp_stuck(struct worker *w, int warp); /* all its lanes wait or are done */
void hook_warp_met(struct worker *w, int warp);   /* all its lanes are in one operation */
void hook_mask_without_self(struct worker *w, unsigned site, uint32_t mask);
void hook_mask_beyond_block(struct worker *w, unsigned site, uint32_t mask);
void hook_warp_op(struct worker *w, struct warp *p, uint32_t group); /* these lanes have met */
void hook_syncwarp(struct worker *w, struct warp *p, uint32_t group);
void hook_shared_var(struct job *j, const simt_shared_var *var, uint32_t offset, size_t bytes);
void hook_malloc(void *p, size_t bytes);
void hook_free(void *p);
void hook_written(void *p, size_t bytes); /* by the host */
#else
#define hook_guard(g, output, input, bytes, caller)                                                \
    ((void)(g), (void)(output), (void)(input), (void)(bytes), (void)(caller))
#define hook_guard_check(g)                ((void)(g))
#define hook_launch(j)                     ((void)0)
#define hook_launch_end(j)                 ((void)0)
#define hook_launch_refused(l, why)        ((void)(l), (void)(why))
#define hook_block(w)                      ((void)0)
#define hook_barrier(w)                    ((void)0)
#define hook_barrier_after_exit(w)         ((void)0)
#define hook_barriers_differ(w, site)      ((void)0)
#define hook_warp_stuck(w, warp)           ((void)0)
#define hook_warp_met(w, warp)             ((void)0)
#define hook_mask_without_self(w, site, m) ((void)0)
#define hook_mask_beyond_block(w, site, m) ((void)0)
#define hook_warp_op(w, p, group)          ((void)(w))
#define hook_syncwarp(w, p, group)         ((void)0)
#define hook_shared_var(j, var, offset, n) ((void)0)
#define hook_malloc(p, n)                  ((void)0)
#define hook_free(p)                       ((void)0)
#define hook_written(p, n)                 ((void)(p), (void)(n))
#endif

#endif
