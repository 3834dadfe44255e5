/* Runs prefill alone, as `continuous` does: those that decode wait.
 * loses: slo.goodput_chunking
 * reaches: 13
 */
#define PREFILL_FIRST
#define CHUNK_TOKENS 1000000
