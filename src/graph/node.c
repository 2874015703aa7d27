/* SPDX-License-Identifier: Apache-2.0 */
/* A node as operators see it: its definition in the opset of its level, and its attributes
 * converted once. Attributes that refer to those of a function call are filled in per call. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "graph/graph.h"
#include "graph/side_table.h"
#include "ops/signature.h"

static const char LOG_PATH[] = "graph/node.c";

/* ---- Attributes ----------------------------------------------------------------------------- */

static const op_attr_kind KINDS[] = {
    [PGY_ATTR_UNDEFINED] = OP_ATTR_NONE,  [PGY_ATTR_FLOAT] = OP_ATTR_FLOAT,
    [PGY_ATTR_INT] = OP_ATTR_INT,         [PGY_ATTR_STRING] = OP_ATTR_STRING,
    [PGY_ATTR_TENSOR] = OP_ATTR_TENSOR,   [PGY_ATTR_GRAPH] = OP_ATTR_GRAPH,
    [PGY_ATTR_FLOATS] = OP_ATTR_FLOATS,   [PGY_ATTR_INTS] = OP_ATTR_INTS,
    [PGY_ATTR_STRINGS] = OP_ATTR_STRINGS, [PGY_ATTR_TENSORS] = OP_ATTR_TENSORS,
    [PGY_ATTR_GRAPHS] = OP_ATTR_GRAPHS,   [PGY_ATTR_SPARSE_TENSOR] = OP_ATTR_SPARSE_TENSOR,
    [PGY_ATTR_TYPE_PROTO] = OP_ATTR_TYPE};

static pgy_status convert_tensor(op_attr *out, pgy_graph *g, const pgy_onnx_tensor *t,
                                 pgy_error *err)
{
    pgy_tensor *stored = NULL, *value = NULL;
    pgy_status st = pgy_onnx_tensor_load(&stored, g->model, t, err);
    if (!st) {
        out->tensor_dtype = pgy_tensor_dtype(stored);
        st = op_to_storage(&value, stored, err);
    }
    pgy_tensor_release(stored);
    if (st) return st;
    out->tensor = value;
    return state_keep_tensor(state_of(g), value, err);
}

static pgy_status convert_strings(op_attr *out, pgy_graph *g, const pgy_onnx_attribute *a,
                                  pgy_error *err)
{
    span *strings = arena_alloc_array(&state_of(g)->memory, a->string_count, sizeof *strings);
    if (!strings) return graph_no_memory(err);
    for (size_t i = 0; i < a->string_count; i++)
        strings[i] = (span){a->strings[i].data, a->strings[i].size};
    out->strings = strings;
    out->count = a->string_count;
    return PGY_OK;
}

pgy_status attr_convert(op_attr *out, pgy_graph *g, const pgy_onnx_attribute *a,
                        pgy_graph *subgraph, pgy_error *err)
{
    const pgy_onnx_attribute_type type = pgy_onnx_attribute_kind(a);
    *out = (op_attr){.name = a->name};
    if ((size_t)type < sizeof KINDS / sizeof *KINDS) out->kind = KINDS[type];
    switch (type) {
    case PGY_ATTR_FLOAT: out->f = a->f; break;
    case PGY_ATTR_INT: out->i = a->i; break;
    case PGY_ATTR_STRING: out->s = (span){a->s.data ? a->s.data : "", a->s.size}; break;
    case PGY_ATTR_FLOATS:
        out->floats = a->floats;
        out->count = a->float_count;
        break;
    case PGY_ATTR_INTS:
        out->ints = a->ints;
        out->count = a->int_count;
        break;
    case PGY_ATTR_STRINGS: return convert_strings(out, g, a, err);
    case PGY_ATTR_TENSOR:
        if (!a->t) return pgy_error_set(err, PGY_E_FORMAT, "attribute '%s' has no tensor", a->name);
        return convert_tensor(out, g, a->t, err);
    case PGY_ATTR_GRAPH: out->graph = subgraph; break;
    case PGY_ATTR_TYPE_PROTO:
        if (a->tp && a->tp->tensor_type)
            out->tensor_dtype = pgy_dtype_from_onnx(a->tp->tensor_type->elem_type);
        break;
    default: break;
    }
    return PGY_OK;
}

static bool refers(const pgy_onnx_attribute *a)
{
    return a->ref_attr_name && *a->ref_attr_name;
}

static pgy_graph *subgraph_of(const pgy_node *n, const char *name)
{
    for (size_t i = 0; i < n->subgraph_count; i++)
        if (strcmp(n->subgraph_names[i], name) == 0) return n->subgraphs[i];
    return NULL;
}

/* Adds the number of channels per block, which is a property of the model that no attribute states.
 */
static void add_block(const pgy_node *n)
{
    node_box *box = node_box_of(n);
    if (strcmp(n->domain, "com.microsoft.nchwc") != 0 || node_attribute(n, "block_size")) return;
    box->attrs[box->attr_count++] = (op_attr){
        .name = "block_size", .kind = OP_ATTR_INT, .i = graph_channel_block(state_of(n->graph))};
}

static pgy_status convert_attributes(pgy_node *n, pgy_error *err)
{
    node_box *box = node_box_of(n);
    /* One spare entry for add_block. */
    box->attrs =
        arena_alloc_array(&state_of(n->graph)->memory, n->attribute_count + 1, sizeof *box->attrs);
    if (!box->attrs) return graph_no_memory(err);
    for (size_t i = 0; i < n->attribute_count; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        if (refers(a)) {
            box->attrs[i] = (op_attr){.name = a->name};
            box->has_refs = true;
            continue;
        }
        const pgy_status st =
            attr_convert(&box->attrs[i], n->graph, a, subgraph_of(n, a->name), err);
        if (st) return pgy_error_prefix(err, st, "%s '%s': ", n->op_type, node_label(n));
    }
    box->attr_count = n->attribute_count;
    add_block(n);
    return PGY_OK;
}

/* Collects the values of enclosing levels that the subgraphs use, each once: the node needs them
 * beyond its inputs. */
static pgy_status capture(node_box *box, id_marks *seen, pgy_value *v, pgy_error *err)
{
    pgy_graph *g = box->node.graph;
    for (; g; g = g->parent)
        if (v->graph == g) break;
    if (!g) return PGY_OK; /* v belongs to the subgraph itself */
    if (id_marks_get(seen, value_id(v))) return PGY_OK;
    if (!id_marks_set(seen, value_id(v))) return graph_no_memory(err);
    const size_t n = box->captured_count;
    if ((n & (n - 1)) == 0) {
        pgy_value **grown =
            arena_alloc_array(&state_of(box->node.graph)->memory, n ? 2 * n : 1, sizeof *grown);
        if (!grown) return graph_no_memory(err);
        if (n) memcpy(grown, box->captured, n * sizeof *grown);
        box->captured = grown;
    }
    box->captured[box->captured_count++] = v;
    return PGY_OK;
}

static pgy_status collect_captured(node_box *box, id_marks *seen, pgy_graph *inside, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < inside->node_count; i++) {
        const pgy_node *n = inside->nodes[i];
        for (size_t k = 0; !st && k < n->input_count; k++)
            if (n->inputs[k]) st = capture(box, seen, n->inputs[k], err);
        for (size_t k = 0; !st && k < n->subgraph_count; k++)
            st = collect_captured(box, seen, n->subgraphs[k], err);
    }
    for (size_t i = 0; !st && i < inside->output_count; i++)
        st = capture(box, seen, inside->outputs[i], err);
    return st;
}

pgy_status node_captures(pgy_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    node_box *box = node_box_of(n);
    id_marks seen = {0};
    box->captured_count = 0;
    box->captured = NULL;
    for (size_t i = 0; !st && i < n->subgraph_count; i++)
        st = collect_captured(box, &seen, n->subgraphs[i], err);
    id_marks_deinit(&seen);
    return st;
}

/* A cached look-up of an operator of the default domain; graphs use few operators many times. */
typedef struct known_operator {
    const op_def *def;
    const op_signature *signature;
    int64_t opset, used; /* opset that the model imports; opset whose definition is used */
    bool warned;
} known_operator;

void graph_set_newer(pgy_graph *g, newer_versions newer)
{
    graph_state *s = state_of(g);
    if (s->newer == newer) return;
    s->newer = newer;
    strmap_deinit(&s->operators);
    for (size_t i = 0; i < s->level_count; i++)
        for (size_t k = 0; k < s->levels[i]->node_count; k++)
            node_box_of(s->levels[i]->nodes[k])->prepared = false;
}

pgy_status operators_copy(graph_state *to, const graph_state *from, pgy_error *err)
{
    for (size_t i = 0; i < from->operators.count; i++) {
        const strmap_entry *e = &from->operators.entries[i];
        known_operator *known = arena_alloc(&to->memory, sizeof *known);
        if (!known || !strmap_put(&to->operators, e->key, known)) return graph_no_memory(err);
        *known = *(const known_operator *)e->value;
    }
    return PGY_OK;
}

bool graph_warns_newer(const pgy_node *n)
{
    graph_state *s = state_of(n->graph);
    known_operator *known = strmap_get(&s->operators, n->op_type);
    if (s->newer != NEWER_WARNED || !known || known->warned) return false;
    return known->warned = true;
}

/* The oldest opset that the registry covers. In older opsets, an operator that the registry lacks
 * may have had another meaning. */
enum { OLDEST_OPSET = 7 };

/* Sets the definition of an operator that the node's opset lacks to its first version in a newer
 * opset. */
static void find_newer(node_box *box, const pgy_node *n)
{
    if (state_of(n->graph)->newer == NEWER_REFUSED || box->opset < OLDEST_OPSET) return;
    const int64_t newest = op_newest_opset();
    for (int64_t v = box->opset + 1; !box->def && v <= newest; v++) {
        box->def = op_find(n->domain, n->op_type, v);
        if (box->def) box->opset = v;
    }
}

static void warn_of_newer(const pgy_node *n, int64_t imported)
{
    const int64_t used = node_box_of(n)->opset;
    if (used != imported && graph_warns_newer(n))
        LOG(WARNING,
            "%s '%s': opset %lld has no %s; it runs as in opset %lld, the first with this operator",
            n->op_type, node_label(n), (long long)imported, n->op_type, (long long)used);
}

static void find_operator(node_box *box, const pgy_node *n)
{
    graph_state *s = state_of(n->graph);
    const bool is_default = domain_is_default(n->domain);
    known_operator *known = is_default ? strmap_get(&s->operators, n->op_type) : NULL;
    if (known && known->opset == box->opset) {
        box->def = known->def;
        box->signature = known->signature;
        box->opset = known->used;
        return;
    }
    const int64_t imported = box->opset;
    box->signature = NULL;
    box->def = op_find(n->domain, n->op_type, box->opset ? box->opset : 1);
    if (!box->def && is_default && box->opset) find_newer(box, n);
    if (box->def) box->signature = op_signature_find(n->domain, n->op_type, box->opset);
    if (!is_default || known) return;
    known = arena_alloc(&s->memory, sizeof *known);
    /* out of memory: the result is not cached, so the next node repeats the look-up */
    if (!known) return;
    *known = (known_operator){box->def, box->signature, imported, box->opset, false};
    (void)strmap_put(&s->operators, n->op_type, known);
    warn_of_newer(n, imported);
}

pgy_status node_prepare(pgy_node *n, pgy_error *err)
{
    node_box *box = node_box_of(n);
    if (box->prepared) return PGY_OK;
    box->opset = pgy_graph_opset(n->graph, n->domain);
    pgy_status st = function_find(&box->function, n->graph, n, err);
    if (st) return st;
    if (!box->function) find_operator(box, n);
    st = node_constant(n) ? PGY_OK : convert_attributes(n, err);
    if (!st) st = node_captures(n, err);
    if (!st) box->prepared = true;
    return st;
}

pgy_status node_attrs(const op_attr **out, size_t *count, const pgy_node *n,
                      const attr_scope *scope, arena *memory, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    *out = box->attrs;
    *count = box->attr_count;
    if (!box->has_refs) return PGY_OK;
    op_attr *attrs = arena_alloc_array(memory, box->attr_count, sizeof *attrs);
    if (!attrs) return graph_no_memory(err);
    size_t kept = 0;
    for (size_t i = 0; i < box->attr_count; i++) {
        const pgy_onnx_attribute *a = i < n->attribute_count ? n->attributes[i] : NULL;
        if (!a || !refers(a)) {
            attrs[kept++] = box->attrs[i];
            continue;
        }
        for (size_t k = 0; scope && k < scope->count; k++) {
            if (strcmp(scope->attrs[k].name, a->ref_attr_name) != 0) continue;
            attrs[kept] = scope->attrs[k];
            attrs[kept++].name = a->name;
            break;
        }
    }
    *out = attrs;
    *count = kept;
    return PGY_OK;
}
