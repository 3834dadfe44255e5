/* A fixed number of requests runs, whatever their lengths: about as many as fit if prompts are
 * long.
 * loses: slo.goodput_admission
 * reaches: 13
 */
#define MOST_RUNNING 7
