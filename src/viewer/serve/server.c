/* SPDX-License-Identifier: Apache-2.0 */
/* The server of pages: one thread, one loop over poll. It listens on 127.0.0.1 only. Clients that
 * keep a connection without asking lose it when others need the place. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/sized.h"
#include "base/system.h"
#include "viewer/serve/connection.h"

enum { CONNECTIONS = 16, PORT = 8000, PORTS_TRIED = 20, WAIT_MS = 50 };

typedef struct server {
    int listener;
    site site;
    connection *clients[CONNECTIONS];
    size_t client_count;
} server;

/* ---- Listening ------------------------------------------------------------------------------ */

/* Returns the descriptor; -1: the port cannot be had (errno). */
static int listen_on(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int one = 1;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    /* Without this, a port stays taken for a minute after the server before this one. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, CONNECTIONS) == 0)
        return fd;
    const int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static pgy_status find_port(server *s, uint16_t wanted, pgy_error *err)
{
    int fd = listen_on(wanted ? wanted : PORT);
    for (uint16_t i = 1; fd < 0 && !wanted && i < PORTS_TRIED; i++)
        fd = listen_on((uint16_t)(PORT + i));
    if (fd < 0 && !wanted) fd = listen_on(0);
    if (fd < 0)
        return pgy_error_set(err, PGY_E_IO,
                             "cannot listen on 127.0.0.1:%u: %s; choose another port, or none to "
                             "take a free one",
                             wanted ? wanted : (unsigned)PORT, strerror(errno));
    struct sockaddr_in own = {0};
    socklen_t size = sizeof own;
    s->listener = fd;
    if (getsockname(fd, (struct sockaddr *)&own, &size))
        return pgy_error_set(err, PGY_E_IO, "cannot find the port: %s", strerror(errno));
    s->site.port = ntohs(own.sin_port);
    return PGY_OK;
}

/* ---- Clients -------------------------------------------------------------------------------- */

static void drop(server *s, size_t at)
{
    connection_deinit(s->clients[at]);
    mem_free(s->clients[at]);
    s->clients[at] = s->clients[--s->client_count];
}

/* The connection that may be closed rather than others: one that waits for a request, else one that
 * takes nothing of its answer; of several the one without progress for longest. */
static size_t most_idle(const server *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->client_count; i++) {
        const connection *a = s->clients[best], *b = s->clients[i];
        const bool a_writes = a->state == CONNECTION_WRITES,
                   b_writes = b->state == CONNECTION_WRITES;
        if (a_writes != b_writes ? a_writes : b->since_ns < a->since_ns) best = i;
    }
    return best;
}

static void accept_one(server *s)
{
    const int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (s->client_count == CONNECTIONS) drop(s, most_idle(s));
    connection *c = mem_alloc(sizeof *c);
    if (!c) {
        close(fd);
        return;
    }
    connection_init(c, fd);
    s->clients[s->client_count++] = c;
}

/* ---- The loop ------------------------------------------------------------------------------- */

static void step_all(server *s, const struct pollfd *polled)
{
    const int64_t now = clock_ns();
    for (size_t i = s->client_count; i-- > 0;) {
        connection *c = s->clients[i];
        bool alive = true;
        if (polled[i].revents) alive = connection_step(c, &s->site, polled[i].revents);
        if (alive) alive = connection_check_time(c, now);
        if (!alive) drop(s, i);
    }
}

static pgy_status loop(server *s, pgy_error *err)
{
    struct pollfd polled[CONNECTIONS + 1];
    while (!cancel_requested()) {
        for (size_t i = 0; i < s->client_count; i++)
            polled[i] = (struct pollfd){.fd = s->clients[i]->fd,
                                        .events = connection_events(s->clients[i])};
        const size_t count = s->client_count;
        polled[count] = (struct pollfd){.fd = s->listener, .events = POLLIN};
        const int ready = poll(polled, count + 1, WAIT_MS);
        if (ready < 0 && errno != EINTR)
            return pgy_error_set(err, PGY_E_IO, "cannot wait for clients: %s", strerror(errno));
        if (ready < 0) continue;
        step_all(s, polled);
        if (polled[count].revents) accept_one(s);
    }
    return cancel_check(err);
}

static pgy_status serve(server *s, const pgy_page_serve_options *o, pgy_error *err)
{
    char address[128];
    pgy_status st = find_port(s, o->port, err);
    if (st) return st;
    snprintf(address, sizeof address, "http://127.0.0.1:%u/%s/", s->site.port, s->site.token);
    if (o->ready) o->ready(address, o->user);
    return loop(s, err);
}

pgy_status pgy_page_serve(pgy_page *p, const pgy_page_serve_options *options, pgy_error *err)
{
    pgy_page_serve_options o = {.size = sizeof o};
    if (!p) return pgy_error_set(err, PGY_E_ARGUMENT, "pgy_page_serve: 'p' must not be NULL");
    pgy_status st = SIZED_TAKE(pgy_page_serve_options, &o, options, err);
    if (st) return st;
    server *s = mem_calloc(1, sizeof *s);
    if (!s) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a page is served");
    s->listener = -1;
    st = site_init(&s->site, p, err);
    if (!st) {
        st = serve(s, &o, err);
        site_deinit(&s->site);
    }
    while (s->client_count) drop(s, s->client_count - 1);
    if (s->listener >= 0) close(s->listener);
    mem_free(s);
    return st;
}
