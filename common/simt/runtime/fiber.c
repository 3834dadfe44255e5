/* fiber.c: the switch in assembler. It saves the registers that a called function must preserve.
 *
 * Floating-point control words are shared by all fibers: kernels can't change them.
 */
#include "fiber.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)

/* A jump instead of a return: the processor's stack of return addresses is wrong here anyway. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl fiber_switch\n"
        ".hidden fiber_switch\n"
        ".type fiber_switch,@function\n"
        "fiber_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n"
        ".size fiber_switch,.-fiber_switch\n");
enum { SAVED_WORDS = 6, ENTRY_WORD = 6, FRAME_WORDS = 8 };

#elif defined(__aarch64__)

/* x19 to x30 and the low halves of v8 to v15; x30 is where it continues. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl fiber_switch\n"
        ".hidden fiber_switch\n"
        ".type fiber_switch,%function\n"
        "fiber_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    br x30\n"
        ".size fiber_switch,.-fiber_switch\n");
enum { ENTRY_WORD = 11, FRAME_WORDS = 20 };

#else
#error "simt has a fiber switch for x86-64 and 64-bit ARM only: add one for this processor here"
#endif

void fiber_reset(struct fiber *f, void (*entry)(void)) {
    uintptr_t *frame = (uintptr_t *)((uintptr_t)f->high & ~(uintptr_t)15) - FRAME_WORDS;
    memset(frame, 0, FRAME_WORDS * sizeof *frame);
    frame[ENTRY_WORD] = (uintptr_t)entry;
    f->sp = frame;
}

char *fiber_stacks_create(int n) {
    void *p = mmap(NULL, (size_t)n * (FIBER_STACK_BYTES + FIBER_GUARD_BYTES),
                   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void fiber_place(struct fiber *f, char *stacks, int i) {
    char *p = stacks + (size_t)i * (FIBER_STACK_BYTES + FIBER_GUARD_BYTES);
    mprotect(p, FIBER_GUARD_BYTES, PROT_NONE);
    f->low = p + FIBER_GUARD_BYTES;
    /* tops a cache line apart from stack to stack, for the same reason as the guard's size */
    f->high = f->low + FIBER_STACK_BYTES - (i % 64) * 64;
    f->next = NULL;
}
