/* stream.h: the work of streams, which waits until something waits for it.
 *
 * Work that is given to a stream of cudaStreamCreate is kept, in order, and runs when the program
 * waits for the stream, for an event behind it, or for the device; when it asks whether the stream
 * is done, one piece runs. So a program that forgets to wait sees old values, as it may on a GPU.
 * The default streams are never behind: their work runs at once, after that of all streams but the
 * non-blocking ones. A stream that captures keeps its work for a graph.
 */
#ifndef SIMT_STREAM_H
#define SIMT_STREAM_H

#include "../include/cuda_runtime_api.h"

#include <stdbool.h>

/* Gives the stream work: run(own), where own is a copy of own[0..bytes), aligned as by malloc. */
cudaError_t stream_give(cudaStream_t stream, void (*run)(void *own), const void *own, size_t bytes);

/* Runs the work that is waiting: of one stream, of those that the default stream waits for, of all.
 * cudaErrorStreamCaptureUnsupported, and nothing runs, where one of them captures. */
cudaError_t stream_wait(cudaStream_t stream);
cudaError_t stream_wait_default(void);
cudaError_t stream_wait_all(void);

/* Is work that is given to it kept? Not so on default streams. */
bool stream_keeps(cudaStream_t stream);
bool stream_captures(cudaStream_t stream);

#endif
