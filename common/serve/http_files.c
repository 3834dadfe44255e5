/* http_files.c: serves the classroom page's files, from the program or from --web DIR.
 *
 * The two isolation headers give the page a clock of 5 us steps instead of 100 us, in a secure
 * context such as 127.0.0.1. A path with a segment that begins with a dot, or with a byte outside a
 * short list, is refused, so that no path leads out of the folder.
 */
#include "serve/http_reply.h"

#include "web/page.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum MHD_Result serve(struct exchange *x, const char *type, struct MHD_Response *r) {
    if (!r) return reply_error(x, 500, NULL, NULL, "no memory for this file");
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-cache"); /* a new build shows at once */
    MHD_add_response_header(r, "Cross-Origin-Opener-Policy", "same-origin");
    MHD_add_response_header(r, "Cross-Origin-Embedder-Policy", "require-corp");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    return reply_queue(x, 200, r);
}

static const char *type_of(const char *name) {
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                           {".css", "text/css; charset=utf-8"},
                                           {".js", "text/javascript; charset=utf-8"},
                                           {".json", "application/json"},
                                           {".svg", "image/svg+xml"},
                                           {".png", "image/png"}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (!strcmp(dot, types[i][0])) return types[i][1];
    return "application/octet-stream";
}

static bool safe(const char *name) {
    bool begins = true;
    for (; *name; name++) {
        if (begins && (*name == '.' || *name == '/')) return false;
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/", *name))
            return false;
        begins = *name == '/';
    }
    return true;
}

/* Opens a file of the folder; -1 if there is none. */
static int open_file(const struct exchange *x, const char *name, struct stat *st) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", x->h->o.web_dir, name);
    int fd = n < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
    if (fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode)) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static const char *name_of(const struct exchange *x) {
    return x->id[0] ? x->id : "index.html";
}

static bool find_in_program(const struct exchange *x, struct page_file *file) {
    char path[sizeof x->id + 1];
    snprintf(path, sizeof path, "/%s", x->id);
    return page_find(path, file);
}

enum MHD_Result files_route(struct exchange *x) {
    const char *name = name_of(x);
    struct page_file file;
    struct stat st;
    int fd = x->h->o.web_dir && safe(name) ? open_file(x, name, &st) : -1;
    if (fd >= 0) /* the response closes it */
        return serve(x, type_of(name), MHD_create_response_from_fd64((uint64_t)st.st_size, fd));
    if (!x->h->o.web_dir && safe(name) && find_in_program(x, &file))
        return serve(x, file.type,
                     MHD_create_response_from_buffer(file.n, (void *)(uintptr_t)file.data,
                                                     MHD_RESPMEM_PERSISTENT));
    return reply_error(x, 404, NULL, NULL, "the page has no file /%.100s", x->id);
}

bool files_has(const struct exchange *x) {
    const char *name = name_of(x);
    struct page_file file;
    struct stat st;
    if (!safe(name)) return false;
    if (!x->h->o.web_dir) return find_in_program(x, &file);
    int fd = open_file(x, name, &st);
    if (fd >= 0) close(fd);
    return fd >= 0;
}
