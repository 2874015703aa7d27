/* SPDX-License-Identifier: Apache-2.0 */
/* A file that appears under one path again and again, with contents that differ little. It is
 * written in place while it has a hidden name, and pieces that are already at their place are not
 * written again. The path only ever names complete contents. */
#ifndef BASE_REUSED_FILE_H
#define BASE_REUSED_FILE_H

#include "base/file.h"

typedef struct reused_file reused_file;
pgy_status reused_file_create(reused_file **out, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* Removes the hidden file; a file that is shown stays. */
void reused_file_destroy(reused_file *f);

/* Begins the next content; the file must be hidden. False: no file can be made here that could be
 * reused (something is at the path, or the folder allows no new files): write it another way. */
bool reused_file_begin(reused_file *f);
pgy_status reused_file_put(reused_file *f, const void *data, size_t size_bytes,
                           pgy_error *err) PGY_MUST_CHECK;
/* Appends bytes of a map that stays open and unchanged as long as `f` lives: if the last content
 * had the same bytes of the same map at this offset, they are not written. */
pgy_status reused_file_put_map(reused_file *f, const file_map *from, size_t offset,
                               size_t size_bytes, pgy_error *err) PGY_MUST_CHECK;
/* Ends the content and gives the file its path. After a failure here or in a put the content is
 * lost and the file is hidden. */
pgy_status reused_file_show(reused_file *f, pgy_error *err) PGY_MUST_CHECK;
/* Takes the path away. The file is reused if nobody changed it, linked it or has it open. False:
 * the path names another file, which stays, or none. */
bool reused_file_hide(reused_file *f);
/* Bytes that the last content needed to be written; the others were in place. */
uint64_t reused_file_written(const reused_file *f);

#endif
