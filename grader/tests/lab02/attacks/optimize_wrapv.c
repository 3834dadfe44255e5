/* Makes overflow defined, so that the sanitizers see none.
 * file: analysis.c
 * watch: intervals.queue_delay
 * examined: refused; says: #pragma GCC optimize
 * trusted: earned
 */
#pragma GCC optimize("wrapv")
//reference point_stable point_stable
