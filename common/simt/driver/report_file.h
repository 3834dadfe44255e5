/* report_file.h: reads the report of a checked program (SIMT_REPORT). */
#ifndef SIMT_REPORT_FILE_H
#define SIMT_REPORT_FILE_H

#include <cjson/cJSON.h>

/* NULL after a message on stderr. The caller deletes the tree. */
cJSON *report_read(const char *path);
/* A count of a kernel or a line; 0 where it is absent. */
double report_count(const cJSON *object, const char *key);
const char *report_text(const cJSON *object, const char *key); /* "" where it is absent */

#endif
