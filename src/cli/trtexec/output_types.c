/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the outputs of layers (--layerOutputTypes). A float output in 16 bits is rounded by a
 * Cast to the type and one back, which the engine moves or merges where it can, so all readers see
 * the rounded values. A layer that --fp16 would store in 16 bits keeps float32 as a layer type. */
#include <polygraphy/graph.h>
#include <polygraphy/gs.h>

#include <string.h>

#include "base/log.h"
#include "base/printable.h"
#include "cli/trtexec/formats.h"

static const char LOG_PATH[] = "cli/trtexec/output_types.c";

enum { MOST_OUTPUTS = 16 };

/* One item of the option. */
typedef struct wanted_types {
    const char *layer;
    pgy_dtype types[MOST_OUTPUTS];
    size_t count;
} wanted_types;

typedef struct editor {
    pgy_gs_graph *g;
    const pgy_graph *inferred; /* knows the types of all tensors */
    pgy_build_config *config;
    arena *memory;
    pgy_error *err;
    size_t changed;
} editor;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for types of outputs");
}

/* ---- Reading -------------------------------------------------------------------------------- */

static pgy_status read_types(wanted_types *w, const trtexec_pair *p, pgy_error *err)
{
    w->layer = p->name;
    for (const char *at = p->value;;) {
        const span word = {at, strcspn(at, "+")};
        if (w->count == MOST_OUTPUTS)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--layerOutputTypes: more than %d types for "
                                 "layer '%s'",
                                 MOST_OUTPUTS, printable_name(p->name));
        w->types[w->count] = formats_type(word);
        if (!w->types[w->count])
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--layerOutputTypes: '%s' is no list of types such as fp32, fp16, "
                                 "bf16, int32, int64, int8, joined by +",
                                 printable_name(p->value));
        w->count++;
        if (!at[word.size]) return PGY_OK;
        at += word.size + 1;
    }
}

/* ---- Changing one output -------------------------------------------------------------------- */

static bool is_float(pgy_dtype t)
{
    return t == PGY_F32 || t == PGY_F16 || t == PGY_BF16;
}

/* As for types of layers: an error, a warning, or nothing, as the constraints say. */
static pgy_status refuse(const editor *e, const pgy_gs_node *n, pgy_dtype came, pgy_dtype t)
{
    const char *why = "there is no scale for integers, and only floats can become other floats";
    if (e->config->constraints == PGY_CONSTRAINTS_OBEY)
        return pgy_error_set(e->err, PGY_E_UNSUPPORTED,
                             "--layerOutputTypes: an output of layer '%s' (%s) is %s and cannot "
                             "become %s: %s",
                             printable_name(n->name), n->op, pgy_dtype_name(came),
                             pgy_dtype_name(t), why);
    LOG(WARNING, "An output of layer '%s' (%s) stays %s and does not become %s: %s",
        printable_name(n->name), n->op, pgy_dtype_name(came), pgy_dtype_name(t), why);
    return PGY_OK;
}

static pgy_status add_cast(editor *e, const char *name, pgy_gs_tensor *from, pgy_gs_tensor *to,
                           const pgy_gs_node *behind, size_t distance)
{
    const pgy_gs_attr attr = pgy_gs_attr_dtype("to", to->dtype);
    const pgy_gs_node_spec spec = {.op = "Cast",
                                   .name = name,
                                   .inputs = &from,
                                   .input_count = 1,
                                   .outputs = &to,
                                   .output_count = 1,
                                   .attrs = &attr,
                                   .attr_count = 1};
    pgy_gs_node *cast = NULL;
    const pgy_status st = pgy_gs_add_node(&cast, e->g, &spec, e->err);
    return st ? st : pgy_gs_place_node(cast, e->g, pgy_gs_node_index(behind) + distance, e->err);
}

/* The tensor keeps its name, which may be that of an output of the model. */
static pgy_status round_output(editor *e, pgy_gs_node *n, size_t i, pgy_dtype came, pgy_dtype t)
{
    pgy_gs_tensor *kept = n->outputs[i], *raw = NULL, *half = NULL;
    const char *raw_name = arena_printf(e->memory, "%s_before_rounding", kept->name);
    const char *half_name = arena_printf(e->memory, "%s_%s", kept->name, pgy_dtype_name(t));
    const char *back_name = arena_printf(e->memory, "%s_rounded", kept->name);
    if (!raw_name || !half_name || !back_name) return no_memory(e->err);
    if (pgy_gs_find_tensor(e->g, raw_name) || pgy_gs_find_tensor(e->g, half_name))
        return pgy_error_set(
            e->err, PGY_E_UNSUPPORTED, "--layerOutputTypes: the model has a tensor '%s' already",
            printable_name(pgy_gs_find_tensor(e->g, raw_name) ? raw_name : half_name));
    pgy_status st = pgy_gs_variable(&raw, e->g, raw_name, came, kept->rank, kept->dims, e->err);
    if (!st) st = pgy_gs_variable(&half, e->g, half_name, t, kept->rank, kept->dims, e->err);
    if (!st && !kept->dtype) st = pgy_gs_set_type(kept, came, kept->rank, kept->dims, e->err);
    if (!st) st = pgy_gs_set_output(n, i, raw, e->err);
    if (!st) st = add_cast(e, half_name, raw, half, n, 1);
    if (!st) st = add_cast(e, back_name, half, kept, n, 2);
    e->changed += !st;
    return st;
}

static pgy_status keep_float32(editor *e, const char *layer)
{
    pgy_build_config *c = e->config;
    pgy_type_choice *all = arena_alloc_array(e->memory, c->layer_type_count + 1, sizeof *all);
    if (!all) return no_memory(e->err);
    for (size_t i = 0; i < c->layer_type_count; i++) all[i] = c->layer_types[i];
    all[c->layer_type_count] = (pgy_type_choice){arena_strdup(e->memory, layer), PGY_F32};
    if (!all[c->layer_type_count++].name) return no_memory(e->err);
    c->layer_types = all;
    return PGY_OK;
}

static pgy_status change_output(editor *e, pgy_gs_node *n, size_t i, pgy_dtype t)
{
    const pgy_value *v = pgy_graph_find_value(e->inferred, n->outputs[i]->name);
    const pgy_dtype came = v ? v->dtype : n->outputs[i]->dtype;
    if (came == t)
        return t == PGY_F32 && (e->config->fp16 || e->config->bf16) ? keep_float32(e, n->name)
                                                                    : PGY_OK;
    if (!is_float(came) || !is_float(t)) return refuse(e, n, came, t);
    return t == PGY_F32 ? refuse(e, n, came, t) : round_output(e, n, i, came, t);
}

/* ---- Changing layers ------------------------------------------------------------------------ */

static bool is_named(const pgy_gs_node *n, const char *layer)
{
    return *n->name &&
           (!strcmp(n->name, layer) || (strchr(layer, '*') && str_match_wildcard(layer, n->name)));
}

static pgy_status change_node(editor *e, pgy_gs_node *n, const wanted_types *w)
{
    pgy_status st = PGY_OK;
    if (w->count > 1 && w->count != n->output_count)
        return pgy_error_set(e->err, PGY_E_ARGUMENT,
                             "--layerOutputTypes: %zu types for layer '%s', which has %zu outputs; "
                             "give one for each, or one for all",
                             w->count, printable_name(n->name), n->output_count);
    for (size_t i = 0; !st && i < n->output_count; i++)
        if (!pgy_gs_is_omitted(n->outputs[i]))
            st = change_output(e, n, i, w->types[w->count > 1 ? i : 0]);
    return st;
}

/* Casts are placed behind their layer, so the list of nodes grows; the last item that names a layer
 * counts. */
static pgy_status change_all(editor *e, const wanted_types *wanted, size_t count)
{
    bool *found = arena_alloc_array(e->memory, count + 1, sizeof *found);
    pgy_status st = found ? PGY_OK : no_memory(e->err);
    const size_t nodes = e->g->node_count;
    pgy_gs_node **list = arena_alloc_array(e->memory, nodes + 1, sizeof(pgy_gs_node *));
    if (!st && !list) st = no_memory(e->err);
    if (!st && nodes) memcpy(list, e->g->nodes, nodes * sizeof(pgy_gs_node *));
    for (size_t i = 0; !st && i < nodes; i++) {
        const wanted_types *last = NULL;
        for (size_t k = 0; k < count; k++) {
            if (!is_named(list[i], wanted[k].layer)) continue;
            found[k] = true;
            last = &wanted[k];
        }
        if (last) st = change_node(e, list[i], last);
    }
    for (size_t k = 0; !st && k < count; k++)
        if (!found[k])
            LOG(WARNING, "--layerOutputTypes: the model has no layer '%s'",
                printable_name(wanted[k].layer));
    return st;
}

static pgy_status edit(pgy_model **out, editor *e, pgy_model *model, const wanted_types *wanted,
                       size_t count)
{
    pgy_graph *inferred = NULL;
    pgy_status st = pgy_graph_import(&inferred, model, e->err);
    if (!st) st = pgy_graph_infer_shapes(inferred, NULL, e->err);
    e->inferred = inferred;
    if (!st) st = pgy_gs_import(&e->g, model, e->err);
    if (!st) st = change_all(e, wanted, count);
    if (!st && e->changed) st = pgy_gs_export(out, e->g, NULL, e->err);
    if (!st && e->changed) LOG(INFO, "Outputs that --layerOutputTypes rounds: %zu", e->changed);
    pgy_gs_destroy(e->g);
    pgy_graph_destroy(inferred);
    return st;
}

pgy_status output_types_apply(pgy_model **out, pgy_build_config *c, trtexec_session *s,
                              pgy_model *model, pgy_error *err)
{
    editor e = {.config = c, .memory = &s->line->memory, .err = err};
    trtexec_pair *pairs = NULL;
    size_t count = 0;
    *out = NULL;
    if (!s->a->output_types) return PGY_OK;
    pgy_status st =
        trtexec_pairs(&pairs, &count, s->a->output_types, "--layerOutputTypes", e.memory, err);
    wanted_types *wanted = st ? NULL : arena_alloc_array(e.memory, count, sizeof *wanted);
    if (!st && !wanted) st = no_memory(err);
    for (size_t i = 0; !st && i < count; i++) st = read_types(&wanted[i], &pairs[i], err);
    return st ? st : edit(out, &e, model, wanted, count);
}
