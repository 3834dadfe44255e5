/* Called continuous, but nobody joins before all that run have ended.
 * loses: slo.goodput_margin slo.goodput_admission slo.goodput_chunking
 * reaches: 9
 */
#define DRAIN_FIRST
