/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a pgy_model, for the files of this layer. */
#ifndef ONNX_MODEL_H
#define ONNX_MODEL_H

#include <polygraphy/onnx.h>

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/file.h"

/* An open file of external weights. */
typedef struct external_file {
    char *location; /* the `location` of external data, as tensors give it */
    file_map map;
} external_file;

typedef struct computed_tensor computed_tensor;

struct pgy_model {
    atomic_size_t references;
    pthread_mutex_t lock; /* guards what can grow after loading: arena, files, kept, computed */
    arena arena;
    pgy_onnx_model *proto;
    char *path;         /* path of the model file; "" for a model in memory */
    char *external_dir; /* "" if unknown */
    bool ignore_external, allow_outside;
    file_map map;        /* map of the model file; data is NULL without a file */
    void *copy;          /* copy of the caller's memory, instead of a map */
    const uint8_t *data; /* the bytes of map or copy, or the caller's; NULL for a built model */
    size_t size_bytes;
    external_file **files;
    size_t file_count, file_capacity;
    pgy_model **kept;
    size_t kept_count, kept_capacity;
    pgy_tensor **kept_tensors;
    size_t kept_tensor_count, kept_tensor_capacity;
    computed_tensor *computed; /* list of tensors whose elements are made on demand */
    size_t computed_count, computed_capacity;
};

void *model_alloc(pgy_model *m, size_t count,
                  size_t item_bytes); /* zeroed, from the arena; NULL: out of memory */

/* Finds the model, m or one that it keeps, whose file or external file holds these bytes; or NULL.
 */
pgy_model *model_owner(pgy_model *m, const void *bytes);
/* Finds the open map that holds the bytes and their offset in it; NULL if no map does. */
const file_map *model_find_map(pgy_model *m, const void *bytes, size_t size_bytes, size_t *offset);
/* Gives back the memory of all pages that were read from the model's files, also from external ones
 * and those of models that it keeps. They are read again when they are needed. */
void model_forget_pages(pgy_model *m);

#endif
