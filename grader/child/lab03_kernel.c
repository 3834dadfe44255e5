/* child/lab03_kernel.c: the program that launches the learner's kernel. See child.h and
 * lab03/kernel_wire.h. Linked with the kernel's object and the checking runtime of common/simt.
 *
 * The runtime stops an access to memory that is not the kernel's before it happens, so that neither
 * this file's memory nor the counts can be changed. Its report is sent over the answer channel when
 * the process ends.
 */
#include "child/child.h"
#include "lab03/kernel_wire.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FOUND = 86 }; /* the exit status of a checked program with a finding */

/* The runtime watches a launch's time in a thread. The tool that knows source lines is started
 * before: afterwards no process can be. */
int child_confine(void) {
    simt_check_prepare();
    return child_confine_to(CHILD_HAS_THREADS);
}

/* -fsanitize=bounds checks arrays that never leave a thread's registers or stack, which the memory
 * hooks do not see. This is its interface, as gcc and clang call it. */
struct bounds_place {
    const char *file;
    unsigned line, column;
};
void __ubsan_handle_out_of_bounds_abort(void *data, void *index) __attribute__((noreturn));
void __ubsan_handle_out_of_bounds_abort(void *data, void *index) {
    const struct bounds_place *where = data;
    char text[200];
    const char *base = strrchr(where->file, '/');
    int n = snprintf(text, sizeof text, "bounds: %.80s:%u: index %ld\n",
                     base ? base + 1 : where->file, where->line, (long)(intptr_t)index);
    if (write(2, text, (size_t)n) != n) _exit(FOUND);
    _exit(FOUND);
}

struct launch {
    struct lab03_launch launch;
    void *device[KERNEL_WIRE_PARAMS];
    void *args[KERNEL_WIRE_PARAMS];
};

static cudaError_t upload(struct launch *l) {
    for (int i = 0; i < l->launch.n_params; i++) {
        struct kernel_wire_param *p = &l->launch.param[i];
        l->args[i] = p->kind >= KWIRE_SIZE ? (void *)&p->size : (void *)&l->device[i];
        if (p->kind >= KWIRE_SIZE) continue;
        cudaError_t e = cudaMalloc(&l->device[i], p->bytes);
        if (e == cudaSuccess && p->kind == KWIRE_INPUT)
            e = cudaMemcpy(l->device[i], p->data, p->bytes, cudaMemcpyHostToDevice);
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}

static cudaError_t launch(struct launch *l) {
    const void *kernel = simt_find_kernel(l->launch.kernel);
    dim3 grid = {(unsigned)l->launch.grid[0], (unsigned)l->launch.grid[1],
                 (unsigned)l->launch.grid[2]};
    dim3 block = {(unsigned)l->launch.block[0], (unsigned)l->launch.block[1],
                  (unsigned)l->launch.block[2]};
    if (!kernel) return cudaErrorInvalidDeviceFunction;
    cudaError_t e =
        cudaLaunchKernel(kernel, grid, block, l->args, (size_t)l->launch.shared_bytes, 0);
    return e != cudaSuccess ? e : cudaDeviceSynchronize();
}

/* Copies every tensor into the slots, and its maps if they are asked for. After a kernel failed
 * nothing can be copied: those slots stay 0xff. */
static size_t download(struct launch *l, int64_t *slots, size_t n) {
    for (int i = 0; i < l->launch.n_params; i++) {
        const struct kernel_wire_param *p = &l->launch.param[i];
        if (p->kind >= KWIRE_SIZE) continue;
        size_t room = kernel_wire_slots(p->bytes);
        memset(slots + n, 0xff, room * 8);
        if (l->device[i])
            (void)cudaMemcpy(slots + n, l->device[i], p->bytes, cudaMemcpyDeviceToHost);
        n += room;
        for (int write = 0; write < 2 && l->launch.counted; write++) {
            room = kernel_wire_map_slots(p->bytes);
            memset(slots + n, 0, room * 8);
            if (l->device[i])
                simt_check_counted(l->device[i], p->bytes, write, (unsigned char *)(slots + n));
            n += room;
        }
    }
    return n;
}

int child_answer(const void *bytes, size_t n, int64_t *slots, size_t cap) {
    static struct launch l;
    struct wire w = wire_reader(bytes, n);
    memset(&l, 0, sizeof l);
    lab03_launch_codec(&w, &l.launch);
    if (w.bad || w.left || lab03_launch_slots(&l.launch) > cap) return -1;
    cudaError_t e = upload(&l);
    if (e == cudaSuccess) e = launch(&l);
    slots[0] = e;
    size_t used = download(&l, slots, 1);
    for (int i = 0; i < l.launch.n_params; i++)
        if (l.device[i]) cudaFree(l.device[i]);
    return (int)used;
}
