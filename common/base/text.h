/* text.h: makes untrusted text safe to show: escapes and bounded copies. Every byte that comes from
 * a submission (a compiler's message, a printed line, a field of its JSON) is cleaned here before
 * it reaches a terminal or a result file. */
#ifndef SERVELAB_BASE_TEXT_H
#define SERVELAB_BASE_TEXT_H

#include <stddef.h>

/* Copies src[0..n) into dst (cap bytes, always terminated). Control bytes, DEL, C1 and
 * bidirectional controls and invalid UTF-8 become \xNN of their bytes, newline becomes \n. Text
 * that is too long is cut at a whole character and marked with "...". Returns dst. */
char *text_clean(char *dst, size_t cap, const char *src, size_t n);

/* The same for text of several lines: newlines stay. */
char *text_clean_lines(char *dst, size_t cap, const char *src, size_t n);

/* The first line of src[0..n) that isn't empty, cleaned into dst. Returns dst. */
char *text_first_line(char *dst, size_t cap, const char *src, size_t n);

/* Appends formatted text to dst; text that is too long is cut. The arguments must be clean already.
 * Returns dst. */
char *text_append(char *dst, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Nanoseconds for a person, exact: "1 234 567 ns". */
char *text_ns(char *dst, size_t cap, long long ns);

#endif
