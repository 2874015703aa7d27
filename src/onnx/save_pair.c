/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing a model and its data files. The old model refers to the file names that the new data
 * will have, and two files cannot be replaced at once. So the new data first gets temporary names,
 * and a model that refers to these replaces the old one. Then the data also gets its final names,
 * and the model that refers to them follows. Whenever this is interrupted, a model with its own
 * data exists. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file_temp.h"
#include "base/system.h"
#include "onnx/saving.h"

enum { SUFFIX_SIZE = 18 };

typedef struct replacement {
    char suffix[SUFFIX_SIZE]; /* suffix of the temporary names */
    strvec passing, names;    /* paths of the data files with and without the suffix */
    file_writer *to_passing;  /* the model that refers to the temporary names */
    bool is_kept; /* true when the model that refers to the temporary names is in place */
} replacement;

static bool is_too_long(const char *path)
{
    return strlen(path_basename(path)) + SUFFIX_SIZE > NAME_MAX;
}

/* False if the model is missing, or if a target is not a regular file: links, pipes and devices are
 * written through. */
bool pair_can_be_replaced(const saving *s)
{
    struct stat info;
    if (!s->place.moved_count || stat(s->path, &info) || !S_ISREG(info.st_mode)) return false;
    if (access(s->folder, W_OK)) return false;
    for (size_t i = 0; i < s->place.moved_count; i++) {
        char *path = path_join(s->folder, s->place.moved[i].location);
        const bool plain = path && !is_too_long(path) &&
                           (lstat(path, &info) ? errno == ENOENT : S_ISREG(info.st_mode));
        mem_free(path);
        if (!plain) return false;
        if (!s->place.one_file_per_tensor) break;
    }
    return true;
}

static pgy_status list_data(strvec *out, const saving *s, pgy_error *err)
{
    for (size_t i = 0; i < s->place.moved_count; i++) {
        char *path = path_join(s->folder, s->place.moved[i].location);
        const bool listed = path && strvec_push(out, path);
        mem_free(path);
        if (!listed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while saving");
        if (!s->place.one_file_per_tensor) break;
    }
    return PGY_OK;
}

/* Writes the data and both models, so that no later step can fail for lack of space. */
static pgy_status write_all(replacement *r, saving *s, pgy_error *err)
{
    uint64_t bits = (uint64_t)clock_ns();
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) < 0) bits ^= (uint64_t)getpid() << 40;
    snprintf(r->suffix, sizeof r->suffix, ".%016llx", (unsigned long long)bits);
    s->place.suffix = r->suffix;
    pgy_status st = saving_measure(s, err);
    if (!st) st = list_data(&r->passing, s, err);
    for (size_t i = 0; !st && i < r->passing.count; i++) temp_register(r->passing.items[i]);
    if (!st) st = data_files_write(&s->data, &s->place, s->folder, err);
    if (!st) st = data_files_settle(&s->data, err);
    if (!st) st = saving_write_model(&r->to_passing, s, err);
    if (!st) st = file_writer_settle(r->to_passing, err);
    s->place.suffix = NULL;
    if (!st) st = saving_measure(s, err);
    if (!st) st = list_data(&r->names, s, err);
    if (!st) st = saving_write_model(&s->file, s, err);
    return st ? st : file_writer_settle(s->file, err);
}

static pgy_status commit_all(replacement *r, saving *s, pgy_error *err)
{
    pgy_status st = data_files_commit(&s->data, err);
    if (st) return st;
    for (size_t i = 0; i < r->passing.count; i++) temp_forget(r->passing.items[i]);
    r->is_kept = true;
    st = file_writer_commit(r->to_passing, err);
    r->is_kept = !st;
    for (size_t i = 0; !st && i < r->names.count; i++)
        st = file_alias(r->passing.items[i], r->names.items[i], err);
    if (!st) st = file_writer_commit(s->file, err);
    if (st && r->is_kept)
        return pgy_error_prefix(
            err, st, "the model is saved, but its data is still in '%s': ", r->passing.items[0]);
    r->is_kept = false;
    return st;
}

pgy_status pair_replace(saving *s, pgy_error *err)
{
    replacement r = {0};
    pgy_status st = write_all(&r, s, err);
    if (!st) st = commit_all(&r, s, err);
    file_writer_destroy(r.to_passing);
    for (size_t i = 0; i < r.passing.count; i++) {
        if (!r.is_kept) unlink(r.passing.items[i]);
        temp_forget(r.passing.items[i]);
    }
    strvec_deinit(&r.passing);
    strvec_deinit(&r.names);
    return st;
}
