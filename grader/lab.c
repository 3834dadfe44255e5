/* lab.c: the labs there are. See lab.h. */
#include "lab.h"

#include "lab01/lab01.h"

#include <stdlib.h>
#include <string.h>

static const struct lab *const labs[] = {&lab01};

const struct lab *lab_find(const char *name) {
    for (size_t i = 0; i < sizeof labs / sizeof *labs; i++) {
        const char *number = labs[i]->number;
        if (!strcmp(name, labs[i]->name) || !strcmp(name, number) ||
            (number[0] == '0' && !strcmp(name, number + 1)))
            return labs[i];
    }
    return NULL;
}

void hidden_case_release(struct hidden_case *h) {
    free(h->bytes);
    free(h->wants);
    memset(h, 0, sizeof *h);
}
