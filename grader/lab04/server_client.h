/* server_client.h: a client of one server in the sandbox: requests as bytes over a Unix socket. A
 * wait ends when the server's process ends, and when it is clear that no answer will come. */
#ifndef SERVELAB_GRADER_LAB04_SERVER_CLIENT_H
#define SERVELAB_GRADER_LAB04_SERVER_CLIENT_H

#include "core/sandbox.h"
#include "lab04/stall.h"

struct server_link {
    const char *path;
    struct sandbox_run *run;
    const char *problem;      /* after a failure */
    bool ended;               /* the process */
    enum stall stalled;       /* why no answer came */
    struct stall_watch watch; /* of the present wait */
};

/* Waits until it accepts connections. */
bool server_wait(struct server_link *l, int ms);

/* Connects and sends: a descriptor for server_receive, or -1. */
int server_send(struct server_link *l, const char *bytes, size_t n);

/* What comes until the connection is closed, or with `least` until so many bytes are there; malloc,
 * a NUL behind it. NULL: nothing came in time, or the process ended. Closes fd; -1 is allowed. */
char *server_receive(struct server_link *l, int fd, size_t least, int ms);

#endif
