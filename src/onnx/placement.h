/* SPDX-License-Identifier: Apache-2.0 */
/* Decides where each weight goes when a model is saved: it stays as it is, moves into the file, or
 * moves out of it. */
#ifndef ONNX_PLACEMENT_H
#define ONNX_PLACEMENT_H

#include "base/str.h"
#include "onnx/model.h"

/* A weight that moves to a file of its own, or to an offset in the data file that weights share. */
typedef struct moved_tensor {
    const pgy_onnx_tensor *tensor;
    const char *location; /* file, relative to the model's folder */
    uint64_t offset;
    size_t size_bytes;
} moved_tensor;

typedef struct placement {
    pgy_model *m;
    const char *folder; /* real path of the target's folder; NULL: external weights are embedded */
    bool sizes_only;    /* nothing will be written, so nothing is opened */
    bool move_out;      /* initializers of at least `threshold` bytes go to files */
    bool one_file_per_tensor;
    uint64_t threshold;
    const char *file_name; /* name of the model file, without folder */
    const char *data_name; /* name of the data file that weights share */
    const char *suffix;    /* appended to all file names during a replacement; NULL: none */
    arena arena;           /* replacement tensors */
    strmap names;          /* names of data files that are in use already */
    moved_tensor *moved;   /* moved tensors in the order of their offsets */
    size_t moved_count, moved_capacity;
    uint64_t end;                   /* size of the shared data file so far */
    bool refers_out;                /* the measured model refers to external files */
    const pgy_onnx_tensor *ignored; /* a tensor whose data was ignored on loading, or NULL */
    const pgy_model *known;         /* the last model whose folder was compared */
    bool known_stays;
} placement;

void placement_clear(placement *p); /* empties `moved` and keeps the settings */
void placement_deinit(placement *p);
/* True if `path` is the folder with the real path `real`. */
bool placement_same_folder(const char *real, const char *path);
/* A tensor_replace (model_write.h); user is the placement. */
pgy_status placement_replace(const pgy_onnx_tensor **out, const pgy_onnx_tensor *t,
                             bool initializer, void *user, pgy_error *err);

/* Writes bytes; those of `m`'s mapped files are copied inside the kernel, and computed tensors are
 * made. */
pgy_status file_writer_put(file_writer *w, pgy_model *m, const void *data, size_t size_bytes,
                           pgy_error *err) PGY_MUST_CHECK;

/* The files of the moved tensors, written but not yet renamed to their names. */
typedef struct data_files {
    file_writer **items;
    size_t count, capacity;
} data_files;
pgy_status data_files_write(data_files *d, const placement *p, const char *folder,
                            pgy_error *err) PGY_MUST_CHECK;
pgy_status data_files_settle(data_files *d, pgy_error *err) PGY_MUST_CHECK; /* commit renames */
pgy_status data_files_commit(data_files *d, pgy_error *err) PGY_MUST_CHECK;
void data_files_deinit(data_files *d);

#endif
