/* Keeps room for two more blocks of each running request: little, and enough.
 * loses: 
 * reaches: 16
 */
#define GROWTH_TOKENS 32

