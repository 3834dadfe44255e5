/* annotate.c: a report beside its source. */
#include "command.h"

#include <stdio.h>

int annotate_main(int argc, char **argv) {
    (void)argc;
    (void)argv;
    fputs("simtcc: --annotate isn't built yet\n", stderr);
    return 4;
}
