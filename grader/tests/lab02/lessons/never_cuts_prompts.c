/* Looks at the cache, but processes a prompt as one piece.
 * loses: slo.goodput_chunking
 * reaches: 13
 */
#define CHUNK_TOKENS 1000000
