/* SPDX-License-Identifier: Apache-2.0 */
/* The atomic writer. Small writes gather in a buffer; large ones and copies of mapped files go
 * straight to the kernel. The target appears, whole, at commit. Until then the file has no name
 * where the file system can do that (O_TMPFILE), so that a process that is killed leaves nothing;
 * elsewhere it has a temporary name beside the target. A target that is not a regular file
 * (/dev/null, a FIFO), or whose folder does not allow new files, is written in place. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/file_temp.h"

enum { BUFFER_SIZE = 256 << 10, KERNEL_COPY_MIN = 64 << 10, NAME_KEPT = 200, MAX_TRIES = 1000 };
enum { MAX_LINKS = 40 };
enum { PIECE_BYTES = 16 << 20 }; /* between two checks for a request to stop */

struct file_writer {
    int fd;
    char *path;      /* as given, for messages */
    char *target;    /* symlinks followed */
    char *temporary; /* temporary path until commit; NULL: the file is nameless, or the target is
                        written in place */
    uint64_t offset;
    size_t buffered;
    bool is_nameless; /* created by O_TMPFILE; commit gives it a name */
    bool is_stream;   /* a pipe or device, which fsync does not apply to */
    bool replaces;    /* an older file exists, which a power failure must not destroy */
    char buffer[BUFFER_SIZE];
};

static pgy_status write_error(const file_writer *w, int number, pgy_error *err)
{
    const bool absent = number == ENOENT || number == ENOTDIR;
    const pgy_status st = number == ENOMEM ? PGY_E_MEMORY : absent ? PGY_E_NOT_FOUND : PGY_E_IO;
    return pgy_error_set(err, st, "cannot write '%s': %s", w->path, strerror(number));
}

/* The temporary lies beside the target, so that the rename stays inside one file system. */
static char *temporary_name(const char *target)
{
    static atomic_uint counter;
    str s = {0};
    const char *name = path_basename(target);
    str_append_n(&s, target, (size_t)(name - target));
    str_printf(&s, ".%.*s.%ld.%u.tmp", NAME_KEPT, name, (long)getpid(),
               atomic_fetch_add(&counter, 1));
    return str_take(&s);
}

static int open_retry(const char *path, int flags, mode_t mode)
{
    int fd;
    do fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static pgy_status open_over(file_writer *w, int flags, pgy_error *err)
{
    struct stat info;
    w->fd = open_retry(w->target, O_WRONLY | O_TRUNC | O_NOCTTY | flags, 0666);
    if (w->fd < 0) return write_error(w, errno, err);
    w->is_stream = fstat(w->fd, &info) || !S_ISREG(info.st_mode);
    return PGY_OK;
}

/* Follows symbolic links: the user named the path. */
static pgy_status open_in_place(file_writer *w, pgy_error *err)
{
    return open_over(w, O_CREAT, err);
}

/* We created this file. If others may write to its folder, a link there now is not ours and must
 * not be followed. */
static pgy_status open_own(file_writer *w, pgy_error *err)
{
    return open_over(w, O_NOFOLLOW, err);
}

static int make_named(file_writer *w, const char *name)
{
    w->fd = open_retry(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    return w->fd < 0 ? -1 : 0;
}

static void own_link(const file_writer *w, char link[32])
{
    snprintf(link, 32, "/proc/self/fd/%d", w->fd);
}

static int name_nameless(file_writer *w, const char *name)
{
    char link[32];
    own_link(w, link);
    return linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* Calls `make` with temporary names until one is free. In containers process numbers repeat, so a
 * killed process may have left a file of the first name. @return 0 or an errno */
static int take_temporary(file_writer *w, int (*make)(file_writer *, const char *))
{
    for (int tries = 0;; tries++) {
        char *name = temporary_name(w->target);
        if (!name) return ENOMEM;
        temp_register(
            name); /* register before creating, so that no signal can leave the file behind */
        if (make(w, name) == 0) {
            w->temporary = name;
            return 0;
        }
        const int number = errno;
        temp_forget(name);
        mem_free(name);
        if (number != EEXIST || tries == MAX_TRIES) return number;
    }
}

/* False: the file system has no nameless files, or they could not be named later. */
static bool open_nameless(file_writer *w)
{
    char link[32];
    char *folder = path_dirname(w->target);
    if (!folder) return false;
    w->fd = open_retry(folder, O_RDWR | O_TMPFILE, 0666);
    mem_free(folder);
    if (w->fd < 0) return false;
    own_link(w, link);
    w->is_nameless = access(link, F_OK) == 0; /* else commit cannot name it */
    if (w->is_nameless) return true;
    close(w->fd);
    w->fd = -1;
    return false;
}

/* `old` describes the file that will be replaced, or is NULL. */
static pgy_status open_temporary(file_writer *w, const struct stat *old, pgy_error *err)
{
    const int number = open_nameless(w) ? 0 : take_temporary(w, make_named);
    if (old && (number == EACCES || number == EPERM || number == EROFS))
        return open_in_place(w, err);
    if (number) return write_error(w, number, err);
    w->replaces = old != NULL;
    if (old && fchmod(w->fd, old->st_mode & 07777)) return write_error(w, errno, err);
    return PGY_OK;
}

/* Follows symbolic links to a path, which need not exist; the caller frees it. NULL: the links form
 * a circle, or memory is short. */
static char *link_end(const char *path)
{
    char text[PATH_MAX];
    struct stat info;
    char *at = mem_strdup(path);
    for (int links = 0; at && links < MAX_LINKS; links++) {
        if (lstat(at, &info) || !S_ISLNK(info.st_mode)) return at;
        const ssize_t n = readlink(at, text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0';
        char *folder = path_dirname(at);
        char *next = text[0] == '/' || !folder ? mem_strdup(text) : path_join(folder, text);
        mem_free(folder);
        mem_free(at);
        at = next;
    }
    mem_free(at);
    return NULL;
}

static pgy_status open_target(file_writer *w, pgy_error *err)
{
    struct stat info;
    if (stat(w->path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return write_error(w, EISDIR, err);
        if (!S_ISREG(info.st_mode)) return open_in_place(w, err);
        if (access(w->path, W_OK)) return write_error(w, errno, err);
        char *resolved = realpath(w->path, NULL);
        if (!resolved) return write_error(w, errno, err);
        mem_free(w->target);
        w->target = resolved;
        return open_temporary(w, &info, err);
    }
    if (lstat(w->path, &info) == 0) {
        char *missing = link_end(w->path);
        if (!missing) return open_in_place(w, err); /* for its error */
        mem_free(w->target);
        w->target = missing;
    }
    return open_temporary(w, NULL, err);
}

static pgy_status make_parent(const char *path, pgy_error *err)
{
    char *folder = path_dirname(path);
    pgy_status st =
        folder ? file_make_dirs(folder, err)
               : pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing '%s'", path);
    mem_free(folder);
    return st ? pgy_error_prefix(err, st, "cannot write '%s': ", path) : PGY_OK;
}

static pgy_status create(file_writer **out, const char *path,
                         pgy_status (*open_file)(file_writer *, pgy_error *), pgy_error *err)
{
    pgy_status st;
    file_writer *w = mem_alloc(sizeof *w);
    if (!w) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing '%s'", path);
    memset(w, 0, offsetof(file_writer, buffer));
    w->fd = -1;
    w->path = mem_strdup(path);
    w->target = mem_strdup(path);
    if (w->path && w->target)
        st = open_file(w, err);
    else
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing '%s'", path);
    if (st) {
        file_writer_destroy(w);
        return st;
    }
    *out = w;
    return PGY_OK;
}

pgy_status file_writer_create(file_writer **out, const char *path, pgy_error *err)
{
    if (!*path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "cannot write: the path of the file is empty");
    pgy_status st = make_parent(path, err);
    return st ? st : create(out, path, open_target, err);
}

pgy_status file_writer_create_temp(file_writer **out, const char *path, pgy_error *err)
{
    return create(out, path, open_own, err);
}

static pgy_status write_through(file_writer *w, const char *data, size_t size, pgy_error *err)
{
    while (size) {
        const pgy_status st = cancel_check(err);
        if (st) return st;
        const ssize_t n = write(w->fd, data, size < PIECE_BYTES ? size : PIECE_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return write_error(w, errno, err);
        data += n;
        size -= (size_t)n;
    }
    return PGY_OK;
}

static pgy_status flush(file_writer *w, pgy_error *err)
{
    const size_t size = w->buffered;
    w->buffered = 0;
    return write_through(w, w->buffer, size, err);
}

pgy_status file_writer_write(file_writer *w, const void *data, size_t size_bytes, pgy_error *err)
{
    w->offset += size_bytes;
    if (size_bytes > BUFFER_SIZE - w->buffered) {
        pgy_status st = flush(w, err);
        if (st) return st;
        if (size_bytes >= BUFFER_SIZE) return write_through(w, data, size_bytes, err);
    }
    if (size_bytes) memcpy(w->buffer + w->buffered, data, size_bytes);
    w->buffered += size_bytes;
    return PGY_OK;
}

/* Copies inside the kernel as much as it can; *done is the number of bytes copied. */
static pgy_status kernel_copy(file_writer *w, int from, size_t offset, size_t size, size_t *done,
                              pgy_error *err)
{
    off_t at = (off_t)offset;
    *done = 0;
    while (*done < size) {
        const size_t left = size - *done;
        const pgy_status st = cancel_check(err);
        if (st) return st;
        const ssize_t n =
            copy_file_range(from, &at, w->fd, NULL, left < PIECE_BYTES ? left : PIECE_BYTES, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
            return write_error(w, errno, err);
        if (n <= 0)
            break; /* the kernel cannot copy between these two files; the caller copies the rest */
        *done += (size_t)n;
    }
    return PGY_OK;
}

/* Copies through the buffer, so that no pages of the map stay in memory. */
static pgy_status pass_on(file_writer *w, const file_map *from, size_t offset, size_t size,
                          pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t done = 0, n; !st && done < size; done += n) {
        n = size - done < BUFFER_SIZE ? size - done : BUFFER_SIZE;
        if (n > BUFFER_SIZE - w->buffered) st = flush(w, err);
        if (!st) st = file_map_read(from, w->buffer + w->buffered, offset + done, n, err);
        if (st) break;
        w->buffered += n;
        w->offset += n;
    }
    return st;
}

pgy_status file_writer_copy(file_writer *w, const file_map *from, size_t offset, size_t size_bytes,
                            pgy_error *err)
{
    assert(offset <= from->size_bytes && size_bytes <= from->size_bytes - offset);
    size_t done = 0;
    if (from->fd >= 0 && !w->is_stream && size_bytes >= KERNEL_COPY_MIN) {
        pgy_status st = flush(w, err);
        if (!st) st = kernel_copy(w, from->fd, offset, size_bytes, &done, err);
        if (st) return st;
        w->offset += done;
    }
    return pass_on(w, from, offset + done, size_bytes - done, err);
}

void file_writer_show_as(file_writer *w, const char *path)
{
    char *copy = mem_strdup(path);
    if (!copy) return;
    mem_free(w->path);
    w->path = copy;
}

uint64_t file_writer_offset(const file_writer *w)
{
    return w->offset;
}

/* Some file systems refuse fsync and do not need it. @return 0 or an errno */
static int sync_fd(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

/* Syncs a file that will replace an older one; others need no sync. */
static int sync_file(const file_writer *w)
{
    return w->is_stream || !w->replaces ? 0 : sync_fd(w->fd);
}

pgy_status file_writer_settle(file_writer *w, pgy_error *err)
{
    const pgy_status st = flush(w, err);
    const int number = st || w->is_stream ? 0 : sync_fd(w->fd);
    return number ? write_error(w, number, err) : st;
}

static int close_fd(file_writer *w)
{
    const int fd = w->fd;
    w->fd = -1;
    return close(fd) && errno != EINTR ? errno : 0;
}

/* Some confined processes may not link a nameless file, so its bytes are copied into a named one.
 */
static pgy_status become_named(file_writer *w, pgy_error *err)
{
    const int from = w->fd;
    struct stat info;
    ssize_t n;
    off_t at = 0;
    w->is_nameless = false;
    int number = fstat(from, &info) ? errno : 0;
    w->fd = -1;
    if (!number) number = take_temporary(w, make_named);
    pgy_status st = number || fchmod(w->fd, info.st_mode & 07777)
                        ? write_error(w, number ? number : errno, err)
                        : PGY_OK;
    while (!st && (n = pread(from, w->buffer, BUFFER_SIZE, at)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        st = n < 0 ? write_error(w, errno, err) : write_through(w, w->buffer, (size_t)n, err);
        at += n;
    }
    close(from);
    if (!st && ((number = sync_file(w)) != 0 || (number = close_fd(w)) != 0))
        st = write_error(w, number, err);
    return st;
}

/* A new file is linked to its name directly. A replacement needs a temporary name first, because
 * only a rename replaces a file. */
static pgy_status put_in_place(file_writer *w, pgy_error *err)
{
    if (w->is_nameless) {
        if (!w->replaces && name_nameless(w, w->target) == 0) return PGY_OK;
        const pgy_status st = take_temporary(w, name_nameless) ? become_named(w, err) : PGY_OK;
        if (st) return st;
    }
    if (!w->temporary) return PGY_OK;
    if (rename(w->temporary, w->target)) return write_error(w, errno, err);
    temp_forget(w->temporary);
    mem_free(w->temporary);
    w->temporary = NULL;
    return PGY_OK;
}

pgy_status file_writer_commit(file_writer *w, pgy_error *err)
{
    pgy_status st = flush(w, err);
    if (!st) st = cancel_check(err); /* results computed after a request may be incomplete */
    if (st) return st;
    int number = sync_file(w);
    /* Closing may report a failure, so it comes first, except for a nameless file, which closing
     * would delete. */
    if (!number && !w->is_nameless) number = close_fd(w);
    return number ? write_error(w, number, err) : put_in_place(w, err);
}

void file_writer_destroy(file_writer *w)
{
    if (!w) return;
    if (w->fd >= 0) close(w->fd);
    file_temp_release(w->temporary);
    mem_free(w->target);
    mem_free(w->path);
    mem_free(w);
}

pgy_status file_alias(const char *from, const char *to, pgy_error *err)
{
    struct stat old;
    char *name = temporary_name(to);
    if (!name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing '%s'", to);
    if (stat(to, &old) == 0) (void)!chmod(from, old.st_mode & 07777);
    temp_register(name);
    unlink(name);
    const bool linked = link(from, name) == 0;
    const int number = rename(linked ? name : from, to) ? errno : 0;
    if (linked && number) unlink(name);
    temp_forget(name);
    mem_free(name);
    return number ? pgy_error_set(err, PGY_E_IO, "cannot write '%s': %s", to, strerror(number))
                  : PGY_OK;
}

pgy_status file_write_all(const char *path, const void *data, size_t size_bytes, pgy_error *err)
{
    file_writer *w = NULL;
    pgy_status st = file_writer_create(&w, path, err);
    if (!st) st = file_writer_write(w, data, size_bytes, err);
    if (!st) st = file_writer_commit(w, err);
    file_writer_destroy(w);
    return st;
}
