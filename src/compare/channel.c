/* SPDX-License-Identifier: Apache-2.0 */
/* Messages over a pipe: a fixed head, a text, then named tensors, each with its own head. Elements
 * are copied directly between the tensor's memory and the pipe. */
#include "compare/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/system.h"

typedef struct message_head {
    uint32_t kind, has_map;
    channel_numbers numbers;
    uint64_t text_size, tensor_count;
} message_head;

typedef struct tensor_head {
    uint64_t name_size;
    int64_t dtype;
    uint64_t rank;
    int64_t shape[PGY_MAX_RANK];
} tensor_head;

/* ---- Sending -------------------------------------------------------------------------------- */

static pgy_status put(int fd, const void *data, size_t size, pgy_error *err)
{
    const char *p = data;
    while (size) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return pgy_error_set(err, PGY_E_IO, "cannot write to the other process: %s",
                                 strerror(errno));
        p += n;
        size -= (size_t)n;
    }
    return PGY_OK;
}

static pgy_status put_strings(int fd, const pgy_tensor *t, pgy_error *err)
{
    const pgy_string *s = pgy_tensor_data(t);
    pgy_status st = PGY_OK;
    for (size_t i = 0, n = pgy_tensor_count(t); !st && i < n; i++) {
        uint64_t size = s[i].size;
        st = put(fd, &size, sizeof size, err);
        if (!st) st = put(fd, s[i].data, s[i].size, err);
    }
    return st;
}

static pgy_status put_tensor(int fd, const char *name, pgy_tensor *kept, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_load(&t, kept, err);
    if (st) return st;
    tensor_head head = {
        .name_size = strlen(name), .dtype = pgy_tensor_dtype(t), .rank = pgy_tensor_rank(t)};
    memcpy(head.shape, pgy_tensor_shape(t), head.rank * sizeof head.shape[0]);
    st = put(fd, &head, sizeof head, err);
    if (!st) st = put(fd, name, head.name_size, err);
    if (!st)
        st = pgy_tensor_dtype(t) == PGY_STRING
                 ? put_strings(fd, t, err)
                 : put(fd, pgy_tensor_data(t), pgy_tensor_size_bytes(t), err);
    pgy_tensor_release(t);
    return st;
}

pgy_status channel_send(int fd, channel_kind kind, channel_numbers numbers, const char *text,
                        const pgy_tensor_map *map, pgy_error *err)
{
    message_head head = {.kind = kind,
                         .has_map = map != NULL,
                         .numbers = numbers,
                         .text_size = text ? strlen(text) : 0,
                         .tensor_count = map ? pgy_tensor_map_count(map) : 0};
    pgy_status st = put(fd, &head, sizeof head, err);
    if (!st) st = put(fd, text, head.text_size, err);
    for (size_t i = 0; !st && i < head.tensor_count; i++)
        st = put_tensor(fd, pgy_tensor_map_name(map, i), pgy_tensor_map_at(map, i), err);
    return st;
}

/* ---- Receiving ------------------------------------------------------------------------------ */

typedef struct reader {
    int fd;
    int64_t deadline_ns;
} reader;

static pgy_status wait_readable(const reader *r, pgy_error *err)
{
    struct pollfd p = {.fd = r->fd, .events = POLLIN};
    for (;;) {
        enum { SLICE_MS = 20 };
        int ms = SLICE_MS;
        if (r->deadline_ns >= 0) {
            int64_t left = (r->deadline_ns - clock_ns()) / 1000000 + 1;
            ms = left < 0 ? 0 : left > SLICE_MS ? SLICE_MS : (int)left;
        }
        int n = poll(&p, 1, ms);
        if (n > 0) return PGY_OK;
        const pgy_status st = cancel_check(err);
        if (st) return st;
        if (n < 0 && errno != EINTR)
            return pgy_error_set(err, PGY_E_IO, "poll: %s", strerror(errno));
        if (r->deadline_ns >= 0 && clock_ns() >= r->deadline_ns)
            return pgy_error_set(err, PGY_E_CANCELLED, "timed out");
    }
}

static pgy_status get(const reader *r, void *data, size_t size, pgy_error *err)
{
    char *p = data;
    while (size) {
        pgy_status st = wait_readable(r, err);
        if (st) return st;
        ssize_t n = read(r->fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return pgy_error_set(err, PGY_E_IO, "pipe: %s", strerror(errno));
        if (n == 0)
            return pgy_error_set(err, PGY_E_IO,
                                 "the other process ended in the middle of its answer");
        p += n;
        size -= (size_t)n;
    }
    return PGY_OK;
}

static pgy_status get_text(char **out, const reader *r, uint64_t size, pgy_error *err)
{
    char *text = size < SIZE_MAX ? mem_alloc((size_t)size + 1) : NULL;
    if (!text) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = get(r, text, (size_t)size, err);
    if (st) {
        mem_free(text);
        return st;
    }
    text[size] = '\0';
    *out = text;
    return PGY_OK;
}

static pgy_status get_strings(pgy_tensor *t, const reader *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0, n = pgy_tensor_count(t); !st && i < n; i++) {
        uint64_t size;
        char *text = NULL;
        st = get(r, &size, sizeof size, err);
        if (!st) st = get_text(&text, r, size, err);
        if (!st) st = pgy_tensor_set_string(t, i, text, (size_t)size, err);
        mem_free(text);
    }
    return st;
}

static pgy_status get_tensor(pgy_tensor_map *map, const reader *r, pgy_error *err)
{
    tensor_head head;
    char *name = NULL;
    pgy_tensor *t = NULL;
    pgy_status st = get(r, &head, sizeof head, err);
    if (!st && head.rank > PGY_MAX_RANK)
        st = pgy_error_set(err, PGY_E_INTERNAL,
                           "the other process sent a tensor of rank %llu, which is too large",
                           (unsigned long long)head.rank);
    if (!st) st = get_text(&name, r, head.name_size, err);
    if (!st) st = pgy_tensor_create(&t, (pgy_dtype)head.dtype, (size_t)head.rank, head.shape, err);
    if (!st)
        st = pgy_tensor_dtype(t) == PGY_STRING
                 ? get_strings(t, r, err)
                 : get(r, pgy_tensor_data(t), pgy_tensor_size_bytes(t), err);
    if (!st) {
        st = pgy_tensor_map_adopt(map, name, t, err);
        t = NULL;
    }
    pgy_tensor_release(t);
    mem_free(name);
    return st;
}

pgy_status channel_receive(channel_message *out, int fd, int64_t deadline_ns, pgy_error *err)
{
    const reader r = {.fd = fd, .deadline_ns = deadline_ns};
    message_head head;
    channel_message m = {0};
    pgy_status st = get(&r, &head, sizeof head, err);
    if (st) return st;
    m.kind = (channel_kind)head.kind;
    m.numbers = head.numbers;
    st = get_text(&m.text, &r, head.text_size, err);
    if (!st && head.has_map) st = pgy_tensor_map_create(&m.map, err);
    for (uint64_t i = 0; !st && i < head.tensor_count; i++) st = get_tensor(m.map, &r, err);
    if (!st)
        *out = m;
    else
        channel_message_deinit(&m);
    return st;
}

void channel_message_deinit(channel_message *m)
{
    pgy_tensor_map_destroy(m->map);
    mem_free(m->text);
    *m = (channel_message){0};
}
