/* check_local.c: local variables of code that simtcc --hooks=ir has instrumented.
 *
 * A function announces its variables whose address it gives away, and takes them back before it
 * returns. An access to the stack that isn't provably inside one variable must be inside one of
 * those: not below the stack's end, where values of earlier calls lie, and not above, where return
 * addresses do.
 */
#include "check.h"

enum { LOCALS = 128 }; /* of one thread at a time; more means a recursion of some depth */

static struct locals {
    uint32_t block, count;
    struct {
        uintptr_t start;
        size_t bytes;
    } of[LOCALS];
} locals[MAX_THREADS];

/* Those of the running thread. What a block that was given up has left doesn't count. */
static struct locals *mine(void) {
    struct locals *l = &locals[check.worker->thread];
    if (l->block != check.block_first) l->block = check.block_first, l->count = 0;
    return l;
}

void simt_ir_enter(void *variable, size_t bytes);
void simt_ir_enter(void *variable, size_t bytes) {
    if (!check.active) return;
    struct locals *l = mine();
    if (l->count == LOCALS)
        simt_trap("more than 128 local variables at a time whose addresses are used: a recursion "
                  "without an end, or one of too many steps",
                  "simt", 0);
    l->of[l->count].start = (uintptr_t)variable;
    l->of[l->count++].bytes = bytes;
}

void simt_ir_leave(size_t count);
void simt_ir_leave(size_t count) {
    if (check.active) mine()->count -= (uint32_t)count;
}

void local_touch(uintptr_t a, size_t n, int access, uintptr_t pc) {
    const struct locals *l = mine();
    uint32_t i = l->count;
    for (; i > 0; i--)
        if (a - l->of[i - 1].start < l->of[i - 1].bytes &&
            n <= l->of[i - 1].bytes - (a - l->of[i - 1].start))
            break;
    if (i == 0) place_bad_local(n, access, pc);
    access_local(a, n, pc);
}

/* An access of n bytes at a place of a known variable, or constant, that is computed. */
void simt_ir_local(void *variable, size_t bytes, void *at, size_t n, const struct simt_site *site);
void simt_ir_local(void *variable, size_t bytes, void *at, size_t n, const struct simt_site *site) {
    size_t offset = (size_t)((char *)at - (char *)variable);
    if (!check.active) return;
    if (n > bytes || offset > bytes - n) place_bad_local(n, ACCESS_READ, (uintptr_t)site);
    access_local((uintptr_t)at, n, (uintptr_t)site);
}
