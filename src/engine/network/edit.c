/* SPDX-License-Identifier: Apache-2.0 */
/* Queries the layers and tensors of a network, and changes them: names, inputs, the type that a
 * layer computes in, removal of layers. */
#include <string.h>

#include "base/alloc.h"
#include "engine/network/network.h"
#include "graph/edit.h"

/* ---- Queries -------------------------------------------------------------------------------- */

size_t pgy_network_input_count(const pgy_network *net)
{
    return net->level->input_count;
}

pgy_value *pgy_network_input_at(const pgy_network *net, size_t i)
{
    return i < net->level->input_count ? net->level->inputs[i] : NULL;
}

size_t pgy_network_output_count(const pgy_network *net)
{
    return net->level->output_count;
}

pgy_value *pgy_network_output_at(const pgy_network *net, size_t i)
{
    return i < net->level->output_count ? net->level->outputs[i] : NULL;
}

size_t pgy_network_layer_count(const pgy_network *net)
{
    return net->layer_count;
}

pgy_layer *pgy_network_layer_at(const pgy_network *net, size_t i)
{
    return i < net->layer_count ? net->layers[i] : NULL;
}

pgy_layer *pgy_network_find_layer(const pgy_network *net, const char *name)
{
    for (size_t i = 0; i < net->layer_count; i++)
        if (strcmp(net->layers[i]->name, name) == 0) return net->layers[i];
    return NULL;
}

size_t pgy_network_tensor_count(const pgy_network *net)
{
    size_t count = net->level->input_count;
    for (size_t i = 0; i < net->layer_count; i++)
        for (size_t k = 0; k < net->layers[i]->output_count; k++)
            count += net->layers[i]->outputs[k] != NULL;
    return count;
}

pgy_value *pgy_network_tensor_at(const pgy_network *net, size_t i)
{
    if (i < net->level->input_count) return net->level->inputs[i];
    i -= net->level->input_count;
    for (size_t k = 0; k < net->layer_count; k++) {
        const pgy_layer *layer = net->layers[k];
        for (size_t j = 0; j < layer->output_count; j++)
            if (layer->outputs[j] && i-- == 0) return layer->outputs[j];
    }
    return NULL;
}

pgy_value *pgy_network_find_tensor(const pgy_network *net, const char *name)
{
    pgy_value *v = level_resolve(net->level, name);
    return v && network_is_linked(v) ? v : NULL;
}

/* ---- Names ---------------------------------------------------------------------------------- */

pgy_status pgy_layer_set_name(pgy_layer *layer, const char *name, pgy_error *err)
{
    if (!layer || !name || !*name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a layer needs a name");
    pgy_network *net = layer->network;
    pgy_layer *other = pgy_network_find_layer(net, name);
    if (other == layer) return PGY_OK;
    if (other)
        return pgy_error_set(err, PGY_E_ARGUMENT, "network '%s' already has a layer '%s'",
                             net->level->name, name);
    arena *memory = &state_of(net->level)->memory;
    char *copy = arena_strdup(memory, name);
    if (!copy) return network_no_memory(err);
    for (size_t i = 0; i < layer->node_count; i++) {
        pgy_node *n = layer->nodes[i];
        n->name =
            layer->node_count == 1 ? copy : arena_printf(memory, "%s/%s_%zu", copy, n->op_type, i);
        if (!n->name) return network_no_memory(err);
        node_box_of(n)->changed = true;
    }
    layer->name = copy;
    graph_mark_changed(net->level);
    return PGY_OK;
}

static pgy_status rename_weight(pgy_value *v, const char *name, pgy_error *err)
{
    const pgy_onnx_tensor *t = v->initializer;
    const pgy_onnx_tensor *renamed =
        weight_renamed(v->graph->model, t, name, t->dims, t->dim_count);
    if (!renamed) return network_no_memory(err);
    v->initializer = renamed;
    return PGY_OK;
}

pgy_status pgy_network_rename_tensor(pgy_network *net, pgy_value *v, const char *name,
                                     pgy_error *err)
{
    if (!net || !v || !network_can_see(net, v) || !network_is_linked(v) || v->sparse)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the network has no tensor '%s'",
                             v ? v->name : "");
    if (!name || !*name) return pgy_error_set(err, PGY_E_ARGUMENT, "a tensor needs a name");
    if (strcmp(v->name, name) == 0) return PGY_OK;
    const graph_state *s = state_of(v->graph);
    for (size_t i = 0; i < s->level_count; i++)
        if (pgy_graph_find_value(s->levels[i], name))
            return pgy_error_set(err, PGY_E_ARGUMENT, "network '%s' already has a tensor '%s'",
                                 net->root->graph->name, name);
    pgy_status st = v->initializer ? rename_weight(v, name, err) : PGY_OK;
    return st ? st : value_rename(v, name, err);
}

/* ---- Inputs of layers ----------------------------------------------------------------------- */

/* One place where a node of a layer reads a tensor. */
typedef struct use {
    pgy_node *node;
    size_t slot;
} use;

static pgy_status find_uses(use **out, size_t *count, const pgy_layer *layer, const pgy_value *v,
                            pgy_error *err)
{
    size_t found = 0, most = 0;
    for (size_t i = 0; i < layer->node_count; i++) most += layer->nodes[i]->input_count;
    use *uses = arena_alloc_array(&state_of(layer->network->level)->memory, most + 1, sizeof *uses);
    if (!uses) return network_no_memory(err);
    for (size_t i = 0; i < layer->node_count; i++)
        for (size_t k = 0; k < layer->nodes[i]->input_count; k++)
            if (layer->nodes[i]->inputs[k] == v) uses[found++] = (use){layer->nodes[i], k};
    *out = uses;
    *count = found;
    return PGY_OK;
}

static pgy_status set_uses(const use *uses, size_t count, pgy_value *v, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++)
        st = node_set_input(uses[i].node, uses[i].slot, v, err);
    return st;
}

static pgy_status exchange(pgy_layer *layer, pgy_value *from, pgy_value *to, pgy_error *err)
{
    use *uses = NULL;
    size_t count = 0;
    const pgy_status st = find_uses(&uses, &count, layer, from, err);
    return st ? st : set_uses(uses, count, to, err);
}

static bool is_direct_input(const pgy_layer *layer, const pgy_value *v)
{
    for (size_t i = 0; i < layer->node_count; i++)
        for (size_t k = 0; k < layer->nodes[i]->input_count; k++)
            if (layer->nodes[i]->inputs[k] == v) return true;
    return false;
}

static pgy_status check_exchange(const pgy_layer *layer, size_t i, const pgy_value *v,
                                 pgy_error *err)
{
    if (!layer || i >= layer->input_count || !layer->inputs[i])
        return pgy_error_set(err, PGY_E_ARGUMENT, "layer '%s' has no input %zu",
                             layer ? layer->name : "", i);
    if (!v || !network_can_see(layer->network, v) || !network_is_linked(v))
        return pgy_error_set(err, PGY_E_ARGUMENT, "layer '%s': tensor '%s' is not available to it",
                             layer->name, v ? v->name : "");
    size_t uses = 0;
    for (size_t k = 0; k < layer->input_count; k++) uses += layer->inputs[k] == layer->inputs[i];
    if (uses != 1 || !is_direct_input(layer, layer->inputs[i]))
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "layer '%s': input %zu cannot be replaced; add a new layer with the other input",
            layer->name, i);
    return PGY_OK;
}

pgy_status pgy_layer_set_input(pgy_layer *layer, size_t i, pgy_value *v, pgy_error *err)
{
    pgy_status st = check_exchange(layer, i, v, err);
    if (st || layer->inputs[i] == v) return st;
    pgy_value *before = layer->inputs[i];
    use *uses = NULL;
    size_t count = 0;
    st = find_uses(&uses, &count, layer, before, err);
    if (st) return st;
    st = set_uses(uses, count, v, err);
    if (!st) st = pgy_graph_sort(layer->network->level, err); /* fails on a cycle */
    if (!st) st = network_infer(layer->network, err);
    if (!st) {
        ((pgy_value **)layer->inputs)[i] = v;
        return PGY_OK;
    }
    pgy_error_prefix(err, st, "layer '%s' cannot take tensor '%s' as input: ", layer->name,
                     v->name);
    /* Restores only the places changed above: where the layer read v before, it must still read
     * v. */
    if (set_uses(uses, count, before, NULL) || network_infer(layer->network, NULL)) return st;
    return st;
}

/* ---- Precision ------------------------------------------------------------------------------ */

static bool is_number(pgy_dtype dtype)
{
    return dtype == PGY_F16 || dtype == PGY_BF16 || dtype == PGY_F32 || dtype == PGY_F64;
}

void layer_set_precision_field(pgy_layer *layer)
{
    layer->precision = PGY_DTYPE_NONE;
    for (size_t i = 0; i < layer->input_count && !layer->precision; i++)
        if (layer->inputs[i]) layer->precision = layer->inputs[i]->dtype;
    for (size_t i = 0; i < layer->input_count; i++)
        if (layer->inputs[i] && is_number(layer->inputs[i]->dtype)) {
            layer->precision = layer->inputs[i]->dtype;
            return;
        }
    if (layer->input_count == 0 && layer->output_count && layer->outputs[0])
        layer->precision = layer->outputs[0]->dtype;
}

typedef struct casting {
    pgy_layer *layer;
    pgy_node *casts[2 * MAX_LAYER_NODES];
    size_t count;
    pgy_error *err;
} casting;

static pgy_status add_cast(pgy_value **out, casting *c, pgy_value *from, pgy_value *to,
                           pgy_dtype dtype)
{
    pgy_graph *g = c->layer->network->level;
    const pgy_onnx_attribute type = {.type = PGY_ATTR_INT, .i = pgy_dtype_describe(dtype)->onnx};
    const pgy_onnx_attribute *a = attribute_create(g->model, "to", &type);
    pgy_node *n = NULL;
    if (!a || c->count >= 2 * MAX_LAYER_NODES) return network_no_memory(c->err);
    if (!to) to = value_create_unique(g, from->name, c->err);
    if (!to) return PGY_E_MEMORY;
    pgy_status st = node_create(&n, g, "Cast", &from, 1, &to, 1, c->err);
    if (!st) st = node_set_only_attribute(n, a, c->err);
    if (st) return st;
    c->casts[c->count++] = n;
    *out = to;
    return PGY_OK;
}

/* Makes v the cast of a new value that its producer writes, so v keeps its name and users. */
static pgy_status cast_output(casting *c, pgy_value *v)
{
    pgy_graph *g = v->graph;
    pgy_value *inner = value_create_unique(g, v->name, c->err), *ignored;
    if (!inner) return PGY_E_MEMORY;
    node_set_output(v->producer, v->output_index, inner);
    return add_cast(&ignored, c, inner, v, v->dtype);
}

static bool is_made_here(const pgy_layer *layer, const pgy_value *v)
{
    for (size_t i = 0; i < layer->node_count; i++)
        if (v && v->producer == layer->nodes[i]) return true;
    return false;
}

static pgy_status cast_around(casting *c, pgy_dtype dtype)
{
    pgy_layer *layer = c->layer;
    pgy_status st = PGY_OK;
    pgy_value *done[MAX_LAYER_NODES];
    size_t done_count = 0;
    for (size_t i = 0; !st && i < layer->node_count; i++) {
        pgy_node *n = layer->nodes[i];
        for (size_t k = 0; !st && k < n->input_count; k++) {
            pgy_value *v = n->inputs[k], *cast;
            bool seen = false;
            for (size_t d = 0; d < done_count; d++) seen |= done[d] == v;
            if (!v || seen || !is_number(v->dtype) || v->dtype == dtype || is_made_here(layer, v))
                continue;
            st = add_cast(&cast, c, v, NULL, dtype);
            if (!st) st = exchange(layer, v, cast, c->err);
            if (done_count < MAX_LAYER_NODES) done[done_count++] = cast;
        }
    }
    for (size_t i = 0; !st && i < layer->output_count; i++)
        if (layer->outputs[i] && is_number(layer->outputs[i]->dtype))
            st = cast_output(c, layer->outputs[i]);
    return st;
}

/* Removes the casts. */
static void undo_casts(casting *c)
{
    pgy_layer *layer = c->layer;
    pgy_graph *g = layer->network->level;
    pgy_status st = PGY_OK;
    for (size_t i = c->count; i-- > 0;) {
        pgy_node *n = c->casts[i];
        pgy_value *from = n->inputs[0], *to = n->outputs[0];
        const bool is_output = is_made_here(layer, from);
        if (!is_output && !st) st = exchange(layer, to, from, NULL);
        node_unlink(n);
        if (!is_output) continue;
        node_set_output(from->producer, from->output_index, to);
        from->producer = NULL;
    }
    graph_sweep(g);
    if (!st) st = network_infer(layer->network, NULL);
}

pgy_status pgy_layer_set_precision(pgy_layer *layer, pgy_dtype dtype, pgy_error *err)
{
    if (!layer || !is_number(dtype))
        return pgy_error_set(
            err, PGY_E_TYPE,
            "layer '%s' cannot compute in %s; expected float16, bfloat16, float32 or float64",
            layer ? layer->name : "", pgy_dtype_name(dtype));
    if (layer->precision == dtype) return PGY_OK;
    if (!is_number(layer->precision) || layer->node_count == 0)
        return pgy_error_set(
            err, PGY_E_TYPE, "layer '%s' (%s) computes in %s and cannot change its type",
            layer->name, pgy_layer_type_name(layer->type), pgy_dtype_name(layer->precision));
    casting c = {.layer = layer, .err = err};
    pgy_graph *g = layer->network->level;
    pgy_status st = cast_around(&c, dtype);
    if (!st) st = pgy_graph_sort(g, err);
    if (!st) st = network_infer(layer->network, err);
    pgy_node **nodes =
        arena_alloc_array(&state_of(g)->memory, layer->node_count + c.count, sizeof *nodes);
    if (!st && !nodes) st = network_no_memory(err);
    if (st) {
        undo_casts(&c);
        return st;
    }
    memcpy(nodes, layer->nodes, layer->node_count * sizeof *nodes);
    memcpy(nodes + layer->node_count, c.casts, c.count * sizeof *nodes);
    layer->nodes = nodes;
    layer->node_count += c.count;
    layer->precision = dtype;
    return PGY_OK;
}

/* ---- Removal of layers ---------------------------------------------------------------------- */

static const char *user_of(const pgy_layer *layer, const pgy_value *v)
{
    for (size_t i = 0; i < v->consumer_count; i++) {
        bool own = false;
        for (size_t k = 0; k < layer->node_count; k++) own |= layer->nodes[k] == v->consumers[i];
        if (!own) return v->consumers[i]->name;
    }
    return v->is_output ? "the outputs of the network" : NULL;
}

static void forget(pgy_network *net, const pgy_layer *layer)
{
    size_t kept = 0;
    for (size_t i = 0; i < net->layer_count; i++)
        if (net->layers[i] != layer) net->layers[kept++] = net->layers[i];
    net->layer_count = kept;
    for (size_t i = 0; i < layer->output_count; i++)
        for (size_t k = 0; k < net->root->debug_count; k++)
            if (net->root->debug[k] == layer->outputs[i])
                net->root->debug[k--] = net->root->debug[--net->root->debug_count];
    for (size_t i = 0; i < net->assertion_count; i++)
        if (net->assertions[i].layer == layer)
            net->assertions[i--] = net->assertions[--net->assertion_count];
}

static void drop_weight(pgy_graph *g, pgy_value *v)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->initializer_count; i++)
        if (g->initializers[i] != v) g->initializers[kept++] = g->initializers[i];
    g->initializer_count = kept;
    v->initializer = NULL;
    graph_mark_changed(g);
}

static bool is_layer_of_its_own(const network_root *root, const pgy_value *v)
{
    for (size_t i = 0; i < root->level_count; i++)
        for (size_t k = 0; k < root->levels[i]->layer_count; k++) {
            const pgy_layer *layer = root->levels[i]->layers[k];
            if (layer->node_count == 0 && layer->output_count && layer->outputs[0] == v)
                return true;
        }
    return false;
}

/* Drops weights that only the removed nodes read, except those added as constant layers. */
static void drop_weights(network_root *root, const pgy_layer *layer)
{
    for (size_t i = 0; i < layer->node_count; i++)
        for (size_t k = 0; k < layer->nodes[i]->input_count; k++) {
            pgy_value *v = layer->nodes[i]->inputs[k];
            if (v && v->initializer && v->graph == root->graph && !v->consumer_count &&
                !v->is_output && !v->is_input && !is_layer_of_its_own(root, v))
                drop_weight(root->graph, v);
        }
}

pgy_status pgy_network_remove_layer(pgy_network *net, pgy_layer *layer, pgy_error *err)
{
    if (!net || !layer || layer->network != net)
        return pgy_error_set(err, PGY_E_ARGUMENT, "layer '%s' belongs to another network",
                             layer ? layer->name : "");
    if (((layer_box *)layer->internal)->owner)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "layer '%s' is part of a loop or conditional and cannot be removed on its own",
            layer->name);
    for (size_t i = 0; i < layer->output_count; i++) {
        const char *user = layer->outputs[i] ? user_of(layer, layer->outputs[i]) : NULL;
        if (user)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "layer '%s' cannot be removed: it computes '%s', which '%s' reads",
                                 layer->name, layer->outputs[i]->name, user);
    }
    for (size_t i = layer->node_count; i-- > 0;) node_unlink(layer->nodes[i]);
    graph_sweep(net->level);
    drop_weights(net->root, layer);
    if (layer->type == PGY_LAYER_CONSTANT && layer->node_count == 0)
        drop_weight(net->root->graph, layer->outputs[0]);
    forget(net, layer);
    return PGY_OK;
}
