/* page.c: the page's files as bytes in the program, through the assembler's .incbin. See page.h.
 *
 * The paths are relative to the top of the tree, where make runs. module.mk names the files as
 * prerequisites, because the compiler can't see them.
 */
#include "web/page.h"

#include <string.h>

#define EMBED(name, file)                                                                          \
    __asm__(".section .rodata\n"                                                                   \
            ".global page_" #name "\n.global page_" #name "_end\n"                                 \
            "page_" #name ":\n.incbin \"common/web/" file "\"\n"                                   \
            "page_" #name "_end:\n.byte 0\n.previous\n");                                          \
    extern const char page_##name[], page_##name##_end[]

EMBED(index, "index.html");
EMBED(style, "style.css");
EMBED(app, "app.js");
EMBED(measure, "measure.js");
EMBED(request, "request.js");
EMBED(result, "result.js");
EMBED(sse, "sse.js");
EMBED(timeline, "timeline.js");

static const char html[] = "text/html; charset=utf-8";
static const char css[] = "text/css; charset=utf-8";
static const char js[] = "text/javascript; charset=utf-8"; /* modules are refused without it */

static const struct {
    const char *path, *type, *begin, *end;
} files[] = {
    {"/", html, page_index, page_index_end},
    {"/index.html", html, page_index, page_index_end},
    {"/style.css", css, page_style, page_style_end},
    {"/app.js", js, page_app, page_app_end},
    {"/measure.js", js, page_measure, page_measure_end},
    {"/request.js", js, page_request, page_request_end},
    {"/result.js", js, page_result, page_result_end},
    {"/sse.js", js, page_sse, page_sse_end},
    {"/timeline.js", js, page_timeline, page_timeline_end},
};

bool page_find(const char *path, struct page_file *out) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(path, files[i].path)) continue;
        *out = (struct page_file){files[i].type, files[i].begin,
                                  (size_t)(files[i].end - files[i].begin)};
        return true;
    }
    return false;
}
