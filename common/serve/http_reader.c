/* http_reader.c: the thread that reads long bodies, in the order of their arrival. See
 * http_reader.h. */
#include "serve/http_reader.h"

#include "serve/exchange.h"

#include <stdlib.h>

struct reader {
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t wake;
    struct exchange *first, **last; /* linked by next_to_read */
    bool stopping;
};

static void *run(void *ctx);

struct reader *reader_start(struct err *e) {
    struct reader *r = calloc(1, sizeof *r);
    if (r) {
        pthread_mutex_init(&r->lock, NULL);
        pthread_cond_init(&r->wake, NULL);
        r->last = &r->first;
        if (!pthread_create(&r->thread, NULL, run, r)) return r;
    }
    free(r);
    err_set(e, "the thread that reads long requests can't be started");
    return NULL;
}

bool reader_add(struct reader *r, struct exchange *x) {
    pthread_mutex_lock(&r->lock);
    bool takes = !r->stopping;
    if (takes) {
        MHD_suspend_connection(x->connection); /* before the thread can resume it */
        x->next_to_read = NULL;
        *r->last = x;
        r->last = &x->next_to_read;
        pthread_cond_signal(&r->wake);
    }
    pthread_mutex_unlock(&r->lock);
    return takes;
}

void reader_stop(struct reader *r) {
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
}

void reader_free(struct reader *r) {
    if (!r) return;
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static void *run(void *ctx) {
    struct reader *r = ctx;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        struct exchange *x = r->first;
        if (!x && r->stopping) break;
        if (!x) {
            pthread_cond_wait(&r->wake, &r->lock);
            continue;
        }
        r->first = x->next_to_read;
        if (!r->first) r->last = &r->first;
        x->unread = r->stopping;
        pthread_mutex_unlock(&r->lock);
        if (!x->unread && x->h->o.before_reading)
            x->h->o.before_reading(x->h->o.before_reading_ctx);
        if (!x->unread) x->route->read(x);
        MHD_resume_connection(
            x->connection); /* from here on the library's thread has the exchange */
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}
