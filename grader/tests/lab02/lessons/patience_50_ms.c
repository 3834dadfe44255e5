/* The first request waits 50 ms for company.
 * loses: slo.batch_starts
 * reaches: 15
 */
#define PATIENCE_MS 50
