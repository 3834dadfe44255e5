/* Waits only at the times of day when bursts came in an earlier grading.
 * loses: slo.batch_waits
 * reaches: 15
 */
#define PATIENT_IF(v) ((v)->now_ns % (1200 * NS_PER_MS) < 20 * NS_PER_MS)
