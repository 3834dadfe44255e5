/* Admits whose prompt fits, and forgets that running requests grow.
 * loses: slo.goodput_admission
 * reaches: 13
 */
#define GROWTH_TOKENS 0
