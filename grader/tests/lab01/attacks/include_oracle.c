/* Includes the grader's own knowledge.
 * examined: refused; says: includes|No such file
 * trusted: nothing
 */
#include "objective/percentile.h"
#include "../given/../../../grader/lab01/oracle_slo.c"
