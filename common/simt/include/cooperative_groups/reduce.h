/* reduce.h: empty: cg::reduce, plus, greater and less are in cooperative_groups.h. */
#include "../cooperative_groups.h"
