/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: memory maps, whole files, folders. Files that cannot be mapped (FIFOs, devices, /proc)
 * are read into memory. Writing is in file_write.c, temporaries in file_temp.c, path texts in
 * path.c. */
#include "base/file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/memory.h"
#include "base/system.h"

/* Values of `fd` without a descriptor: the data is in our own memory, or mapped with the file
 * closed. */
enum { NO_FD = -1, MAPPED_WITHOUT_FD = -2 };
enum { PIECE_BYTES = 16 << 20 }; /* between two checks for a request to stop */
/* The data of an empty map: it is neither mapped nor allocated. */
static const char EMPTY[1] = "";

static pgy_status system_error(pgy_error *err, int number, const char *verb, const char *path)
{
    const bool absent = number == ENOENT || number == ENOTDIR;
    const pgy_status st = absent ? PGY_E_NOT_FOUND : number == ENOMEM ? PGY_E_MEMORY : PGY_E_IO;
    return pgy_error_set(err, st, "cannot %s '%s': %s", verb, path, strerror(number));
}

static pgy_status open_for_reading(int *out, struct stat *info, const char *path, pgy_error *err)
{
    int fd;
    do fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return system_error(err, errno, "read", path);
    int number = fstat(fd, info) ? errno : S_ISDIR(info->st_mode) ? EISDIR : 0;
    if (number) {
        close(fd);
        return system_error(err, number, "read", path);
    }
    *out = fd;
    return PGY_OK;
}

static bool reserve(str *s, size_t size)
{
    return mem_grow((void **)&s->data, &s->capacity, size, 1);
}

/* The most bytes to read: of a pipe up to half of the memory limit; of a device 256 MiB, because it
 * may be endless. */
static size_t limit_of(const struct stat *info)
{
    return S_ISREG(info->st_mode)   ? SIZE_MAX - 1
           : S_ISCHR(info->st_mode) ? (size_t)256 << 20
                                    : (size_t)(memory_limit_bytes() / 2);
}

/* Appends everything from the current position of `fd` to its end. */
static pgy_status read_rest(int fd, const struct stat *info, str *out, const char *path,
                            pgy_error *err)
{
    const size_t limit = limit_of(info);
    size_t wanted = S_ISREG(info->st_mode) && info->st_size > 0 ? (size_t)info->st_size + 1 : 65536;
    for (;;) {
        if (out->size + 1 >= wanted) wanted = wanted * 2;
        if (out->size > limit)
            return pgy_error_set(err, PGY_E_MEMORY, "'%s' is larger than the limit of %zu MiB",
                                 path, limit >> 20);
        if (!reserve(out, wanted))
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory while reading '%s'", path);
        const pgy_status st = cancel_check(err);
        if (st) return st;
        const size_t room = out->capacity - out->size - 1;
        const ssize_t n = read(fd, out->data + out->size, room < PIECE_BYTES ? room : PIECE_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return system_error(err, errno, "read", path);
        if (n == 0) break;
        out->size += (size_t)n;
        if (wanted < out->capacity) wanted = out->capacity;
    }
    out->data[out->size] = '\0';
    return PGY_OK;
}

static pgy_status map_regular(file_map *out, int fd, size_t size, const char *path, pgy_error *err)
{
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return system_error(err, errno, "map", path);
    *out = (file_map){data, size, fd};
    return PGY_OK;
}

static pgy_status map_copy(file_map *out, int fd, const struct stat *info, const char *path,
                           pgy_error *err)
{
    str text = {0};
    pgy_status st = read_rest(fd, info, &text, path, err);
    if (st || text.size == 0) {
        str_deinit(&text);
        if (!st) *out = (file_map){EMPTY, 0, NO_FD};
        return st;
    }
    *out = (file_map){text.data, text.size, NO_FD};
    return PGY_OK;
}

pgy_status file_map_open(file_map *out, const char *path, pgy_error *err)
{
    int fd = -1;
    struct stat info;
    pgy_status st = open_for_reading(&fd, &info, path, err);
    if (st) return st;
    if (S_ISREG(info.st_mode) && info.st_size > 0) {
        st = map_regular(out, fd, (size_t)info.st_size, path, err);
        if (!st) return PGY_OK;
    } else {
        st = map_copy(out, fd, &info, path, err);
    }
    close(fd);
    return st;
}

void file_map_close(file_map *m)
{
    if (m->data && m->size_bytes) {
        if (m->fd == NO_FD)
            mem_free((void *)m->data);
        else
            munmap((void *)m->data, m->size_bytes);
    }
    if (m->data && m->fd >= 0) close(m->fd);
    *m = (file_map){NULL, 0, NO_FD};
}

void file_map_drop_fd(file_map *m)
{
    if (!m->data || m->fd < 0) return;
    close(m->fd);
    m->fd = MAPPED_WITHOUT_FD;
}

#ifdef MADV_POPULATE_READ
enum { NEED_BYTES = 8 << 20 }; /* size of the piece that one task maps */

typedef struct needed {
    char *data; /* start of a page */
    size_t size_bytes;
} needed;

static void need_part(size_t i, void *user)
{
    const needed *n = user;
    const size_t at = i * NEED_BYTES, left = n->size_bytes - at;
    madvise(n->data + at, left < NEED_BYTES ? left : NEED_BYTES, MADV_POPULATE_READ);
}
#endif

void file_map_need(const file_map *m, size_t offset, size_t size_bytes)
{
#ifdef MADV_POPULATE_READ
    if (m->fd == NO_FD || offset > m->size_bytes || size_bytes > m->size_bytes - offset) return;
    const size_t begin = offset & ~((size_t)sysconf(_SC_PAGESIZE) - 1);
    needed n = {(char *)m->data + begin, offset + size_bytes - begin};
    if (size_bytes)
        parallel_for_until_cancelled((n.size_bytes + NEED_BYTES - 1) / NEED_BYTES, need_part, &n);
#else
    (void)m, (void)offset, (void)size_bytes;
#endif
}

void file_map_forget(const file_map *m, size_t offset, size_t size_bytes)
{
    if (m->fd == NO_FD || offset > m->size_bytes || size_bytes > m->size_bytes - offset) return;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t begin = (offset + page - 1) & ~(page - 1);
    size_t end = offset + size_bytes;
    if (end < m->size_bytes) end &= ~(page - 1); /* whole pages only */
    if (begin < end) madvise((char *)m->data + begin, end - begin, MADV_DONTNEED);
}

/* Reads through the descriptor, which maps no pages, or else from the map. The kernel also maps
 * pages around those that are read, so the range that is given back is larger by AROUND. */
pgy_status file_map_read(const file_map *m, void *to, size_t offset, size_t size_bytes,
                         pgy_error *err)
{
    enum { AROUND = 64 * 1024 };
    assert(offset <= m->size_bytes && size_bytes <= m->size_bytes - offset);
    if (m->fd < 0) {
        const size_t begin = offset > AROUND ? offset - AROUND : 0;
        if (size_bytes) memcpy(to, (const char *)m->data + offset, size_bytes);
        file_map_forget(m, begin, offset + size_bytes - begin);
        return PGY_OK;
    }
    for (size_t done = 0; done < size_bytes;) {
        const size_t left = size_bytes - done;
        const pgy_status st = cancel_check(err);
        if (st) return st;
        const ssize_t n = pread(m->fd, (char *)to + done, left < PIECE_BYTES ? left : PIECE_BYTES,
                                (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return pgy_error_set(
                err, PGY_E_IO, "cannot read %zu bytes at offset %zu of the file: %s", size_bytes,
                offset, n < 0 ? strerror(errno) : "the file is shorter than when it was opened");
        done += (size_t)n;
    }
    return PGY_OK;
}

pgy_status file_read(str *out, const char *path, pgy_error *err)
{
    int fd = -1;
    struct stat info;
    str text = {0};
    pgy_status st = open_for_reading(&fd, &info, path, err);
    if (st) return st;
    st = read_rest(fd, &info, &text, path, err);
    close(fd);
    if (st) {
        str_deinit(&text);
        return st;
    }
    str_deinit(out);
    *out = text;
    return PGY_OK;
}

/* ---- queries -------------------------------------------------------------------------------- */

bool file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool file_is_dir(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

pgy_status file_size(uint64_t *out, const char *path, pgy_error *err)
{
    struct stat info;
    if (stat(path, &info)) return system_error(err, errno, "read", path);
    *out = (uint64_t)info.st_size;
    return PGY_OK;
}

pgy_status file_make_dirs(const char *path, pgy_error *err)
{
    if (!*path || file_is_dir(path)) return PGY_OK;
    char *copy = mem_strdup(path);
    if (!copy)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while making folder '%s'", path);
    int number = 0;
    for (char *p = copy + 1; !number; p++) {
        if (*p != '/' && *p != '\0') continue;
        const char kept = *p;
        *p = '\0';
        if (mkdir(copy, 0777) && !file_is_dir(copy)) number = errno;
        *p = kept;
        if (!kept) break;
    }
    mem_free(copy);
    if (!number) return PGY_OK;
    return pgy_error_set(err, PGY_E_IO, "cannot make folder '%s': %s", path,
                         strerror(number == EEXIST ? ENOTDIR : number));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_listed(const char *name, const char *suffix)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
    return !suffix || str_ends_with(name, suffix);
}

pgy_status file_list_dir(strvec *out, const char *path, const char *suffix, pgy_error *err)
{
    strvec names = {0};
    pgy_status st = PGY_OK;
    DIR *dir = opendir(path);
    if (!dir) return system_error(err, errno, "list folder", path);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            if (errno) st = system_error(err, errno, "list folder", path);
            break;
        }
        if (!is_listed(entry->d_name, suffix) || strvec_push(&names, entry->d_name)) continue;
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while listing folder '%s'", path);
        break;
    }
    closedir(dir);
    if (st) {
        strvec_deinit(&names);
        return st;
    }
    if (names.count) qsort(names.items, names.count, sizeof *names.items, by_name);
    strvec_deinit(out);
    *out = names;
    return PGY_OK;
}
