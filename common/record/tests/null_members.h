/* null_members.h: calls a test with a JSON document twice for each of its members: once with the
 * member null, once without it. Both must mean the same, for every member, optional or required.
 */
#ifndef SERVELAB_RECORD_TESTS_NULL_MEMBERS_H
#define SERVELAB_RECORD_TESTS_NULL_MEMBERS_H

#include "base/json.h"

#include <check.h>
#include <string.h>

/* `with_null` and `without` are texts; `name` is the member's. */
typedef void null_member_fn(const char *with_null, const char *without, const char *name);

/* Goes through the members of `at` and below, but not into members named `skip`; returns how many
 * there were. `root` is the document, which ends as it was. */
static inline int each_null_member(const cJSON *root, cJSON *at, const char *skip,
                                   null_member_fn *same) {
    int n = 0;
    for (cJSON **link = &at->child; *link; link = &(*link)->next) {
        cJSON *c = *link;
        if (c->string && !strcmp(c->string, skip)) continue;
        n += each_null_member(root, c, skip, same);
        if (!cJSON_IsObject(at)) continue;
        int type = c->type;
        c->type = (type & ~0xff) | cJSON_NULL;
        cJSON *child = c->child;
        c->child = NULL;
        char *with_null = json_print(root);
        c->type = type;
        c->child = child;
        *link = c->next;
        char *without = json_print(root);
        *link = c;
        ck_assert(with_null && without);
        same(with_null, without, c->string);
        cJSON_free(with_null);
        cJSON_free(without);
        n++;
    }
    return n;
}

#endif
