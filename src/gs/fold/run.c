/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the nodes to fold in order, by their operators' definitions, in the model's own precision.
 * Values are held in their declared types, and released after the last use unless they become
 * constants. The result of a view operator shares its input's bytes. */
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "gs/fold/model.h"
#include "transform/fold.h"

static const uint64_t MAX_STORAGE_BYTES =
    1ull << 33; /* limit of one result, at eight bytes per element */

static fold_value *value_of(const fold_run *r, pgy_value *v)
{
    return &r->model->values[id_places_get(&r->places, value_id(v))];
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static pgy_status read_value(fold_value *v, pgy_error *err)
{
    if (v->value || v->sequence) return PGY_OK;
    if (v->computed)
        return pgy_error_set(err, PGY_E_INTERNAL, "folding released the value of '%s' too early",
                             v->tensor->name);
    v->origin = v->tensor->stored;
    return pgy_gs_values(&v->value, v->tensor, err);
}

static pgy_status read_input(op_tensor *out, pgy_value *v, void *user, pgy_error *err)
{
    fold_value *held = value_of(user, v);
    const pgy_status st = read_value(held, err);
    if (!st)
        *out = op_tensor_retain(&(op_tensor){.value = held->value, .sequence = held->sequence});
    return st;
}

void gs_fold_release(fold_value *v)
{
    op_tensor held = {.value = v->value, .sequence = v->sequence};
    op_tensor_release(&held);
    v->value = NULL;
    v->sequence = NULL;
}

static void use_up(fold_run *r, pgy_value *v)
{
    fold_value *held = v ? value_of(r, v) : NULL;
    if (held && held->left && --held->left == 0 && !(held->computed && held->wanted))
        gs_fold_release(held);
}

static void use_up_inputs(fold_run *r, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    for (size_t i = 0; i < n->input_count; i++) use_up(r, n->inputs[i]);
    for (size_t i = 0; i < box->captured_count; i++) use_up(r, box->captured[i]);
}

/* ---- Computing ------------------------------------------------------------------------------- */

static pgy_status compute_general(fold_run *r, pgy_node *n, pgy_error *err)
{
    const fold_source from = {read_input, r};
    const execute_limits limits = {
        .max_bytes = r->max_held_bytes < MAX_STORAGE_BYTES ? r->max_held_bytes : MAX_STORAGE_BYTES,
        .max_steps = fold_steps_left(r->spent),
        .spent = &r->spent};
    return fold_compute(r->out, n, &from, &limits, err);
}

/* Infers the shape of n's result. False: unknown. */
static bool foresee_shape(int64_t *shape, size_t *rank, fold_run *r, pgy_node *n)
{
    const bool wanted = true;
    const op_host host = {.model_precision = true};
    const op_value *known = NULL;
    arena memory = {0};
    op_node node = node_op(n);
    bool done = false;
    memset(r->in, 0, n->input_count * sizeof *r->in);
    for (size_t i = 0; i < n->input_count; i++) {
        fold_value *v = n->inputs[i] ? value_of(r, n->inputs[i]) : NULL;
        if (!v) continue;
        if (read_value(v, NULL) || !v->value) return false;
        r->in[i] = (op_tensor){.dtype = pgy_tensor_dtype(v->value), .value = v->value};
    }
    if (!op_check_node(&node, NULL) &&
        !op_foresee(&known, &node, r->in, &wanted, &host, &memory, NULL)) {
        done = known->rank >= 0 && known->rank <= PGY_MAX_RANK;
        for (int32_t i = 0; done && i < known->rank; i++) {
            done = dim_is_const(known->dims[i]);
            shape[i] = known->dims[i].value;
        }
        *rank = (size_t)known->rank;
    }
    arena_deinit(&memory);
    return done;
}

/* Computes views and Transposes; for other nodes r->out[0] stays empty. */
static pgy_status compute_move(fold_run *r, pgy_node *n, const pgy_onnx_tensor **origin,
                               pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    size_t rank, count;
    pgy_tensor *y = NULL;
    bool shared = false;
    fold_value *x = n->input_count && n->inputs[0] ? value_of(r, n->inputs[0]) : NULL;
    if (!x || node_box_of(n)->function || !node_box_of(n)->def) return PGY_OK;
    pgy_status st = read_value(x, err);
    if (st || !x->value) return st;
    st = fold_move(&y, &shared, n, x->value, err);
    if (!st && !y && n->output_count == 1 && fold_is_view(n) && foresee_shape(shape, &rank, r, n) &&
        !pgy_shape_count(&count, rank, shape, NULL) && count == pgy_tensor_count(x->value)) {
        shared = true;
        st = pgy_tensor_reshape(&y, x->value, rank, shape, err);
    }
    if (st || !y) return st;
    r->out[0] = (op_tensor){.dtype = pgy_tensor_dtype(y), .value = y};
    if (shared) *origin = x->origin;
    return PGY_OK;
}

/* Computes the outputs of n into r->out. */
static pgy_status compute(fold_run *r, pgy_node *n, const pgy_onnx_tensor **origin, pgy_error *err)
{
    pgy_status st = node_prepare(n, err);
    memset(r->out, 0, n->output_count * sizeof *r->out);
    if (!st) st = compute_move(r, n, origin, err);
    if (!st && !r->out[0].value) st = compute_general(r, n, err);
    for (size_t i = 0; st && i < n->output_count; i++) op_tensor_release(&r->out[i]);
    return st;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static bool needs_failed(fold_run *r, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] && value_of(r, n->inputs[i])->failed) return true;
    for (size_t i = 0; i < box->captured_count; i++)
        if (value_of(r, box->captured[i])->failed) return true;
    return false;
}

static void set_failed(fold_run *r, const pgy_node *n)
{
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i]) value_of(r, n->outputs[i])->failed = true;
}

static pgy_status hold(fold_run *r, fold_value *v, op_tensor *t, const pgy_onnx_tensor *origin,
                       pgy_error *err)
{
    const uint64_t bytes = t->value ? pgy_tensor_size_bytes(t->value) : 0;
    v->computed = true;
    if (!t->value || bytes > r->size_threshold) v->wanted = false;
    if (v->wanted && !origin) r->held_bytes += bytes;
    if (v->wanted || v->left) {
        v->value = t->value;
        v->sequence = t->sequence;
        v->origin = origin;
        *t = (op_tensor){0};
    }
    if (r->held_bytes <= r->max_held_bytes) return PGY_OK;
    return pgy_error_set(
        err, PGY_E_MEMORY,
        "the results of folding would need more than %llu bytes in total; set a size threshold",
        (unsigned long long)r->max_held_bytes);
}

pgy_status gs_fold_run_node(fold_run *r, size_t i, pgy_error *err)
{
    pgy_node *n = r->model->graph->nodes[i];
    const pgy_onnx_tensor *origin = NULL;
    pgy_status st = PGY_OK;
    if (needs_failed(r, n)) {
        set_failed(r, n);
    } else {
        st = compute(r, n, &origin, err);
        for (size_t k = 0; !st && k < n->output_count; k++)
            if (n->outputs[k]) st = hold(r, value_of(r, n->outputs[k]), &r->out[k], origin, err);
        for (size_t k = 0; k < n->output_count; k++) op_tensor_release(&r->out[k]);
        if (st) set_failed(r, n);
    }
    use_up_inputs(r, n);
    return st;
}

/* ---- Start and end --------------------------------------------------------------------------- */

static pgy_status link_values(fold_run *r, pgy_error *err)
{
    const fold_model *m = r->model;
    for (size_t i = 0; i < m->value_count; i++) {
        const pgy_value *v = pgy_graph_find_value(m->graph, m->values[i].name);
        if (!v)
            return pgy_error_set(err, PGY_E_INTERNAL,
                                 "folding cannot find a tensor in its own copy of the model");
        size_t *place = id_places_at(&r->places, value_id(v));
        if (!place) return graph_no_memory(err);
        *place = i;
    }
    return PGY_OK;
}

/* Counts the reads of each value by n. Ignores an invalid node, which fails when it runs. */
static void count_uses(fold_run *r, pgy_node *n)
{
    const node_box *box = node_box_of(n);
    if (node_prepare(n, NULL)) return;
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i]) value_of(r, n->inputs[i])->left++;
    for (size_t i = 0; i < box->captured_count; i++) value_of(r, box->captured[i])->left++;
}

static size_t widest(const pgy_graph *g)
{
    size_t wide = 1;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        wide = n->input_count > wide ? n->input_count : wide;
        wide = n->output_count > wide ? n->output_count : wide;
    }
    return wide;
}

pgy_status gs_fold_run_init(fold_run *r, fold_model *m, uint64_t size_threshold, pgy_error *err)
{
    pgy_error why = {0};
    bool inside = false;
    *r = (fold_run){
        .model = m, .size_threshold = size_threshold, .max_held_bytes = memory_limit_bytes() / 2};
    pgy_status st = link_values(r, err);
    if (st) return st;
    for (size_t i = 0; i < m->node_count; i++) {
        count_uses(r, m->graph->nodes[i]);
        inside |= m->graph->nodes[i]->subgraph_count > 0;
    }
    const size_t wide = widest(m->graph);
    r->in = mem_calloc(wide, sizeof *r->in);
    r->out = mem_calloc(wide, sizeof *r->out);
    if (!r->in || !r->out) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while folding");
    /* A loop with 0 iterations needs inferred shapes for its results. */
    if (inside && pgy_graph_infer_shapes(m->graph, NULL, &why)) return PGY_OK;
    return PGY_OK;
}

void gs_fold_run_deinit(fold_run *r)
{
    mem_free(r->in);
    mem_free(r->out);
    id_places_deinit(&r->places);
}
