/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/staging.h"

#include <string.h>

#include "base/alloc.h"

/* LEAST: the driver takes fewer bytes from the host along with the command. PIECE: one piece is
 * copied to the GPU while the next one comes to pinned memory. */
enum { ROOM = 1 << 20, LEAST = (64 << 10) + 1, PIECE = 128 << 10, MOST_OWED = 16, ALIGNMENT = 64 };

/* A copy to the host whose bytes lie in pinned memory, and not yet where the caller wants them. */
typedef struct owed {
    void *to;
    const char *from;
    size_t size_bytes;
    uint64_t number;
} owed;

struct cuda_staging {
    cuda_gpu *gpu;
    pthread_mutex_t lock; /* guards the members below */
    size_t users;
    char *memory; /* ROOM bytes of pinned memory, allocated when they are first needed */
    bool refused; /* there is no such memory */
    size_t used;
    uint64_t copies; /* their number so far */
    owed owed[MOST_OWED];
    size_t owed_count;
};

cuda_staging *staging_create(cuda_gpu *g)
{
    cuda_staging *s = mem_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->gpu = g;
    s->users = 1;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

cuda_staging *staging_retain(cuda_staging *s)
{
    pthread_mutex_lock(&s->lock);
    s->users++;
    pthread_mutex_unlock(&s->lock);
    return s;
}

void staging_release(cuda_staging *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    const bool last = --s->users == 0;
    pthread_mutex_unlock(&s->lock);
    if (!last) return;
    if (s->memory && !gpu_enter(s->gpu, NULL)) {
        (void)s->gpu->driver->host_release(s->memory);
        gpu_leave(s->gpu);
    }
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

/* ---- Copies --------------------------------------------------------------------------------- */

/* The lock is held. NULL: there is no room. */
static char *take_room(cuda_staging *s, size_t size_bytes)
{
    if (!s->memory && !s->refused) {
        void *made = NULL;
        s->refused =
            s->gpu->driver->host_allocate(&made, ROOM, CU_HOST_PORTABLE | CU_HOST_DEVICE_MAP) != 0;
        s->memory = made;
    }
    if (!s->memory || size_bytes > ROOM - s->used) return NULL;
    char *room = s->memory + s->used;
    s->used += (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    s->copies++;
    return room;
}

int staging_from_host(bool *done, cuda_staging *s, cu_stream stream, cu_address to,
                      const void *from, size_t size_bytes)
{
    int code = 0;
    *done = false;
    if (size_bytes < LEAST || size_bytes > ROOM) return code;
    pthread_mutex_lock(&s->lock);
    char *room = take_room(s, size_bytes);
    for (size_t at = 0; room && !code && at < size_bytes; at += PIECE) {
        const size_t piece = size_bytes - at < PIECE ? size_bytes - at : PIECE;
        memcpy(room + at, (const char *)from + at, piece);
        code = s->gpu->driver->copy_from_host(to + at, room + at, piece, stream);
    }
    *done = room != NULL;
    pthread_mutex_unlock(&s->lock);
    return code;
}

int staging_to_host(bool *done, cuda_staging *s, cu_stream stream, void *to, cu_address from,
                    size_t size_bytes)
{
    int code = 0;
    *done = false;
    if (size_bytes > ROOM) return code;
    pthread_mutex_lock(&s->lock);
    char *room = s->owed_count < MOST_OWED ? take_room(s, size_bytes) : NULL;
    if (room) code = s->gpu->driver->copy_to_host(room, from, size_bytes, stream);
    if (room && !code) s->owed[s->owed_count++] = (owed){to, room, size_bytes, s->copies};
    *done = room != NULL;
    pthread_mutex_unlock(&s->lock);
    return code;
}

/* ---- Ends of copies ------------------------------------------------------------------------- */

uint64_t staging_mark(cuda_staging *s)
{
    pthread_mutex_lock(&s->lock);
    const uint64_t mark = s->copies;
    pthread_mutex_unlock(&s->lock);
    return mark;
}

bool staging_is_owed(cuda_staging *s, uint64_t mark)
{
    pthread_mutex_lock(&s->lock);
    const bool is_owed = s->owed_count && s->owed[0].number <= mark;
    pthread_mutex_unlock(&s->lock);
    return is_owed;
}

bool staging_owes(cuda_staging *s, const void *host, size_t size_bytes)
{
    const uintptr_t at = (uintptr_t)host;
    bool owes = false;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->owed_count; i++) {
        const uintptr_t to = (uintptr_t)s->owed[i].to;
        owes |= at < to ? to - at < size_bytes : at - to < s->owed[i].size_bytes;
    }
    pthread_mutex_unlock(&s->lock);
    return owes;
}

void staging_ready(cuda_staging *s, uint64_t mark)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->owed_count && s->owed[i].number <= mark; i++)
        mem_ready(s->owed[i].to, s->owed[i].size_bytes);
    pthread_mutex_unlock(&s->lock);
}

void staging_finish(cuda_staging *s, uint64_t mark, bool arrived)
{
    size_t ended = 0;
    pthread_mutex_lock(&s->lock);
    for (; ended < s->owed_count && s->owed[ended].number <= mark; ended++)
        if (arrived) memcpy(s->owed[ended].to, s->owed[ended].from, s->owed[ended].size_bytes);
    s->owed_count -= ended;
    memmove(s->owed, s->owed + ended, s->owed_count * sizeof *s->owed);
    if (mark == s->copies) s->used = 0;
    pthread_mutex_unlock(&s->lock);
}
