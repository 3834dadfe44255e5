/* main.c: the program `servelab`: runs the sub-command and checks that its output was written. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void reserve_standard(void);
static int delivered(int status);

int main(int argc, char **argv) {
    reserve_standard();
    return delivered(cli_run(argc, argv));
}

/* If a standard descriptor is closed, the next file opened would get its number, and messages would
 * be written into that file. So it is opened here, in the direction in which using it fails. */
static void reserve_standard(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* `status`, or CLI_FAULT if stdout could not be written: the command's answer was then not
 * delivered. */
static int delivered(int status) {
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout)) return status;
    if (!errno && putchar('\n') != EOF) fflush(stdout); /* an earlier flush failed: why? */
    fprintf(stderr, "servelab: the output can't be written%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return CLI_FAULT;
}
