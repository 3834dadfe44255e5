/* text.h: words from a submission made safe to show. Offers escaping and bounded copying; refuses
 * to guess what was meant. Every byte that comes from a submission (a compiler's message, a printed
 * line, a field of its JSON) passes through here before it reaches a terminal or a result file.
 */
#ifndef SERVELAB_BASE_TEXT_H
#define SERVELAB_BASE_TEXT_H

#include <stddef.h>

/* Copies src[0..n) into dst (cap bytes, always terminated), with control bytes, DEL, C1 and
 * bidirectional controls and invalid UTF-8 as \xNN of their bytes, and newline as \n. What doesn't
 * fit is cut at a whole character and marked with "...". Returns dst. */
char *text_clean(char *dst, size_t cap, const char *src, size_t n);

/* The first line of src[0..n) that isn't empty, cleaned into dst. Returns dst. */
char *text_first_line(char *dst, size_t cap, const char *src, size_t n);

/* Appends formatted text to dst; cut where it doesn't fit. The format is ours, its arguments must
 * be clean already. Returns dst. */
char *text_append(char *dst, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Nanoseconds for a person, exact: "1 234 567 ns". */
char *text_ns(char *dst, size_t cap, long long ns);

#endif
