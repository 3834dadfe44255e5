/* http_framing.c: finds headers that two readers may read differently. See http_framing.h. */
#include "serve/http_framing.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

static const char length_name[] = "Content-Length", encoding_name[] = "Transfer-Encoding";

struct framing {
    int lengths, encodings, hosts;
    const char *fault; /* the first one, or NULL */
    const char *next;  /* where the next header line must begin in the library's buffer */
};

static enum MHD_Result read_line(void *ctx, enum MHD_ValueKind kind, const char *name, size_t n,
                                 const char *value, size_t n_value);
static bool ends_cleanly(struct MHD_Connection *c, const char *method, const char *next);

const char *framing_fault(struct MHD_Connection *c, const char *method, const char *version) {
    bool http_1_1 = !strcmp(version, MHD_HTTP_VERSION_1_1);
    struct framing f = {.next = version + strlen(version) + 2};
    MHD_get_connection_values_n(c, MHD_HEADER_KIND, read_line, &f);
    if (f.fault) return f.fault;
    if (f.lengths + f.encodings > 1)
        return "send one Content-Length, or Transfer-Encoding alone: this header says more than "
               "once where the body ends";
    if (f.encodings && !http_1_1) return "Transfer-Encoding needs HTTP/1.1";
    if (f.hosts > 1) return "send one Host header, not several";
    if (f.hosts == 0 && http_1_1) return "the Host header is missing";
    if (!ends_cleanly(c, method, f.next)) return "each line of the header must end in CR LF";
    return NULL;
}

/* ---- a line ---------------------------------------------------------------------------------- */

/* A token of RFC 9110 section 5.6.2. */
static bool is_token(const char *s, size_t n) {
    static const char marks[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz";
    return n > 0 && strlen(s) == n && strspn(s, marks) == n;
}

static bool is_name(const char *s, size_t n, const char *want) {
    return n == strlen(want) && !strncasecmp(s, want, n);
}

static bool is_longer(const char *s, size_t n, const char *want) {
    return n > strlen(want) && !strncasecmp(s, want, strlen(want));
}

static bool has_control(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)s[i] < ' ' && s[i] != '\t') || s[i] == 127) return true;
    return false;
}

static bool is_length(const char *s, size_t n) {
    return n > 0 && n < 20 && strspn(s, "0123456789") == n;
}

/* libmicrohttpd up to 0.9 leaves the header in its buffer and only replaces each separator by NUL.
 * So the positions of names and values show what it doesn't report: a line that ended in a bare CR
 * or LF, a NUL inside a value, a line that went on in the next one. */
static bool keeps_lines(void) {
    static int cached = -1;
    if (cached < 0) cached = !strncmp(MHD_get_version(), "0.9.", 4);
    return cached;
}

static enum MHD_Result read_line(void *ctx, enum MHD_ValueKind kind, const char *name, size_t n,
                                 const char *value, size_t n_value) {
    struct framing *f = ctx;
    (void)kind;
    bool length = is_name(name, n, length_name), encoding = is_name(name, n, encoding_name);
    if (!value) value = "", n_value = 0;
    f->lengths += length;
    f->encodings += encoding;
    f->hosts += is_name(name, n, "Host");
    if (is_longer(name, n, length_name) || is_longer(name, n, encoding_name))
        f->fault = "a header name begins with Content-Length or Transfer-Encoding and goes on";
    else if (!is_token(name, n))
        f->fault = "a header name may have letters, digits and !#$%&'*+-.^_`|~ only, directly "
                   "followed by a colon, on one line";
    else if (has_control(value, n_value) || strlen(value) != n_value)
        f->fault = "a header value has a control character";
    else if (length && !is_length(value, n_value))
        f->fault = "Content-Length must be one decimal number";
    else if (encoding && strcasecmp(value, "chunked"))
        f->fault = "Transfer-Encoding must be chunked, which is the only one here";
    else if (keeps_lines() && name != f->next)
        f->fault = "each line of the header must end in CR LF, have no NUL, and not go on in the "
                   "next line";
    f->next = value + n_value + 2;
    return f->fault ? MHD_NO : MHD_YES;
}

/* Does the empty line follow directly, with its own CR LF? The library tells the header's size. */
static bool ends_cleanly(struct MHD_Connection *c, const char *method, const char *next) {
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (!keeps_lines() || !size) return true;
    return (size_t)(next + 2 - method) == size->header_size;
}
