/* The first request waits 3 s for company.
 * loses: slo.batch_waits slo.batch_starts
 * reaches: 14
 */
#define PATIENCE_MS 3000
