/* http_listen.c: the listening socket. See http_listen.h. */
#include "serve/http_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Connections that wait to be accepted: a lecture hall that reloads at once. */
enum { BACKLOG = 1024 };

static struct addrinfo *resolve(const char *host, int port, struct err *e);
static int listen_at(const struct http_options *o, const struct addrinfo *at, struct err *e);
static int listen_at_path(const char *path, struct socket_file *file, struct err *e);
static struct socket_file file_at(const char *path);

int http_listen(const struct http_options *o, bool *ipv6, struct socket_file *file, struct err *e) {
    *ipv6 = false;
    *file = (struct socket_file){0};
    if (o->host[0] == '/') return listen_at_path(o->host, file, e);
    struct addrinfo *at = resolve(o->host, o->port, e);
    if (!at) return -1;
    *ipv6 = at->ai_family == AF_INET6;
    int fd = listen_at(o, at, e);
    freeaddrinfo(at);
    return fd;
}

void http_remove_socket(const struct http_options *o, const struct socket_file *file) {
    struct socket_file now = file->inode ? file_at(o->host) : (struct socket_file){0};
    if (now.inode && now.inode == file->inode && now.device == file->device) unlink(o->host);
}

static struct addrinfo *resolve(const char *host, int port, struct err *e) {
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    snprintf(service, sizeof service, "%d", port);
    int rc = getaddrinfo(host, service, &hints, &found);
    if (!rc) return found;
    err_at(e, 0, "--host", "'%s' is not an address of this machine: %s", host, gai_strerror(rc));
    return NULL;
}

static int cannot_listen(const struct http_options *o, int why, struct err *e) {
    switch (why) {
    case EADDRINUSE:
        return err_at(e, 0, "--port", "port %d of %s is in use; --port 0 takes a free one", o->port,
                      o->host);
    case EACCES:
        return err_at(e, 0, "--port",
                      "no permission to listen on port %d; take one from 1024 on, or --port 0",
                      o->port);
    case EADDRNOTAVAIL:
        return err_at(
            e, 0, "--host",
            "'%s' is not an address of this machine; 127.0.0.1 is for this machine alone, "
            "0.0.0.0 for all its addresses",
            o->host);
    default:
        return err_set(e, "can't listen on %s port %d: %s", o->host, o->port, strerror(why));
    }
}

static int listen_at(const struct http_options *o, const struct addrinfo *at, struct err *e) {
    int on = 1, fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* connections of the last run that linger must not keep the port */
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd >= 0 && at->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (fd >= 0 && !bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, BACKLOG)) return fd;
    int why = errno;
    if (fd >= 0) close(fd);
    return cannot_listen(o, why, e);
}

static struct socket_file file_at(const char *path) {
    struct stat st;
    if (lstat(path, &st) || !S_ISSOCK(st.st_mode)) return (struct socket_file){0};
    return (struct socket_file){.device = st.st_dev, .inode = st.st_ino};
}

static int listen_at_path(const char *path, struct socket_file *file, struct err *e) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof at.sun_path)
        return err_at(e, 0, "--host", "the path of a socket has at most %zu bytes",
                      sizeof at.sun_path - 1);
    strcpy(at.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof at) && !listen(fd, BACKLOG)) {
        *file = file_at(path);
        return fd;
    }
    int why = errno;
    if (fd >= 0) close(fd);
    if (why == EADDRINUSE)
        return err_at(e, 0, "--host",
                      "'%s' is in use; remove it, unless a server still listens there", path);
    return err_at(e, 0, "--host", "'%s' can't be made: %s", path, strerror(why));
}
