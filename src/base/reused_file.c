/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a new file of some hundred megabytes takes longer than overwriting one, because pages and
 * blocks must be found and, for the old file, given back. */
#include "base/reused_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/file_temp.h"

enum { BUFFER_BYTES = 64 << 10, PIECE_BYTES = 16 << 20, MAX_TRIES = 100 };

/* Bytes of a map in the file. */
typedef struct piece {
    uint64_t offset;
    const char *from;
    size_t size_bytes;
} piece;

typedef struct pieces {
    piece *items;
    size_t count, capacity;
} pieces;

struct reused_file {
    char *path, *hidden;
    int fd; /* -1: no file */
    bool shown;
    struct stat as_shown;
    pieces old, now; /* of the last content and of the one being written */
    size_t next_old;
    uint64_t offset, size_bytes, written;
    size_t buffered; /* the last bytes before `offset` */
    char buffer[BUFFER_BYTES];
};

pgy_status reused_file_create(reused_file **out, const char *path, pgy_error *err)
{
    reused_file *f = mem_calloc(1, sizeof *f);
    if (f) f->path = mem_strdup(path);
    if (!f || !f->path) {
        mem_free(f);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing '%s'", path);
    }
    f->fd = -1;
    *out = f;
    return PGY_OK;
}

/* Gives up the file; under its path it stays. */
static void drop(reused_file *f)
{
    if (f->fd >= 0) close(f->fd);
    if (f->shown)
        mem_free(f->hidden);
    else
        file_temp_release(f->hidden);
    f->fd = -1;
    f->hidden = NULL;
    f->shown = false;
    f->old.count = f->now.count = 0;
}

void reused_file_destroy(reused_file *f)
{
    if (!f) return;
    drop(f);
    mem_free(f->old.items);
    mem_free(f->now.items);
    mem_free(f->path);
    mem_free(f);
}

uint64_t reused_file_written(const reused_file *f)
{
    return f->written;
}

/* ---- Making --------------------------------------------------------------------------------- */

static char *hidden_name(const char *path, int number)
{
    str s = {0};
    const char *name = path_basename(path);
    str_append_n(&s, path, (size_t)(name - path));
    str_printf(&s, ".%.200s.%ld.%d.again.tmp", name, (long)getpid(), number);
    return str_take(&s);
}

static bool make(reused_file *f)
{
    struct stat there;
    if (lstat(f->path, &there) == 0 || errno != ENOENT) return false;
    for (int i = 0; i < MAX_TRIES && f->fd < 0; i++) {
        f->hidden = hidden_name(f->path, i);
        if (!f->hidden) return false;
        temp_register(f->hidden); /* before creating, so that no signal can leave it behind */
        f->fd = open(f->hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd >= 0) break;
        const int number = errno;
        temp_forget(f->hidden);
        mem_free(f->hidden);
        f->hidden = NULL;
        if (number != EEXIST) return false;
    }
    f->size_bytes = 0;
    return f->fd >= 0;
}

bool reused_file_begin(reused_file *f)
{
    struct stat there;
    if (f->fd >= 0 && lstat(f->path, &there) == 0) return false;
    if (f->fd < 0 && !make(f)) return false;
    const pieces last = f->old;
    f->old = f->now;
    f->now = last;
    f->now.count = f->next_old = f->buffered = 0;
    f->offset = f->written = 0;
    return true;
}

/* ---- Writing -------------------------------------------------------------------------------- */

/* A file of which a part was not written must not be reused. */
static pgy_status fail(reused_file *f, int number, pgy_error *err)
{
    drop(f);
    return pgy_error_set(err, number == ENOMEM ? PGY_E_MEMORY : PGY_E_IO, "cannot write '%s': %s",
                         f->path, strerror(number));
}

static pgy_status check_cancel(reused_file *f, pgy_error *err)
{
    const pgy_status st = cancel_check(err);
    if (st) drop(f);
    return st;
}

static pgy_status write_at(reused_file *f, const char *data, size_t size, uint64_t at,
                           pgy_error *err)
{
    while (size) {
        const pgy_status st = check_cancel(f, err);
        if (st) return st;
        const ssize_t n = pwrite(f->fd, data, size < PIECE_BYTES ? size : PIECE_BYTES, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(f, errno, err);
        data += n;
        at += (uint64_t)n;
        size -= (size_t)n;
        f->written += (uint64_t)n;
    }
    return PGY_OK;
}

static pgy_status flush(reused_file *f, pgy_error *err)
{
    const size_t size = f->buffered;
    f->buffered = 0;
    return write_at(f, f->buffer, size, f->offset - size, err);
}

pgy_status reused_file_put(reused_file *f, const void *data, size_t size_bytes, pgy_error *err)
{
    pgy_status st = size_bytes > BUFFER_BYTES - f->buffered ? flush(f, err) : PGY_OK;
    if (st) return st;
    if (size_bytes > BUFFER_BYTES) {
        st = write_at(f, data, size_bytes, f->offset, err);
    } else {
        if (size_bytes) memcpy(f->buffer + f->buffered, data, size_bytes);
        f->buffered += size_bytes;
    }
    if (!st) f->offset += size_bytes;
    return st;
}

static pgy_status note(reused_file *f, const char *from, size_t size, pgy_error *err)
{
    void *items = f->now.items;
    const bool grown = mem_grow(&items, &f->now.capacity, f->now.count + 1, sizeof(piece));
    f->now.items = items;
    if (!grown) return fail(f, ENOMEM, err);
    f->now.items[f->now.count++] = (piece){f->offset, from, size};
    return PGY_OK;
}

/* Content is written in the order of offsets, so old pieces at `offset` and behind are intact. */
static bool is_in_place(reused_file *f, const char *from, size_t size)
{
    while (f->next_old < f->old.count && f->old.items[f->next_old].offset < f->offset)
        f->next_old++;
    if (f->next_old == f->old.count) return false;
    const piece *p = &f->old.items[f->next_old];
    return p->offset == f->offset && p->from == from && p->size_bytes == size;
}

/* Copies inside the kernel what it can; *done is the number of bytes copied. */
static pgy_status kernel_copy(size_t *done, reused_file *f, int from, size_t offset, size_t size,
                              pgy_error *err)
{
    off_t at = (off_t)offset, to = (off_t)f->offset;
    *done = 0;
    while (*done < size) {
        const size_t left = size - *done;
        const pgy_status st = check_cancel(f, err);
        if (st) return st;
        const ssize_t n =
            copy_file_range(from, &at, f->fd, &to, left < PIECE_BYTES ? left : PIECE_BYTES, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
            return fail(f, errno, err);
        if (n <= 0) break; /* not between these two files */
        *done += (size_t)n;
        f->written += (uint64_t)n;
    }
    return PGY_OK;
}

pgy_status reused_file_put_map(reused_file *f, const file_map *from, size_t offset,
                               size_t size_bytes, pgy_error *err)
{
    const char *data = (const char *)from->data + offset;
    size_t done = 0;
    if (size_bytes < BUFFER_BYTES) return reused_file_put(f, data, size_bytes, err);
    pgy_status st = flush(f, err);
    if (!st) st = note(f, data, size_bytes, err);
    if (!st && !is_in_place(f, data, size_bytes)) {
        if (from->fd >= 0) st = kernel_copy(&done, f, from->fd, offset, size_bytes, err);
        if (!st) st = write_at(f, data + done, size_bytes - done, f->offset + done, err);
    }
    if (!st) f->offset += size_bytes;
    return st;
}

/* ---- Showing -------------------------------------------------------------------------------- */

/* The clock of file times has steps of some milliseconds, so a change directly after this write
 * might not change the time. So the file gets a time in the past. */
static int date_back(int fd)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = now.tv_sec - 1}};
    return futimens(fd, times);
}

pgy_status reused_file_show(reused_file *f, pgy_error *err)
{
    pgy_status st = flush(f, err);
    if (!st) st = check_cancel(f, err);
    if (st) return st;
    if (f->offset < f->size_bytes && ftruncate(f->fd, (off_t)f->offset)) return fail(f, errno, err);
    f->size_bytes = f->offset;
    if (date_back(f->fd) || fstat(f->fd, &f->as_shown) || rename(f->hidden, f->path))
        return fail(f, errno, err);
    temp_forget(f->hidden);
    f->shown = true;
    return PGY_OK;
}

static bool is_unchanged(const reused_file *f)
{
    const struct stat *was = &f->as_shown;
    struct stat is;
    return fstat(f->fd, &is) == 0 && is.st_nlink == 1 && is.st_size == was->st_size &&
           is.st_mtim.tv_sec == was->st_mtim.tv_sec && is.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

/* The kernel grants a lease for writing only if no other process has the file open or mapped. The
 * signal that would ask for it back must be one that is ignored by default. */
static bool is_ours_alone(const reused_file *f)
{
    return fcntl(f->fd, F_SETSIG, SIGURG) == 0 && fcntl(f->fd, F_SETLEASE, F_WRLCK) == 0 &&
           fcntl(f->fd, F_SETLEASE, F_UNLCK) == 0;
}

static bool has_path(const reused_file *f)
{
    struct stat there;
    return lstat(f->path, &there) == 0 && there.st_dev == f->as_shown.st_dev &&
           there.st_ino == f->as_shown.st_ino;
}

bool reused_file_hide(reused_file *f)
{
    if (!f->shown) return false;
    if (!has_path(f)) {
        drop(f);
        return false;
    }
    temp_register(f->hidden);
    if (rename(f->path, f->hidden)) {
        temp_forget(f->hidden);
        drop(f);
        return false;
    }
    f->shown = false;
    if (!is_unchanged(f) || !is_ours_alone(f)) drop(f);
    return true;
}
