/* The file is one word.
 * expect: copy.cu
 */
template
