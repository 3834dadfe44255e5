/* Admits whoever has a position. Pieces of 256 tokens keep the goodput up, and computing goes on
 * in vain.
 * loses: slo.goodput_admission
 * reaches: 13
 */
#define ADMIT_ALL
#define CHUNK_TOKENS 256
