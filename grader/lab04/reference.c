/* reference.c: the reference's files of labs 01 and 04. See reference.h. */
#include "lab04/reference.h"

#include "../../solutions/01_request_record/classify.c"
#include "../../solutions/01_request_record/intervals.c"
#include "../../solutions/01_request_record/percentile.c"
#include "../../solutions/01_request_record/slo.c"
#include "../../solutions/04_serving/report.c"
