/* record_internal.h: functions that only the files of common/record use. */
#ifndef SERVELAB_RECORD_RECORD_INTERNAL_H
#define SERVELAB_RECORD_RECORD_INTERNAL_H

#include "record/record.h"

/* Finds a name in text that is not NUL-terminated. -1: unknown. */
int event_from_bytes(const char *p, size_t n);
int clock_from_bytes(const char *p, size_t n);
int source_from_bytes(const char *p, size_t n);
int verdict_from_bytes(const char *p, size_t n);

/* As record_init for a record in use, but keeps the memory of its events. */
void record_reset(struct record *r);

/* As record_from_json, into a record that record_reset prepared; on an error the caller still owns
 * it. */
int record_fill(struct record *r, const cJSON *obj, struct err *e);

/* The same from the usual text of a record, without a tree. false: the text is unusual or wrong;
 * then call record_reset and record_fill, which decides. record_fill accepts every text that it
 * accepts, with the same result. */
bool record_fill_fast(struct record *r, const char *text, size_t n);

/* Has it no event but request_submitted, first_byte_received and final_byte_received? */
bool record_client_only(const struct record *r);

/* As record_validate, without the rule that a delivered record has the six events. */
int record_validate_parts(const struct record *r, struct err *e);

#endif
