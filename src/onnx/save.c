/* SPDX-License-Identifier: Apache-2.0 */
/* Saving and serialising. Measuring a model tells whether it fits one file. Then the weights that
 * move out are written, then the model. Only complete files get their names, data first, so that a
 * model never refers to bytes that are not yet in place. save_pair.c replaces an existing model
 * together with its data. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sized.h"
#include "onnx/external.h"
#include "onnx/model_write.h"
#include "onnx/saving.h"

static const char LOG_PATH[] = "onnx/save.c";

/* The largest file that other programs can read, because protobuf limits them to 2 GiB. */
static const uint64_t ONE_FILE_LIMIT = 2000000000;

pgy_model_save_options pgy_model_save_options_default(void)
{
    return (pgy_model_save_options){.size = sizeof(pgy_model_save_options), .size_threshold = 1024};
}

static pgy_status no_tree(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "the model is empty: give it a ModelProto with pgy_model_set_proto");
}

uint64_t pgy_model_size_bytes(const pgy_model *m)
{
    placement p = {.m = (pgy_model *)m, .sizes_only = true};
    encoder *e = NULL;
    if (!m->proto) return 0;
    const encode_options options = saving_options(&p);
    const pgy_status st = encoder_create(&e, m->proto, &options, NULL);
    const uint64_t size = st ? m->size_bytes : encoder_size_bytes(e);
    encoder_destroy(e);
    placement_deinit(&p);
    return size;
}

pgy_status pgy_model_serialize(void **out, size_t *size_bytes, pgy_model *m, pgy_error *err)
{
    placement p = {.m = m};
    if (!out || !size_bytes || !m)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'size_bytes' and 'm' must not be NULL");
    if (!m->proto) return no_tree(err);
    const encode_options options = saving_options(&p);
    pgy_status st = model_encode(out, size_bytes, m, &options, err);
    placement_deinit(&p);
    return st;
}

/* ---- Saving --------------------------------------------------------------------------------- */

static void saving_deinit(saving *s)
{
    file_writer_destroy(s->file);
    data_files_deinit(&s->data);
    encoder_destroy(s->encoder);
    placement_deinit(&s->place);
    mem_free(s->data_name);
    mem_free(s->folder);
    mem_free(s->real_folder);
}

enum { MAX_SOURCES = 8 }; /* depth of the search through kept models */

/* True if both paths lead to the same file, also through links. */
static bool is_one_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* True if the data file would be `file_name` in the folder, also if it is written as ./name or
 * through a linked folder. */
static pgy_status is_model_itself(bool *out, const char *data_path, const char *folder,
                                  const char *file_name, pgy_error *err)
{
    char *data_folder = path_dirname(data_path);
    if (!data_folder) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = strcmp(path_basename(data_path), file_name) == 0 &&
           (strcmp(data_folder, folder) == 0 || is_one_file(data_folder, folder));
    mem_free(data_folder);
    return PGY_OK;
}

/* True if `path` is the file of the model or of a model that it was made from. */
static bool is_source(const char *path, const pgy_model *m, int depth)
{
    if (*m->path && is_one_file(path, m->path)) return true;
    for (size_t i = 0; i < m->kept_count && depth < MAX_SOURCES; i++)
        if (is_source(path, m->kept[i], depth + 1)) return true;
    return false;
}

/* The data file must replace neither the new model nor a model that is being read. */
static pgy_status check_data_path(const saving *s, pgy_model *m, const char *file_name,
                                  pgy_error *err)
{
    const char *name = s->data_name;
    bool itself = false;
    str path = {0};
    str_printf(&path, "%s/%s", s->folder, name);
    char *data_path = str_take(&path);
    if (!data_path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = is_model_itself(&itself, data_path, s->folder, file_name, err);
    if (!st && itself)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "external data file '%s' is the model file itself",
                           name);
    else if (!st && is_source(data_path, m, 0))
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "external data file '%s' is the file that the model was loaded from; "
                           "choose another name",
                           name);
    mem_free(data_path);
    return st;
}

/* The name is joined to the model's folder here and by every reader, so it must stay inside. */
static pgy_status check_data_name(const char *name, pgy_error *err)
{
    const size_t n = strlen(name);
    const bool climbs =
        strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0 || strstr(name, "/../");
    if (name[0] == '/' || name[n - 1] == '/' || climbs || str_ends_with(name, "/.."))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "external data file '%s' must be a file name relative to the model's folder", name);
    return PGY_OK;
}

static pgy_status saving_init(saving *s, pgy_model *m, const char *path,
                              const pgy_model_save_options *o, pgy_error *err)
{
    const char *file_name = path_basename(path), *wanted = o->external_data_path;
    str name = {0};
    s->path = path;
    s->folder = path_dirname(path);
    if (wanted && *wanted)
        str_append(&name, wanted);
    else
        str_printf(&name, "%s.data", file_name);
    s->data_name = str_take(&name);
    if (!s->folder || !s->data_name)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while saving '%s'", path);
    s->real_folder = realpath(s->folder, NULL);
    const bool stays = !o->embed || pgy_model_size_bytes(m) >= ONE_FILE_LIMIT;
    s->place = (placement){
        .m = m,
        .folder = stays ? s->real_folder : NULL,
        .move_out = o->external_data,
        .one_file_per_tensor = o->one_file_per_tensor,
        .threshold = o->size_threshold,
        .file_name = file_name,
        .data_name = s->data_name,
    };
    const pgy_status st = check_data_name(s->data_name, err);
    return st || !wanted || !*wanted ? st : check_data_path(s, m, file_name, err);
}

static bool comes_from_large_file(const pgy_model *m)
{
    if (m->size_bytes >= ONE_FILE_LIMIT) return true;
    for (size_t i = 0; i < m->kept_count; i++)
        if (comes_from_large_file(m->kept[i])) return true;
    return false;
}

/* Measures the model, and moves its weights out if it has become too large for other programs. */
static pgy_status decide(saving *s, pgy_error *err)
{
    const pgy_model *m = s->place.m;
    pgy_status st = saving_measure(s, err);
    if (st || s->place.move_out || encoder_size_bytes(s->encoder) < ONE_FILE_LIMIT) return st;
    if (!pgy_model_has_external_data(m) && comes_from_large_file(m)) return PGY_OK;
    LOG(WARNING,
        "The model has %.1f MiB, more than the %.1f MiB that protobuf allows in one file: its "
        "weights are saved to '%s' beside the model.\nUse save.external_data_path to choose the "
        "name of that file.",
        (double)encoder_size_bytes(s->encoder) / (1 << 20), (double)ONE_FILE_LIMIT / (1 << 20),
        s->data_name);
    s->place.move_out = true;
    return saving_measure(s, err);
}

/* True if the model reads from the file `target`. */
static bool is_mapped(const pgy_model *m, const struct stat *target)
{
    struct stat info;
    for (size_t i = 0; i <= m->file_count; i++) {
        const file_map *map = i < m->file_count ? &m->files[i]->map : &m->map;
        if (map->fd < 0 || fstat(map->fd, &info)) continue;
        if (info.st_dev == target->st_dev && info.st_ino == target->st_ino) return true;
    }
    for (size_t i = 0; i < m->kept_count; i++)
        if (is_mapped(m->kept[i], target)) return true;
    return false;
}

/* If the folder allows no temporary file, the writer truncates the target, which would destroy
 * bytes that the model still reads. */
static pgy_status check_replaceable(const pgy_model *m, const char *path, pgy_error *err)
{
    struct stat info;
    pgy_status st = PGY_OK;
    if (stat(path, &info) || !is_mapped(m, &info)) return PGY_OK;
    char *real = realpath(path, NULL);
    char *folder = real ? path_dirname(real) : NULL;
    if (!folder || access(folder, W_OK))
        st = pgy_error_set(
            err, PGY_E_IO,
            "cannot replace '%s', from which the model is still read: its folder is not writable",
            path);
    mem_free(folder);
    mem_free(real);
    return st;
}

/* Readers look for weights beside the path they are given. So the weights lie beside a link, not
 * beside its target. */
static void warn_of_link(const saving *s)
{
    char *real = s->place.refers_out && s->real_folder ? realpath(s->path, NULL) : NULL;
    char *folder = real ? path_dirname(real) : NULL;
    if (folder && strcmp(folder, s->real_folder) != 0)
        LOG(WARNING,
            "'%s' is a link to '%s': the weights are saved beside the link, so load the model "
            "through the link only",
            s->path, real);
    mem_free(folder);
    mem_free(real);
}

/* Weights that were ignored on loading stay in their files, which a model in another folder does
 * not find. */
static void warn_of_ignored(const saving *s)
{
    const pgy_onnx_tensor *t = s->place.ignored;
    const char *folder = t ? external_owner(s->place.m, t)->external_dir : "";
    char *real = *folder ? realpath(s->folder, NULL) : NULL;
    if (real && !placement_same_folder(real, folder))
        LOG(WARNING,
            "External data was not loaded and stays in '%s', where '%s' does not find it (for "
            "example tensor '%s'): copy the data files to the model's new folder",
            folder, s->path, t->name);
    mem_free(real);
}

/* Puts the data in place, then the model. Used only where no older model could refer to the data,
 * so that no reader can see a mix. */
static pgy_status write_pair(saving *s, pgy_error *err)
{
    pgy_status st =
        s->place.moved_count ? data_files_write(&s->data, &s->place, s->folder, err) : PGY_OK;
    if (!st) st = saving_write_model(&s->file, s, err);
    if (!st) st = data_files_commit(&s->data, err);
    return st ? st : file_writer_commit(s->file, err);
}

static pgy_status write_files(saving *s, pgy_error *err)
{
    pgy_status st = check_replaceable(s->place.m, s->path, err);
    if (st) return st;
    if (s->place.moved_count) external_open_all(s->place.m); /* their files may be replaced */
    st = pair_can_be_replaced(s) ? pair_replace(s, err) : write_pair(s, err);
    if (!st) warn_of_link(s);
    if (!st) warn_of_ignored(s);
    return st;
}

pgy_status pgy_model_save(pgy_model *m, const char *path, const pgy_model_save_options *options,
                          pgy_error *err)
{
    pgy_model_save_options o = pgy_model_save_options_default();
    saving s = {0};
    if (!m || !path || !*path)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "'m' must not be NULL, and 'path' must be the name of the file to save");
    if (!m->proto) return no_tree(err);
    pgy_status st = SIZED_TAKE(pgy_model_save_options, &o, options, err);
    if (!st) st = saving_init(&s, m, path, &o, err);
    if (!st) st = decide(&s, err);
    if (!st) st = write_files(&s, err);
    saving_deinit(&s);
    return st;
}
