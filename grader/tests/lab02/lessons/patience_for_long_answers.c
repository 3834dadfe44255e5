/* Waits long for company if the answer may be long: bursts and lone requests are told apart by
 * their answers.
 * loses: slo.batch_starts
 * reaches: 15
 */
#define PATIENCE_MS 200
#define PATIENT_IF(v) ((v)->waiting[0].max_output_tokens >= 50)
