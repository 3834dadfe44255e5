/* learner-batch ignores the idea: each group has one member.
 * loses: slo.batch_margin slo.batch_waits
 * reaches: 14
 */
#define GROUP_OF(arg) (strtol(arg, &end, 10) > 0)
