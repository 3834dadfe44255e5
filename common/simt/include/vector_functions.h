/* vector_functions.h: make_float4 and its kin stand in vector_types.h. */
#include "vector_types.h"
