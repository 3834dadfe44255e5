/* Neither looks at the cache nor cuts prompts.
 * loses: slo.goodput_admission slo.goodput_chunking
 * reaches: 10
 */
#define ADMIT_ALL
#define CHUNK_TOKENS 1000000
