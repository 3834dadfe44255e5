/* Admits whoever has a position and preempts later: the cache is never asked.
 * loses: slo.goodput_admission
 * reaches: 13
 */
#define ADMIT_ALL
