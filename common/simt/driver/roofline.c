/* roofline.c: a report as a drawing. */
#include "command.h"

#include <stdio.h>

int roofline_main(int argc, char **argv) {
    (void)argc;
    (void)argv;
    fputs("simtcc: --roofline isn't built yet\n", stderr);
    return 4;
}
