/* Serves one request at a time.
 * loses: slo.goodput_par slo.goodput_margin slo.goodput_admission slo.goodput_chunking
 * reaches: 8
 */
#define DRAIN_FIRST
#define ONE_AT_A_TIME
