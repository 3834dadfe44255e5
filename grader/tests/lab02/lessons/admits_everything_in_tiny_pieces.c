/* Admits whoever has a position. Pieces of 128 tokens cost no time beside decodes, so that goodput
 * is high: what is computed in vain is seen where answers are long.
 * loses: slo.goodput_admission
 * reaches: 13
 */
#define ADMIT_ALL
#define CHUNK_TOKENS 128
