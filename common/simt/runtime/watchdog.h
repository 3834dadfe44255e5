/* watchdog.h: ends a launch that never ends by itself.
 *
 * SIMT_TIME_LIMIT_S (default 120, 0: none) is wall time of one launch. The program then ends with
 * status 86 and says why such a kernel hangs: it waits for something that another thread, which
 * isn't running, would have to do.
 */
#ifndef SIMT_WATCHDOG_H
#define SIMT_WATCHDOG_H
void watchdog_start(const char *kernel);
void watchdog_stop(void);
#endif
