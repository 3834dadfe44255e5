/* http_reader.h: reads long request bodies on a thread of its own, so that the library's one thread
 * goes on serving the other connections meanwhile. Private to serve/.
 *
 * Reading 600,000 token ids takes 150 ms; for so long no other connection would get a token.
 */
#ifndef SERVELAB_SERVE_HTTP_READER_H
#define SERVELAB_SERVE_HTTP_READER_H

#include "base/err.h"

#include <stdbool.h>

struct exchange;
struct reader;

/* NULL and *e when the thread can't be started. */
struct reader *reader_start(struct err *e);
/* Suspends the exchange's connection, has its route read the body, and resumes it. False, and
 * nothing is done, after reader_stop. */
bool reader_add(struct reader *r, struct exchange *x);
/* Ends the thread. Bodies that wait are not read (x->unread); their connections are resumed. */
void reader_stop(struct reader *r);
/* After reader_stop; NULL is allowed. */
void reader_free(struct reader *r);

#endif
