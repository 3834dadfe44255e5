/* http_openapi.c: GET /openapi.json: the routes in OpenAPI's form. See openapi.json.
 *
 * The file is in the program. Three strings in it are replaced by this server's values: "@MODEL@",
 * "@VERSION@" and "@LAST_ID@", the vocabulary's last token id.
 */
#include "serve/http_reply.h"

#include <stdio.h>
#include <string.h>

__asm__(".section .rodata\n"
        ".global openapi_text\nopenapi_text:\n.incbin \"common/serve/openapi.json\"\n"
        ".byte 0\n.previous\n");
extern const char openapi_text[];

enum MHD_Result openapi_route(struct exchange *x) {
    struct buffer name = {0}, b = {0};
    char last_id[16];
    buffer_json_puts(&name, x->h->o.model_name);
    snprintf(last_id, sizeof last_id, "%d", tokenizer_vocab_size(x->h->o.tokenizer) - 1);
    const char *const words[][2] = {{"\"@MODEL@\"", name.bytes ? name.bytes : ""},
                                    {"\"@VERSION@\"", "\"" SERVELAB_VERSION "\""},
                                    {"\"@LAST_ID@\"", last_id}};
    const char *at = openapi_text;
    for (const char *mark; (mark = strstr(at, "\"@"));) {
        buffer_add(&b, at, (size_t)(mark - at));
        size_t i = 0;
        while (strncmp(mark, words[i][0], strlen(words[i][0]))) INVARIANT(++i < 3);
        buffer_puts(&b, words[i][1]);
        at = mark + strlen(words[i][0]);
    }
    buffer_puts(&b, at);
    b.failed = b.failed || name.failed;
    buffer_release(&name);
    return reply_bytes(x, 200, "application/json", &b);
}
