/* SPDX-License-Identifier: Apache-2.0 */
/* Shard hints as JSON, in Polygraphy's form: each object has its class as the last key. Polygraphy
 * 0.49 had the settings of collectives at the top level; that layout is recognised by its missing
 * keys. The hints and their strings share one arena. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "data/array_json.h"
#include "data/feeds.h"
#include "gs/shard/shard.h"

static const char LOG_PATH[] = "gs/shard/hints.c";

enum { MAX_RANKS = 4096 }; /* limit of the number of ranks, because each rank may become a file */

static const char *const PARALLELISMS[] = {
    [PGY_PARALLEL_CONTEXT] = "CP", [PGY_PARALLEL_TENSOR] = "TP"};

void pgy_shard_hints_destroy(pgy_shard_hints *hints)
{
    if (!hints) return;
    shard_hints *box = hints->internal;
    arena_deinit(&box->memory);
    mem_free(box);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The first failure is kept, and later reads give zeros, so callers check only once. */
typedef struct reader {
    json_file *file;
    arena *memory;
    pgy_status st;
    pgy_error *err;
} reader;

static void bad(reader *r, const json_value *at, const char *key, const char *wanted)
{
    if (r->st) return;
    r->st = pgy_error_set(r->err, PGY_E_FORMAT, "%s: line %u: '%s' is %s", r->file->path,
                          at ? at->line : 1, key, wanted);
}

static void *allocate(reader *r, size_t count, size_t item_bytes)
{
    void *p = r->st ? NULL : arena_alloc_array(r->memory, count ? count : 1, item_bytes);
    if (!r->st && !p) r->st = pgy_error_set(r->err, PGY_E_MEMORY, "out of memory");
    return p;
}

static const json_value *member(reader *r, const json_value *object, const char *key, bool required)
{
    const json_value *v = r->st ? NULL : json_get(object, key);
    if (!v && required) bad(r, object, key, "missing");
    return v;
}

static bool is_null(const json_value *v)
{
    return !v || v->type == JSON_NULL;
}

static int64_t integer(reader *r, const json_value *object, const char *key, bool required,
                       int64_t fallback)
{
    const json_value *v = member(r, object, key, required);
    if (!v) return fallback;
    if (v->type != JSON_INT) bad(r, v, key, "not an integer");
    return v->integer;
}

/* Reads a tensor's rank; -1 if it is null or absent. */
static int64_t rank(reader *r, const json_value *object, const char *key, bool required)
{
    const json_value *v = member(r, object, key, required);
    if (is_null(v)) return -1;
    if (v->type != JSON_INT || v->integer < 0 || v->integer > PGY_MAX_RANK) {
        bad(r, v, key, "neither null nor a valid rank");
        return -1;
    }
    return v->integer;
}

static bool boolean(reader *r, const json_value *object, const char *key)
{
    const json_value *v = member(r, object, key, true);
    if (v && v->type != JSON_BOOL) bad(r, v, key, "neither true nor false");
    return v && v->boolean;
}

static const char *text(reader *r, const json_value *object, const char *key, bool required,
                        const char *fallback)
{
    const json_value *v = member(r, object, key, required);
    if (!v) return fallback;
    if (v->type != JSON_STRING) {
        bad(r, v, key, "not a string");
        return fallback;
    }
    size_t size;
    const char *s = json_string(v, r->memory, &size);
    if (!s) r->st = pgy_error_set(r->err, PGY_E_MEMORY, "out of memory");
    if (s && strlen(s) != size) bad(r, v, key, "a string with a zero byte");
    return s;
}

static const json_value *list(reader *r, const json_value *object, const char *key, bool required)
{
    const json_value *v = member(r, object, key, required);
    if (v && v->type != JSON_ARRAY) {
        bad(r, v, key, "not a list");
        return NULL;
    }
    return v;
}

static const int64_t *integers(size_t *count, reader *r, const json_value *v, const char *key)
{
    *count = 0;
    if (!v) return NULL;
    int64_t *items = allocate(r, v->count, sizeof *items);
    for (const json_value *i = v->first; i && items; i = i->next) {
        if (i->type != JSON_INT) bad(r, i, key, "not a list of integers");
        items[(*count)++] = i->integer;
    }
    return items;
}

static void expect(reader *r, const json_value *v, const char *wanted)
{
    if (!r->st) r->st = typed_json_expect(v, wanted, r->file->path, r->err);
}

static pgy_shard_order order(reader *r, const json_value *object, const char *key)
{
    pgy_shard_order o = {0};
    const json_value *v = member(r, object, key, false);
    if (is_null(v)) return o;
    if (v->type != JSON_ARRAY) {
        bad(r, v, key, "neither null nor a list");
        return o;
    }
    o.axes = integers(&o.count, r, v, key);
    o.given = true;
    return o;
}

static const pgy_fused_attention *fused(reader *r, const json_value *layer)
{
    const json_value *v = member(r, layer, "replace", false);
    pgy_fused_attention *f = is_null(v) ? NULL : allocate(r, 1, sizeof *f);
    if (!f) return NULL;
    expect(r, v, "FusedAttention");
    f->is_causal = boolean(r, v, "is_causal");
    f->q = order(r, v, "q_shuffle");
    f->k = order(r, v, "k_shuffle");
    f->v = order(r, v, "v_shuffle");
    f->nb_rank = integer(r, v, "nb_rank", true, 1);
    return f;
}

static void layers(pgy_shard_hints *h, reader *r, const json_value *root)
{
    const json_value *v = list(r, root, "attention_layers", true);
    pgy_attention_hint *items = v ? allocate(r, v->count, sizeof *items) : NULL;
    for (const json_value *i = v ? v->first : NULL; i && items && !r->st; i = i->next) {
        expect(r, i, "AttentionLayerHint");
        items[h->layer_count++] = (pgy_attention_hint){.q = text(r, i, "q", true, ""),
                                                       .gather_kv = boolean(r, i, "gather_kv"),
                                                       .gather_q = boolean(r, i, "gather_q"),
                                                       .replace = fused(r, i)};
    }
    h->layers = items;
}

static const pgy_shard_tensor *tensors(size_t *count, reader *r, const json_value *root,
                                       const char *key)
{
    const json_value *v = list(r, root, key, true);
    pgy_shard_tensor *items = v ? allocate(r, v->count, sizeof *items) : NULL;
    for (const json_value *i = v ? v->first : NULL; i && items && !r->st; i = i->next) {
        expect(r, i, "ShardTensor");
        items[(*count)++] = (pgy_shard_tensor){.name = text(r, i, "name", true, ""),
                                               .axis = integer(r, i, "seq_len_idx", true, 0),
                                               .rank = rank(r, i, "rank", false)};
    }
    return items;
}

static void check_reduce_op(reader *r, const json_value *at, const char *op)
{
    static const char *const KNOWN[] = {"sum", "prod", "min", "max", "avg"};
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (op && !strcmp(op, KNOWN[i])) return;
    bad(r, at, "reduce_op", "not one of sum, prod, min, max and avg");
}

static void collectives(pgy_shard_hints *h, reader *r, const json_value *root)
{
    const json_value *v = member(r, root, "dist_collectives", false);
    const bool old = !r->st && !v;
    if (old) {
        LOG(WARNING,
            "%s has the layout of Polygraphy 0.49 and is converted; pgy_shard_suggest creates "
            "hints "
            "in the new layout",
            r->file->path);
        v = root;
    } else {
        expect(r, v, "DistCollective");
    }
    h->group_size = integer(r, v, "group_size", old, 0);
    h->root = integer(r, v, "root", old, -1);
    h->nb_rank = integer(r, v, "nb_rank", false, 1);
    h->reduce_op = text(r, v, old ? "reduce_scatter_reduce_op" : "reduce_op", old, "max");
    h->groups = integers(&h->group_count, r, list(r, v, "groups", old), "groups");
    check_reduce_op(r, v, h->reduce_op);
    if (h->nb_rank < 1 || h->nb_rank > MAX_RANKS) bad(r, v, "nb_rank", "not between 1 and 4096");
}

static void parallelism(pgy_shard_hints *h, reader *r, const json_value *root)
{
    const json_value *collective = json_get(root, "dist_collectives");
    const char *name = text(r, root, "parallelism", collective != NULL, "CP");
    for (size_t i = 0; i < sizeof PARALLELISMS / sizeof *PARALLELISMS; i++) {
        if (!name || strcmp(name, PARALLELISMS[i])) continue;
        h->parallelism = (pgy_parallelism)i;
        return;
    }
    bad(r, json_get(root, "parallelism"), "parallelism", "neither CP nor TP");
}

static pgy_status read_hints(pgy_shard_hints **out, json_file *file, pgy_error *err)
{
    shard_hints *box = mem_calloc(1, sizeof *box);
    if (!box) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_shard_hints *h = &box->hints;
    h->internal = box;
    reader r = {.file = file, .memory = &box->memory, .err = err};
    const json_value *root = file->root;
    expect(&r, root, "ShardHints");
    parallelism(h, &r, root);
    layers(h, &r, root);
    collectives(h, &r, root);
    h->inputs = tensors(&h->input_count, &r, root, "inputs");
    h->outputs = tensors(&h->output_count, &r, root, "outputs");
    h->k_axis = integer(&r, root, "k_seq_len_idx", true, 0);
    h->v_axis = integer(&r, root, "v_seq_len_idx", true, 0);
    h->kv_rank = rank(&r, root, "kv_rank", true);
    if (r.st)
        pgy_shard_hints_destroy(h);
    else
        *out = h;
    return r.st;
}

pgy_status pgy_shard_hints_parse(pgy_shard_hints **out, const char *name, const void *data,
                                 size_t size_bytes, pgy_error *err)
{
    json_file file = {0};
    pgy_status st = json_file_borrow(&file, name, data, size_bytes, err);
    if (!st) st = read_hints(out, &file, err);
    json_file_close(&file);
    return st;
}

pgy_status pgy_shard_hints_load(pgy_shard_hints **out, const char *path, pgy_error *err)
{
    json_file file = {0};
    pgy_status st = json_file_open(&file, path, err);
    if (!st) st = read_hints(out, &file, err);
    json_file_close(&file);
    return st;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_class(json_writer *w, const char *name)
{
    json_put_text(w, "polygraphy_class", name);
    json_end_object(w);
}

static void write_rank(json_writer *w, const char *key, int64_t v)
{
    json_key(w, key);
    if (v < 0)
        json_null(w);
    else
        json_int(w, v);
}

static void write_order(json_writer *w, const char *key, pgy_shard_order o)
{
    if (o.given)
        json_put_ints(w, key, o.axes, o.count);
    else
        json_put_null(w, key);
}

static void write_fused(json_writer *w, const pgy_fused_attention *f)
{
    json_key(w, "replace");
    if (!f) {
        json_null(w);
        return;
    }
    json_begin_object(w);
    json_put_bool(w, "is_causal", f->is_causal);
    write_order(w, "q_shuffle", f->q);
    write_order(w, "k_shuffle", f->k);
    write_order(w, "v_shuffle", f->v);
    json_put_int(w, "nb_rank", f->nb_rank);
    write_class(w, "FusedAttention");
}

static void write_layer(json_writer *w, const pgy_attention_hint *l)
{
    json_begin_object(w);
    json_put_text(w, "q", l->q);
    json_put_bool(w, "gather_kv", l->gather_kv);
    json_put_bool(w, "gather_q", l->gather_q);
    write_fused(w, l->replace);
    write_class(w, "AttentionLayerHint");
}

static void write_collectives(json_writer *w, const pgy_shard_hints *h)
{
    json_key(w, "dist_collectives");
    json_begin_object(w);
    json_put_int(w, "group_size", h->group_size);
    json_put_int(w, "root", h->root);
    json_put_int(w, "nb_rank", h->nb_rank);
    json_put_text(w, "reduce_op", h->reduce_op);
    json_put_ints(w, "groups", h->groups, h->group_count);
    write_class(w, "DistCollective");
}

static void write_tensors(json_writer *w, const char *key, const pgy_shard_tensor *items,
                          size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(w);
        json_put_text(w, "name", items[i].name);
        json_put_int(w, "seq_len_idx", items[i].axis);
        write_rank(w, "rank", items[i].rank);
        write_class(w, "ShardTensor");
    }
    json_end_array(w);
}

static void write_hints(json_writer *w, const pgy_shard_hints *h)
{
    json_begin_object(w);
    json_put_text(w, "parallelism", PARALLELISMS[h->parallelism]);
    json_key(w, "attention_layers");
    json_begin_array(w);
    for (size_t i = 0; i < h->layer_count; i++) write_layer(w, &h->layers[i]);
    json_end_array(w);
    write_collectives(w, h);
    write_tensors(w, "inputs", h->inputs, h->input_count);
    write_tensors(w, "outputs", h->outputs, h->output_count);
    json_put_int(w, "k_seq_len_idx", h->k_axis);
    json_put_int(w, "v_seq_len_idx", h->v_axis);
    write_rank(w, "kv_rank", h->kv_rank);
    write_class(w, "ShardHints");
}

pgy_status pgy_shard_hints_save(const pgy_shard_hints *hints, const char *path, pgy_error *err)
{
    json_output out = {0};
    pgy_status st = json_output_open(&out, path, err);
    if (!st) {
        write_hints(out.json, hints);
        st = json_output_commit(&out, err);
    }
    json_output_close(&out);
    return st;
}
