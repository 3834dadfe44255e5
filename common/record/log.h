/* log.h: the event log on disk: one record a line (JSONL), only ever appended to.
 *
 * Offers: a reader in constant memory and the opening of a log for record_append (record.h).
 *
 * What appending guarantees. A record goes out as one line in one write(2) to an O_APPEND
 * descriptor, so writers never mix within a line, and a process killed between two writes leaves
 * whole lines. A kill *during* the write of a line longer than a page can leave its beginning
 * (Linux stops between pages), as a power failure can. Then nobody was told that this record is in
 * the log, and the next record_append through record_log_open's descriptor sees the missing line
 * end under the log's lock and begins a line of its own: the piece stays, alone on its line, and
 * takes no other record with it. Nothing is synced to the disk; a caller that must survive a power
 * failure calls fsync.
 *
 * What reading guarantees. A line that ends inside its object is torn: never a record, never passed
 * over silently. The reader says RECORD_READ_TORN with its line, and the caller decides; everything
 * else that is wrong is an error and ends the reading. Refuses: to repair, to sort, to follow a
 * growing file.
 */
#ifndef SERVELAB_RECORD_LOG_H
#define SERVELAB_RECORD_LOG_H

#include "record/record.h"

/* Opens or creates a log for record_append: O_RDWR | O_APPEND | O_CREAT, mode 0644. The descriptor,
 * or -1 with *e set. The caller closes it. (record_append also takes other O_APPEND descriptors;
 * one that can't be read can't be checked for a missing line end.) */
int record_log_open(const char *path, struct err *e);

struct record_reader;

enum record_read {
    RECORD_READ_ERROR = -1, /* *e says what; reading is over */
    RECORD_READ_END = 0,
    RECORD_READ_OK = 1,
    RECORD_READ_TORN = 2 /* *e says which line was cut off; the next call goes on after it */
};

/* Opens a regular file, or standard input for "-". It may hold one JSON object, over any number of
 * lines, or one record a line. CRLF, a missing last line end and white space after the last record
 * are fine; a blank line between records, an empty file, a folder and a FIFO are not. NULL and *e
 * set on failure. */
struct record_reader *record_reader_open(const char *path, struct err *e);

/* The next record: *r stays valid until the next call, *line is where it begins. Memory: one buffer
 * of 1 MiB, or twice the longest line if that is more (at most JSON_MAX_BYTES), and one record. */
enum record_read record_reader_next(struct record_reader *rd, const struct record **r, int *line,
                                    struct err *e);

/* Bytes of the file that were read so far. */
int64_t record_reader_bytes(const struct record_reader *rd);

void record_reader_close(struct record_reader *rd);

#endif
