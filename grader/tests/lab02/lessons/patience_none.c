/* A group starts with whoever is there.
 * loses: slo.batch_waits
 * reaches: 15
 */
#define PATIENCE_MS 0
