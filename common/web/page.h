/* page.h: finds a file of the classroom page. The files are compiled into the program, so `servelab
 * serve` needs no folder.
 *
 * Only the files listed in page.c are found, so no path leads out of a folder. The page itself is
 * index.html and app.js.
 */
#ifndef SERVELAB_WEB_PAGE_H
#define SERVELAB_WEB_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct page_file {
    const char *type; /* Content-Type */
    const char *data; /* static storage, n bytes, not NUL-terminated */
    size_t n;
};

/* The file for a URL path without query ("/" is index.html); false when there is none. The answer
 * carries, for every file, the two headers that give the page its fine clock (5 us instead of 100
 * us steps, in a secure context, which 127.0.0.1 is): Cross-Origin-Opener-Policy: same-origin and
 * Cross-Origin-Embedder-Policy: require-corp (measure.js is refused without it); and Cache-Control:
 * no-cache, so that a new build shows. */
bool page_find(const char *path, struct page_file *out);

#endif
