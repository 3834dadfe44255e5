/* labs.c: the table of labs. See labs.h. */
#include "labs.h"

#include <string.h>

static const struct lab *const known[] = {&lab01, &lab02, &lab03, &lab04};

const struct lab *lab_find(const char *name) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *number = known[i]->number;
        if (!strcmp(name, known[i]->name) || !strcmp(name, number) ||
            (number[0] == '0' && !strcmp(name, number + 1)))
            return known[i];
    }
    return NULL;
}
