/* SPDX-License-Identifier: Apache-2.0 */
/* Tactic replays in Polygraphy's JSON. There an implementation is a number: the hash of the
 * kernel's name; the tactic is the kernel's version. We add the name, for people, and at the end
 * the switches of passes; other programs drop both when they rewrite the file. Components per
 * element of each tensor give its layout, so the file holds the whole choice. */
#include "engine/tactics/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/json.h"
#include "engine/tactics/replay_file.h"

static const char REFERENCE[] = "reference";

/* Elements per block of a node's inputs or outputs, in their order. */
typedef struct blocks {
    int64_t *items;
    size_t count;
} blocks;

struct tactic {
    int64_t implementation, version;
    const char *name;
    blocks inputs, outputs;
};

struct tactics {
    arena memory;
    const char *passes; /* NULL: not recorded */
    strmap by_label;
};

/* Hash of a kernel's name as a positive number, which every reader of replays accepts. */
static int64_t number_of(const char *name)
{
    return (int64_t)(hash_xxh64(name, strlen(name), 0) & INT64_MAX);
}

static const char *name_of(const kernel *k)
{
    return k ? k->name : REFERENCE;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void write_dtype(json_writer *w, pgy_dtype dtype)
{
    static const struct {
        pgy_dtype dtype;
        const char *name;
    } NAMES[] = {{PGY_F32, "FLOAT"},
                 {PGY_F16, "HALF"},
                 {PGY_BF16, "BF16"},
                 {PGY_F8E4M3FN, "FP8"},
                 {PGY_F4E2M1, "FP4"}};
    str text = {0};
    str_printf(&text, "DataType.");
    const char *name = NULL;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (NAMES[i].dtype == dtype) name = NAMES[i].name;
    if (name) {
        str_printf(&text, "%s", name);
    } else {
        for (const char *c = pgy_dtype_name(dtype); *c; c++)
            str_printf(&text, "%c", *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    }
    json_text(w, str_text(&text));
    str_deinit(&text);
}

/* Writes a tensor's strides, in elements, or for a blocked layout in blocks of channels. */
static void write_strides(json_writer *w, const program_tensor *t)
{
    const int64_t block = (int64_t)kernel_lanes_of(t->layout, t->rank, t->shape);
    int64_t strides[PGY_MAX_RANK], stride = 1;
    for (int32_t d = t->rank - 1; d >= 0; d--) {
        strides[d] = stride;
        const int64_t size = d == 1 ? (t->shape[d] + block - 1) / block : t->shape[d];
        stride *= size > 0 ? size : 1;
    }
    json_put_ints(w, "strides", strides, (size_t)t->rank);
}

static void write_tensors(json_writer *w, const program *p, const uint32_t *tensors, size_t count)
{
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        if (tensors[i] == PROGRAM_NO_TENSOR) continue;
        const program_tensor *t = &p->tensors[tensors[i]];
        if (t->place == PROGRAM_CONSTANT) continue;
        json_begin_object(w);
        json_key(w, "dtype");
        write_dtype(w, t->dtype);
        write_strides(w, t);
        json_put_int(w, "vectorized_dim", t->layout == KERNEL_LINEAR ? -1 : 1);
        json_put_uint(w, "components_per_element", kernel_lanes_of(t->layout, t->rank, t->shape));
        json_put_text(w, "polygraphy_class", "TensorInfo");
        json_end_object(w);
    }
    json_end_array(w);
}

static void write_step(json_writer *w, const program *p, const program_step *s)
{
    const char *name = name_of(s->kernel);
    json_key(w, s->label);
    json_begin_object(w);
    json_put_int(w, "implementation", number_of(name));
    json_put_int(w, "tactic", s->kernel ? s->kernel->version : 0);
    json_key(w, "inputs");
    write_tensors(w, p, s->tensors, s->input_count);
    json_key(w, "outputs");
    write_tensors(w, p, s->tensors + s->input_count + s->captured_count, s->output_count);
    json_put_text(w, "kernel", name);
    json_put_text(w, "polygraphy_class", "Algorithm");
    json_end_object(w);
}

static bool is_move(const program_step *s)
{
    return s->act != PROGRAM_RUN ||
           (s->kernel && (!strcmp(s->op_type, "Reorder") || !strcmp(s->op_type, "Copy")));
}

/* Step i, or one that was left out after the others. */
static const program_step *step_at(const program *p, size_t i)
{
    return i < p->step_count ? &p->steps[i] : &p->left_out[i - p->step_count];
}

/* Writes the steps; of several steps with the same label only the first. */
static pgy_status write_steps(json_writer *w, const program *p, pgy_error *err)
{
    strmap seen = {0};
    bool room = true;
    for (size_t i = 0; room && i < p->step_count + p->left_out_count; i++) {
        const program_step *s = step_at(p, i);
        if (is_move(s) || strmap_has(&seen, s->label)) continue;
        room = strmap_put(&seen, s->label, &seen);
        write_step(w, p, s);
    }
    strmap_deinit(&seen);
    return room ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

pgy_status tactics_save(const char *path, const program *p, const char *passes, pgy_error *err)
{
    json_output out = {0};
    pgy_status st = json_output_open(&out, path, err);
    if (st) goto done;
    json_begin_object(out.json);
    json_key(out.json, "replay");
    json_begin_object(out.json);
    st = write_steps(out.json, p, err);
    json_end_object(out.json);
    if (!passes) passes = getenv("POLYGRAPHY_PASSES");
    json_put_text(out.json, "passes", passes ? passes : "");
    json_put_text(out.json, "polygraphy_class", "TacticReplayData");
    json_end_object(out.json);
    if (!st) st = json_output_commit(&out, err);
done:
    json_output_close(&out);
    return st;
}

/* ---- Reading -------------------------------------------------------------------------------- */

void tactics_destroy(tactics *t)
{
    if (!t) return;
    strmap_deinit(&t->by_label);
    arena_deinit(&t->memory);
    mem_free(t);
}

/* Reads a number of at most 64 bits; no kernel has a larger one. */
static bool read_number(int64_t *out, const char *digits)
{
    errno = 0;
    *out = strtoll(digits, NULL, 10);
    return !errno;
}

/* Copies block sizes. Entries that are not numbers, as in older files, match nothing. */
static bool copy_blocks(blocks *out, const pgy_tactic_operand *items, size_t count, arena *memory)
{
    out->items = arena_alloc_array(memory, count + 1, sizeof *out->items);
    for (size_t i = 0; out->items && i < count; i++) {
        const char *digits = items[i].components_per_element;
        if (!digits || !read_number(&out->items[i], digits)) out->items[i] = 0;
        out->count++;
    }
    return out->items != NULL;
}

static bool add_layer(tactics *t, const pgy_tactic_layer *l)
{
    tactic *entry = arena_alloc_array(&t->memory, 1, sizeof *entry);
    if (!entry) return false;
    if (!read_number(&entry->implementation, l->implementation) ||
        !read_number(&entry->version, l->tactic))
        entry->implementation = -1; /* matches no kernel: their numbers are positive */
    entry->name = l->kernel ? arena_strdup(&t->memory, l->kernel)
                            : arena_printf(&t->memory, "implementation %s", l->implementation);
    return entry->name && copy_blocks(&entry->inputs, l->inputs, l->input_count, &t->memory) &&
           copy_blocks(&entry->outputs, l->outputs, l->output_count, &t->memory) &&
           strmap_put(&t->by_label, l->name, entry);
}

static bool copy_replay(tactics *t, const pgy_tactic_replay *r)
{
    if (r->passes && !(t->passes = arena_strdup(&t->memory, r->passes))) return false;
    for (size_t i = 0; i < r->count; i++)
        if (!add_layer(t, &r->layers[i])) return false;
    return true;
}

pgy_status tactics_load(tactics **out, const char *path, pgy_error *err)
{
    pgy_tactic_replay *r = NULL;
    tactics *t = mem_calloc(1, sizeof *t);
    if (!t) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = replay_file_load(&r, path, false, err);
    if (st == PGY_E_FORMAT) st = pgy_error_prefix(err, st, "tactic replay ");
    if (!st && !copy_replay(t, r)) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_tactic_replay_destroy(r);
    if (st)
        tactics_destroy(t);
    else
        *out = t;
    return st;
}

/* ---- Tactics of a program ------------------------------------------------------------------- */

pgy_status tactics_create(tactics **out, pgy_error *err)
{
    *out = mem_calloc(1, sizeof **out);
    return *out ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* Takes the block sizes of the tensors that write_tensors lists. */
static bool take_blocks(blocks *out, tactics *t, const program *p, const uint32_t *tensors,
                        size_t count)
{
    out->items = arena_alloc_array(&t->memory, count, sizeof *out->items);
    if (!out->items) return false;
    for (size_t i = 0; i < count; i++) {
        if (tensors[i] == PROGRAM_NO_TENSOR) continue;
        const program_tensor *x = &p->tensors[tensors[i]];
        if (x->place != PROGRAM_CONSTANT)
            out->items[out->count++] = (int64_t)kernel_lanes_of(x->layout, x->rank, x->shape);
    }
    return true;
}

pgy_status tactics_add(tactics *t, const program *p, const program_step *s, const kernel *k,
                       pgy_error *err)
{
    if (is_move(s) || strmap_has(&t->by_label, s->label)) return PGY_OK;
    tactic *entry = arena_alloc_array(&t->memory, 1, sizeof *entry);
    if (!entry) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    entry->implementation = number_of(name_of(k));
    entry->version = k ? k->version : 0;
    entry->name = name_of(k);
    if (!take_blocks(&entry->inputs, t, p, s->tensors, s->input_count) ||
        !take_blocks(&entry->outputs, t, p, s->tensors + s->input_count + s->captured_count,
                     s->output_count) ||
        !strmap_put(&t->by_label, s->label, entry))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    return PGY_OK;
}

pgy_status tactics_of(tactics **out, const program *p, pgy_error *err)
{
    tactics *t = NULL;
    pgy_status st = tactics_create(&t, err);
    for (size_t i = 0; !st && i < p->step_count + p->left_out_count; i++)
        st = tactics_add(t, p, step_at(p, i), step_at(p, i)->kernel, err);
    if (st)
        tactics_destroy(t);
    else
        *out = t;
    return st;
}

/* ---- Queries -------------------------------------------------------------------------------- */

const char *tactics_passes(const tactics *t)
{
    return t->passes;
}

const tactic *tactics_find(const tactics *t, const char *label)
{
    return strmap_get(&t->by_label, label);
}

bool tactic_is(const tactic *t, const kernel *k)
{
    return t->implementation == number_of(name_of(k)) && t->version == (k ? k->version : 0);
}

const char *tactic_name(const tactic *t)
{
    return t->name;
}

static bool are_blocks(const blocks *b, const uint32_t *items, size_t count)
{
    if (b->count != count) return false;
    for (size_t i = 0; i < count; i++)
        if (b->items[i] != (int64_t)items[i]) return false;
    return true;
}

bool tactic_has_blocks(const tactic *t, const uint32_t *in, size_t in_count, const uint32_t *out,
                       size_t out_count)
{
    return are_blocks(&t->inputs, in, in_count) && are_blocks(&t->outputs, out, out_count);
}
