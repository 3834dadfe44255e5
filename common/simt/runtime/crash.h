/* crash.h: reports the kernel and the thread when a kernel is ended by a signal. */
#ifndef SIMT_CRASH_H
#define SIMT_CRASH_H

struct worker;
/* Installs the handlers and their stack. Call once on each OS thread that runs blocks. */
void crash_watch(struct worker *w);

#endif
