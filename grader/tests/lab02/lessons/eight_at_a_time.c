/* The same with one more.
 * loses: slo.goodput_admission
 * reaches: 13
 */
#define MOST_RUNNING 8
