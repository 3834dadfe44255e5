/* Pieces of 8 tokens: prefill takes a hundred iterations.
 * loses: slo.goodput_admission slo.goodput_chunking
 * reaches: 10
 */
#define CHUNK_TOKENS 8
