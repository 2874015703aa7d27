/* SPDX-License-Identifier: Apache-2.0 */
/* Record locks belong to a process, and closing any descriptor of the file releases them. So a
 * mutex orders the threads of this process. */
#include "base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"

struct file_lock {
    int fd;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static pgy_status lock_error(const char *path, int number, pgy_error *err)
{
    const bool absent = number == ENOENT || number == ENOTDIR;
    return pgy_error_set(err, absent ? PGY_E_NOT_FOUND : PGY_E_IO, "cannot lock '%s': %s", path,
                         strerror(number));
}

/* The name can be guessed, so anyone who may write into the folder can put something else there. So
 * we follow no link, truncate nothing and never block on a FIFO. */
static pgy_status open_lock_file(int *out, const char *name, pgy_error *err)
{
    struct stat info;
    int fd;
    do fd = open(name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 && errno == ELOOP)
        return pgy_error_set(
            err, PGY_E_IO,
            "cannot lock '%s': it is a symbolic link, and locks do not follow links; remove it",
            name);
    if (fd < 0) return lock_error(name, errno, err);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        *out = fd;
        return PGY_OK;
    }
    close(fd);
    return pgy_error_set(err, PGY_E_IO, "cannot lock '%s': it is not a regular file; remove it",
                         name);
}

static pgy_status open_and_lock(int *fd, const char *name, pgy_error *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    pgy_status st = open_lock_file(fd, name, err);
    if (st) return st;
    while (fcntl(*fd, F_SETLKW, &whole)) {
        if (errno == EINTR) continue;
        const int number = errno;
        close(*fd);
        return lock_error(name, number, err);
    }
    return PGY_OK;
}

pgy_status file_lock_take(file_lock **out, const char *path, pgy_error *err)
{
    str name = {0};
    file_lock *l = mem_alloc(sizeof *l);
    str_printf(&name, "%s.lock", path);
    pgy_status st = l && !name.failed ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) {
        pthread_mutex_lock(&turn);
        st = open_and_lock(&l->fd, str_text(&name), err);
        if (st) pthread_mutex_unlock(&turn);
    }
    str_deinit(&name);
    if (st)
        mem_free(l);
    else
        *out = l;
    return st;
}

void file_lock_release(file_lock *l)
{
    if (!l) return;
    close(l->fd);
    pthread_mutex_unlock(&turn);
    mem_free(l);
}
