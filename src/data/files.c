/* SPDX-License-Identifier: Apache-2.0 */
/* The loader over saved inputs: a queue of paths, opened one after the other, each in the reader of
 * its format. Formats without names (npy, ONNX test data) are matched to the runner's inputs by
 * position. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "data/feeds.h"

static const char LOG_PATH[] = "comparator/data_loader.py";

typedef struct file_loader {
    strvec paths; /* paths to read; folders have been replaced by the files and test sets in them */
    size_t next;
    feeds_file json; /* the open JSON file */
    bool json_open;
    const pgy_metadata *inputs;
} file_loader;

typedef pgy_status (*feed_reader)(pgy_tensor_map **out, const char *path,
                                  const pgy_metadata *inputs, pgy_error *err);

/* ---- Formats that hold one iteration ---- */

static pgy_status read_npz(pgy_tensor_map **out, const char *path, const pgy_metadata *inputs,
                           pgy_error *err)
{
    (void)inputs;
    return pgy_npz_load(out, path, err);
}

static pgy_status read_safetensors(pgy_tensor_map **out, const char *path,
                                   const pgy_metadata *inputs, pgy_error *err)
{
    (void)inputs;
    return pgy_safetensors_load(out, path, err);
}

static pgy_status read_npy(pgy_tensor_map **out, const char *path, const pgy_metadata *inputs,
                           pgy_error *err)
{
    (void)inputs;
    pgy_tensor *t = NULL;
    pgy_tensor_map *m = NULL;
    const char *base = path_basename(path);
    char *stem = mem_strndup(base, strlen(base) - strlen(path_extension(base)));
    pgy_status st =
        stem ? pgy_npy_load(&t, path, err) : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = pgy_tensor_map_create(&m, err);
    if (!st) {
        st = pgy_tensor_map_adopt(m, stem, t, err);
        t = NULL;
    }
    if (!st) {
        *out = m;
        m = NULL;
    }
    pgy_tensor_release(t);
    pgy_tensor_map_destroy(m);
    mem_free(stem);
    return st;
}

/* Reads input_0.pb, input_1.pb, ... of one ONNX test data set. */
static pgy_status read_test_set(pgy_tensor_map **out, const char *path, const pgy_metadata *inputs,
                                pgy_error *err)
{
    pgy_tensor_map *m = NULL;
    pgy_status st = pgy_tensor_map_create(&m, err);
    for (size_t i = 0; !st; i++) {
        char file[32], fallback[32], *stored = NULL;
        snprintf(file, sizeof file, "input_%zu.pb", i);
        snprintf(fallback, sizeof fallback, "input_%zu", i);
        char *full = path_join(path, file);
        if (!full || !file_exists(full)) {
            if (!full) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
            mem_free(full);
            break;
        }
        pgy_tensor *t = NULL;
        st = pgy_tensorproto_load(&t, &stored, full, err);
        const char *name = stored && stored[0] ? stored
                           : inputs && i < pgy_metadata_count(inputs)
                               ? pgy_metadata_at(inputs, i)->name
                               : fallback;
        if (!st) st = pgy_tensor_map_adopt(m, name, t, err);
        pgy_text_free(stored);
        mem_free(full);
    }
    if (!st) {
        *out = m;
        m = NULL;
    }
    pgy_tensor_map_destroy(m);
    return st;
}

static const struct {
    const char *extension;
    feed_reader read;
} FORMATS[] = {{".npz", read_npz}, {".npy", read_npy}, {".safetensors", read_safetensors}};

static feed_reader reader_of(const char *path)
{
    if (file_is_dir(path)) return read_test_set;
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (str_equal_nocase(path_extension(path), FORMATS[i].extension)) return FORMATS[i].read;
    return NULL;
}

/* ---- Folders ---- */

static pgy_status push_joined(strvec *out, const char *dir, const char *name, pgy_error *err)
{
    char *path = path_join(dir, name);
    bool ok = path && strvec_push(out, path);
    mem_free(path);
    return ok ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* Sorts by number, because the numbers of test sets have no leading zeros. */
static int by_number(const void *a, const void *b)
{
    const char *x = strrchr(*(char *const *)a, '_'), *y = strrchr(*(char *const *)b, '_');
    long i = x ? atol(x + 1) : 0, k = y ? atol(y + 1) : 0;
    return (i > k) - (i < k);
}

static pgy_status expand_test_sets(strvec *out, const char *path, const strvec *names, bool *found,
                                   pgy_error *err)
{
    size_t first = out->count;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < names->count; i++)
        if (str_starts_with(names->items[i], "test_data_set_"))
            st = push_joined(out, path, names->items[i], err);
    if (out->count > first)
        qsort(out->items + first, out->count - first, sizeof *out->items, by_number);
    *found = out->count > first;
    return st;
}

/* A folder is a test data set, holds test data sets, or holds one JSON file per iteration. */
static pgy_status expand_folder(strvec *out, const char *path, pgy_error *err)
{
    strvec names = {0};
    bool found = false;
    pgy_status st = file_list_dir(&names, path, NULL, err);
    if (!st && strvec_contains(&names, "input_0.pb")) {
        if (!strvec_push(out, path)) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        found = true;
    }
    if (!st && !found) st = expand_test_sets(out, path, &names, &found, err);
    for (size_t i = 0; !st && !found && i < names.count; i++)
        if (str_ends_with(names.items[i], ".json"))
            st = push_joined(out, path, names.items[i], err);
    strvec_deinit(&names);
    return st;
}

/* ---- The loader ---- */

static pgy_status files_next(pgy_tensor_map **out, void *user, pgy_error *err)
{
    file_loader *l = user;
    *out = NULL;
    for (;;) {
        if (l->json_open) {
            pgy_status st = feeds_file_next(out, &l->json, err);
            if (st || *out) return st;
            feeds_file_close(&l->json);
            l->json_open = false;
        }
        if (l->next == l->paths.count) return PGY_OK;
        const char *path = l->paths.items[l->next++];
        feed_reader read = reader_of(path);
        if (read) {
            LOG(INFO, "Loading input data from %s", path);
            return read(out, path, l->inputs, err);
        }
        pgy_status st = feeds_file_open(&l->json, path, err);
        if (st) return st;
        l->json_open = true;
    }
}

static pgy_status files_rewind(void *user, pgy_error *err)
{
    (void)err;
    file_loader *l = user;
    if (l->json_open) feeds_file_close(&l->json);
    l->json_open = false;
    l->next = 0;
    return PGY_OK;
}

static pgy_status files_set_metadata(void *user, const pgy_metadata *inputs, pgy_error *err)
{
    (void)err;
    ((file_loader *)user)->inputs = inputs;
    return PGY_OK;
}

static void files_destroy(void *user)
{
    file_loader *l = user;
    if (l->json_open) feeds_file_close(&l->json);
    strvec_deinit(&l->paths);
    mem_free(l);
}

pgy_status pgy_file_loader_create(pgy_data_loader **out, const char *const *paths, size_t count,
                                  pgy_error *err)
{
    static const pgy_data_loader_functions FUNCTIONS = {sizeof FUNCTIONS, files_next, files_rewind,
                                                        files_set_metadata, files_destroy};
    file_loader *l = mem_calloc(1, sizeof *l);
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a data loader");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        if (!file_exists(paths[i]))
            st = pgy_error_set(err, PGY_E_NOT_FOUND,
                               "%s: there is no such file or folder to load inputs from", paths[i]);
        else if (file_is_dir(paths[i]))
            st = expand_folder(&l->paths, paths[i], err);
        else if (!strvec_push(&l->paths, paths[i]))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    if (!st) st = pgy_data_loader_create(out, &FUNCTIONS, l, err);
    if (st) files_destroy(l);
    return st;
}
