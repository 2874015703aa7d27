/* SPDX-License-Identifier: Apache-2.0 */
/* A client's connection. A client that sends its request slowly, or does not take its answer, is
 * cut off after a while; meanwhile it costs 8 KiB and holds nobody up. */
#include "viewer/serve/connection.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system.h"

/* A request must be whole, and a part of an answer taken, within these times. */
static const int64_t READ_NS = 10000000000, WRITE_NS = 30000000000, END_NS = 1000000000;
enum { DROP_LIMIT = 256 << 10, PARTS = 3 };

void connection_init(connection *c, int fd)
{
    memset(c, 0, sizeof *c);
    c->fd = fd;
    c->since_ns = clock_ns();
}

void connection_deinit(connection *c)
{
    answer_deinit(&c->answer);
    close(c->fd);
}

short connection_events(const connection *c)
{
    return c->state == CONNECTION_WRITES ? POLLOUT : POLLIN;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static span part_of(const http_answer *a, size_t part)
{
    if (part == 0) return (span){str_text(&a->head), a->head.size};
    if (part == 1) return a->body;
    return a->elements ? (span){pgy_tensor_data(a->elements), pgy_tensor_size_bytes(a->elements)}
                       : (span){0};
}

/* Closing at once would drop what the client has not read if it sends more than was read here. */
static void begin_end(connection *c)
{
    shutdown(c->fd, SHUT_WR);
    c->state = CONNECTION_ENDS;
    c->since_ns = clock_ns();
}

static bool write_some(connection *c)
{
    while (c->part < PARTS) {
        const span rest = part_of(&c->answer, c->part);
        if (c->sent == rest.size) {
            c->part++;
            c->sent = 0;
            continue;
        }
        const ssize_t n = send(c->fd, rest.data + c->sent, rest.size - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        c->sent += (size_t)n;
        c->since_ns = clock_ns();
    }
    const bool closes = c->answer.closes;
    answer_deinit(&c->answer);
    c->state = CONNECTION_READS;
    if (closes) begin_end(c);
    return true;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Answers the request in the buffer, if it is whole. */
static bool answer_some(connection *c, site *s)
{
    http_request r;
    const int status = http_request_read(&r, c->in, c->size);
    if (!status) return true;
    if (status == HTTP_OK) {
        answer_make(&c->answer, s, &r);
        c->size -= r.size;
        memmove(c->in, c->in + r.size, c->size);
    } else {
        answer_refusal(&c->answer, status);
        c->size = 0;
    }
    if (c->answer.head.failed || c->answer.own.failed) return false;
    c->state = CONNECTION_WRITES;
    c->part = c->sent = 0;
    c->since_ns = clock_ns();
    return write_some(c);
}

static bool read_some(connection *c)
{
    const ssize_t n = recv(c->fd, c->in + c->size, sizeof c->in - c->size, 0);
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    c->size += (size_t)n;
    return n > 0;
}

static bool drop_some(connection *c)
{
    const ssize_t n = recv(c->fd, c->in, sizeof c->in, 0);
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    c->dropped += (size_t)n;
    return n > 0 && c->dropped < DROP_LIMIT;
}

bool connection_step(connection *c, site *s, short events)
{
    bool alive = true;
    if (c->state == CONNECTION_ENDS)
        return events & (POLLIN | POLLERR | POLLHUP) ? drop_some(c) : true;
    if (c->state == CONNECTION_WRITES && events & (POLLOUT | POLLERR | POLLHUP))
        alive = write_some(c);
    else if (c->state == CONNECTION_READS && events & (POLLIN | POLLERR | POLLHUP))
        alive = read_some(c);
    /* Requests may wait in the buffer behind the one that was answered. */
    while (alive && c->state == CONNECTION_READS && c->size) {
        const size_t before = c->size;
        alive = answer_some(c, s);
        if (c->size == before) break;
    }
    return alive;
}

bool connection_check_time(connection *c, int64_t now_ns)
{
    const int64_t limit = c->state == CONNECTION_READS    ? READ_NS
                          : c->state == CONNECTION_WRITES ? WRITE_NS
                                                          : END_NS;
    if (now_ns - c->since_ns < limit) return true;
    if (c->state != CONNECTION_READS || !c->size) return false;
    answer_refusal(&c->answer, HTTP_TIMEOUT);
    c->size = 0;
    c->state = CONNECTION_WRITES;
    c->part = c->sent = 0;
    c->since_ns = now_ns;
    return !c->answer.head.failed && write_some(c);
}
