/* SPDX-License-Identifier: Apache-2.0 */
/* A note is "packed OFFSET BYTES FORM NUMBER... COUNT" and for each source " INPUT TYPE LENGTH
 * NAME". The weight itself is the first source. Notes may come from a damaged file. */
#include "engine/plan/packed_note.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/elements.h"

typedef struct address_text {
    char text[24];
} address_text;

static address_text text_of(const void *address)
{
    address_text t;
    snprintf(t.text, sizeof t.text, "%p", address);
    return t;
}

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the weights of a plan");
}

/* ---- Writing -------------------------------------------------------------------------------- */

void packed_notes_deinit(packed_notes *n)
{
    strmap_deinit(&n->pieces);
    strmap_deinit(&n->names);
}

static const packed_recipe *recipe_of(const packed_notes *n, const plan_piece *piece)
{
    const packed_piece *p = packed_table_at(n->table, piece->data);
    return p ? packed_piece_recipe(p) : NULL;
}

/* Is the piece the weight itself, in its own order? */
static bool is_plain(const packed_recipe *r)
{
    return r->source_count == 1 && !strcmp(r->form, "elements");
}

/* All sources must be weights of the graph, which a reader finds by name. */
static bool is_named(const packed_notes *n, const packed_recipe *r)
{
    for (size_t i = 0; i < r->source_count; i++)
        if (!strmap_has(&n->names, text_of(r->sources[i].source).text)) return false;
    return is_plain(r) || packed_can_restore(r, r->sources[0].input);
}

/* The weight that a piece was made from gets a note that refers to it. False: out of memory. */
static bool find_piece(packed_notes *n, const plan_piece *piece)
{
    const packed_recipe *r = recipe_of(n, piece);
    if (!r || !r->source_count || !is_named(n, r)) return true;
    const address_text weight = text_of(r->sources[0].source);
    return (!is_plain(r) && strmap_has(&n->pieces, weight.text)) ||
           strmap_put(&n->pieces, weight.text, (void *)piece);
}

pgy_status packed_notes_find(packed_notes *out, const area_pools *pools, packed_table *table,
                             const pgy_onnx_graph *g, pgy_error *err)
{
    *out = (packed_notes){.table = table};
    if (!table) return PGY_OK;
    for (size_t i = 0; i < g->initializer_count; i++)
        if (!strmap_put(&out->names, text_of(g->initializers[i]).text,
                        (void *)g->initializers[i]->name))
            return no_memory(err);
    for (size_t area = 0; area < PLAN_AREA_END; area++)
        for (size_t i = 0; i < pools->pools[area].count; i++)
            if (!find_piece(out, &pools->pools[area].pieces[i])) return no_memory(err);
    return PGY_OK;
}

bool packed_notes_write(str *text, const packed_notes *n, const pgy_onnx_tensor *weight)
{
    const plan_piece *piece = strmap_get(&n->pieces, text_of(weight).text);
    if (!piece) return false;
    const packed_recipe *r = recipe_of(n, piece);
    const unsigned long long offset = piece->offset;
    size_t size_bytes;
    if (is_plain(r)) { /* whoever opens the plan uses it in place */
        if (pgy_dtype_from_onnx(weight->data_type) != r->sources[0].dtype ||
            tensor_needs_bytes(&size_bytes, weight, NULL) || size_bytes != piece->size_bytes)
            return false;
        str_printf(text, "constants %llu %llu", offset, (unsigned long long)piece->size_bytes);
        return !text->failed;
    }
    str_printf(text, "packed %llu %llu %s", offset, (unsigned long long)piece->size_bytes, r->form);
    for (size_t i = 0; i < PACKING_NUMBERS; i++)
        str_printf(text, " %llu", (unsigned long long)r->numbers[i]);
    str_printf(text, " %u", r->source_count);
    for (size_t i = 0; i < r->source_count; i++) {
        const char *name = strmap_get(&n->names, text_of(r->sources[i].source).text);
        str_printf(text, " %u %d %zu %s", r->sources[i].input,
                   (int)pgy_dtype_describe(r->sources[i].dtype)->onnx, strlen(name), name);
    }
    return !text->failed;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* A weight whose elements are computed; lives in the model. */
typedef struct packed_weight {
    packed_recipe recipe;
    const char *names[PACKING_SOURCES];
    const unsigned char *packed;
    uint64_t packed_bytes;
    const pgy_onnx_tensor *like;
} packed_weight;

static bool read_number(uint64_t *out, const char **at)
{
    char *end = NULL;
    errno = 0;
    if (**at != ' ' || (*at)[1] < '0' || (*at)[1] > '9') return false;
    *out = strtoull(*at + 1, &end, 10);
    *at = end;
    return !errno;
}

static bool read_source(packed_weight *w, size_t i, const char **at, pgy_model *model)
{
    uint64_t input, type, length;
    if (!read_number(&input, at) || !read_number(&type, at) || !read_number(&length, at))
        return false;
    if (input >= KERNEL_MAX_INPUTS || type > INT32_MAX || **at != ' ' || strlen(*at + 1) < length)
        return false;
    char *name = pgy_model_alloc(model, length + 1, 1);
    const pgy_dtype dtype = pgy_dtype_from_onnx((int32_t)type);
    if (!name || !dtype || dtype == PGY_STRING) return false;
    memcpy(name, *at + 1, length);
    *at += 1 + length;
    w->recipe.sources[i] = (packed_source){.input = (uint32_t)input, .dtype = dtype};
    w->names[i] = name;
    return true;
}

static bool read_form(packed_weight *w, const char **at)
{
    if (**at != ' ') return false;
    const size_t length = strcspn(++*at, " ");
    if (!length || length >= sizeof w->recipe.form) return false;
    memcpy(w->recipe.form, *at, length);
    *at += length;
    return true;
}

static bool read_note(packed_weight *w, const char *at, const area_bytes *constants,
                      pgy_model *model)
{
    uint64_t offset, count;
    if (!read_number(&offset, &at) || !read_number(&w->packed_bytes, &at) || !read_form(w, &at))
        return false;
    if (offset % 64 || !area_bytes_hold(constants, offset, w->packed_bytes)) return false;
    w->packed = area_bytes_at(constants, offset);
    for (size_t i = 0; i < PACKING_NUMBERS; i++)
        if (!read_number(&w->recipe.numbers[i], &at)) return false;
    if (!read_number(&count, &at) || !count || count > PACKING_SOURCES) return false;
    w->recipe.source_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (!read_source(w, i, &at, model)) return false;
    return !*at && packed_can_restore(&w->recipe, w->recipe.sources[0].input);
}

/* Restores the elements, in the type in which they were packed and then in their own. */
static pgy_status make_elements(pgy_tensor **out, void *user, pgy_error *err)
{
    const packed_weight *w = user;
    const packed_recipe *r = &w->recipe;
    const pgy_dtype own = pgy_dtype_from_onnx(w->like->data_type);
    pgy_tensor *made = NULL;
    pgy_status st =
        pgy_tensor_create(&made, r->sources[0].dtype, w->like->dim_count, w->like->dims, err);
    if (!st && !packed_restore(pgy_tensor_data(made), pgy_tensor_size_bytes(made), r,
                               r->sources[0].input, w->packed, w->packed_bytes))
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "the plan is damaged: weight '%s' does not fit its packed form",
                           w->like->name);
    if (!st && own != r->sources[0].dtype) {
        pgy_tensor *wide = made;
        made = NULL;
        st = pgy_tensor_cast(&made, pgy_tensor_view(wide), own, err);
        pgy_tensor_release(wide);
    }
    if (st)
        pgy_tensor_release(made);
    else
        *out = made;
    return st;
}

static pgy_status offer(packed_weight *w, const strmap *records, packed_table *table,
                        pgy_error *err)
{
    for (size_t i = 0; i < w->recipe.source_count; i++) {
        w->recipe.sources[i].source = strmap_get(records, w->names[i]);
        if (!w->recipe.sources[i].source)
            return pgy_error_set(
                err, PGY_E_FORMAT,
                "the plan is damaged: it has no weight '%s', which a packed weight "
                "was made from",
                w->names[i]);
    }
    return table ? packed_table_offer(table, &w->recipe, w->packed, w->packed_bytes, err) : PGY_OK;
}

static pgy_status read_weight(packed_weight **out, pgy_onnx_tensor **record, pgy_model *model,
                              const char *note, const area_bytes *constants, pgy_error *err)
{
    packed_weight *w = pgy_model_alloc(model, 1, sizeof *w);
    if (!w) return no_memory(err);
    if (!read_note(w, note + strlen("packed"), constants, model))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the plan is damaged: the description of packed weight '%s' is not "
                             "valid",
                             (*record)->name);
    w->like = *record;
    *out = w;
    return pgy_model_computed_tensor(record, model, w->like, make_elements, w, err);
}

pgy_status packed_notes_read(pgy_model *model, const char *(*note_of)(const pgy_onnx_tensor *t),
                             const area_bytes *constants, packed_table *table, pgy_error *err)
{
    pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    const size_t count = g ? g->initializer_count : 0;
    packed_weight **weights = pgy_model_alloc(model, count + 1, sizeof *weights);
    pgy_onnx_tensor **list = pgy_model_alloc(model, count + 1, sizeof *list);
    strmap records = {0};
    pgy_status st = weights && list ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < count; i++) {
        const char *note = note_of(g->initializers[i]);
        list[i] = g->initializers[i];
        if (note && str_starts_with(note, "packed "))
            st = read_weight(&weights[i], &list[i], model, note, constants, err);
        if (!st && !strmap_put(&records, list[i]->name, list[i])) st = no_memory(err);
    }
    if (!st && g) g->initializers = list;
    for (size_t i = 0; !st && i < count; i++)
        if (weights[i]) st = offer(weights[i], &records, table, err);
    strmap_deinit(&records);
    return st;
}
