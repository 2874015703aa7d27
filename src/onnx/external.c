/* SPDX-License-Identifier: Apache-2.0 */
/* External data: the entries location, offset and length of a TensorProto, and the files they name.
 * A location comes from the model file, so it may be hostile: it must be a relative path to a
 * regular file inside the folder, also after following links, unless the caller allows files
 * outside. */
#include "onnx/external.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "onnx/schema.h"

enum { OPEN_DESCRIPTORS = 64, EXTERNAL = 1 };

typedef struct location {
    const char *path;
    uint64_t offset, length;
    bool has_length;
} location;

bool tensor_is_external(const pgy_onnx_tensor *t)
{
    return t->data_location == EXTERNAL;
}

static pgy_model *with_folder(pgy_model *m)
{
    if (*m->external_dir) return m;
    for (size_t i = 0; i < m->kept_count; i++) {
        pgy_model *found = with_folder(m->kept[i]);
        if (found) return found;
    }
    return NULL;
}

pgy_model *external_owner(pgy_model *m, const pgy_onnx_tensor *t)
{
    pgy_model *owner = NULL;
    if (t->external_data_count && t->external_data[0]->message.raw.data)
        owner = model_owner(m, t->external_data[0]->message.raw.data);
    if (!owner) owner = with_folder(m);
    return owner ? owner : m;
}

static pgy_status parse_number(uint64_t *out, const pgy_onnx_string_entry *entry, pgy_error *err)
{
    char *end = NULL;
    errno = 0;
    const bool digit = entry->value[0] >= '0' && entry->value[0] <= '9';
    const unsigned long long v = digit ? strtoull(entry->value, &end, 10) : 0;
    if (!digit || *end || errno || v > INT64_MAX)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "external data: '%s' must be a number of bytes, not '%s'", entry->key,
                             entry->value);
    *out = v;
    return PGY_OK;
}

/* Reads the entries. Other keys (checksum, basepath) are ignored. */
static pgy_status parse_location(location *out, const pgy_onnx_tensor *t, pgy_error *err)
{
    location at = {""};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < t->external_data_count && !st; i++) {
        const pgy_onnx_string_entry *entry = t->external_data[i];
        if (strcmp(entry->key, "location") == 0) {
            at.path = entry->value;
        } else if (strcmp(entry->key, "offset") == 0) {
            st = parse_number(&at.offset, entry, err);
        } else if (strcmp(entry->key, "length") == 0) {
            at.has_length = true;
            st = parse_number(&at.length, entry, err);
        }
    }
    if (st) return st;
    if (!*at.path)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "external data has no location (the name of its file)");
    *out = at;
    return PGY_OK;
}

/* ---- Paths ---------------------------------------------------------------------------------- */

static bool climbs(const char *path)
{
    for (const char *p = path; p; p = strchr(p, '/'), p = p ? p + 1 : NULL)
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0')) return true;
    return false;
}

static pgy_status outside(const pgy_model *m, const char *path, const char *why, pgy_error *err)
{
    return pgy_error_set(
        err, PGY_E_FORMAT,
        "external data '%s' %s: only files inside the folder '%s' are read (load.allow_outside "
        "accepts others, load.external_data_dir sets another folder)",
        path, why, m->external_dir);
}

static bool is_inside(const char *file, const char *folder)
{
    const size_t n = strlen(folder);
    if (n == 1 && *folder == '/') return true;
    return strncmp(file, folder, n) == 0 && file[n] == '/';
}

/* Finds the real path, owned, of an existing regular file that the model may read. */
static pgy_status resolve(char **out, const pgy_model *m, const char *path, pgy_error *err)
{
    char *joined = NULL, *file = NULL, *folder = NULL;
    struct stat info;
    pgy_status st = PGY_OK;
    if (!m->allow_outside && path[0] == '/') return outside(m, path, "is an absolute path", err);
    if (!m->allow_outside && climbs(path))
        return outside(m, path, "leaves its folder by '..'", err);
    if (!*m->external_dir)
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "cannot find external data '%s': the model was loaded from memory and "
                             "has no folder (set external_data_dir)",
                             path);
    joined = path[0] == '/' ? mem_strdup(path) : path_join(m->external_dir, path);
    if (!joined) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while opening '%s'", path);
        goto done;
    }
    folder = realpath(m->external_dir, NULL);
    file = folder ? realpath(joined, NULL) : NULL;
    if (!file || stat(file, &info)) {
        st = pgy_error_set(err, errno == ENOENT || errno == ENOTDIR ? PGY_E_NOT_FOUND : PGY_E_IO,
                           "cannot read external data '%s': %s", joined, strerror(errno));
        goto done;
    }
    if (!S_ISREG(info.st_mode)) {
        st = pgy_error_set(err, PGY_E_IO, "external data '%s' is not a regular file", joined);
        goto done;
    }
    if (!m->allow_outside && !is_inside(file, folder)) {
        st = outside(m, path, "is a link that leaves the folder", err);
        goto done;
    }
    *out = file;
    file = NULL;
done:
    mem_free(joined);
    mem_free(file);
    mem_free(folder);
    return st;
}

/* ---- Files ---------------------------------------------------------------------------------- */

static external_file *find_file(const pgy_model *m, const char *path)
{
    for (size_t i = 0; i < m->file_count; i++)
        if (strcmp(m->files[i]->location, path) == 0) return m->files[i];
    return NULL;
}

static pgy_status open_file(external_file **out, pgy_model *m, const char *path, pgy_error *err)
{
    external_file *file = NULL;
    char *real = NULL;
    void *items = m->files;
    pgy_status st = resolve(&real, m, path, err);
    if (st) goto done;
    const bool grown = mem_grow(&items, &m->file_capacity, m->file_count + 1, sizeof(m->files[0]));
    m->files = items;
    file = mem_calloc(1, sizeof(*file));
    if (!file || !grown || !(file->location = mem_strdup(path))) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while opening '%s'", path);
        goto done;
    }
    st = file_map_open(&file->map, real, err);
    if (st) goto done;
    if (m->file_count >= OPEN_DESCRIPTORS) file_map_drop_fd(&file->map);
    m->files[m->file_count++] = file;
    *out = file;
    file = NULL;
done:
    if (file) mem_free(file->location);
    mem_free(file);
    mem_free(real);
    return st;
}

static pgy_status map_location(const file_map **out, pgy_model *m, const char *path, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&m->lock);
    external_file *file = find_file(m, path);
    if (!file) st = open_file(&file, m, path, err);
    pthread_mutex_unlock(&m->lock);
    if (!st) *out = &file->map;
    return st;
}

pgy_status external_bytes(pgy_bytes *out, pgy_model *m, const pgy_onnx_tensor *t, size_t wanted,
                          pgy_error *err)
{
    location at;
    const file_map *map = NULL;
    pgy_model *owner = external_owner(m, t);
    pgy_status st = parse_location(&at, t, err);
    if (st) return st;
    if (owner->ignore_external)
        return pgy_error_set(
            err, PGY_E_NOT_FOUND,
            "its data is in '%s', but the model was loaded without its external data", at.path);
    if (at.has_length && at.length != wanted)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "external data '%s': the model says %llu bytes, but the shape needs %zu", at.path,
            (unsigned long long)at.length, wanted);
    st = map_location(&map, owner, at.path, err);
    if (st) return st;
    if (at.offset > map->size_bytes || wanted > map->size_bytes - at.offset)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "external data '%s': the model needs bytes %llu to %llu, but the file has %zu", at.path,
            (unsigned long long)at.offset, (unsigned long long)at.offset + wanted, map->size_bytes);
    *out = (pgy_bytes){(const char *)map->data + at.offset, wanted};
    return PGY_OK;
}

static pgy_status open_one(const pgy_onnx_tensor *t, const schema_field *f, void *user,
                           pgy_error *err)
{
    (void)f;
    (void)err;
    location at;
    const file_map *map = NULL;
    if (!tensor_is_external(t) || parse_location(&at, t, NULL)) return PGY_OK;
    const pgy_status ignored = map_location(&map, external_owner(user, t), at.path, NULL);
    (void)ignored; /* a file that cannot be read now has no data to lose */
    return PGY_OK;
}

void external_open_all(pgy_model *m)
{
    if (m->proto && !m->ignore_external) {
        const pgy_status ignored = schema_visit_tensors(&SCHEMA_MODEL, m->proto, open_one, m, NULL);
        (void)ignored;
    }
    for (size_t i = 0; i < m->kept_count; i++) external_open_all(m->kept[i]);
}

static pgy_status stop_at_external(const pgy_onnx_tensor *t, const schema_field *f, void *user,
                                   pgy_error *err)
{
    (void)f;
    (void)err;
    bool *found = user;
    *found = tensor_is_external(t);
    return *found ? PGY_E_CANCELLED : PGY_OK;
}

bool pgy_model_has_external_data(const pgy_model *m)
{
    bool found = false;
    const pgy_status st =
        m->proto ? schema_visit_tensors(&SCHEMA_MODEL, m->proto, stop_at_external, &found, NULL)
                 : PGY_OK;
    (void)st; /* stopping early is not an error */
    return found;
}
