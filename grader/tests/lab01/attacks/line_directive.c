/* Says that its line 1 is another file's, so that an error shows that file's text.
 * examined: refused; says: percentile.c|compiler
 * trusted: nothing
 */
#include "objective/percentile.h"
#line 1 "/etc/passwd"
int x = ;
