/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files and their registry. The signal handler walks the registry, so it is a chain of
 * fixed tables of atomic pointers that only ever grows: the thread that exchanges a pointer for
 * NULL owns the text. Entries belong to the process that made them; a forked child leaves them
 * alone. */
#include "base/file_temp.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/file.h"
#include "base/system.h"

enum { TABLE_SIZE = 256, MAX_TRIES = 100, FOLDER_MODE = 0700 };

typedef struct temp_entry {
    _Atomic(char *) path;
    _Atomic pid_t owner;
} temp_entry;

typedef struct temp_table temp_table;
struct temp_table {
    temp_entry entries[TABLE_SIZE];
    _Atomic(temp_table *) next;
};

static temp_table first_table;
static char reserved[] = ""; /* marks an entry that is being filled */

static temp_table *next_table(temp_table *t)
{
    temp_table *next = atomic_load(&t->next);
    if (next) return next;
    temp_table *made = mem_calloc(1, sizeof *made);
    if (!made) return NULL;
    if (atomic_compare_exchange_strong(&t->next, &next, made)) return made;
    mem_free(made);
    return next;
}

void temp_register(const char *path)
{
    char *copy = mem_strdup(path);
    if (!copy) return;
    for (temp_table *t = &first_table; t; t = next_table(t)) {
        for (size_t i = 0; i < TABLE_SIZE; i++) {
            char *expected = NULL;
            if (!atomic_compare_exchange_strong(&t->entries[i].path, &expected, reserved)) continue;
            atomic_store(&t->entries[i].owner, getpid());
            atomic_store(&t->entries[i].path, copy);
            return;
        }
    }
    mem_free(copy);
}

void temp_forget(const char *path)
{
    const pid_t self = getpid();
    for (temp_table *t = &first_table; t; t = atomic_load(&t->next)) {
        for (size_t i = 0; i < TABLE_SIZE; i++) {
            temp_entry *e = &t->entries[i];
            char *known = atomic_load(&e->path);
            if (!known || known == reserved || atomic_load(&e->owner) != self ||
                strcmp(known, path) != 0)
                continue;
            if (atomic_compare_exchange_strong(&e->path, &known, NULL)) mem_free(known);
            return;
        }
    }
}

/* A record of the system call getdents64. */
typedef struct folder_entry {
    uint64_t inode;
    int64_t next;
    unsigned short size;
    unsigned char type;
    char name[];
} folder_entry;

/* Removes the files in a folder of ours, which has no folders. Async-signal-safe, which readdir is
 * not, because it allocates. */
static void empty_folder(const char *path)
{
    _Alignas(folder_entry) char entries[4096];
    struct stat info;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    const bool is_ours =
        fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 07777) == FOLDER_MODE;
    for (long n; is_ours && (n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0;) {
        for (long at = 0; at < n; at += ((const folder_entry *)(entries + at))->size)
            unlinkat(fd, ((const folder_entry *)(entries + at))->name, 0);
    }
    close(fd);
}

/* Removes a file or a folder. Async-signal-safe. */
static void remove_entry(const char *path)
{
    if (unlink(path) == 0 || (errno != EISDIR && errno != EPERM)) return;
    empty_folder(path);
    rmdir(path);
}

/* Takes the path out of an entry of this process; the caller then owns it. NULL: no path.
 * Async-signal-safe. */
static char *take(temp_entry *e, pid_t self)
{
    char *path = atomic_load(&e->path);
    if (!path || path == reserved || atomic_load(&e->owner) != self) return NULL;
    return atomic_compare_exchange_strong(&e->path, &path, NULL) ? path : NULL;
}

__attribute__((destructor)) static void at_exit(void)
{
    const pid_t self = getpid();
    for (temp_table *t = &first_table; t; t = atomic_load(&t->next)) {
        for (size_t i = 0; i < TABLE_SIZE; i++) {
            char *path = take(&t->entries[i], self);
            if (path) remove_entry(path);
            mem_free(path);
        }
    }
}

/* Does not free the paths, because a signal handler must not call free. */
void file_temp_remove_all(void)
{
    const pid_t self = getpid();
    for (temp_table *t = &first_table; t; t = atomic_load(&t->next)) {
        for (size_t i = 0; i < TABLE_SIZE; i++) {
            const char *path = take(&t->entries[i], self);
            if (path) remove_entry(path);
        }
    }
}

static void on_signal(int number)
{
    const int saved = errno;
    child_end_all(); /* first, so that children write no more files into temporary folders */
    file_temp_remove_all();
    signal(number, SIG_DFL);
    raise(number); /* the signal is blocked in its handler, so it is delivered on return */
    errno = saved;
}

void file_install_signal_cleanup(void)
{
    static const int NUMBERS[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
        struct sigaction old, action = {.sa_handler = on_signal};
        sigfillset(&action.sa_mask);
        if (sigaction(NUMBERS[i], NULL, &old) == 0 &&
            old.sa_handler != SIG_IGN) /* a signal that is ignored, as under nohup, stays ignored */
            sigaction(NUMBERS[i], &action, NULL);
    }
}

/* The name has 64 random bits, so that no other process uses it. */
static char *random_name(const char *folder, const char *suffix)
{
    uint64_t bits = 0;
    str path = {0};
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits)
        bits = (uint64_t)clock_ns() * 2654435761u ^ (uint64_t)getpid();
    str_printf(&path, "%s/polygraphy-%016llx%s", folder, (unsigned long long)bits, suffix);
    return str_take(&path);
}

static int make_file(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    close(fd);
    return 0;
}

static int make_folder(const char *path)
{
    return mkdir(path, FOLDER_MODE);
}

/* Calls `make` with random names until one is free. */
static pgy_status make_temp(char **out, const char *suffix, int (*make)(const char *),
                            const char *what, pgy_error *err)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = P_tmpdir;
    for (int tries = 0;; tries++) {
        char *made = random_name(folder, suffix ? suffix : "");
        if (!made)
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the name of a temporary %s",
                                 what);
        temp_register(
            made); /* register before creating, so that no signal can leave the file behind */
        if (make(made) == 0) {
            *out = made;
            return PGY_OK;
        }
        const int number = errno;
        temp_forget(made);
        mem_free(made);
        if (number != EEXIST || tries == MAX_TRIES)
            return pgy_error_set(err, PGY_E_IO, "cannot create a temporary %s in '%s': %s", what,
                                 folder, strerror(number));
    }
}

pgy_status file_temp_path(char **out, const char *suffix, pgy_error *err)
{
    return make_temp(out, suffix, make_file, "file", err);
}

pgy_status file_temp_folder(char **out, pgy_error *err)
{
    return make_temp(out, NULL, make_folder, "folder", err);
}

void file_temp_release(char *path)
{
    if (!path) return;
    remove_entry(path);
    temp_forget(path);
    mem_free(path);
}
