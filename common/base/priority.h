/* priority.h: which threads run first when there are more than cores. Needs no privilege. */
#ifndef SERVELAB_BASE_PRIORITY_H
#define SERVELAB_BASE_PRIORITY_H

/* Asks that the calling thread, and those that it starts, run at once when they wake up, for short
 * turns: Linux from 6.12 on lets a thread with a short time slice interrupt one with a longer one.
 * The default slice is 3 ms; so long a thread that wakes up may otherwise wait for a busy core.
 * Older kernels ignore it. */
void priority_short_turns(void);
/* Takes it back. */
void priority_default_turns(void);

#endif
