/* crash.h: a kernel that dies by a signal still says where. */
#ifndef SIMT_CRASH_H
#define SIMT_CRASH_H

struct worker;
/* Once for each OS thread that runs blocks: handlers, and a stack for them. */
void crash_watch(struct worker *w);

#endif
