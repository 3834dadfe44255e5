/* watchdog.h: ends a program whose launch exceeds the time limit.
 *
 * SIMT_TIME_LIMIT_S (default 120, 0: none) is the wall time of one launch. The program then ends
 * with status 86 and a message that explains the usual cause: a thread waits for another thread
 * that isn't running.
 */
#ifndef SIMT_WATCHDOG_H
#define SIMT_WATCHDOG_H
void watchdog_start(const char *kernel);
void watchdog_stop(void);
#endif
