/* http_framing.c: see http_framing.h. */
#include "serve/http_framing.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static struct framing_fault take_line(struct framing *f, const char *bytes, size_t n, bool ends,
                                      int *complete);

static struct framing_fault fault(int status, const char *field, const char *text) {
    return (struct framing_fault){status, field, text};
}

static const struct framing_fault none = {0};

static bool in_data(const struct framing *f) {
    return f->part == FRAMING_BODY || f->part == FRAMING_CHUNK_DATA;
}

/* The message's last byte was read. */
static void message_ended(struct framing *f, int *complete) {
    (*complete)++;
    f->part = FRAMING_START;
    f->last |= f->closes;
    f->head = false;
    f->stored = 0;
}

/* Skips data of a body; how many bytes. */
static size_t skip_data(struct framing *f, size_t n, int *complete) {
    if (n > f->left) n = (size_t)f->left;
    f->left -= n;
    if (f->part == FRAMING_CHUNK_DATA) f->data += n;
    if (f->left > 0) return n;
    if (f->part == FRAMING_BODY)
        message_ended(f, complete);
    else
        f->part = FRAMING_CHUNK_END;
    return n;
}

/* Is there a control character, or half a line end, in the line's bytes from `before` on? A line is
 * looked at as it comes, so that one without an end is refused at once. */
static bool has_control(const struct buffer *line, size_t before) {
    for (size_t i = before > 0 ? before - 1 : 0; i < line->n; i++) {
        unsigned char c = (unsigned char)line->bytes[i];
        if (c == '\r' && (i + 1 == line->n || line->bytes[i + 1] == '\n')) continue;
        if (c == '\n' && i > 0 && line->bytes[i - 1] == '\r') continue;
        if ((c < ' ' && c != '\t') || c == 127) return true;
    }
    return false;
}

struct framing_fault framing_read(struct framing *f, const char *bytes, size_t n, int *complete,
                                  size_t *good) {
    bool in_body = f->part >= FRAMING_BODY;
    *complete = 0;
    *good = 0;
    for (size_t at = 0; at < n;) {
        if (in_data(f)) {
            at += skip_data(f, n - at, complete);
            if (f->most_data > 0 && f->data > f->most_data) return fault(413, NULL, f->too_much);
        } else {
            const char *lf = memchr(bytes + at, '\n', n - at);
            size_t more = lf ? (size_t)(lf - bytes) + 1 - at : n - at;
            struct framing_fault bad = take_line(f, bytes + at, more, lf != NULL, complete);
            if (bad.status) return bad;
            at += more;
        }
        if (f->part == FRAMING_START || (f->part >= FRAMING_BODY && !in_body)) *good = at;
        in_body = f->part >= FRAMING_BODY;
    }
    return none;
}

void framing_release(struct framing *f) {
    buffer_release(&f->line);
}

/* ---- a line ---------------------------------------------------------------------------------- */

static struct framing_fault request_line(struct framing *f, const char *line, size_t n);
static struct framing_fault field_line(struct framing *f, char *line, size_t n);
static struct framing_fault header_ended(struct framing *f, int *complete);
static void chunk_size(struct framing *f, const char *line);

static struct framing_fault line_ended(struct framing *f, int *complete);
static struct framing_fault chunk_line(const struct framing *f);

_Static_assert(FRAMING_MAX_HEADER == 16384 && FRAMING_ITEM_BYTES == 64, "too_long says so");

/* The current line is longer than it may be. */
static struct framing_fault too_long(const struct framing *f) {
    switch (f->part) {
    case FRAMING_START:
        return fault(414, NULL,
                     "the request line is too long: with 64 bytes more for each query argument it "
                     "may have 16384 bytes; send more in a body");
    case FRAMING_CHUNK_SIZE:
        return fault(400, NULL, "the extension of a chunk is too long");
    default:
        return fault(431, NULL,
                     "the header is too long: with 64 bytes more for each line, query argument and "
                     "cookie it may have 16384 bytes");
    }
}

/* Takes the next n bytes of a line, with which it ends or not. Looks at no byte beyond the limit,
 * so that the fault is the same however the bytes come. */
static struct framing_fault take_line(struct framing *f, const char *bytes, size_t n, bool ends,
                                      int *complete) {
    size_t before = f->line.n;
    bool chunk = f->part == FRAMING_CHUNK_SIZE || f->part == FRAMING_CHUNK_END;
    size_t most = chunk ? FRAMING_MAX_CHUNK_LINE : FRAMING_MAX_HEADER - f->stored;
    bool fits = before + n <= most;
    buffer_add(&f->line, bytes, fits ? n : most + 1 - before);
    if (f->line.failed) return too_long(f);
    if (f->part == FRAMING_START) /* the gate asks for it even if this line is at fault */
        f->head = f->line.n >= 5 && !memcmp(f->line.bytes, "HEAD ", 5);
    struct framing_fault bad = chunk ? chunk_line(f) : none;
    if (bad.status) return bad;
    if (has_control(&f->line, before))
        return fault(400, NULL,
                     "each line must end in CR LF and have no other control character than tab");
    if (!fits) return too_long(f);
    bad = ends ? line_ended(f, complete) : none;
    if (ends) buffer_clear(&f->line);
    return bad;
}

static size_t count(const char *s, const char *marks) {
    size_t n = 0;
    for (s = strpbrk(s, marks); s; s = strpbrk(s + 1, marks)) n++;
    return n;
}

/* How much the library stores of a line of the header or trailer: its bytes and one item for each
 * field and query argument; of cookies a copy, and one item for each. */
static size_t storage(const struct framing *f, const char *line, size_t n) {
    size_t items = n > 0, bytes = n + 2;
    const char *query = strchr(line, '?');
    if (f->part == FRAMING_START) {
        items = query ? 1 + count(query, "&") : 0;
    } else if (!strncasecmp(line, "Cookie:", 7)) {
        items += 1 + count(line, ";,");
        bytes += n;
    }
    return bytes + items * FRAMING_ITEM_BYTES;
}

static struct framing_fault line_ended(struct framing *f, int *complete) {
    char *line = f->line.bytes;
    size_t n = f->line.n - 2;
    line[n] = '\0';
    if (f->part == FRAMING_START || f->part == FRAMING_HEADER || f->part == FRAMING_TRAILER) {
        f->stored += storage(f, line, n);
        if (f->stored > FRAMING_MAX_HEADER) return too_long(f);
    }
    switch (f->part) {
    case FRAMING_START:
        return n == 0 ? none : request_line(f, line, n);
    case FRAMING_HEADER:
        return n == 0 ? header_ended(f, complete) : field_line(f, line, n);
    case FRAMING_CHUNK_SIZE:
        chunk_size(f, line);
        return none;
    case FRAMING_CHUNK_END:
        f->part = FRAMING_CHUNK_SIZE;
        return none;
    case FRAMING_TRAILER:
        if (n > 0) return field_line(f, line, n);
        message_ended(f, complete);
        return none;
    default:
        return none; /* data has no lines */
    }
}

/* ---- the request line ------------------------------------------------------------------------ */

/* The length of the token (RFC 9110, section 5.6.2) that s begins with. */
static size_t token_length(const char *s) {
    return strspn(s, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "abcdefghijklmnopqrstuvwxyz");
}

static struct framing_fault request_line(struct framing *f, const char *line, size_t n) {
    size_t method = token_length(line);
    const char *target = line + method + 1;
    size_t length = line[method] == ' ' ? strcspn(target, " \t") : 0;
    const char *version = target + length + 1;
    *f = (struct framing){.part = FRAMING_HEADER,
                          .line = f->line,
                          .stored = f->stored,
                          .head = f->head,
                          .last = f->last};
    if (method == 0 || length == 0 || target[length] != ' ' || line + n != version + 8 ||
        memcmp(version, "HTTP/", 5) || !isdigit((unsigned char)version[5]) || version[6] != '.' ||
        !isdigit((unsigned char)version[7]))
        return fault(400, NULL,
                     "the first line must be a method, a target and HTTP/1.1, with one space "
                     "between them");
    if (version[5] != '1') return fault(505, NULL, "this server has HTTP/1.1");
    f->http_1_1 = version[7] != '0';
    f->closes = !f->http_1_1;
    if (memmem(target, strcspn(target, "? "), "%00", 3)) /* the library's path would end there */
        return fault(404, NULL, "there is no path with a NUL byte (%00)");
    return none;
}

/* ---- a field of the header or the trailer ---------------------------------------------------- */

static const char length_name[] = "Content-Length", encoding_name[] = "Transfer-Encoding";

static struct framing_fault read_length(struct framing *f, const char *value) {
    size_t digits = strspn(value, "0123456789");
    if (digits == 0 || value[digits])
        return fault(400, length_name,
                     "Content-Length must be one decimal number, with no blank behind it");
    if (digits > 18) return fault(413, length_name, "Content-Length is too large for any body");
    f->left = 0;
    for (; *value; value++) f->left = 10 * f->left + (uint64_t)(*value - '0');
    f->lengths++;
    return none;
}

static struct framing_fault read_encoding(struct framing *f, const char *value) {
    if (strcasecmp(value, "chunked"))
        return fault(400, encoding_name,
                     "Transfer-Encoding must be chunked, the only one here, with no blank behind "
                     "it");
    f->encodings++;
    return none;
}

static struct framing_fault read_host(struct framing *f, const char *value) {
    value += strspn(value, "-._~%!$&'()*+,;=:[]0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "abcdefghijklmnopqrstuvwxyz");
    if (value[strspn(value, " \t")] || ++f->hosts > 1)
        return fault(400, "Host", "send one Host header, with one host and perhaps a port");
    return none;
}

static struct framing_fault field_line(struct framing *f, char *line, size_t n) {
    size_t name = token_length(line);
    bool length = !strncasecmp(line, length_name, strlen(length_name));
    bool encoding = !strncasecmp(line, encoding_name, strlen(encoding_name));
    if ((length && name != strlen(length_name)) || (encoding && name != strlen(encoding_name)))
        return fault(400, NULL,
                     "a header name begins with Content-Length or Transfer-Encoding and goes on");
    if (name == 0 || name >= n || line[name] != ':')
        return fault(400, NULL,
                     "a header name may have letters, digits and !#$%&'*+-.^_`|~ only, directly "
                     "followed by a colon, on one line");
    line[name] = '\0';
    const char *value = line + name + 1 + strspn(line + name + 1, " \t");
    if (f->part == FRAMING_TRAILER) return none; /* it says nothing about the body's end */
    if (!strcasecmp(line, "Host")) return read_host(f, value);
    if (!strcasecmp(line, "Connection") && strcasestr(value, "close")) f->closes = true;
    if (length) return read_length(f, value);
    return encoding ? read_encoding(f, value) : none;
}

static struct framing_fault header_ended(struct framing *f, int *complete) {
    if (f->lengths + f->encodings > 1)
        return fault(400, NULL,
                     "send one Content-Length, or Transfer-Encoding alone: this header says more "
                     "than once where the body ends");
    if (f->encodings && !f->http_1_1)
        return fault(400, encoding_name, "Transfer-Encoding needs HTTP/1.1");
    if (f->hosts == 0 && f->http_1_1) return fault(400, "Host", "the Host header is missing");
    f->part = f->encodings ? FRAMING_CHUNK_SIZE : FRAMING_BODY;
    if (f->part == FRAMING_BODY && f->left == 0) message_ended(f, complete);
    return none;
}

/* ---- a chunk --------------------------------------------------------------------------------- */

/* Is what has come of a line between chunks the beginning of a good one? The library looks at such
 * a line before its end is there. A size has hexadecimal digits, and perhaps an extension after a
 * semicolon. */
static struct framing_fault chunk_line(const struct framing *f) {
    const char *line = f->line.bytes;
    size_t n = f->line.n, digits = 0, zeros = 0;
    if (f->part == FRAMING_CHUNK_END)
        return memcmp(line, "\r\n", n < 2 ? n : 2) || n > 2
                   ? fault(400, NULL, "a chunk is longer than its size")
                   : none;
    while (digits < n && isxdigit((unsigned char)line[digits])) digits++;
    while (zeros < digits && line[zeros] == '0') zeros++;
    if (digits - zeros > 15) return fault(413, NULL, "a chunk is too large for any body");
    if (digits == 0 || (digits < n && line[digits] != ';' && line[digits] != '\r'))
        return fault(400, NULL, "a chunk must begin with its size in hexadecimal digits");
    return none;
}

static void chunk_size(struct framing *f, const char *line) {
    f->left = 0;
    for (; isxdigit((unsigned char)*line); line++) {
        char c = (char)tolower((unsigned char)*line);
        f->left = 16 * f->left + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    f->part = f->left > 0 ? FRAMING_CHUNK_DATA : FRAMING_TRAILER;
}
