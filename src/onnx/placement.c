/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the place of each tensor and makes the TensorProto that is written instead. Only
 * initializers move out; tensors in attributes stay in the file, as runtimes expect. Offsets are
 * multiples of a page for large tensors, so that they can be mapped, and of a cache line for small
 * ones. */
#include "onnx/placement.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/elements.h"
#include "onnx/external.h"
#include "onnx/schema.h"

enum {
    PAGE = 4096,
    LINE = 64,
    LARGE = 1 << 20,
    NAME_KEPT = 150,
    EXTERNAL = 1,
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    INT64_DATA = 7,
    RAW_DATA = 9,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11,
    EXTERNAL_DATA = 13,
    DATA_LOCATION = 14
};

static pgy_status out_of_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while placing weights");
}

void placement_clear(placement *p)
{
    arena_deinit(&p->arena);
    strmap_deinit(&p->names);
    p->names = (strmap){0};
    p->moved_count = 0;
    p->end = 0;
    p->refers_out = false;
    p->ignored = NULL;
}

void placement_deinit(placement *p)
{
    placement_clear(p);
    mem_free(p->moved);
    p->moved = NULL;
    p->moved_capacity = 0;
}

/* ---- Replacements --------------------------------------------------------------------------- */

/* Copies a TensorProto without elements and without its original bytes, so that saving encodes it
 * again. */
static pgy_onnx_tensor *copy_without_data(placement *p, const pgy_onnx_tensor *t)
{
    static const uint64_t DATA_FIELDS = 1u << FLOAT_DATA | 1u << INT32_DATA | 1u << INT64_DATA |
                                        1u << RAW_DATA | 1u << DOUBLE_DATA | 1u << UINT64_DATA |
                                        1u << EXTERNAL_DATA | 1u << DATA_LOCATION;
    pgy_onnx_tensor *copy = arena_alloc(&p->arena, sizeof(*copy));
    if (!copy) return NULL;
    *copy = *t;
    copy->message.raw = (pgy_bytes){NULL, 0};
    copy->message.present &= ~DATA_FIELDS;
    copy->raw_data = copy->float_data = copy->double_data = (pgy_bytes){NULL, 0};
    copy->int32_count = copy->int64_count = copy->uint64_count = 0;
    copy->external_data_count = 0;
    copy->data_location = 0;
    return copy;
}

static pgy_status embed(const pgy_onnx_tensor **out, placement *p, const pgy_onnx_tensor *t,
                        pgy_error *err)
{
    pgy_bytes bytes = {NULL, 0};
    pgy_status st = tensor_needs_bytes(&bytes.size, t, err);
    if (!st && !p->sizes_only) {
        st = external_bytes(&bytes, p->m, t, bytes.size, err);
        if (st) return pgy_error_prefix(err, st, "tensor '%.200s': ", t->name ? t->name : "");
    }
    if (st) return st;
    pgy_onnx_tensor *copy = copy_without_data(p, t);
    if (!copy) return out_of_memory(err);
    copy->raw_data = bytes;
    copy->message.present |= field_bit(RAW_DATA);
    *out = copy;
    return PGY_OK;
}

static pgy_onnx_string_entry *entry(placement *p, const char *key, const char *value)
{
    pgy_onnx_string_entry *e = arena_alloc(&p->arena, sizeof(*e));
    if (!e || !value) return NULL;
    e->key = key;
    e->value = value;
    return e;
}

/* Makes a file name from a tensor's name. The model's name in front avoids clashes with other
 * files. */
static const char *unique_name(placement *p, const char *name)
{
    char clean[NAME_KEPT + 1];
    size_t n = 0;
    for (; name[n] && n < NAME_KEPT; n++) {
        const char c = name[n];
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        clean[n] = plain || c == '.' || c == '-' ? c : '_';
    }
    clean[n] = '\0';
    const char *text = arena_printf(&p->arena, "%.80s.%s", p->file_name, n ? clean : "tensor");
    for (unsigned i = 2; text && strmap_has(&p->names, text); i++)
        text = arena_printf(&p->arena, "%.80s.%s_%u", p->file_name, n ? clean : "tensor", i);
    return text && strmap_put(&p->names, text, p) ? text : NULL;
}

static pgy_status note_moved(moved_tensor **out, placement *p, const pgy_onnx_tensor *t,
                             size_t size, pgy_error *err)
{
    void *items = p->moved;
    const bool grown =
        mem_grow(&items, &p->moved_capacity, p->moved_count + 1, sizeof(p->moved[0]));
    p->moved = items;
    if (!grown) return out_of_memory(err);
    moved_tensor *at = &p->moved[p->moved_count];
    *at = (moved_tensor){t, p->data_name, 0, size};
    if (p->one_file_per_tensor) {
        at->location = unique_name(p, t->name ? t->name : "");
        if (!at->location) return out_of_memory(err);
    } else {
        const uint64_t step = size >= LARGE ? PAGE : LINE;
        at->offset = (p->end + step - 1) / step * step;
        p->end = at->offset + size;
    }
    if (p->suffix) at->location = arena_printf(&p->arena, "%s%s", at->location, p->suffix);
    if (!at->location) return out_of_memory(err);
    p->moved_count++;
    p->refers_out = true;
    *out = at;
    return PGY_OK;
}

static pgy_status move_out(const pgy_onnx_tensor **out, placement *p, const pgy_onnx_tensor *t,
                           size_t size, pgy_error *err)
{
    moved_tensor *at = NULL;
    pgy_status st = note_moved(&at, p, t, size, err);
    if (st) return st;
    pgy_onnx_tensor *copy = copy_without_data(p, t);
    pgy_onnx_string_entry **entries = arena_alloc_array(&p->arena, 3, sizeof(*entries));
    if (!copy || !entries) return out_of_memory(err);
    const char *offset = arena_printf(&p->arena, "%llu", (unsigned long long)at->offset);
    const char *length = arena_printf(&p->arena, "%zu", size);
    entries[0] = entry(p, "location", at->location);
    entries[1] = entry(p, "offset", offset);
    entries[2] = entry(p, "length", length);
    if (!entries[0] || !entries[1] || !entries[2]) return out_of_memory(err);
    copy->external_data = entries;
    copy->external_data_count = 3;
    copy->data_location = EXTERNAL;
    *out = copy;
    return PGY_OK;
}

/* ---- The choice ----------------------------------------------------------------------------- */

bool placement_same_folder(const char *real, const char *path)
{
    char *other = *path ? realpath(path, NULL) : NULL;
    const bool same = other && strcmp(real, other) == 0;
    mem_free(other);
    return same;
}

/* True if an external tensor may stay where it is: the new model finds it there, or its data was
 * ignored on loading. */
static bool stays(placement *p, const pgy_onnx_tensor *t)
{
    const pgy_model *owner = external_owner(p->m, t);
    if (owner->ignore_external) {
        p->ignored = t;
        return true;
    }
    if (p->move_out || !p->folder) return false;
    if (p->known != owner) {
        p->known = owner;
        p->known_stays = placement_same_folder(p->folder, owner->external_dir);
    }
    return p->known_stays;
}

/* Data that was ignored on loading is not copied, so weights that move out must not overwrite its
 * file. */
static pgy_status check_kept_file(const placement *p, const pgy_onnx_tensor *t, pgy_error *err)
{
    for (size_t i = 0; p->move_out && i < t->external_data_count; i++) {
        const pgy_onnx_string_entry *e = t->external_data[i];
        if (strcmp(e->key, "location") || strcmp(e->value, p->data_name)) continue;
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "external data file '%s' holds the weights of tensor '%.200s', which "
                             "were not loaded: saving would overwrite them; choose another name",
                             p->data_name, t->name);
    }
    return PGY_OK;
}

/* False for weights whose elements were stripped from the model. */
static bool has_elements(const pgy_onnx_tensor *t)
{
    return t->raw_data.size || t->float_data.size || t->double_data.size || t->int32_count ||
           t->int64_count || t->uint64_count || tensor_is_external(t);
}

/* True if the tensor has at least `threshold` bytes of elements that can be put in a file. */
static bool is_movable(const placement *p, const pgy_onnx_tensor *t, size_t *size)
{
    enum { STRING = 8 };
    if (t->data_type == STRING || t->segment || tensor_needs_bytes(size, t, NULL)) return false;
    return *size >= p->threshold && *size > 0 && has_elements(t);
}

pgy_status placement_replace(const pgy_onnx_tensor **out, const pgy_onnx_tensor *t,
                             bool initializer, void *user, pgy_error *err)
{
    placement *p = user;
    size_t size = 0;
    const bool external = tensor_is_external(t);
    if (external && stays(p, t)) {
        p->refers_out = true;
        return check_kept_file(p, t, err);
    }
    if (p->move_out && initializer && is_movable(p, t, &size))
        return move_out(out, p, t, size, err);
    return external ? embed(out, p, t, err) : PGY_OK;
}
