/* lab.c: the labs there are. See lab.h. */
#include "lab.h"

#include "lab01/lab01.h"
#include "lab02/lab02.h"

#include <stdlib.h>
#include <string.h>

extern const struct lab
    lab03; /* of lab03/lab03.h, which has names of its own for what lab02.h names */

static const struct lab *const known_labs[] = {&lab01, &lab02, &lab03};

const struct lab *lab_find(const char *name) {
    for (size_t i = 0; i < sizeof known_labs / sizeof *known_labs; i++) {
        const char *number = known_labs[i]->number;
        if (!strcmp(name, known_labs[i]->name) || !strcmp(name, number) ||
            (number[0] == '0' && !strcmp(name, number + 1)))
            return known_labs[i];
    }
    return NULL;
}

void hidden_case_release(struct hidden_case *h) {
    free(h->bytes);
    free(h->wants);
    memset(h, 0, sizeof *h);
}
