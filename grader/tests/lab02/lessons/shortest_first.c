/* Admits the shortest prompt first: a long one starves.
 * loses: quality.starves_nobody
 * reaches: 14
 */
#define SHORTEST_FIRST
