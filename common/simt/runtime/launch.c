/* launch.c: checks a launch against the limits of a GPU and runs its blocks.
 *
 * Fast mode spreads blocks over OS threads (SIMT_THREADS, default all cores); check mode runs them
 * in order on one. One launch at a time: a second host thread waits.
 */
#include "block.h"
#include "env.h"
#include "crash.h"
#include "fault.h"
#include "hooks.h"
#include "memory.h"
#include "stream.h"
#include "watchdog.h"

#include "../include/cuda_runtime_api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t launch_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- kernels and their attributes ----------------------------------------------------------- */
static struct simt_kernel *kernels;
struct limit {
    const void *function;
    size_t bytes;
};
static struct limit limits[256]; /* cudaFuncSetAttribute; guarded by launch_lock */
static int limit_count;

void simt_register_kernel(struct simt_kernel *kernel) {
    kernel->next = kernels;
    kernels = kernel;
}

struct simt_kernel *kernel_find(const void *function, const char *name) {
    struct simt_kernel *k = kernels;
    while (k && (name ? strcmp(k->name, name) != 0 : k->function != function)) k = k->next;
    return k;
}

const void *simt_find_kernel(const char *name) {
    const struct simt_kernel *k = name ? kernel_find(NULL, name) : NULL;
    return k ? k->function : NULL;
}

/* A launch through a lambda has no function pointer: then the greatest limit of all kernels. */
size_t kernel_shared_limit(const void *function) {
    size_t best = SHARED_DEFAULT_BYTES;
    for (int i = 0; i < limit_count; i++)
        if ((!function || limits[i].function == function) && limits[i].bytes > best)
            best = limits[i].bytes;
    return best;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attr, int value) {
    if (attr == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
    if (!function || attr != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        value > SHARED_OPTIN_BYTES)
        return memory_error(cudaErrorInvalidValue);
    pthread_mutex_lock(&launch_lock);
    int i = 0;
    while (i < limit_count && limits[i].function != function) i++;
    bool room = i < (int)(sizeof limits / sizeof *limits);
    if (room) limits[i] = (struct limit){function, (size_t)value};
    if (room && i == limit_count) limit_count++;
    pthread_mutex_unlock(&launch_lock);
    return room ? cudaSuccess : memory_error(cudaErrorInvalidValue);
}

/* ---- the pool of fast mode ------------------------------------------------------------------ */
static struct worker *worker_here(void) {
    if (!simt_worker) {
        simt_worker = calloc(1, sizeof *simt_worker);
        if (!simt_worker) simt_trap("no memory for a block's state", "simt", 0);
        crash_watch(simt_worker);
    }
    return simt_worker;
}

void launch_fail(struct job *j, int cuda_error) {
    int none = cudaSuccess;
    atomic_compare_exchange_strong(&j->error, &none, cuda_error);
}

/* Blocks are taken in chunks, so that the shared counter is used rarely. A failed launch takes
 * none. */
static void run_blocks(struct job *j) {
    struct worker *w = worker_here();
    uint64_t chunk = j->blocks / 64 + 1, at;
    while ((at = atomic_fetch_add(&j->next_block, chunk)) < j->blocks) {
        uint64_t end = at + chunk < j->blocks ? at + chunk : j->blocks;
        for (; at < end && !atomic_load_explicit(&j->error, memory_order_relaxed); at++)
            schedule_block(w, j, at);
    }
}

#ifndef SIMT_CHECK
static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    struct job *job;
    unsigned generation, busy;
    int helpers; /* OS threads besides the caller; -1 before the first launch */
} pool = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0, -1};

static void *pool_main(void *unused) {
    (void)unused;
    unsigned seen = 0;
    for (;;) {
        pthread_mutex_lock(&pool.lock);
        while (pool.generation == seen) pthread_cond_wait(&pool.wake, &pool.lock);
        seen = pool.generation;
        struct job *j = pool.job;
        pthread_mutex_unlock(&pool.lock);
        run_blocks(j);
        pthread_mutex_lock(&pool.lock);
        if (--pool.busy == 0) pthread_cond_signal(&pool.idle);
        pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

static void pool_start(void) {
    long n = (long)env_number("SIMT_THREADS", (double)sysconf(_SC_NPROCESSORS_ONLN));
    pool.helpers = n < 1 ? 0 : n > 256 ? 255 : (int)n - 1;
    for (int i = 0; i < pool.helpers; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, pool_main, NULL) != 0) {
            pool.helpers = i;
            break;
        }
        pthread_detach(t);
    }
}

static void run_job(struct job *j) {
    if (pool.helpers < 0) pool_start();
    bool many = j->blocks > 1 && pool.helpers > 0;
    if (many) {
        pthread_mutex_lock(&pool.lock);
        pool.job = j, pool.busy = (unsigned)pool.helpers, pool.generation++;
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
    }
    run_blocks(j);
    if (many) {
        pthread_mutex_lock(&pool.lock);
        while (pool.busy) pthread_cond_wait(&pool.idle, &pool.lock);
        pthread_mutex_unlock(&pool.lock);
    }
}
#else
static void run_job(struct job *j) {
    run_blocks(j);
}
#endif

/* ---- launches ------------------------------------------------------------------------------- */
static int refuse(const struct simt_launch *l, int error, const char *format, size_t got,
                  size_t limit) {
    char why[256];
    snprintf(why, sizeof why, format, got, limit);
    hook_launch_refused(l, why);
    return memory_error(error);
}

static int check_limits(const struct simt_launch *l, size_t shared_limit) {
    simt_u3 g = l->grid, b = l->block;
    const struct simt_kernel *k = l->function ? kernel_find(l->function, NULL) : NULL;
    uint64_t threads = (uint64_t)b.x * b.y * b.z;
    if (!b.x || !b.y || !b.z || !g.x || !g.y || !g.z)
        return refuse(l, 9, "a grid or block dimension is 0", 0, 0);
    if (b.x > 1024 || b.y > 1024 || b.z > 64 || threads > MAX_THREADS)
        return refuse(l, 9,
                      "%zu threads a block; at most %zu (and z at most 64): use more blocks of "
                      "fewer threads",
                      (size_t)threads, MAX_THREADS);
    if (g.x > 2147483647u || g.y > 65535 || g.z > 65535)
        return refuse(l, 9, "the grid is too large: x at most 2^31 - 1, y and z at most 65535", 0,
                      0);
    if (k && k->max_threads && threads > (uint64_t)k->max_threads)
        return refuse(l, cudaErrorLaunchOutOfResources,
                      "%zu threads a block, but the kernel's __launch_bounds__ allow at most %zu",
                      (size_t)threads, (size_t)k->max_threads);
    if (l->dynamic_bytes > shared_limit)
        return refuse(l, 1,
                      "%zu bytes of dynamic shared memory; at most %zu, unless "
                      "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, "
                      "n) allows up to 232448",
                      l->dynamic_bytes, shared_limit);
    return cudaSuccess;
}

static void run_launch(const struct simt_launch *l) {
    static uint32_t launches;
    if (memory_dead()) return; /* as on a GPU: after a kernel died, nothing runs */
    pthread_mutex_lock(&launch_lock);
    size_t limit = kernel_shared_limit(l->function);
    struct job j = {
        .l = *l, .id = ++launches, .shared_limit = limit, .shared_bytes = l->dynamic_bytes};
    j.blocks = (uint64_t)l->grid.x * l->grid.y * l->grid.z;
    uint32_t dynamic = (uint32_t)((l->dynamic_bytes + 127) & ~(size_t)127);
    j.shared_top = dynamic ? dynamic + RED_ZONE_BYTES : 0;
    hook_launch(&j);
    watchdog_start(l->name);
    run_job(&j);
    watchdog_stop();
    hook_launch_end(&j);
    if (j.error) memory_error(j.error);
    pthread_mutex_unlock(&launch_lock);
}

/* A launch as a piece of a stream's work; its argument follows. */
struct kept_launch {
    struct simt_launch l;
    _Alignas(16) char arg[];
};

static void run_kept(void *own) {
    struct kept_launch *k = own;
    k->l.arg = k->arg;
    run_launch(&k->l);
}

/* Now, or with the other work of its stream: then with a copy of its argument. */
static int give(const struct simt_launch *l, void (*run)(void *), const void *arg, size_t bytes) {
    int error = fault_in("cudaLaunchKernel");
    pthread_mutex_lock(&launch_lock);
    if (!error) error = check_limits(l, kernel_shared_limit(l->function));
    pthread_mutex_unlock(&launch_lock);
    if (error) return error;
    if (!stream_keeps(l->stream)) {
        if ((error = stream_wait_default())) return error;
        run_launch(l);
        return memory_dead() ? cudaPeekAtLastError() : cudaSuccess;
    }
    struct kept_launch *k = malloc(sizeof *k + bytes);
    if (!k) return memory_error(cudaErrorMemoryAllocation);
    k->l = *l;
    memcpy(k->arg, arg, bytes);
    error = stream_give(l->stream, run, k, sizeof *k + bytes);
    free(k);
    return error;
}

void simt_launch(const struct simt_launch *l) {
    if (!memory_dead()) give(l, run_kept, l->arg, l->arg_bytes);
}

/* The values of a kernel's parameters, each at a multiple of 16 bytes. */
static size_t packed_bytes(const struct simt_kernel *k) {
    size_t bytes = 0;
    for (int i = 0; i < k->parameters; i++) bytes += (k->sizes[i] + 15) / 16 * 16;
    return bytes;
}

static void run_kept_call(void *own) {
    struct kept_launch *l = own;
    void *args[64];
    const struct simt_kernel *k = kernel_find(l->l.function, NULL);
    struct simt_kernel_call call = {k, args};
    char *at = l->arg;
    for (int i = 0; i < k->parameters; i++, at += (k->sizes[i - 1] + 15) / 16 * 16) args[i] = at;
    l->l.arg = &call;
    run_launch(&l->l);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
                             size_t shared_bytes, cudaStream_t stream) {
    const struct simt_kernel *k = kernel_find(function, NULL);
    if (!k || k->parameters > 64) return memory_error(cudaErrorInvalidDeviceFunction);
    if (memory_dead()) return cudaPeekAtLastError();
    struct simt_kernel_call call = {k, args};
    struct simt_launch l = {.grid = {grid.x, grid.y, grid.z},
                            .block = {block.x, block.y, block.z},
                            .dynamic_bytes = shared_bytes,
                            .stream = stream,
                            .run = k->run,
                            .arg = &call,
                            .arg_bytes = sizeof call,
                            .function = function,
                            .name = k->name,
                            .file = k->file,
                            .line = k->line};
    char *values = malloc(packed_bytes(k) + 1), *at = values;
    if (!values) return memory_error(cudaErrorMemoryAllocation);
    for (int i = 0; i < k->parameters; i++, at += (k->sizes[i - 1] + 15) / 16 * 16)
        memcpy(at, args[i], k->sizes[i]);
    int error = give(&l, run_kept_call, values, packed_bytes(k));
    free(values);
    return error;
}

/* ---- shared memory -------------------------------------------------------------------------- */
void *simt_shared_dynamic(void) {
    return simt_worker->arena;
}

/* For static and dynamic memory together: a kernel with a raised dynamic limit may use all of it.
 */
static size_t shared_total_limit(const struct job *j) {
    return j->shared_limit > SHARED_DEFAULT_BYTES ? SHARED_OPTIN_BYTES : SHARED_DEFAULT_BYTES;
}

/* The first thread of a launch that reaches a declaration places the variable, for all blocks. */
static uint32_t place(struct job *j, simt_shared_var *var, size_t bytes, size_t align) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    uint64_t seen = var->launch_and_offset;
    if (seen >> 32 != j->id) {
        if (bytes >= 128 && align < 128) align = 128; /* banks count from the array's start */
        uint32_t at = (uint32_t)((j->shared_top + align - 1) & ~(align - 1));
        uint64_t top = at + ((bytes + 3) & ~(size_t)3) + RED_ZONE_BYTES;
        j->shared_bytes += bytes;
        if (top > ARENA_BYTES || j->shared_bytes > shared_total_limit(j)) {
            pthread_mutex_unlock(&lock);
            return UINT32_MAX;
        }
        j->shared_top = (uint32_t)top;
        seen = (uint64_t)j->id << 32 | at;
        hook_shared_var(j, var, at, bytes);
        __atomic_store_n(&var->launch_and_offset, seen, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return (uint32_t)seen;
}

void *simt_shared(simt_shared_var *var, size_t bytes, size_t align) {
    struct worker *w = simt_worker;
    uint64_t seen = __atomic_load_n(&var->launch_and_offset, __ATOMIC_ACQUIRE);
    uint32_t at = (uint32_t)seen;
    if (__builtin_expect(seen >> 32 != w->job->id, 0)) at = place(w->job, var, bytes, align);
    if (__builtin_expect(at == UINT32_MAX, 0)) {
        char why[256];
        snprintf(why, sizeof why,
                 "%zu bytes of static and dynamic shared memory; at most %zu. Make arrays dynamic, "
                 "and cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, n) "
                 "allows up to 232448",
                 w->job->shared_bytes, shared_total_limit(w->job));
        hook_launch_refused(&w->job->l, why);
        launch_fail(w->job, cudaErrorInvalidValue);
        schedule_abandon(w);
    }
    return w->arena + at;
}

/* ---- faults in fast mode --------------------------------------------------------------------- */
void simt_trap(const char *what, const char *file, int line) {
    fprintf(stderr, "simt: %s:%d: %s\n", file, line, what);
    abort();
}

#ifndef SIMT_CHECK
int simt_checking(void) {
    return 0;
}
void simt_fence(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void simt_fence_block(void) { /* a block stays on one OS thread */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void hook_block_stuck(struct worker *w) {
    fprintf(stderr,
            "simt: kernel %s: a block can't go on: %d of its %d threads wait at __syncthreads "
            "(line %u), the others have returned or wait in a warp operation. Build it with "
            "simtcc --check to see where.\n",
            w->job->l.name, w->at_barrier, w->threads, w->barrier_site & 0xffff);
    launch_fail(w->job, cudaErrorLaunchFailure);
}
#endif
