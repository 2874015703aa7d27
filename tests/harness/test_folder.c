/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of all test programs of a user lie in one folder, which is small and thus quickly
 * searched for those of killed programs. */
#include "harness/test_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_ROOM = 32, OWN_ROOM = 8, MOST_TRIES = 100 };

static char own[TEST_PATH_SIZE - NAME_ROOM], all[sizeof own - OWN_ROOM];
static pid_t owner;

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static void remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A child that a test forks inherits this function, but the folder is its parent's. */
static void finish(void)
{
    if (getpid() != owner) return;
    remove_folder(own);
    rmdir(all); /* only if no other program runs */
}

/* Opens and locks a folder; -1: it is gone, or a running program has the lock. Children that a test
 * starts do not keep the lock. */
static int lock_folder(const char *path)
{
    struct stat opened, there;
    const int file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return -1;
    if (!flock(file, LOCK_EX | LOCK_NB) && !fstat(file, &opened) && !lstat(path, &there) &&
        opened.st_ino == there.st_ino)
        return file;
    close(file);
    return -1;
}

static void remove_abandoned(void)
{
    DIR *d = opendir(all);
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char path[sizeof own + 256];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", all, e->d_name);
        const int file = lock_folder(path);
        if (file < 0) continue;
        remove_folder(path);
        close(file);
    }
    if (d) closedir(d);
}

void test_folder_start(void)
{
    const char *base = getenv("TMPDIR");
    if (!base || !*base || strlen(base) > sizeof all - NAME_ROOM) base = "/tmp";
    snprintf(all, sizeof all, "%s/pgy_tests.%u", base, (unsigned)getuid());
    owner = getpid();
    /* Another program may take the new folder for an abandoned one before it is locked. */
    for (int i = 0; i < MOST_TRIES; i++) {
        mkdir(all, 0700);
        snprintf(own, sizeof own, "%s/XXXXXX", all);
        if (!mkdtemp(own) || lock_folder(own) < 0) continue;
        remove_abandoned();
        atexit(finish);
        setenv("TMPDIR", own, 1);
        return;
    }
    fprintf(stderr, "no folder for temporary files in %s\n", all);
    abort();
}

void test_path(char path[TEST_PATH_SIZE], const char *name)
{
    snprintf(path, TEST_PATH_SIZE, "%s/%s", own, name);
}

void test_folder_end_child(void)
{
    if (getpid() != owner) _exit(1);
}
