/* stream.c: streams, events and graphs: see stream.h.
 *
 * One lock guards everything; work runs under it, which the runtime's one launch at a time makes no
 * difference to.
 */
#include "stream.h"
#include "fault.h"
#include "memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
    struct work *next;
    void (*run)(void *own);
    size_t bytes;
    _Alignas(16) char own[];
};

struct queue {
    struct work *first, **end;
};

struct CUstream_st {
    struct CUstream_st *next;
    unsigned flags;
    struct queue waiting;
    struct CUgraph_st *capture; /* what its work becomes a part of, or NULL */
};
struct CUgraph_st {
    struct queue nodes;
};
struct CUevent_st {
    int64_t ns; /* 0: not recorded */
    unsigned flags;
    struct CUstream_st *stream; /* of the last record */
    uint64_t asked, done;       /* records that were asked for, and that were made */
};

static pthread_mutex_t lock;
static struct CUstream_st *streams;

__attribute__((constructor)) static void init_lock(void) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE); /* work may wait for other work */
    pthread_mutex_init(&lock, &a);
    pthread_mutexattr_destroy(&a);
}

static bool is_default(cudaStream_t s) {
    return (uintptr_t)s <= 2;
}

bool stream_captures(cudaStream_t s) {
    return !is_default(s) && s->capture;
}

bool stream_keeps(cudaStream_t s) {
    return !is_default(s);
}

/* ---- queues ---------------------------------------------------------------------------------- */
static bool push(struct queue *q, void (*run)(void *), const void *own, size_t bytes) {
    struct work *w = malloc(sizeof *w + bytes);
    if (!w) return false;
    *w = (struct work){.run = run, .bytes = bytes};
    if (bytes) memcpy(w->own, own, bytes);
    if (!q->first) q->end = &q->first;
    *q->end = w;
    q->end = &w->next;
    return true;
}

static bool run_one(struct queue *q) {
    struct work *w = q->first;
    if (!w) return false;
    q->first = w->next;
    w->run(w->own);
    free(w);
    return true;
}

static void drop(struct queue *q) {
    for (struct work *w; (w = q->first);) {
        q->first = w->next;
        free(w);
    }
}

cudaError_t stream_give(cudaStream_t s, void (*run)(void *own), const void *own, size_t bytes) {
    pthread_mutex_lock(&lock);
    bool good = true;
    cudaError_t e = cudaSuccess;
    if (!is_default(s)) {
        good = push(s->capture ? &s->capture->nodes : &s->waiting, run, own, bytes);
    } else if ((e = stream_wait_default()) == cudaSuccess) {
        struct queue now = {0};
        good = push(&now, run, own, bytes) && run_one(&now);
    }
    pthread_mutex_unlock(&lock);
    return good ? e : memory_error(cudaErrorMemoryAllocation);
}

static cudaError_t wait_for(bool all) {
    cudaError_t e = cudaSuccess;
    pthread_mutex_lock(&lock);
    for (struct CUstream_st *s = streams; s; s = s->next) {
        if (!all && s->flags & cudaStreamNonBlocking) continue;
        if (s->capture) e = memory_error(cudaErrorStreamCaptureUnsupported);
        while (!s->capture && run_one(&s->waiting)) continue;
    }
    pthread_mutex_unlock(&lock);
    return e;
}

cudaError_t stream_wait_default(void) {
    return wait_for(false);
}

cudaError_t stream_wait_all(void) {
    return wait_for(true);
}

cudaError_t stream_wait(cudaStream_t s) {
    if (is_default(s)) return stream_wait_default();
    if (s->capture) return memory_error(cudaErrorStreamCaptureUnsupported);
    pthread_mutex_lock(&lock);
    while (run_one(&s->waiting)) continue;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

/* ---- streams --------------------------------------------------------------------------------- */
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    struct CUstream_st *s = *stream = calloc(1, sizeof *s);
    if (!s) return memory_error(cudaErrorMemoryAllocation);
    s->flags = flags;
    pthread_mutex_lock(&lock);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    return cudaStreamCreateWithFlags(stream, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    (void)priority;
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (is_default(stream)) return memory_error(cudaErrorInvalidResourceHandle);
    cudaError_t e = stream_wait(stream); /* a GPU does the work after this call */
    pthread_mutex_lock(&lock);
    struct CUstream_st **at = &streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    pthread_mutex_unlock(&lock);
    drop(&stream->waiting);
    free(stream);
    return e;
}

static cudaError_t state(void) {
    return memory_dead() ? cudaPeekAtLastError() : cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    int fault = fault_in("cudaStreamSynchronize");
    if (fault) return (cudaError_t)fault;
    cudaError_t e = stream_wait(stream);
    return e ? e : state();
}

cudaError_t cudaDeviceSynchronize(void) {
    cudaError_t e = stream_wait_all();
    return e ? e : state();
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    if (is_default(stream)) return cudaStreamSynchronize(stream);
    pthread_mutex_lock(&lock);
    if (!stream->capture) run_one(&stream->waiting);
    bool left = stream->waiting.first != NULL;
    pthread_mutex_unlock(&lock);
    return left ? cudaErrorNotReady : state();
}

struct host_call {
    cudaHostFn_t fn;
    void *data;
};
static void run_host_call(void *own) {
    const struct host_call *c = own;
    c->fn(c->data);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData) {
    struct host_call c = {fn, userData};
    if (!fn) return memory_error(cudaErrorInvalidValue);
    return stream_give(stream, run_host_call, &c, sizeof c);
}

/* ---- events ---------------------------------------------------------------------------------- */
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    *event = calloc(1, sizeof **event);
    if (!*event) return memory_error(cudaErrorMemoryAllocation);
    (*event)->flags = flags;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return cudaEventCreateWithFlags(event, 0);
}

static void run_record(void *own) {
    cudaEvent_t e = *(cudaEvent_t *)own;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    e->ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    e->done++;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (!event) return memory_error(cudaErrorInvalidResourceHandle);
    event->stream = stream;
    event->asked++;
    return stream_give(stream, run_record, &event, sizeof event);
}

/* Runs work until the event's n-th record is made. */
static void wait_for_record(cudaEvent_t e, uint64_t n) {
    pthread_mutex_lock(&lock);
    while (e->done < n && !is_default(e->stream) && run_one(&e->stream->waiting)) continue;
    pthread_mutex_unlock(&lock);
}

struct event_wait {
    cudaEvent_t event;
    uint64_t n;
};
static void run_event_wait(void *own) {
    const struct event_wait *w = own;
    wait_for_record(w->event, w->n);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)flags;
    if (!event) return memory_error(cudaErrorInvalidResourceHandle);
    struct event_wait w = {event, event->asked};
    return stream_give(stream, run_event_wait, &w, sizeof w);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    int fault = fault_in("cudaEventSynchronize");
    if (fault) return (cudaError_t)fault;
    if (!event) return memory_error(cudaErrorInvalidResourceHandle);
    wait_for_record(event, event->asked);
    return state();
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    if (!event) return memory_error(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&lock);
    if (event->done < event->asked && !is_default(event->stream)) run_one(&event->stream->waiting);
    bool left = event->done < event->asked;
    pthread_mutex_unlock(&lock);
    return left ? cudaErrorNotReady : state();
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    if (!start || !end || !start->asked || !end->asked || start->flags & cudaEventDisableTiming ||
        end->flags & cudaEventDisableTiming)
        return memory_error(cudaErrorInvalidResourceHandle);
    if (start->done < start->asked || end->done < end->asked)
        return memory_error(cudaErrorNotReady);
    *ms = (float)((double)(end->ns - start->ns) * 1e-6);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    if (!event) return memory_error(cudaErrorInvalidResourceHandle);
    stream_wait_all(); /* a stream may wait for it */
    free(event);
    return cudaSuccess;
}

/* ---- graphs: work that is kept, and given to a stream again and again ------------------------ */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    int fault = fault_in("cudaStreamBeginCapture");
    if (fault) return (cudaError_t)fault;
    if ((unsigned)mode > cudaStreamCaptureModeRelaxed) return memory_error(cudaErrorInvalidValue);
    if (is_default(stream) || stream->capture)
        return memory_error(cudaErrorStreamCaptureUnsupported);
    stream_wait(stream);
    stream->capture = calloc(1, sizeof *stream->capture);
    return stream->capture ? cudaSuccess : memory_error(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    *graph = NULL;
    if (!stream_captures(stream)) return memory_error(cudaErrorStreamCaptureInvalidated);
    cudaGraph_t captured = stream->capture;
    stream->capture = NULL; /* also when the call fails */
    int fault = fault_in("cudaStreamEndCapture");
    if (fault) {
        cudaGraphDestroy(captured);
        return (cudaError_t)fault;
    }
    *graph = captured;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    *status = stream_captures(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags) {
    int fault = fault_in("cudaGraphInstantiate");
    if (fault) return (cudaError_t)fault;
    (void)flags;
    bool good = graph && (*exec = calloc(1, sizeof(struct CUgraph_st)));
    for (struct work *w = graph ? graph->nodes.first : NULL; good && w; w = w->next)
        good = push(&((cudaGraph_t)*exec)->nodes, w->run, w->own, w->bytes);
    return good ? cudaSuccess : memory_error(cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    int fault = fault_in("cudaGraphLaunch");
    if (fault) return (cudaError_t)fault;
    if (!exec) return memory_error(cudaErrorInvalidValue);
    if (memory_dead()) return cudaPeekAtLastError();
    cudaError_t e = cudaSuccess;
    for (struct work *w = ((cudaGraph_t)exec)->nodes.first; w && e == cudaSuccess; w = w->next)
        e = stream_give(stream, w->run, w->own, w->bytes);
    return e;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    if (!graph) return memory_error(cudaErrorInvalidValue);
    drop(&graph->nodes);
    free(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    return cudaGraphDestroy((cudaGraph_t)exec);
}
