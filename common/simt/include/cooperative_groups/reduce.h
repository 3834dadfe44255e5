/* reduce.h: cg::reduce, plus, greater and less stand in cooperative_groups.h. */
#include "../cooperative_groups.h"
