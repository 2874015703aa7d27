/* SPDX-License-Identifier: Apache-2.0 */
/* The builder of layers checks its arguments, appends nodes to a level and infers their types and
 * shapes. Then it either records the nodes as one layer or removes them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/network/network.h"
#include "graph/edit.h"
#include "transform/opset/rewrite.h"

/* ---- Opening and failing -------------------------------------------------------------------- */

builder build_start(pgy_network *net, pgy_layer_type type, pgy_error *err)
{
    builder b = {.net = net, .type = type, .err = err};
    if (!net) {
        b.status = pgy_error_set(err, PGY_E_ARGUMENT, "the network must not be NULL");
        return b;
    }
    const char *word = pgy_layer_type_name(type);
    arena *memory = &state_of(net->level)->memory;
    b.first_node = b.inferred = net->level->node_count;
    b.first_weight = net->root->graph->initializer_count;
    b.box = arena_alloc(memory, sizeof *b.box);
    char *name = arena_printf(memory, "%s_%zu", word, net->root->layer_numbers++);
    if (!b.box || !name) {
        b.status = network_no_memory(err);
        return b;
    }
    for (char *c = name + 1; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    b.box->layer = (pgy_layer){.name = name, .type = type, .network = net, .internal = b.box};
    if (net->root->refused) build_fail(&b, PGY_E_UNSUPPORTED, "%s", net->root->refused);
    if (net->closed)
        build_fail(&b, PGY_E_ARGUMENT,
                   "the loop or conditional around it is closed; add layers before you close it");
    return b;
}

builder build_with(pgy_network *net, pgy_layer_type type, pgy_value *input, pgy_error *err)
{
    builder b = build_start(net, type, err);
    build_input(&b, input, "the input");
    return b;
}

/* Prefixes an error with the layer and its inputs: "layer 'Convolution_0' (CONVOLUTION) of 'x'
 * float32 [1, 3, ?], 'w' float32 [8]: " */
static void add_prefix(builder *b, pgy_status st)
{
    str of = {0};
    for (size_t i = 0; i < b->input_count && of.size < 512; i++) {
        const pgy_value *v = b->more_inputs ? b->more_inputs[i] : b->inputs[i];
        if (!v) continue;
        str_append(&of, of.size ? ", " : " of ");
        network_describe_value(&of, v);
    }
    pgy_error_prefix(b->err, st, "layer '%s' (%s)%s: ", b->box->layer.name,
                     pgy_layer_type_name(b->type), str_text(&of));
    str_deinit(&of);
}

void build_fail(builder *b, pgy_status st, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (b->status) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    b->status = pgy_error_set(b->err, st, "%s", text);
    if (b->box) add_prefix(b, st);
}

static void check(builder *b, pgy_status st)
{
    if (b->status || !st) return;
    b->status = st;
    add_prefix(b, st);
}

/* ---- Inputs and outputs --------------------------------------------------------------------- */

static bool can_take(builder *b, const pgy_value *v)
{
    if (b->status) return false;
    if (v && !network_can_see(b->net, v)) {
        build_fail(b, PGY_E_ARGUMENT,
                   "tensor '%s' belongs to another network, or to a loop or branch that this layer "
                   "is not in",
                   v->name);
        return false;
    }
    if (v && !network_is_linked(v)) {
        build_fail(b, PGY_E_ARGUMENT,
                   "nothing computes tensor '%s': its layer was removed, or its loop is not closed",
                   v->name);
        return false;
    }
    return true;
}

void build_optional(builder *b, pgy_value *v)
{
    if (can_take(b, v) && b->input_count < MAX_LAYER_NODES) b->inputs[b->input_count++] = v;
}

void build_list(builder *b, pgy_value *const *inputs, size_t count)
{
    for (size_t i = 0; !b->status && i < count; i++)
        if (!inputs[i])
            build_fail(b, PGY_E_ARGUMENT, "input %zu is missing", i);
        else
            (void)can_take(b, inputs[i]);
    if (b->status) return;
    pgy_value **list = arena_alloc_array(&state_of(b->net->level)->memory, count + 1, sizeof *list);
    if (!list) {
        check(b, network_no_memory(b->err));
        return;
    }
    memcpy(list, inputs, count * sizeof *list);
    b->more_inputs = list;
    b->input_count = count;
}

void build_input(builder *b, pgy_value *v, const char *what)
{
    if (!v) build_fail(b, PGY_E_ARGUMENT, "%s is missing", what);
    build_optional(b, v);
}

void build_output(builder *b, pgy_value *v)
{
    if (!b->status && b->output_count < MAX_LAYER_NODES) b->outputs[b->output_count++] = v;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

/* Splits "com.microsoft:Gelu" into domain and operator, in the graph's memory. */
static const char *split(builder *b, const char **op)
{
    const char *colon = strchr(*op, ':');
    arena *memory = &state_of(b->net->level)->memory;
    char *domain = colon ? arena_strndup(memory, *op, (size_t)(colon - *op)) : NULL;
    char *name = arena_strdup(memory, colon ? colon + 1 : *op);
    if (!name || (colon && !domain)) {
        check(b, network_no_memory(b->err));
        return NULL;
    }
    *op = name;
    return domain ? domain : "";
}

pgy_node *build_node(builder *b, const char *op, pgy_value *const *inputs, size_t count,
                     size_t output_count)
{
    pgy_value *outputs[MAX_LAYER_NODES];
    pgy_node *n = NULL;
    char stem[256];
    if (b->status) return NULL;
    const char *domain = split(b, &op);
    if (domain && *domain) check(b, network_import_domain(b->net->root, domain, b->err));
    while (count && !inputs[count - 1]) count--; /* ONNX wants trailing omitted inputs left out */
    snprintf(stem, sizeof stem, "%.200s_%s", b->box->layer.name, op);
    if (output_count == 0 || output_count > MAX_LAYER_NODES)
        build_fail(b, PGY_E_ARGUMENT, "it has %zu outputs; expected 1 to %d", output_count,
                   MAX_LAYER_NODES);
    for (size_t i = 0; !b->status && i < output_count; i++)
        if (!(outputs[i] = value_create_unique(b->net->level, stem, b->err)))
            check(b, PGY_E_MEMORY);
    if (b->status) return NULL;
    check(b, node_create(&n, b->net->level, op, inputs, count, outputs, output_count, b->err));
    if (b->status) return NULL;
    n->domain = domain;
    n->name = arena_printf(&state_of(b->net->level)->memory, "%s/%s_%zu", b->box->layer.name, op,
                           n->index - b->first_node);
    if (!n->name) check(b, network_no_memory(b->err));
    return b->status ? NULL : n;
}

pgy_value *build_emit_list(builder *b, const char *op, pgy_value *const *inputs, size_t count)
{
    pgy_node *n = build_node(b, op, inputs, count, 1);
    return n ? n->outputs[0] : NULL;
}

pgy_value *build_emit(builder *b, const char *op, size_t count, ...)
{
    pgy_value *inputs[8];
    va_list args;
    va_start(args, count);
    for (size_t i = 0; i < count && i < 8; i++) inputs[i] = va_arg(args, pgy_value *);
    va_end(args);
    return build_emit_list(b, op, inputs, count);
}

static rewrite setter(builder *b, pgy_value *v)
{
    return (rewrite){.graph = b->net->level, .node = v ? v->producer : NULL, .err = b->err};
}

pgy_value *build_int(builder *b, pgy_value *v, const char *name, int64_t value)
{
    rewrite r = setter(b, v);
    if (b->status) return NULL;
    rw_set_int(&r, r.node, name, value);
    check(b, r.status);
    return v;
}

pgy_value *build_float(builder *b, pgy_value *v, const char *name, double value)
{
    rewrite r = setter(b, v);
    if (b->status) return NULL;
    rw_set_float(&r, r.node, name, (float)value);
    check(b, r.status);
    return v;
}

pgy_value *build_ints(builder *b, pgy_value *v, const char *name, const int64_t *values,
                      size_t count)
{
    rewrite r = setter(b, v);
    if (b->status) return NULL;
    rw_set_ints(&r, r.node, name, values, count);
    check(b, r.status);
    return v;
}

pgy_value *build_floats(builder *b, pgy_value *v, const char *name, const float *values,
                        size_t count)
{
    rewrite r = setter(b, v);
    if (b->status) return NULL;
    rw_set_floats(&r, r.node, name, values, count);
    check(b, r.status);
    return v;
}

pgy_value *build_text(builder *b, pgy_value *v, const char *name, const char *text)
{
    rewrite r = setter(b, v);
    if (b->status) return NULL;
    rw_set_string(&r, r.node, name, text);
    check(b, r.status);
    return v;
}

/* ---- Constants ------------------------------------------------------------------------------ */

pgy_value *build_tensor(builder *b, pgy_tensor *t, const char *stem)
{
    pgy_graph *top = b->net->root->graph;
    const pgy_onnx_tensor *stored = NULL;
    if (b->status) return NULL;
    pgy_value *v = value_create_unique(top, stem, b->err);
    pgy_status st = v ? PGY_OK : PGY_E_MEMORY;
    if (!st) st = weight_create(&stored, top->model, v->name, t, b->err);
    if (!st) st = value_set_weight(v, stored, b->err);
    if (!st) st = value_read_small(v, stored, b->err);
    check(b, st);
    return b->status ? NULL : v;
}

pgy_value *build_vector(builder *b, const int64_t *values, size_t count)
{
    const int64_t shape[1] = {(int64_t)count};
    pgy_tensor *t = NULL;
    if (b->status) return NULL;
    check(b, pgy_tensor_create(&t, PGY_I64, 1, shape, b->err));
    if (t && count) memcpy(pgy_tensor_data(t), values, count * sizeof *values);
    pgy_value *v = build_tensor(b, t, "shape");
    pgy_tensor_release(t);
    return v;
}

pgy_value *build_index(builder *b, int64_t value)
{
    pgy_tensor *t = NULL;
    if (b->status) return NULL;
    check(b, pgy_tensor_create(&t, PGY_I64, 0, NULL, b->err));
    if (t) *(int64_t *)pgy_tensor_data(t) = value;
    pgy_value *v = build_tensor(b, t, "index");
    pgy_tensor_release(t);
    return v;
}

pgy_value *build_number(builder *b, pgy_dtype dtype, double value)
{
    pgy_tensor *wide = NULL, *t = NULL;
    if (b->status) return NULL;
    check(b, pgy_tensor_create(&wide, PGY_F64, 0, NULL, b->err));
    if (wide) {
        *(double *)pgy_tensor_data(wide) = value;
        check(b, pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, b->err));
    }
    pgy_value *v = build_tensor(b, t, "number");
    pgy_tensor_release(wide);
    pgy_tensor_release(t);
    return v;
}

/* ---- Inferred types and shapes -------------------------------------------------------------- */

static void infer(builder *b)
{
    pgy_graph *g = b->net->level;
    while (!b->status && b->inferred < g->node_count)
        check(b, graph_infer_node(g->nodes[b->inferred++], b->err));
}

pgy_dtype build_dtype(builder *b, const pgy_value *v)
{
    infer(b);
    return b->status || !v ? PGY_DTYPE_NONE : v->dtype;
}

int32_t build_rank(builder *b, const pgy_value *v)
{
    infer(b);
    if (b->status || !v) return 0;
    if (v->rank < 0)
        build_fail(b, PGY_E_SHAPE, "the rank of '%s' is unknown, but this layer needs it", v->name);
    return v->rank < 0 ? 0 : v->rank;
}

int64_t build_size(builder *b, const pgy_value *v, int32_t axis)
{
    const int32_t rank = build_rank(b, v);
    if (axis < 0) axis += rank;
    return b->status || axis < 0 || axis >= rank ? -1 : v->dims[axis].value;
}

int32_t build_axis(builder *b, int32_t axis, int32_t rank)
{
    if (b->status) return 0;
    if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
    build_fail(b, PGY_E_SHAPE, "axis %d is outside of [%d, %d)", axis, -rank, rank);
    return 0;
}

size_t build_mask_axes(builder *b, int64_t *axes, uint32_t mask, int32_t rank)
{
    size_t count = 0;
    for (int32_t i = 0; i < 32; i++) {
        if (!(mask >> i & 1)) continue;
        if (i >= rank)
            build_fail(b, PGY_E_SHAPE, "the bit mask of axes 0x%x has axis %d, but the rank is %d",
                       mask, i, rank);
        axes[count++] = i;
    }
    return b->status ? 0 : count;
}

int32_t build_mask_axis(builder *b, uint32_t mask, int32_t rank)
{
    int64_t axes[32] = {0};
    const size_t count = build_mask_axes(b, axes, mask, rank);
    if (!b->status && count != 1)
        build_fail(b, PGY_E_ARGUMENT, "the bit mask of axes is 0x%x; expected exactly one axis",
                   mask);
    return (int32_t)axes[0];
}

/* ---- Recording or removing the nodes -------------------------------------------------------- */

/* Removes the nodes and weights that the builder added. Their values keep no producer, but no
 * caller has seen them. */
void build_abandon(builder *b)
{
    pgy_graph *g = b->net->level, *top = b->net->root->graph;
    while (g->node_count > b->first_node) {
        node_unlink(g->nodes[g->node_count - 1]);
        g->node_count--;
    }
    for (size_t i = b->first_weight; i < top->initializer_count; i++)
        top->initializers[i]->initializer = NULL;
    top->initializer_count = b->first_weight;
}

static pgy_status name_outputs(builder *b)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < b->output_count && !b->keep_names; i++) {
        pgy_value *v = b->outputs[i];
        char name[320];
        if (!v || !v->producer || v->producer->graph != b->net->level) continue;
        if (b->output_count == 1)
            snprintf(name, sizeof name, "%.256s_output", b->box->layer.name);
        else
            snprintf(name, sizeof name, "%.256s_output_%zu", b->box->layer.name, i);
        if (!level_resolve(b->net->level, name)) st = value_rename(v, name, b->err);
    }
    return st;
}

static void *keep(arena *memory, const void *items, size_t count, size_t item_bytes)
{
    void *copy = arena_alloc_array(memory, count + 1, item_bytes);
    if (copy && count) memcpy(copy, items, count * item_bytes);
    return copy;
}

static pgy_status record(builder *b)
{
    pgy_graph *g = b->net->level;
    arena *memory = &state_of(g)->memory;
    pgy_layer *layer = &b->box->layer;
    const size_t count = g->node_count - b->first_node;
    pgy_value *const *inputs = b->more_inputs ? b->more_inputs : b->inputs;
    layer->inputs = keep(memory, inputs, b->input_count, sizeof *inputs);
    layer->input_count = b->input_count;
    layer->outputs = keep(memory, b->outputs, b->output_count, sizeof *b->outputs);
    layer->output_count = b->output_count;
    layer->nodes = keep(memory, count ? g->nodes + b->first_node : NULL, count, sizeof *g->nodes);
    layer->node_count = count;
    if (!layer->inputs || !layer->outputs || !layer->nodes) return network_no_memory(b->err);
    if (count == 1) layer->nodes[0]->name = layer->name;
    layer_set_precision_field(layer);
    return network_add_record(b->net, layer, b->err);
}

pgy_status build_finish(builder *b, pgy_layer **out)
{
    infer(b);
    if (!b->status) check(b, name_outputs(b));
    if (!b->status) check(b, record(b));
    if (b->status) {
        if (b->net && b->box) build_abandon(b);
        return b->status;
    }
    if (out) *out = &b->box->layer;
    return PGY_OK;
}

pgy_status build_commit(builder *b)
{
    infer(b);
    if (b->status && b->net && b->box) build_abandon(b);
    return b->status;
}
