/* memory.c: cudaMalloc, cudaMemcpy and related calls; errors; device variables.
 *
 * Fast mode reuses freed memory. Check mode doesn't until the range is used up, so that a use after
 * free is found.
 */
#include "memory.h"
#include "fault.h"
#include "hooks.h"
#include "stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

uintptr_t memory_start;
size_t memory_bytes;
uint32_t *memory_granules;
struct allocation *memory_allocations;

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards all below and the above's writes */
static uint32_t count, capacity;
static size_t top; /* bytes of the range ever handed out */
static _Atomic int last_error;

/* ---- errors --------------------------------------------------------------------------------- */
static bool sticks(int error) {
    return error == cudaErrorIllegalAddress || error == cudaErrorLaunchTimeout ||
           error == cudaErrorAssert || error == cudaErrorLaunchFailure;
}

cudaError_t memory_error(int error) {
    if (error && !sticks(last_error)) last_error = error;
    return (cudaError_t)error;
}

bool memory_dead(void) {
    return sticks(last_error);
}

cudaError_t cudaPeekAtLastError(void) {
    return (cudaError_t)last_error;
}

cudaError_t cudaGetLastError(void) {
    int e = last_error;
    if (!sticks(e)) last_error = cudaSuccess;
    return (cudaError_t)e;
}

cudaError_t cudaDeviceReset(void) {
    last_error = cudaSuccess;
    return cudaSuccess;
}

/* ---- the range ------------------------------------------------------------------------------ */
static void *reserve(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Reserves as much address space as the system allows; pages are used only when they are touched.
 * Under a limit on address space, a quarter of it, so that shadow memory has room. */
static bool range_create(void) {
    if (memory_start) return true;
    struct rlimit r;
    size_t want = (size_t)64 << 30;
    if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur / 4 < want)
        want = r.rlim_cur / 4;
    for (; want >= (size_t)16 << 20; want /= 2) {
        void *p = reserve(want);
        uint32_t *g = p ? reserve(want / GRANULE_BYTES * sizeof *g) : NULL;
        if (g) {
            memory_start = (uintptr_t)p, memory_bytes = want, memory_granules = g;
            top = GRANULE_BYTES;
            return true;
        }
        if (p) munmap(p, want);
    }
    return false;
}

static size_t granules(size_t bytes) {
    return (bytes + GRANULE_BYTES - 1) / GRANULE_BYTES;
}

/* A freed allocation that is large enough and at most twice as large; or NULL. */
static struct allocation *reuse(size_t bytes) {
    for (uint32_t i = 0; i < count; i++) {
        struct allocation *a = &memory_allocations[i];
        size_t room = granules(a->bytes) * GRANULE_BYTES;
        if (!a->live && room >= bytes && room / 2 <= bytes + GRANULE_BYTES) return a;
    }
    return NULL;
}

static struct allocation *take(size_t bytes) {
    size_t need = (granules(bytes) + 1) * GRANULE_BYTES;
    struct allocation *a = NULL;
    bool full = need > memory_bytes - top;
    if (full || !simt_checking()) a = reuse(bytes);
    if (a || full) return a;
    if (count == capacity) {
        uint32_t more = capacity ? capacity * 2 : 1024;
        struct allocation *grown = realloc(memory_allocations, more * sizeof *grown);
        if (!grown) return NULL;
        memory_allocations = grown, capacity = more;
    }
    a = &memory_allocations[count++];
    *a = (struct allocation){.start = (char *)memory_start + top};
    for (size_t i = 0; i < granules(bytes); i++) memory_granules[top / GRANULE_BYTES + i] = count;
    top += need;
    return a;
}

static cudaError_t allocate(void **p, size_t bytes, bool managed) {
    if (!p) return memory_error(cudaErrorInvalidValue);
    *p = NULL;
    if (!bytes) return cudaSuccess;
    pthread_mutex_lock(&lock);
    struct allocation *a = range_create() && bytes < memory_bytes ? take(bytes) : NULL;
    if (a) {
        a->bytes = bytes, a->live = true, a->managed = managed;
        *p = a->start;
        hook_malloc(a->start, bytes);
        if (managed) hook_written(a->start, bytes); /* the host may write it without a call */
    }
    pthread_mutex_unlock(&lock);
    return a ? cudaSuccess : memory_error(cudaErrorMemoryAllocation);
}

cudaError_t cudaMalloc(void **p, size_t bytes) {
    int fault = fault_in("cudaMalloc");
    if (fault) return (cudaError_t)fault;
    return allocate(p, bytes, false);
}

cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream) {
    (void)stream;
    return allocate(p, bytes, false);
}

cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags) {
    (void)flags;
    return allocate(p, bytes, true);
}

/* Only whole pages: those at the ends are shared with neighbours. */
static void give_back(uintptr_t start, size_t bytes) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (start + page - 1) & ~(page - 1);
    madvise((void *)first, ((start + bytes) & ~(page - 1)) - first, MADV_DONTNEED);
}

cudaError_t cudaFree(void *p) {
    if (!p) return cudaSuccess;
    stream_wait_all(); /* work may use it */
    pthread_mutex_lock(&lock);
    struct allocation *a = memory_find((uintptr_t)p);
    bool good = a && a->live && a->start == p;
    if (good) {
        a->live = false;
        hook_free(p);
        if (a->bytes >= (size_t)1 << 20) give_back((uintptr_t)p, a->bytes);
    }
    pthread_mutex_unlock(&lock);
    return good ? cudaSuccess : memory_error(cudaErrorInvalidValue);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream) {
    (void)stream;
    return cudaFree(p);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    int fault = fault_in("cudaMemGetInfo");
    if (fault) return (cudaError_t)fault;
    pthread_mutex_lock(&lock);
    bool good = range_create();
    *total_bytes = memory_bytes, *free_bytes = memory_bytes - top;
    pthread_mutex_unlock(&lock);
    return good ? cudaSuccess : memory_error(cudaErrorMemoryAllocation);
}

void memory_live(uint32_t *live, size_t *bytes) {
    *live = 0, *bytes = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++)
        if (memory_allocations[i].live) ++*live, *bytes += memory_allocations[i].bytes;
    pthread_mutex_unlock(&lock);
}

/* ---- page-locked host memory ---------------------------------------------------------------- */
static struct {
    char *start;
    size_t bytes;
} pinned[1024];
static int pinned_count;

bool memory_is_pinned(const void *p, size_t bytes) {
    for (int i = 0; i < pinned_count; i++) {
        size_t at = (size_t)((const char *)p - pinned[i].start);
        if (at < pinned[i].bytes && bytes <= pinned[i].bytes - at) return true;
    }
    return false;
}

static bool pin(void *p, size_t bytes) {
    bool room = pinned_count < (int)(sizeof pinned / sizeof *pinned);
    if (room && p) pinned[pinned_count].start = p, pinned[pinned_count++].bytes = bytes;
    return room && p;
}

static bool unpin(const void *p) {
    int i = 0;
    while (i < pinned_count && pinned[i].start != p) i++;
    bool found = i < pinned_count;
    if (found) pinned[i] = pinned[--pinned_count];
    return found;
}

cudaError_t cudaMallocHost(void **p, size_t bytes) {
    int fault = fault_in("cudaMallocHost");
    if (fault) return (cudaError_t)fault;
    if (!p) return memory_error(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    if (!pin(*p, bytes)) {
        free(*p);
        *p = NULL;
    }
    pthread_mutex_unlock(&lock);
    return *p ? cudaSuccess : memory_error(cudaErrorMemoryAllocation);
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags) {
    (void)flags;
    if (!p || !bytes) return memory_error(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    bool good = pin(p, bytes);
    pthread_mutex_unlock(&lock);
    return good ? cudaSuccess : memory_error(cudaErrorMemoryAllocation);
}

cudaError_t cudaHostUnregister(void *p) {
    stream_wait_all();
    pthread_mutex_lock(&lock);
    bool good = unpin(p);
    pthread_mutex_unlock(&lock);
    return good ? cudaSuccess : memory_error(cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags) {
    (void)flags;
    return cudaMallocHost(p, bytes);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    (void)flags;
    *device = host;
    return memory_is_pinned(host, 1) ? cudaSuccess : memory_error(cudaErrorInvalidValue);
}

cudaError_t cudaFreeHost(void *p) {
    stream_wait_all();
    pthread_mutex_lock(&lock);
    bool good = unpin(p) || !p;
    pthread_mutex_unlock(&lock);
    if (good) free(p);
    return good ? cudaSuccess : memory_error(cudaErrorInvalidValue);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p) {
    const struct allocation *a = memory_find((uintptr_t)p);
    bool host = memory_is_pinned(p, 1);
    *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered};
    if (a && a->live)
        attributes->type = a->managed ? cudaMemoryTypeManaged : cudaMemoryTypeDevice;
    else if (host)
        attributes->type = cudaMemoryTypeHost;
    attributes->devicePointer = (a && a->live) || host ? (void *)(uintptr_t)p : NULL;
    attributes->hostPointer = host || (a && a->managed) ? (void *)(uintptr_t)p : NULL;
    return cudaSuccess;
}

/* ---- copies --------------------------------------------------------------------------------- */
static bool on_device(const void *p) {
    return (uintptr_t)p - memory_start < memory_bytes;
}

/* Whether all of it is in one live allocation; always true of host memory. */
static bool inside(const void *p, size_t bytes) {
    if (!on_device(p)) return true;
    const struct allocation *a = memory_find((uintptr_t)p);
    if (!a || !a->live) return false;
    size_t at = (size_t)((const char *)p - a->start);
    return at <= a->bytes && bytes <= a->bytes - at;
}

/* A device address where the copy's kind says host is found by unified addressing on a GPU, and so
 * here; check mode is strict, because CUDA's manual calls it undefined. */
static bool direction_holds(const void *p, bool device) {
#ifndef SIMT_CHECK
    if (!device) return true;
#endif
    const struct allocation *a = memory_find((uintptr_t)p);
    return on_device(p) == device || (a && a->managed) || (device && memory_is_pinned(p, 1)) ||
           (device && symbol_find(p));
}

/* cudaSuccess, or what is wrong with the copy. */
static cudaError_t check_copy(const void *dst, const void *src, size_t bytes,
                              enum cudaMemcpyKind kind) {
    if (memory_dead()) return cudaPeekAtLastError();
    if (!bytes) return cudaSuccess;
    if (!dst || !src || !inside(dst, bytes) || !inside(src, bytes) || (unsigned)kind > 4)
        return memory_error(cudaErrorInvalidValue);
    if (kind != cudaMemcpyDefault &&
        (!direction_holds(dst, kind & 1) || !direction_holds(src, kind >= cudaMemcpyDeviceToHost)))
        return memory_error(cudaErrorInvalidMemcpyDirection);
    return cudaSuccess;
}

static void copy_now(void *dst, const void *src, size_t bytes) {
    if (memory_dead() || !bytes) return;
    memmove(dst, src, bytes);
    hook_written(dst, bytes);
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind) {
    cudaError_t e = check_copy(dst, src, bytes, kind);
    if (e == cudaSuccess) e = stream_wait_default();
    if (e == cudaSuccess) copy_now(dst, src, bytes);
    return e;
}

/* A copy as a piece of a stream's work. Pageable memory is copied to `staged` at once. */
struct kept_copy {
    void *dst;
    const void *src; /* NULL: staged */
    size_t bytes;
    struct host_guard guard;
    char staged[];
};

static void run_copy(void *own) {
    struct kept_copy *c = own;
    hook_guard_check(&c->guard);
    copy_now(c->dst, c->src ? c->src : c->staged, c->bytes);
}

/* Memory that a copy may use after the call has returned. */
static bool stays(const void *p, size_t bytes) {
    return on_device(p) || memory_is_pinned(p, bytes) || symbol_find(p);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    cudaError_t e = (cudaError_t)fault_in("cudaMemcpyAsync");
    if (!e) e = check_copy(dst, src, bytes, kind);
    if (e || !bytes) return e;
    bool staged = !stays(src, bytes), captures = stream_captures(stream);
    if (!stays(dst, bytes)) { /* to pageable memory: the call waits */
        if ((e = stream_wait(stream)) == cudaSuccess) copy_now(dst, src, bytes);
        return e;
    }
    if (staged && captures) return memory_error(cudaErrorStreamCaptureUnsupported);
    size_t size = sizeof(struct kept_copy) + (staged ? bytes : 0);
    struct kept_copy *c = malloc(size);
    if (!c) return memory_error(cudaErrorMemoryAllocation);
    *c = (struct kept_copy){dst, staged ? NULL : src, bytes, {0}};
    if (staged) memcpy(c->staged, src, bytes);
    if (stream_keeps(stream) && !captures)
        hook_guard(&c->guard, on_device(dst) ? NULL : dst, staged || on_device(src) ? NULL : src,
                   bytes, (uintptr_t)__builtin_return_address(0));
    e = stream_give(stream, run_copy, c, size);
    free(c);
    return e;
}

cudaError_t cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                         size_t width_bytes, size_t height, enum cudaMemcpyKind kind) {
    if (width_bytes > dst_pitch || width_bytes > src_pitch)
        return memory_error(cudaErrorInvalidValue);
    for (size_t i = 0; i < height; i++) {
        cudaError_t e = cudaMemcpy((char *)dst + i * dst_pitch, (const char *)src + i * src_pitch,
                                   width_bytes, kind);
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                              size_t width_bytes, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream) {
    if (width_bytes > dst_pitch || width_bytes > src_pitch)
        return memory_error(cudaErrorInvalidValue);
    for (size_t i = 0; i < height; i++) {
        cudaError_t e =
            cudaMemcpyAsync((char *)dst + i * dst_pitch, (const char *)src + i * src_pitch,
                            width_bytes, kind, stream);
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}

struct kept_set {
    void *p;
    int value;
    size_t bytes;
};

static void run_set(void *own) {
    const struct kept_set *s = own;
    if (memory_dead()) return;
    memset(s->p, s->value, s->bytes);
    hook_written(s->p, s->bytes);
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream) {
    int fault = fault_in("cudaMemsetAsync");
    if (fault) return (cudaError_t)fault;
    if (memory_dead()) return cudaPeekAtLastError();
    if (!bytes) return cudaSuccess;
    if ((!on_device(p) && !memory_is_pinned(p, bytes) && !symbol_find(p)) || !inside(p, bytes))
        return memory_error(cudaErrorInvalidValue);
    struct kept_set s = {p, value, bytes};
    return stream_give(stream, run_set, &s, sizeof s);
}

cudaError_t cudaMemset(void *p, int value, size_t bytes) {
    return cudaMemsetAsync(p, value, bytes, 0);
}

cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width_bytes, size_t height) {
    for (size_t i = 0; i < height; i++) {
        cudaError_t e = cudaMemset((char *)p + i * pitch, value, width_bytes);
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}

/* ---- device variables ----------------------------------------------------------------------- */
static struct simt_symbol *symbols;

void simt_register_symbol(struct simt_symbol *symbol) {
    symbol->next = symbols;
    symbols = symbol;
}

const struct simt_symbol *symbol_find(const void *p) {
    const struct simt_symbol *s = symbols;
    while (s && (uintptr_t)p - (uintptr_t)s->address >= s->bytes) s = s->next;
    return s;
}

static cudaError_t symbol_range(const void *symbol, size_t bytes, size_t offset) {
    const struct simt_symbol *s = symbol_find(symbol);
    if (!s) return memory_error(cudaErrorInvalidSymbol);
    if (offset > s->bytes || bytes > s->bytes - offset) return memory_error(cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbol_(const void *symbol, const void *src, size_t bytes, size_t offset,
                                enum cudaMemcpyKind kind) {
    cudaError_t e = symbol_range(symbol, bytes, offset);
    if (e != cudaSuccess) return e;
    if (!inside(src, bytes)) return memory_error(cudaErrorInvalidValue);
    if ((e = stream_wait_default())) return e;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return memory_error(cudaErrorInvalidMemcpyDirection);
    memcpy((char *)(uintptr_t)symbol + offset, src, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyFromSymbol_(void *dst, const void *symbol, size_t bytes, size_t offset,
                                  enum cudaMemcpyKind kind) {
    cudaError_t e = symbol_range(symbol, bytes, offset);
    if (e != cudaSuccess) return e;
    if (!inside(dst, bytes)) return memory_error(cudaErrorInvalidValue);
    if ((e = stream_wait_default())) return e;
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return memory_error(cudaErrorInvalidMemcpyDirection);
    memcpy(dst, (const char *)symbol + offset, bytes);
    hook_written(dst, bytes);
    return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress_(void **p, const void *symbol) {
    cudaError_t e = symbol_range(symbol, 0, 0);
    *p = e == cudaSuccess ? (void *)(uintptr_t)symbol : NULL;
    return e;
}

cudaError_t cudaGetSymbolSize_(size_t *bytes, const void *symbol) {
    const struct simt_symbol *s = symbol_find(symbol);
    *bytes = s ? s->bytes : 0;
    return s ? cudaSuccess : memory_error(cudaErrorInvalidSymbol);
}
