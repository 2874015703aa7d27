/* SPDX-License-Identifier: Apache-2.0 */
/* References to nodes and tensors in edit scripts: names, @tensor, $in and $out, $none,
 * const:... */
#include <string.h>

#include "graph/names.h"
#include "gs/graph/document.h"
#include "gs/script/script.h"

/* ---- Nodes ----------------------------------------------------------------------------------- */

static pgy_status check_single(const pgy_gs_graph *g, const pgy_gs_node *found, pgy_error *err)
{
    size_t count = 0;
    if (!gs_node_box(found)->named.not_alone) return PGY_OK;
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->name, found->name) == 0) count++;
    if (count < 2) return PGY_OK;
    return pgy_error_set(
        err, PGY_E_ARGUMENT,
        "%zu nodes have the name '%s'; write @TENSOR, where TENSOR is an output of the node", count,
        found->name);
}

pgy_status ref_node(pgy_gs_node **out, pgy_gs_script *s, piece p, pgy_error *err)
{
    pgy_gs_node *found = p.text[0] ? pgy_gs_find_node(s->current, p.text) : NULL;
    if (!p.text[0])
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "the name of a node is empty; write @TENSOR, where TENSOR is an output of the node");
    if (found) {
        const pgy_status st = check_single(s->current, found, err);
        if (!st) *out = found;
        return st;
    }
    if (!piece_starts(p, "@")) return pgy_gs_get_node(out, s->current, p.text, err);
    pgy_gs_tensor *t = ref_find_tensor(s, p.text + 1);
    if (!t) return pgy_gs_get_tensor(&t, s->current, p.text + 1, err);
    if (t->producer_count == 0)
        return pgy_error_set(err, PGY_E_NOT_FOUND, "no node computes '%s'", t->name);
    *out = t->producers[0];
    return PGY_OK;
}

pgy_status ref_node_arg(pgy_gs_node **out, pgy_gs_script *s, const call *c, const char *name,
                        pgy_error *err)
{
    const piece *p = call_get(c, name);
    *out = NULL;
    return p ? ref_node(out, s, *p, err) : PGY_OK;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

pgy_gs_tensor *ref_find_tensor(const pgy_gs_script *s, const char *name)
{
    if (!*name) return NULL;
    for (const pgy_gs_graph *g = s->current; g; g = g->parent) {
        pgy_gs_tensor *found = pgy_gs_find_tensor(g, name);
        if (found) return found;
    }
    for (size_t i = s->declared.count; i-- > 0;) {
        pgy_gs_tensor *t = s->declared.items[i];
        if (strcmp(t->name, name) == 0 && gs_root(tensor_box(t)->home) == gs_root(s->current))
            return t;
    }
    return NULL;
}

static bool is_node_name(const char *name, const void *user)
{
    return pgy_gs_find_node(user, name);
}

static bool is_tensor_name(const char *name, const void *user)
{
    return pgy_gs_find_tensor(user, name);
}

const char *ref_new_name(pgy_gs_graph *g, const char *base, bool of_node, arena *a)
{
    str name = {0};
    str_append(&name, base);
    name_number(&name, &graph_box(g)->name_count, of_node ? is_node_name : is_tensor_name, g);
    const char *kept = name.failed ? NULL : arena_strdup(a, str_text(&name));
    str_deinit(&name);
    return kept;
}

/* Resolves "$out", "$in[1]" or "$out[0]@conv". rest: the text behind "$out" or "$in". */
static pgy_status find_slot(pgy_gs_tensor **out, pgy_gs_script *s, piece p, piece rest, bool is_out,
                            const pgy_gs_node *anchor, arena *a, pgy_error *err)
{
    const char *at = piece_find(rest, '@');
    int64_t slot = 0;
    if (at) {
        pgy_gs_node *n = NULL;
        const pgy_status st = ref_node(&n, s, piece_from(rest, (size_t)(at - rest.text) + 1), err);
        if (st) return st;
        anchor = n;
    }
    const size_t size = at ? (size_t)(at - rest.text) : strlen(rest.text);
    const char *index = arena_strndup(a, size > 2 ? rest.text + 1 : "", size > 2 ? size - 2 : 0);
    if (!index) return gs_no_memory(err);
    if (size && (rest.text[0] != '[' || rest.text[size - 1] != ']' || !piece_int(&slot, index)))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' is not a slot; expected a form such as $out[1]@node", p.text);
    if (!anchor)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'%s' needs a node: write %s@node", p.text,
                             p.text);
    const size_t count = is_out ? anchor->output_count : anchor->input_count;
    if (slot < 0 || (uint64_t)slot >= count)
        return pgy_error_set(err, PGY_E_NOT_FOUND, "'%s': node '%s' has %zu %s", p.text,
                             gs_node_label(anchor), count, is_out ? "outputs" : "inputs");
    *out = is_out ? anchor->outputs[slot] : anchor->inputs[slot];
    return PGY_OK;
}

static pgy_status read_constant(pgy_gs_operand *out, pgy_tensor **held, piece p, arena *a,
                                pgy_error *err)
{
    bool plain;
    const pgy_status st = value_tensor(held, &plain, p, a, err);
    if (st) return st;
    const size_t rank = pgy_tensor_rank(*held), count = pgy_tensor_count(*held);
    const bool whole = pgy_tensor_dtype(*held) == PGY_I64;
    const void *data = pgy_tensor_data(*held);
    if (!plain || rank > 1)
        *out = pgy_gs_array_operand(*held);
    else if (rank)
        *out = whole ? pgy_gs_ints_operand(data, count) : pgy_gs_floats_operand(data, count);
    else
        *out = whole ? pgy_gs_int_operand(*(const int64_t *)data)
                     : pgy_gs_float_operand(*(const float *)data);
    return PGY_OK;
}

static pgy_status read_operand(pgy_gs_operand *out, pgy_tensor **held, pgy_gs_script *s, piece p,
                               const pgy_gs_node *anchor, arena *a, pgy_error *err)
{
    pgy_gs_tensor *t = NULL;
    pgy_status st = PGY_OK;
    *out = pgy_gs_omitted_operand();
    if (!p.text[0] || piece_is(p, "$none")) return PGY_OK;
    if (piece_starts(p, "const:")) return read_constant(out, held, piece_from(p, 6), a, err);
    if (piece_starts(p, "$new:")) {
        *out = pgy_gs_name_operand(p.text + 5);
        return PGY_OK;
    }
    if (piece_starts(p, "$tensor:"))
        p = piece_from(p, 8);
    else if (piece_starts(p, "$out") || piece_starts(p, "$in")) {
        const bool is_out = p.text[1] == 'o';
        st = find_slot(&t, s, p, piece_from(p, is_out ? 4 : 3), is_out, anchor, a, err);
        if (!st) *out = pgy_gs_tensor_operand(t);
        return st;
    }
    t = ref_find_tensor(s, p.text);
    if (!t) st = pgy_gs_get_tensor(&t, s->current, p.text, err);
    if (!st) *out = pgy_gs_tensor_operand(t);
    return st;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Joins "const:INT64[3]=1", "2", "3" to one item, because a comma also separates elements. */
static pgy_status join_values(piece_list *out, const piece_list *items, size_t *i, arena *a,
                              pgy_error *err)
{
    piece p = items->items[*i];
    const char *equals = piece_starts(p, "const:") ? piece_find(p, '=') : NULL;
    type_spec type = {.rank = -1};
    size_t wanted = 1;
    if (equals && equals[1] != '[') {
        piece head = piece_from(p, 6);
        const size_t size = (size_t)(equals - head.text);
        head.text = arena_strndup(a, head.text, size);
        head.quoted = arena_strndup(a, head.quoted, size);
        if (!head.text || !head.quoted) return gs_no_memory(err);
        const pgy_status st = value_type(&type, head, a, err);
        if (st) return st;
        for (int32_t k = 0; k < type.rank; k++)
            wanted = type.dims[k].value > 0 && wanted <= items->count
                         ? wanted * (size_t)type.dims[k].value
                         : wanted;
    }
    for (size_t n = 1; n < wanted && *i + 1 < items->count; n++) {
        const piece next = items->items[*i + 1];
        if (!value_is_number(next.text)) break;
        p.text = arena_printf(a, "%s,%s", p.text, next.text);
        p.quoted = arena_printf(a, "%s0%s", p.quoted, next.quoted);
        if (!p.text || !p.quoted) return gs_no_memory(err);
        ++*i;
    }
    return piece_push(out, p, a) ? PGY_OK : gs_no_memory(err);
}

static pgy_status split_refs(piece_list *out, piece p, arena *a, pgy_error *err)
{
    piece_list items, joined = {0};
    pgy_status st = piece_split(&items, p, a, err);
    for (size_t i = 0; !st && i < items.count; i++) st = join_values(&joined, &items, &i, a, err);
    if (!st) *out = joined;
    return st;
}

pgy_status ref_operands(operand_refs *out, pgy_gs_script *s, piece p, const pgy_gs_node *anchor,
                        arena *a, pgy_error *err)
{
    piece_list items;
    operand_refs refs = {0};
    pgy_status st = split_refs(&items, p, a, err);
    if (st) return st;
    refs.items = arena_alloc_array(a, items.count + 1, sizeof *refs.items);
    refs.held = arena_alloc_array(a, items.count + 1, sizeof(pgy_tensor *));
    if (!refs.items || !refs.held) return gs_no_memory(err);
    for (; !st && refs.count < items.count; refs.count++)
        st = read_operand(&refs.items[refs.count], &refs.held[refs.count], s,
                          items.items[refs.count], anchor, a, err);
    if (st)
        ref_operands_release(&refs);
    else
        *out = refs;
    return st;
}

void ref_operands_release(operand_refs *refs)
{
    for (size_t i = 0; i < refs->count; i++) pgy_tensor_release(refs->held[i]);
    refs->count = 0;
}

pgy_status ref_new_outputs(operand_refs *out, pgy_gs_script *s, const piece *list, arena *a,
                           pgy_error *err)
{
    piece_list names;
    pgy_status st = piece_split(&names, *list, a, err);
    if (st) return st;
    for (size_t i = 0; !st && i < names.count; i++) {
        const piece p = names.items[i];
        pgy_gs_tensor *made;
        const bool plain = p.text[0] && !(p.text[0] == '$' && p.quoted[0] == '0');
        if (!plain || ref_find_tensor(s, p.text)) continue;
        st = pgy_gs_variable(&made, s->current, p.text, PGY_DTYPE_NONE, -1, NULL, err);
        if (!st) st = gs_list_push(&s->declared, made, err);
    }
    return st ? st : ref_operands(out, s, *list, NULL, a, err);
}

/* Gives the tensor of an operand; creates it, if necessary, as pgy_gs_layer would. */
static pgy_status make_operand(pgy_gs_tensor **out, pgy_gs_graph *g, const pgy_gs_operand *o,
                               pgy_tensor *values, arena *a, pgy_error *err)
{
    const bool listed = o->kind != PGY_GS_ARRAY && o->kind != PGY_GS_NAME;
    if (o->kind == PGY_GS_OMITTED) return pgy_gs_omitted(out, g, err);
    if (o->kind == PGY_GS_TENSOR) {
        *out = o->value.tensor;
        return PGY_OK;
    }
    const char *base = o->kind == PGY_GS_NAME ? o->value.text
                       : listed               ? "onnx_graphsurgeon_lst_constant"
                                              : "onnx_graphsurgeon_constant";
    const char *name = ref_new_name(g, base, false, a);
    if (!name) return gs_no_memory(err);
    if (o->kind == PGY_GS_NAME) return pgy_gs_variable(out, g, name, PGY_DTYPE_NONE, -1, NULL, err);
    return pgy_gs_constant(out, g, name, values, err);
}

pgy_status ref_tensors(tensor_refs *out, pgy_gs_script *s, piece p, const pgy_gs_node *anchor,
                       arena *a, pgy_error *err)
{
    operand_refs refs = {0};
    tensor_refs made = {0};
    pgy_status st = ref_operands(&refs, s, p, anchor, a, err);
    if (st) return st;
    made.items = arena_alloc_array(a, refs.count + 1, sizeof(pgy_gs_tensor *));
    if (!made.items) st = gs_no_memory(err);
    for (; !st && made.count < refs.count; made.count++)
        st = make_operand(&made.items[made.count], s->current, &refs.items[made.count],
                          refs.held[made.count], a, err);
    ref_operands_release(&refs);
    if (!st) *out = made;
    return st;
}

pgy_status ref_tensor(pgy_gs_tensor **out, pgy_gs_script *s, piece p, const pgy_gs_node *anchor,
                      arena *a, pgy_error *err)
{
    pgy_gs_operand operand;
    pgy_tensor *held = NULL;
    pgy_status st = read_operand(&operand, &held, s, p, anchor, a, err);
    if (!st) st = make_operand(out, s->current, &operand, held, a, err);
    pgy_tensor_release(held);
    return st;
}

pgy_status ref_tensor_arg(pgy_gs_tensor **out, pgy_gs_script *s, const call *c, const char *name,
                          pgy_error *err)
{
    const piece *p = call_get(c, name);
    *out = NULL;
    return p ? ref_tensor(out, s, *p, NULL, c->memory, err) : PGY_OK;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

/* An attribute may only refer to attributes of the function that it is in. */
static bool is_in_function(const pgy_gs_graph *g)
{
    while (g->parent) g = g->parent;
    return g->is_function;
}

static pgy_status check_ref(const pgy_gs_attr *a, const pgy_gs_script *s, pgy_error *err)
{
    if (!a->ref || is_in_function(s->current)) return PGY_OK;
    return pgy_error_set(
        err, PGY_E_ARGUMENT,
        "'ref:%s' refers to an attribute of a function, but the node is not in a function", a->ref);
}

pgy_status ref_attrs(attr_refs *out, const pgy_gs_script *s, const call *c, pgy_error *err)
{
    attr_refs refs = {0};
    pgy_status st = PGY_OK;
    refs.items = arena_alloc_array(c->memory, c->attrs.count + 1, sizeof *refs.items);
    refs.held = arena_alloc_array(c->memory, c->attrs.count + 1, sizeof(pgy_tensor *));
    if (!refs.items || !refs.held) return gs_no_memory(err);
    for (; !st && refs.count < c->attrs.count; refs.count++) {
        const char *name = c->attr_keys.items[refs.count].text;
        st = value_attr(&refs.items[refs.count], &refs.held[refs.count], name,
                        c->attrs.items[refs.count], c->memory, err);
        if (!st) st = check_ref(&refs.items[refs.count], s, err);
        if (st) pgy_error_prefix(err, st, "%s: ", name);
    }
    if (st)
        ref_attrs_release(&refs);
    else
        *out = refs;
    return st;
}

void ref_attrs_release(attr_refs *refs)
{
    for (size_t i = 0; i < refs->count; i++) pgy_tensor_release(refs->held[i]);
    refs->count = 0;
}
