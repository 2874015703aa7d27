/* SPDX-License-Identifier: Apache-2.0 */
/* Files: memory maps, whole-file reads, and writes that appear only when complete. A writer fills a
 * file without a name (O_TMPFILE) or, where the file system has none, a temporary beside the
 * target, which abort, a signal or exit removes. Commit puts the file in place; if it replaces
 * another file, fsync comes first. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <polygraphy/base.h>

#include "base/str.h"

typedef struct file_map {
    const void *data; /* never NULL when open, also for an empty file */
    size_t size_bytes;
    int fd; /* kept open for copy_file_range; -1: not mapped from a file, -2: mapped, and the file
               is closed */
} file_map;
pgy_status file_map_open(file_map *out, const char *path, pgy_error *err) PGY_MUST_CHECK;
void file_map_close(file_map *m);
/* Closes the descriptor and keeps the mapping, so that a process can map thousands of files. */
void file_map_drop_fd(file_map *m);
/* Tells the kernel that these bytes will not be read again (keeps resident memory low on big
 * files). */
void file_map_forget(const file_map *m, size_t offset, size_t size_bytes);

/* Reads bytes of an open map into memory. Where possible it leaves no pages mapped, so that callers
 * can read files larger than memory. */
pgy_status file_map_read(const file_map *m, void *to, size_t offset, size_t size_bytes,
                         pgy_error *err) PGY_MUST_CHECK;

/* Announces that all of these bytes will be read soon. Pages in the page cache are mapped at once,
 * so that reading them causes no page faults. */
void file_map_need(const file_map *m, size_t offset, size_t size_bytes);

/* Replaces the text by the whole file. From a pipe it reads at most half of the memory limit. */
pgy_status file_read(str *out, const char *path, pgy_error *err) PGY_MUST_CHECK;

typedef struct file_writer file_writer;
/* Parent folders are created. "-" is not special. Non-regular targets (/dev/null, FIFOs) are
 * written directly. */
pgy_status file_writer_create(file_writer **out, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* Overwrites a file of file_temp_path in place: a temporary file needs no second name and no fsync.
 * If a symbolic link has replaced the file, it is not followed. */
pgy_status file_writer_create_temp(file_writer **out, const char *path,
                                   pgy_error *err) PGY_MUST_CHECK;
pgy_status file_writer_write(file_writer *w, const void *data, size_t size_bytes,
                             pgy_error *err) PGY_MUST_CHECK;
/* Copies a range of an open map with the kernel's help (copy_file_range, else write). */
pgy_status file_writer_copy(file_writer *w, const file_map *from, size_t offset, size_t size_bytes,
                            pgy_error *err) PGY_MUST_CHECK;
/* From now on errors name `path`, the final path of the file. If memory is short they keep naming
 * the old one. */
void file_writer_show_as(file_writer *w, const char *path);
uint64_t file_writer_offset(const file_writer *w);
/* Does everything that can fail for lack of space, so that commit only renames. */
pgy_status file_writer_settle(file_writer *w, pgy_error *err) PGY_MUST_CHECK;
pgy_status file_writer_commit(file_writer *w, pgy_error *err) PGY_MUST_CHECK; /* then destroy */
void file_writer_destroy(file_writer *w); /* aborts if not committed; NULL is fine */
pgy_status file_write_all(const char *path, const void *data, size_t size_bytes,
                          pgy_error *err) PGY_MUST_CHECK;

/* Makes `to` a second name of `from`. It replaces an older file at `to` and takes over that file's
 * mode. On file systems without hard links, `from` is renamed. */
pgy_status file_alias(const char *from, const char *to, pgy_error *err) PGY_MUST_CHECK;

/* A file that is removed when released, at exit, and after SIGINT/SIGTERM/SIGHUP. */
pgy_status file_temp_path(char **out, const char *suffix,
                          pgy_error *err) PGY_MUST_CHECK; /* creates it empty, mode 0600 */
/* A folder for files of which only their writers know the names, mode 0700. It is removed like a
 * file of file_temp_path, with the files in it. */
pgy_status file_temp_folder(char **out, pgy_error *err) PGY_MUST_CHECK;
void file_temp_release(char *path); /* unlinks and frees; NULL is fine */
void file_temp_remove_all(void);    /* async-signal-safe; the process is about to end */
/* Installs handlers for SIGINT, SIGTERM and SIGHUP that remove temporaries, end child processes and
 * then die of the signal. */
void file_install_signal_cleanup(void);

bool file_exists(const char *path);
bool file_is_dir(const char *path);
pgy_status file_size(uint64_t *out, const char *path, pgy_error *err) PGY_MUST_CHECK;
pgy_status file_make_dirs(const char *path, pgy_error *err) PGY_MUST_CHECK; /* like mkdir -p */
pgy_status file_list_dir(strvec *out, const char *path, const char *suffix,
                         pgy_error *err) PGY_MUST_CHECK; /* names, sorted */
char *path_join(const char *dir,
                const char *name);    /* the caller frees the path; NULL: out of memory */
char *path_dirname(const char *path); /* the caller frees the folder; "." if the path has none */
const char *path_basename(const char *path);  /* borrowed */
const char *path_extension(const char *path); /* extension of the last component, ".onnx", or ""; a
                                                 leading dot begins no extension */
char *path_absolute(const char *path);        /* owned, symlinks not resolved */

#endif
