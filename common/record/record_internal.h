/* record_internal.h: what the files of common/record share and nobody else needs. */
#ifndef SERVELAB_RECORD_RECORD_INTERNAL_H
#define SERVELAB_RECORD_RECORD_INTERNAL_H

#include "record/record.h"

/* Names looked up by their bytes, for text that isn't NUL-terminated. -1 when unknown. */
int event_from_bytes(const char *p, size_t n);
int clock_from_bytes(const char *p, size_t n);
int source_from_bytes(const char *p, size_t n);
int verdict_from_bytes(const char *p, size_t n);

/* record_init for a record that was used before: keeps the memory of its events. */
void record_reset(struct record *r);

/* record_from_json into a record that record_reset prepared; on error the caller still owns it. */
int record_fill(struct record *r, const cJSON *obj, struct err *e);

/* The same from the usual text of a record, without a tree. false when the text is unusual or
 * wrong: then record_fill decides, on a record that was reset again. What it accepts record_fill
 * accepts with the same result. */
bool record_fill_fast(struct record *r, const char *text, size_t n);

/* Has it no event but request_submitted, first_byte_received and final_byte_received? */
bool record_client_only(const struct record *r);

/* record_validate without "a delivered record has the six events". */
int record_validate_parts(const struct record *r, struct err *e);

#endif
