/* SPDX-License-Identifier: Apache-2.0 */
/* An open JSON file of inputs, whose iterations are decoded one at a time. */
#ifndef DATA_FEEDS_H
#define DATA_FEEDS_H

#include <polygraphy/data.h>

#include "base/json.h"

typedef struct json_file {
    file_map map;
    arena memory;
    json_value *root;
    char *path;
} json_file;
pgy_status json_file_open(json_file *out, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* Reads JSON text in memory, which must outlive *out; messages use `name` as the path. */
pgy_status json_file_borrow(json_file *out, const char *name, const void *text, size_t size_bytes,
                            pgy_error *err) PGY_MUST_CHECK;
void json_file_close(json_file *f);

typedef struct feeds_file {
    json_file file;
    const json_value *next; /* NULL at the end */
    size_t count, index;
} feeds_file;
/* Opens a file with a list of maps or one map. A results file is an error that points to `data
 * merge`. */
pgy_status feeds_file_open(feeds_file *out, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* NULL at the end. */ pgy_status feeds_file_next(pgy_tensor_map **out, feeds_file *f,
                                                  pgy_error *err) PGY_MUST_CHECK;
void feeds_file_close(feeds_file *f);

/* Reads the arrays of a JSON object into a map with its keys; messages say "<where>: <kind>
 * '<key>'". */
pgy_status named_arrays_read(pgy_tensor_map **out, const json_value *object, const json_file *file,
                             const char *where, const char *kind, pgy_error *err) PGY_MUST_CHECK;
/* Reads the inputs of one iteration: a JSON object {name: ndarray}. */
pgy_status feed_json_read(pgy_tensor_map **out, const json_value *v, const json_file *file,
                          const char *where, pgy_error *err) PGY_MUST_CHECK;
pgy_status feed_json_write(json_writer *w, const pgy_tensor_map *feed,
                           pgy_error *err) PGY_MUST_CHECK;

/* "<dir>/0000000012.json", owned; NULL: out of memory. */
char *numbered_path(const char *dir, size_t index);
/* A path whose last component has no extension means a folder, unless a file exists there: scripts
 * create temporary files first, and older releases wrote into them. */
bool path_means_folder(const char *path);
/* Creates the folder, or checks that it is empty. */
pgy_status numbered_folder_prepare(const char *path, pgy_error *err) PGY_MUST_CHECK;

#endif
