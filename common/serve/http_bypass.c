/* http_bypass.c: see http_bypass.h. */
#include "serve/http_bypass.h"

#include "serve/http_cors.h"
#include "serve/http_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static void write_reply(const struct http *h, int fd, int status, const char *field,
                        const char *code, const char *text);
static bool refuse_length(void *http, struct MHD_Connection *c, int fd);

int bypass_late_body(void *http, int fd) {
    struct http *h = http;
    pthread_mutex_lock(&h->lock);
    bool draining = h->draining;
    pthread_mutex_unlock(&h->lock);
    int status = draining ? 503 : 408;
    write_reply(h, fd, status, NULL, draining ? "draining" : "body_timeout",
                draining ? "the server is shutting down"
                         : "the rest of the body did not come in time");
    return status;
}

void bypass_library_error(void *http, const char *format, va_list ap) {
    struct http *h = http;
    static const char refuses[] = "Error processing request";
    (void)ap;
    if (!strncmp(format, refuses, strlen(refuses))) watch_headers(h->watch, refuse_length, h);
}

/* Does the library refuse its Content-Length? Then it is answered here. */
static bool refuse_length(void *http, struct MHD_Connection *c, int fd) {
    const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    if (!length) return false;
    errno = 0;
    strtoull(length, NULL, 10);
    bool number = length[0] && length[strspn(length, "0123456789")] == '\0';
    if (number && errno == 0) return false;
    write_reply(http, fd, number ? 413 : 400, "Content-Length", number ? NULL : "ambiguous_length",
                number ? "Content-Length is too large for any body"
                       : "Content-Length must be one decimal number");
    return true;
}

static void put_date(struct buffer *b) {
    char text[40];
    struct tm tm;
    time_t now = time(NULL);
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
    buffer_puts(b, text);
}

static void write_reply(const struct http *h, int fd, int status, const char *field,
                        const char *code, const char *text) {
    struct buffer b = {0}, body = {0};
    const char *cors[CORS_HEADERS][2];
    openai_error(&body, reply_error_type(status), text, field, code);
    buffer_puts(&body, "\n");
    buffer_printf(&b, "HTTP/1.1 %d %s\r\n", status, MHD_get_reason_phrase_for((unsigned)status));
    put_date(&b);
    for (int i = 0, n = cors_headers(h->o.cors, cors); i < n; i++)
        buffer_printf(&b, "%s: %s\r\n", cors[i][0], cors[i][1]);
    if (status == 503) buffer_puts(&b, "Retry-After: 1\r\n");
    buffer_printf(&b,
                  "Connection: close\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                  "\r\n",
                  body.n);
    buffer_add(&b, body.bytes, body.n);
    if (!b.failed && !body.failed) /* a client that has not read its last replies gets none */
        (void)!send(fd, b.bytes, b.n, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    buffer_release(&b);
    buffer_release(&body);
}
