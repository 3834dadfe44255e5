/* Includes a file of the machine, so that the compiler's errors quote it.
 * examined: refused; says: includes|No such file|Permission
 * trusted: nothing
 */
#include "objective/percentile.h"
#include "/etc/shadow"
