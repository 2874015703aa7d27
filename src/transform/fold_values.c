/* SPDX-License-Identifier: Apache-2.0 */
/* Computes nodes whose inputs are constants, in running order. A result is held in its declared
 * type until the last use that folds, too; results that other nodes need become weights at the end.
 * Results that shape inference knows exactly are taken from there.
 *
 * Sequences cannot be stored as weights: a node that makes one stays if an unfolded node needs it,
 * so its inputs are held until that is known. */
#include <string.h>

#include "base/cancel.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/system.h"
#include "transform/fold.h"

static const uint64_t LEAST_ROOM = 1u << 24;

/* What is known about one value of the level: its elements, once they are computed. */
typedef struct result {
    op_tensor value;               /* tensors in their declared type */
    const pgy_onnx_tensor *origin; /* the weight whose bytes these are, or NULL */
    bool later;                    /* only `origin` is set; it is computed when it is written */
    size_t left; /* number of uses by nodes that are not folded, plus 1 for a graph output */
} result;

typedef struct level_run {
    folder *f;
    pgy_graph *level;
    pgy_node **order;
    size_t count;     /* number of nodes before the pass changes any */
    result *results;  /* one result for each value of the level */
    id_places places; /* for each value, by id: its index in `results` */
    bool *folded;     /* for each node: was it replaced by its results? */
    op_tensor *out;   /* outputs of the current node; has room for the node with the most outputs */
} level_run;

static result *result_of(const level_run *r, pgy_value *v)
{
    return v->graph == r->level ? &r->results[id_places_get(&r->places, value_id(v))] : NULL;
}

static bool is_held(const level_run *r, pgy_value *v)
{
    const result *held = result_of(r, v);
    return held && (held->value.value || held->value.sequence || held->later);
}

static pgy_status run_init(level_run *r, folder *f, pgy_graph *level, pgy_error *err)
{
    arena *memory = &f->memory;
    const strmap *values = &level_of(level)->values;
    size_t wide = 0;
    *r = (level_run){.f = f, .level = level, .count = level->node_count};
    pgy_status st = graph_order(&r->order, level, memory, err);
    if (st) return st;
    graph_reindex(level);
    r->results = arena_alloc_array(memory, values->count, sizeof *r->results);
    r->folded = arena_alloc_array(memory, level->node_count, sizeof *r->folded);
    for (size_t i = 0; i < level->node_count; i++) {
        const pgy_node *n = level->nodes[i];
        wide = n->output_count > wide ? n->output_count : wide;
    }
    r->out = arena_alloc_array(memory, wide, sizeof *r->out);
    if (!r->results || !r->folded || !r->out) return graph_no_memory(err);
    for (size_t i = 0; i < values->count; i++) {
        const pgy_value *v = values->entries[i].value;
        size_t *place = id_places_at(&r->places, value_id(v));
        if (!place) return graph_no_memory(err);
        *place = i;
        r->results[i].left = v->consumer_count + v->is_output;
    }
    return PGY_OK;
}

static void run_deinit(level_run *r)
{
    const size_t count = level_of(r->level)->values.count;
    for (size_t i = 0; r->results && i < count; i++) op_tensor_release(&r->results[i].value);
    id_places_deinit(&r->places);
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static bool is_ready(const level_run *r, pgy_value *v)
{
    return !v || fold_is_constant(r->f, v) || is_held(r, v);
}

static bool inputs_ready(const level_run *r, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    for (size_t i = 0; i < n->input_count; i++)
        if (!is_ready(r, n->inputs[i])) return false;
    for (size_t i = 0; i < box->captured_count; i++)
        if (!is_ready(r, box->captured[i])) return false;
    return true;
}

/* The elements in the declared type; NULL for a sequence. */
static pgy_status declared_tensor(pgy_tensor **out, const level_run *r, pgy_value *v,
                                  pgy_error *err)
{
    if (!is_held(r, v)) return pgy_graph_value_data(out, v, err);
    const result *held = result_of(r, v);
    if (held->later) return pgy_onnx_tensor_load(out, r->level->model, held->origin, err);
    *out = held->value.value ? pgy_tensor_retain(held->value.value) : NULL;
    return PGY_OK;
}

static pgy_status read_value(op_tensor *out, pgy_value *v, void *user, pgy_error *err)
{
    const level_run *r = user;
    if (is_held(r, v) && result_of(r, v)->value.sequence) {
        *out = op_tensor_retain(&result_of(r, v)->value);
        return PGY_OK;
    }
    return declared_tensor(&out->value, r, v, err);
}

/* ---- Computing ------------------------------------------------------------------------------ */

static execute_limits limits_of(folder *f)
{
    const uint64_t most = memory_limit_bytes() / 2;
    const uint64_t wanted = f->options.max_result_bytes;
    /* Storage types take up to 64 times the bytes of declared ones, and intermediate values of a
     * function or loop may be larger than its result. */
    const uint64_t storage = wanted < most / 64 ? wanted * 64 : most;
    return (execute_limits){.max_bytes = storage < LEAST_ROOM ? LEAST_ROOM : storage,
                            .max_steps = fold_steps_left(f->spent),
                            .spent = &f->spent};
}

static pgy_status compute_general(level_run *r, pgy_node *n, pgy_error *err)
{
    const fold_source from = {read_value, r};
    const execute_limits limits = limits_of(r->f);
    return fold_compute(r->out, n, &from, &limits, err);
}

static pgy_status compute_move(level_run *r, pgy_node *n, const pgy_onnx_tensor **origin,
                               pgy_error *err)
{
    pgy_tensor *x = NULL, *y = NULL;
    pgy_value *v = n->input_count ? n->inputs[0] : NULL;
    bool shared;
    if (!v) return PGY_OK;
    pgy_status st = declared_tensor(&x, r, v, err);
    if (!st && x) st = fold_move(&y, &shared, n, x, err);
    if (!st && y) {
        r->out[0] = (op_tensor){.dtype = pgy_tensor_dtype(y), .value = y};
        if (shared) *origin = is_held(r, v) ? result_of(r, v)->origin : v->initializer;
    }
    pgy_tensor_release(x);
    return st;
}

/* The tensor record of v if v is a weight, or a result whose elements are computed when the model
 * is written; else NULL. */
static const pgy_onnx_tensor *stored_weight(const level_run *r, pgy_value *v)
{
    if (!v) return NULL;
    if (is_held(r, v)) return result_of(r, v)->later ? result_of(r, v)->origin : NULL;
    return v->initializer;
}

/* *origin: set instead of a value if the result is computed only when the model is written. */
static pgy_status compute(level_run *r, pgy_node *n, const pgy_onnx_tensor **origin, pgy_error *err)
{
    const pgy_onnx_tensor *weight = n->input_count ? stored_weight(r, n->inputs[0]) : NULL;
    memset(r->out, 0, n->output_count * sizeof *r->out);
    *origin = NULL;
    pgy_status st = weight ? fold_later(origin, r->f, n, weight, err) : PGY_OK;
    if (st || *origin) return st;
    st = compute_move(r, n, origin, err);
    if (!st && !r->out[0].value) st = compute_general(r, n, err);
    return st;
}

/* ---- What inference knows ------------------------------------------------------------------- */

static bool is_counting(pgy_dtype dtype)
{
    return pgy_dtype_is_integer(dtype) || dtype == PGY_BOOL;
}

/* If inference is off, infers only Shape, Size and the nodes that pick elements from their results:
 * declared shapes suffice for those. */
static pgy_status infer_shape_node(level_run *r, pgy_node *n, pgy_error *err)
{
    pgy_error why = {0};
    const bool source = node_is(n, "Shape") || node_is(n, "Size");
    if (!r->f->options.keep_shape_inference || r->f->options.keep_shapes || !n->input_count ||
        !n->inputs[0] || level_of(n->graph)->is_function)
        return PGY_OK;
    value_box *x = box_of(n->inputs[0]);
    if (!source && (!x->known.elements || !(node_is(n, "Gather") || node_is(n, "Slice"))))
        return PGY_OK;
    if (x->known.rank < 0) x->known = x->declared;
    const pgy_status st = graph_infer_node(n, &why);
    return status_ends_all(st) ? pgy_error_set(err, st, "%s", why.text) : PGY_OK;
}

/* Excludes floats, or quantised constants, which must stay visible, would be folded here. */
static bool is_inferred(const level_run *r, const pgy_node *n)
{
    bool wanted = false;
    if (r->f->options.keep_shapes) return false;
    for (size_t i = 0; i < n->output_count; i++) {
        const pgy_value *v = n->outputs[i];
        if (!v) continue;
        const op_value *known = fold_known(v);
        if (!known->data || !is_counting(known->dtype)) return false;
        wanted = true;
    }
    return wanted;
}

static pgy_status take_inferred(level_run *r, pgy_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    memset(r->out, 0, n->output_count * sizeof *r->out);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        if (!n->outputs[i]) continue;
        const op_value *known = fold_known(n->outputs[i]);
        r->out[i].dtype = known->dtype;
        st = op_from_storage(&r->out[i].value, (pgy_tensor *)known->data, known->dtype, err);
    }
    return st;
}

/* ---- Limits --------------------------------------------------------------------------------- */

static uint64_t tensor_bytes(const pgy_tensor *t)
{
    return t ? pgy_tensor_size_bytes(t) : 0;
}

static uint64_t released_bytes(const level_run *r, pgy_value *v)
{
    if (!v || v->graph != r->level || result_of(r, v)->left != 1) return 0;
    if (is_held(r, v) && result_of(r, v)->later) return weight_bytes(result_of(r, v)->origin);
    if (is_held(r, v)) return tensor_bytes(result_of(r, v)->value.value);
    return v->initializer ? weight_bytes(v->initializer) : 0;
}

/* Do the inferred shapes show, before anything is computed, that a result is too large? */
static bool known_too_large(const level_run *r, const pgy_node *n, uint64_t *bytes)
{
    for (size_t i = 0; i < n->output_count; i++) {
        const op_value *known = n->outputs[i] ? fold_known(n->outputs[i]) : NULL;
        int64_t shape[PGY_MAX_RANK];
        size_t count, size;
        bool constant = known && known->dtype && known->rank >= 0 && known->rank <= PGY_MAX_RANK;
        for (int32_t d = 0; constant && d < known->rank; d++) {
            constant = dim_is_const(known->dims[d]);
            shape[d] = known->dims[d].value;
        }
        if (!constant || pgy_shape_count(&count, (size_t)known->rank, shape, NULL) ||
            pgy_dtype_size_bytes(&size, known->dtype, count, NULL))
            continue;
        *bytes = size;
        if (size > r->f->options.max_result_bytes) return true;
    }
    return false;
}

/* Could node `user` be computed, too, if v were known? */
static bool could_go(const level_run *r, const pgy_node *user, const pgy_value *v)
{
    if (user->graph != r->level || node_box_of(user)->captured_count) return false;
    for (size_t i = 0; i < user->input_count; i++)
        if (user->inputs[i] != v && !is_ready(r, user->inputs[i])) return false;
    return true;
}

static size_t count_going(const level_run *r, const pgy_value *v)
{
    size_t going = 0;
    for (size_t i = 0; i < v->consumer_count; i++) going += could_go(r, v->consumers[i], v);
    return going;
}

/* True for a Transpose of a large weight that other nodes read directly, such as tied weights of
 * embeddings and classifiers: folding it would store the weight twice. False if consumers of the
 * Transpose can be folded, too. */
static bool makes_copy(const level_run *r, const pgy_node *n)
{
    const pgy_value *v = node_is(n, "Transpose") && n->input_count == 1 ? n->inputs[0] : NULL;
    return v && v->initializer && v->graph == r->level && n->outputs[0] &&
           weight_bytes(v->initializer) > r->f->options.max_copy_bytes &&
           (v->is_output || count_going(r, v) < v->consumer_count) &&
           count_going(r, n->outputs[0]) == 0;
}

/* *kept: whether the results of n are within the limits on size and growth. */
static pgy_status check_limits(level_run *r, pgy_node *n, const pgy_onnx_tensor *later, bool *kept,
                               pgy_error *err)
{
    folder *f = r->f;
    uint64_t made = 0, freed = 0;
    *kept = false;
    for (size_t i = 0; i < n->output_count; i++) {
        const uint64_t bytes = later ? weight_bytes(later) : tensor_bytes(r->out[i].value);
        if (bytes > f->options.max_result_bytes) return fold_refuse_size(f, n, bytes, err);
        made += bytes;
    }
    for (size_t i = 0; i < n->input_count; i++) freed += released_bytes(r, n->inputs[i]);
    return fold_limits_growth(kept, f, n, made, freed, err);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static void use_up(level_run *r, pgy_value *v)
{
    result *held = v ? result_of(r, v) : NULL;
    if (!held || !held->left || --held->left) return;
    op_tensor_release(&held->value);
    held->later = false;
}

static void use_up_inputs(level_run *r, const pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++) use_up(r, n->inputs[i]);
    for (size_t i = 0; i < n->subgraph_count; i++)
        for (size_t k = 0; k < n->subgraphs[i]->node_count; k++)
            use_up_inputs(r, n->subgraphs[i]->nodes[k]);
}

static bool makes_sequence(const level_run *r, const pgy_node *n)
{
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && result_of(r, n->outputs[i])->value.sequence) return true;
    return false;
}

static void hold_results(level_run *r, pgy_node *n, const pgy_onnx_tensor *origin)
{
    for (size_t i = 0; i < n->output_count; i++) {
        result *to = n->outputs[i] ? result_of(r, n->outputs[i]) : NULL;
        if (to && to->left) {
            to->later = i == 0 && origin && !r->out[i].value;
            to->value = r->out[i];
            to->origin = i == 0 ? origin : NULL;
            r->out[i] = (op_tensor){0};
        }
        op_tensor_release(&r->out[i]);
    }
    r->folded[n->index] = true;
    if (!makes_sequence(r, n)) use_up_inputs(r, n);
}

/* Does a node in a function depend on attributes of the call? */
static bool refers(const pgy_node *n)
{
    if (node_box_of(n)->has_refs) return true;
    for (size_t i = 0; i < n->subgraph_count; i++)
        for (size_t k = 0; k < n->subgraphs[i]->node_count; k++)
            if (refers(n->subgraphs[i]->nodes[k])) return true;
    return false;
}

static pgy_status fold_node(level_run *r, pgy_node *n, pgy_error *err)
{
    pgy_error why = {0};
    const pgy_onnx_tensor *origin = NULL;
    bool allowed = false, kept = false;
    uint64_t bytes = 0;
    pgy_status st = fold_allows(&allowed, r->f, n, err);
    if (!st && allowed) st = infer_shape_node(r, n, err);
    if (st || !allowed || refers(n)) return st;
    const bool inferred = is_inferred(r, n);
    if (!inferred && !inputs_ready(r, n)) return PGY_OK;
    if (known_too_large(r, n, &bytes)) return fold_refuse_size(r->f, n, bytes, err);
    if (makes_copy(r, n))
        return fold_refuse(
            r->f, n, err,
            "folding would store '%s' twice, because other nodes need it, too (%llu MiB more)",
            n->inputs[0]->name,
            (unsigned long long)(weight_bytes(n->inputs[0]->initializer) >> 20));
    st = inferred ? take_inferred(r, n, &why) : compute(r, n, &origin, &why);
    if (st)
        st = fold_refuse(r->f, n, err, "%s", why.text);
    else
        st = check_limits(r, n, r->out[0].value ? NULL : origin, &kept, err);
    if (kept)
        hold_results(r, n, origin);
    else
        for (size_t i = 0; i < n->output_count; i++) op_tensor_release(&r->out[i]);
    return st;
}

/* ---- Results -------------------------------------------------------------------------------- */

/* Unfolds nodes whose sequences are needed, from last to first, because the inputs of an unfolded
 * node become needed, too. */
static void unfold_sequences(level_run *r)
{
    for (size_t i = r->count; i-- > 0;) {
        pgy_node *n = r->order[i];
        bool needed = false;
        if (!r->folded[n->index] || !makes_sequence(r, n)) continue;
        for (size_t k = 0; k < n->output_count; k++)
            needed |= n->outputs[k] && result_of(r, n->outputs[k])->left > 0;
        if (!needed) {
            use_up_inputs(r, n);
            continue;
        }
        r->folded[n->index] = false;
        for (size_t k = 0; k < n->output_count; k++)
            if (n->outputs[k]) op_tensor_release(&result_of(r, n->outputs[k])->value);
    }
}

static pgy_status keep_result(level_run *r, pgy_value *v, pgy_error *err)
{
    result *from = result_of(r, v);
    const pgy_tensor *t = from->value.value;
    const pgy_onnx_tensor *stored = NULL;
    pgy_status st = PGY_OK;
    if (from->later) {
        stored = weight_renamed(r->f->graph->model, from->origin, v->name, from->origin->dims,
                                from->origin->dim_count);
        if (!stored) st = graph_no_memory(err);
    } else if (!t) {
        return PGY_OK;
    } else if (from->origin) {
        stored = weight_renamed(r->f->graph->model, from->origin, v->name, pgy_tensor_shape(t),
                                pgy_tensor_rank(t));
        if (!stored) st = graph_no_memory(err);
    } else {
        st = weight_create(&stored, r->f->graph->model, v->name, from->value.value, err);
    }
    op_tensor_release(&from->value);
    return st ? st : value_set_constant(v, stored, err);
}

static pgy_status keep_results(level_run *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < r->count; i++) {
        pgy_node *n = r->order[i];
        if (!r->folded[n->index]) continue;
        fold_drop_node(r->f, n);
        for (size_t k = 0; !st && k < n->output_count; k++)
            if (n->outputs[k]) st = keep_result(r, n->outputs[k], err);
    }
    graph_sweep(r->level);
    return st;
}

pgy_status fold_values(folder *f, pgy_graph *level, pgy_error *err)
{
    level_run r;
    pgy_status st = run_init(&r, f, level, err);
    progress_begin("Folding nodes", r.count);
    for (size_t i = 0; !st && i < r.count; i++) {
        st = cancel_check_after(fold_node(&r, r.order[i], err), err);
        progress_advance(i + 1);
    }
    progress_end();
    if (!st) unfold_sequences(&r);
    if (!st) st = keep_results(&r, err);
    run_deinit(&r);
    return st;
}
