/* vector_functions.h: empty: make_float4 and the others are in vector_types.h. */
#include "vector_types.h"
