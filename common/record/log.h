/* log.h: reads a log of records (JSONL: one record per line) in constant memory, and opens one for
 * appending.
 *
 * What appending guarantees. record_append (record.h) writes a record as one line with one write(2)
 * to an O_APPEND descriptor. So lines of several writers never mix, and a process killed between
 * two writes leaves complete lines. A kill *during* the write of a line longer than a page can
 * leave its beginning (Linux stops between pages); so can a power failure. Then record_append has
 * not returned for this record. The next record_append through a descriptor of record_log_open
 * sees, under the log's lock, that the line end is missing, and begins a new line: the piece stays
 * alone on its line and damages no other record. Nothing is synced to the disk; a caller that must
 * survive a power failure calls fsync.
 *
 * What reading guarantees. A line that ends inside its object is torn. It is never read as a record
 * and never skipped silently: the reader returns RECORD_READ_TORN with its line, and the caller
 * decides. Anything else that is wrong is an error and ends the reading. Not here: repairing,
 * sorting, following a growing file.
 */
#ifndef SERVELAB_RECORD_LOG_H
#define SERVELAB_RECORD_LOG_H

#include "record/record.h"

/* Opens or creates a log for record_append: O_RDWR | O_APPEND | O_CREAT, mode 0644. Returns the
 * descriptor, which the caller closes, or -1 and *e. record_append also takes other O_APPEND
 * descriptors, but if one can't be read, it can't check for a missing line end. */
int record_log_open(const char *path, struct err *e);

struct record_reader;

enum record_read {
    RECORD_READ_ERROR = -1, /* *e says why; reading has ended */
    RECORD_READ_END = 0,
    RECORD_READ_OK = 1,
    RECORD_READ_TORN = 2 /* *e says which line was cut off; the next call continues after it */
};

/* Opens a regular file, or standard input for "-". It holds one JSON object over any number of
 * lines, or one record per line. Accepted: CRLF, a missing last line end, white space after the
 * last record. Refused: a blank line between records, an empty file, a folder, a FIFO. NULL and *e
 * on failure. */
struct record_reader *record_reader_open(const char *path, struct err *e);

/* Reads the next record. *r is valid until the next call; *line is where the record begins. Memory:
 * one record, and a buffer of 1 MiB or twice the longest line, whichever is more (at most
 * JSON_MAX_BYTES). */
enum record_read record_reader_next(struct record_reader *rd, const struct record **r, int *line,
                                    struct err *e);

/* How many bytes of the file have been read. */
int64_t record_reader_bytes(const struct record_reader *rd);

void record_reader_close(struct record_reader *rd);

#endif
