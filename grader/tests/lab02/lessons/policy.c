/* The policy that misses nothing.
 * loses: 
 * reaches: 16
 */
