/* SPDX-License-Identifier: Apache-2.0 */
/* Feed lists as Polygraphy stores them: a JSON list with one object of named arrays
 * per iteration, or a folder with one such object per file. Reading decodes one iteration at a
 * time; writing is a stream, so memory does not grow with the number of iterations. */
#include "data/feeds.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "data/array_json.h"

static const char LOG_PATH[] = "json/serde.py";

/* ---- Files ---- */

static pgy_status parse(json_file *f, const char *path, const void *text, size_t size_bytes,
                        pgy_error *err)
{
    f->path = mem_strdup(path);
    pgy_status st = f->path ? json_parse(&f->root, text, size_bytes, &f->memory, err)
                            : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) return PGY_OK;
    json_file_close(f);
    return pgy_error_prefix(err, st, "%s: ", path);
}

pgy_status json_file_open(json_file *out, const char *path, pgy_error *err)
{
    json_file f = {.map = {.fd = -1}};
    pgy_status st = file_map_open(&f.map, path, err);
    if (!st) st = parse(&f, path, f.map.data, f.map.size_bytes, err);
    if (!st) *out = f;
    return st;
}

pgy_status json_file_borrow(json_file *out, const char *name, const void *text, size_t size_bytes,
                            pgy_error *err)
{
    json_file f = {.map = {.fd = -1}};
    pgy_status st = parse(&f, name, text, size_bytes, err);
    if (!st) *out = f;
    return st;
}

void json_file_close(json_file *f)
{
    arena_deinit(&f->memory);
    file_map_close(&f->map);
    mem_free(f->path);
    *f = (json_file){.map = {.fd = -1}};
}

char *numbered_path(const char *dir, size_t index)
{
    char name[32];
    snprintf(name, sizeof name, "%010zu.json", index);
    return path_join(dir, name);
}

bool path_means_folder(const char *path)
{
    return path_extension(path)[0] == 0 && (!file_exists(path) || file_is_dir(path));
}

pgy_status numbered_folder_prepare(const char *path, pgy_error *err)
{
    strvec names = {0};
    pgy_status st = PGY_OK;
    if (file_is_dir(path)) {
        st = file_list_dir(&names, path, NULL, err);
        if (!st && names.count)
            st = pgy_error_set(err, PGY_E_ARGUMENT, "%s: the folder is not empty", path);
    } else {
        st = file_make_dirs(path, err);
    }
    strvec_deinit(&names);
    return st;
}

/* ---- Reading ---- */

static pgy_status not_a_feed(const json_value *v, const char *where, pgy_error *err)
{
    const char *name = typed_json_class(v);
    bool results =
        name && (strcmp(name, "RunResults") == 0 || strcmp(name, "IterationResult") == 0);
    return pgy_error_set(
        err, PGY_E_FORMAT,
        "%s: The data loader returned an object that cannot be recognized as a feed_dict "
        "(Dict[str, ndarray])%s",
        where,
        results
            ? ": the file holds saved outputs; turn them into inputs with 'polygraphy data merge'"
            : "");
}

pgy_status named_arrays_read(pgy_tensor_map **out, const json_value *object, const json_file *file,
                             const char *where, const char *kind, pgy_error *err)
{
    pgy_tensor_map *m = NULL;
    str place = {0};
    pgy_status st = pgy_tensor_map_create(&m, err);
    for (const json_value *c = object->first; !st && c; c = c->next) {
        char *name = mem_strndup(c->key.data, c->key.size);
        pgy_tensor *t = NULL;
        str_clear(&place);
        str_printf(&place, "%s: %s '%.*s'", where, kind, (int)c->key.size, c->key.data);
        if (!name || place.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        if (!st) st = array_json_read(&t, c, &file->map, str_text(&place), err);
        if (!st) st = pgy_tensor_map_adopt(m, name, t, err);
        mem_free(name);
    }
    str_deinit(&place);
    if (st) {
        pgy_tensor_map_destroy(m);
        return st;
    }
    *out = m;
    return PGY_OK;
}

pgy_status feed_json_read(pgy_tensor_map **out, const json_value *v, const json_file *file,
                          const char *where, pgy_error *err)
{
    if (!v || v->type != JSON_OBJECT || typed_json_class(v)) return not_a_feed(v, where, err);
    return named_arrays_read(out, v, file, where, "input", err);
}

pgy_status feeds_file_open(feeds_file *out, const char *path, pgy_error *err)
{
    feeds_file f = {0};
    LOG(INFO, "Loading input data from %s", path);
    pgy_status st = json_file_open(&f.file, path, err);
    if (st) return st;
    const json_value *root = f.file.root;
    bool list = root->type == JSON_ARRAY;
    if (!list && (root->type != JSON_OBJECT || typed_json_class(root))) {
        st = not_a_feed(root, path, err);
        json_file_close(&f.file);
        return st;
    }
    f.next = list ? root->first : root;
    f.count = list ? root->count : 1;
    *out = f;
    return PGY_OK;
}

pgy_status feeds_file_next(pgy_tensor_map **out, feeds_file *f, pgy_error *err)
{
    *out = NULL;
    if (!f->next) return PGY_OK;
    str where = {0};
    str_printf(&where, "%s: iteration %zu", f->file.path, f->index);
    pgy_status st = feed_json_read(out, f->next, &f->file, str_text(&where), err);
    str_deinit(&where);
    if (st) return st;
    f->next = f->next == f->file.root ? NULL : f->next->next;
    f->index++;
    return PGY_OK;
}

void feeds_file_close(feeds_file *f)
{
    json_file_close(&f->file);
    *f = (feeds_file){.file = {.map = {.fd = -1}}};
}

pgy_status pgy_feeds_load(pgy_tensor_map ***out, size_t *count, const char *path, pgy_error *err)
{
    feeds_file f;
    pgy_status st = feeds_file_open(&f, path, err);
    if (st) return st;
    pgy_tensor_map **maps = mem_calloc(f.count + 1, sizeof *maps);
    size_t n = 0;
    if (!maps)
        st =
            pgy_error_set(err, PGY_E_MEMORY, "%s: out of memory for %zu iterations", path, f.count);
    while (!st && n < f.count) {
        st = feeds_file_next(&maps[n], &f, err);
        if (!st) n++;
    }
    feeds_file_close(&f);
    if (st) {
        pgy_feeds_free(maps, n);
        return st;
    }
    *out = maps;
    *count = n;
    return PGY_OK;
}

void pgy_feeds_free(pgy_tensor_map **maps, size_t count)
{
    for (size_t i = 0; maps && i < count; i++) pgy_tensor_map_destroy(maps[i]);
    mem_free(maps);
}

/* ---- Writing ---- */

pgy_status feed_json_write(json_writer *w, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_status st = PGY_OK;
    json_begin_object(w);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(feed); i++) {
        pgy_tensor *t = NULL;
        json_key(w, pgy_tensor_map_name(feed, i));
        st = pgy_tensor_load(&t, pgy_tensor_map_at(feed, i), err);
        if (!st) st = array_json_write(w, pgy_tensor_view(t), err);
        if (st) pgy_error_prefix(err, st, "input '%s': ", pgy_tensor_map_name(feed, i));
        pgy_tensor_release(t);
    }
    json_end_object(w);
    return st;
}

struct pgy_feed_writer {
    char *path;
    bool folder;
    size_t count;
    json_output single;
};

static pgy_status open_single(pgy_feed_writer *w, const char *path, pgy_error *err)
{
    pgy_status st = json_output_open(&w->single, path, err);
    if (!st) json_begin_array(w->single.json);
    return st;
}

pgy_status pgy_feed_writer_create(pgy_feed_writer **out, const char *path, pgy_error *err)
{
    pgy_feed_writer *w = mem_calloc(1, sizeof *w);
    if (!w) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    w->path = mem_strdup(path);
    w->folder = path_means_folder(path);
    pgy_status st = w->path ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) {
        LOG(INFO, "Saving inference input data to a %s: %s",
            w->folder ? "directory of per-iteration files" : "single file", path);
        st = w->folder ? numbered_folder_prepare(path, err) : open_single(w, path, err);
    }
    if (st) {
        pgy_feed_writer_destroy(w);
        return st;
    }
    *out = w;
    return PGY_OK;
}

static pgy_status write_numbered(const pgy_feed_writer *w, const pgy_tensor_map *feed,
                                 pgy_error *err)
{
    char *path = numbered_path(w->path, w->count);
    json_output file = {0};
    if (!path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    LOG(INFO, "Saving inference input data to %s", path);
    pgy_status st = json_output_open(&file, path, err);
    if (!st) st = feed_json_write(file.json, feed, err);
    if (!st) st = json_output_commit(&file, err);
    json_output_close(&file);
    mem_free(path);
    return st;
}

pgy_status pgy_feed_writer_add(pgy_feed_writer *w, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_status st =
        w->folder ? write_numbered(w, feed, err) : feed_json_write(w->single.json, feed, err);
    if (st) return st;
    w->count++;
    return PGY_OK;
}

pgy_status pgy_feed_writer_finish(pgy_feed_writer *w, pgy_error *err)
{
    if (w->folder) return PGY_OK;
    LOG(INFO, "Saving inference input data to %s", w->path);
    json_end_array(w->single.json);
    return json_output_commit(&w->single, err);
}

void pgy_feed_writer_destroy(pgy_feed_writer *w)
{
    if (!w) return;
    json_output_close(&w->single);
    mem_free(w->path);
    mem_free(w);
}

pgy_status pgy_feeds_save(const char *path, const pgy_tensor_map *const *maps, size_t count,
                          pgy_error *err)
{
    json_output file = {0};
    pgy_status st = json_output_open(&file, path, err);
    if (!st) json_begin_array(file.json);
    for (size_t i = 0; !st && i < count; i++) st = feed_json_write(file.json, maps[i], err);
    if (!st) {
        json_end_array(file.json);
        st = json_output_commit(&file, err);
    }
    json_output_close(&file);
    return st;
}

/* ---- Raw elements ---- */

/* True if a name, used as a file name, stays inside its folder. */
static bool stays_inside(const char *name)
{
    if (!*name || *name == '/') return false;
    for (const char *p = name; p; p = strchr(p, '/'), p = p ? p + 1 : NULL)
        if (strncmp(p, "..", 2) == 0 && (p[2] == 0 || p[2] == '/')) return false;
    return true;
}

static pgy_status save_blob(const char *folder, const char *name, pgy_tensor *t, pgy_error *err)
{
    str path = {0};
    if (!stays_inside(name))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "run.save_input_blob: the input name '%s' would write outside the folder", name);
    str_printf(&path, "%s/%s.bin", folder, name);
    pgy_tensor *loaded = NULL;
    pgy_status st = path.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                : pgy_tensor_load(&loaded, t, err);
    if (!st) st = pgy_raw_save(str_text(&path), pgy_tensor_view(loaded), err);
    pgy_tensor_release(loaded);
    str_deinit(&path);
    return st;
}

pgy_status pgy_feed_save_blob(const char *dir, size_t index, const pgy_tensor_map *feed,
                              pgy_error *err)
{
    str folder = {0};
    str_printf(&folder, "%s/%010zu", dir, index);
    pgy_status st = folder.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                  : file_make_dirs(str_text(&folder), err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(feed); i++)
        st = save_blob(str_text(&folder), pgy_tensor_map_name(feed, i), pgy_tensor_map_at(feed, i),
                       err);
    if (!st) LOG(VERBOSE, "Saved raw inference input tensors to: %s", str_text(&folder));
    str_deinit(&folder);
    return st;
}
