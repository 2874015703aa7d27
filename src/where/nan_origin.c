/* SPDX-License-Identifier: Apache-2.0 */
/* A node is an origin if an output has a NaN or infinity and all elements of its inputs are finite.
 * A node with subgraphs is not: the origin is inside them. */
#include <polygraphy/noise.h>

#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/sized.h"
#include "graph/side_table.h"
#include "tensor/convert.h"
#include "where/noise_walk.h"

enum { DEFAULT_ORIGINS = 16 };

struct pgy_nan_search {
    noise_walk walk;
    pgy_nan_options options;
    pgy_nan_origin *origins;
    size_t count, capacity, sample;
    uint64_t total, checked;
    bool poisoned;    /* rounding made an input of the running node infinite or NaN */
    id_marks sources; /* inputs and weights that were reported in this sample */
    arena memory;
};

/* The counts of a tensor, its range without NaN, and its first element that is not finite. */
typedef struct census {
    uint64_t nan, inf;
    size_t first;
    double low, high;
} census;

static census take_census(const op_tensor *t)
{
    census c = {.low = INFINITY, .high = -INFINITY};
    const pgy_dtype held = t->value ? pgy_tensor_dtype(t->value) : PGY_DTYPE_NONE;
    if (!t->value || held == PGY_STRING || held == PGY_C128) return c;
    const void *data = pgy_tensor_data(t->value);
    for (size_t i = 0; i < pgy_tensor_count(t->value); i++) {
        if (!(i & 0xffff) && cancel_requested()) break;
        const double v = held == PGY_F64 ? op_f64(t->value)[i] : element_as_f64(held, data, i);
        if (!isfinite(v) && !c.nan && !c.inf) c.first = i;
        c.nan += isnan(v);
        c.inf += isinf(v) != 0;
        if (v < c.low) c.low = v;
        if (v > c.high) c.high = v;
    }
    return c;
}

static void unravel(int64_t *index, const pgy_tensor *t, size_t at)
{
    for (size_t d = pgy_tensor_rank(t); d-- > 0;) {
        const size_t size = (size_t)pgy_tensor_shape(t)[d];
        index[d] = (int64_t)(at % size);
        at /= size;
    }
}

/* The element of t that broadcasts to `index` of a tensor of this rank. False: no such element. */
static bool broadcast_element(double *out, const pgy_tensor *t, const pgy_tensor *to,
                              const int64_t *index)
{
    const size_t rank = pgy_tensor_rank(t), wide = pgy_tensor_rank(to);
    size_t at = 0;
    if (rank > wide || !pgy_tensor_count(t)) return false;
    for (size_t d = 0; d < rank; d++) {
        const int64_t size = pgy_tensor_shape(t)[d], i = index[wide - rank + d];
        if (size != 1 && size != pgy_tensor_shape(to)[wide - rank + d]) return false;
        at = at * (size_t)size + (size == 1 ? 0 : (size_t)i);
    }
    *out = element_as_f64(pgy_tensor_dtype(t), pgy_tensor_data(t), at);
    return true;
}

static int64_t *copy_shape(pgy_nan_search *s, const pgy_tensor *t)
{
    int64_t *shape = arena_alloc_array(&s->memory, pgy_tensor_rank(t) + 1, sizeof *shape);
    for (size_t d = 0; shape && d < pgy_tensor_rank(t); d++) shape[d] = pgy_tensor_shape(t)[d];
    return shape;
}

/* Operators that can make a NaN or infinity, whose element comes from the operands' elements at the
 * same index. */
static bool is_elementwise(const pgy_node *n)
{
    static const char *const OPS[] = {
        "Acos", "Acosh", "Add", "Asin",       "Atanh", "Cast", "Cosh", "Div", "Elu", "Exp", "Log",
        "Mod",  "Mul",   "Pow", "Reciprocal", "Sinh",  "Sqrt", "Sub",  "Sum", "Tan", NULL};
    for (const char *const *op = OPS; *op; op++)
        if (node_is(n, *op)) return true;
    return false;
}

static bool add_operands(pgy_nan_search *s, pgy_nan_origin *o, const pgy_node *n,
                         const op_tensor *inputs, const pgy_tensor *made)
{
    pgy_nan_operand *list = arena_alloc_array(&s->memory, n->input_count + 1, sizeof *list);
    if (!list) return false;
    for (size_t i = 0; i < n->input_count; i++) {
        const pgy_tensor *t = inputs[i].value;
        list[i].name = n->inputs[i] ? n->inputs[i]->name : "";
        if (!t || pgy_tensor_dtype(t) == PGY_STRING || pgy_tensor_dtype(t) == PGY_C128) continue;
        const census c = take_census(&inputs[i]);
        list[i].dtype = inputs[i].dtype;
        list[i].rank = (int32_t)pgy_tensor_rank(t);
        if (!(list[i].shape = copy_shape(s, t))) return false;
        list[i].low = c.low;
        list[i].high = c.high;
        list[i].has_value =
            is_elementwise(n) && broadcast_element(&list[i].value, t, made, o->index);
    }
    o->operands = list;
    o->operand_count = n->input_count;
    return true;
}

static pgy_status report(pgy_nan_search *s, const pgy_node *n, const op_tensor *inputs,
                         const pgy_value *v, const op_tensor *t, const census *c, pgy_error *err)
{
    str path = {0};
    if (s->total++, s->count >= s->options.max_origins) return PGY_OK;
    if (!mem_grow((void **)&s->origins, &s->capacity, s->count + 1, sizeof *s->origins))
        return graph_no_memory(err);
    noise_walk_path(&path, &s->walk, v->name, true);
    int64_t *index = arena_alloc_array(&s->memory, PGY_MAX_RANK, sizeof *index);
    pgy_nan_origin o = {
        .name = path.failed ? NULL : arena_strdup(&s->memory, str_text(&path)),
        .node = n ? node_label(n) : "",
        .op_type = n ? n->op_type : "",
        .dtype = noise_assumed(t->dtype, s->options.assume),
        .rank = (int32_t)pgy_tensor_rank(t->value),
        .shape = copy_shape(s, t->value),
        .index = index,
        .value = element_as_f64(pgy_tensor_dtype(t->value), pgy_tensor_data(t->value), c->first),
        .nan_count = c->nan,
        .inf_count = c->inf,
        .count = pgy_tensor_count(t->value),
        .sample = s->sample,
        .from_input = !n};
    str_deinit(&path);
    if (!index || !o.name || !o.shape) return graph_no_memory(err);
    unravel(index, t->value, c->first);
    if (n && !add_operands(s, &o, n, inputs, t->value)) return graph_no_memory(err);
    s->origins[s->count++] = o;
    return PGY_OK;
}

static bool is_source(const pgy_value *v)
{
    return v->initializer || v->sparse || (v->producer && node_constant(v->producer)) ||
           (v->is_input && !v->graph->parent && !level_of(v->graph)->is_function);
}

/* Reports inputs and weights that are not finite. *finite: no input of n has a NaN or infinity. */
static pgy_status check_inputs(bool *finite, pgy_nan_search *s, const pgy_node *n,
                               const op_tensor *inputs, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *finite = true;
    for (size_t i = 0; !st && i < n->input_count; i++) {
        const pgy_value *v = n->inputs[i];
        const census c = take_census(&inputs[i]);
        if (!c.nan && !c.inf) continue;
        *finite = false;
        if (!v || !is_source(v) || id_marks_get(&s->sources, value_id(v))) continue;
        if (!id_marks_set(&s->sources, value_id(v))) return graph_no_memory(err);
        st = report(s, NULL, NULL, v, &inputs[i], &c, err);
    }
    return st;
}

/* An output of a node with subgraphs repeats a value from inside. */
static pgy_status check(pgy_nan_search *s, const pgy_node *n, const op_tensor *inputs,
                        const op_tensor *outputs, pgy_error *err)
{
    bool finite = true, known = false;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->output_count; i++) {
        if (!n->outputs[i] || !outputs[i].value) continue;
        const census c = take_census(&outputs[i]);
        s->checked++;
        if (!c.nan && !c.inf) continue;
        if (!known) st = check_inputs(&finite, s, n, inputs, err);
        known = true;
        if (!st && finite && !s->poisoned && !n->subgraph_count && !node_box_of(n)->function)
            st = report(s, n, inputs, n->outputs[i], &outputs[i], &c, err);
        break;
    }
    return st ? st : cancel_check(err);
}

static pgy_status ran(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                      pgy_error *err)
{
    pgy_nan_search *s = user;
    const pgy_status st = check(s, n, inputs, outputs, err);
    noise_walk_ran(&s->walk);
    return st;
}

static pgy_status starts(pgy_node *n, void *user, pgy_error *err)
{
    pgy_nan_search *s = user;
    return noise_walk_starts(&s->walk, n, err);
}

static pgy_status begins(const pgy_graph *g, execute_level *level, void *user, pgy_error *err)
{
    pgy_nan_search *s = user;
    (void)g, (void)level, (void)err;
    noise_walk_begins(&s->walk);
    return PGY_OK;
}

/* ---- Assumed types -------------------------------------------------------------------------- */

/* Runs a node with sources and results rounded to the assumed type. */
static pgy_status run_rounded(pgy_node *n, const op_node *node, const op_tensor *inputs,
                              op_tensor *outputs, const bool *wanted, const op_host *host,
                              void *user, pgy_error *err)
{
    pgy_nan_search *s = user;
    pgy_status st = PGY_OK;
    op_tensor *own = mem_calloc(n->input_count + 1, sizeof *own);
    if (!own) return graph_no_memory(err);
    s->poisoned = false;
    for (size_t i = 0; !st && i < n->input_count; i++) {
        own[i] = op_tensor_retain(&inputs[i]);
        const pgy_dtype type = noise_assumed(own[i].dtype, s->options.assume);
        if (!own[i].value || type == own[i].dtype || !is_source(n->inputs[i]) ||
            noise_keeps_input(n, i))
            continue;
        pgy_tensor *rounded = NULL;
        st = noise_round_nearest(&rounded, own[i].value, type, err);
        if (st) break;
        pgy_tensor_release(own[i].value);
        own[i].value = rounded;
        const census c = take_census(&own[i]);
        s->poisoned |= c.nan || c.inf;
        if ((c.nan || c.inf) && !id_marks_get(&s->sources, value_id(n->inputs[i]))) {
            if (!id_marks_set(&s->sources, value_id(n->inputs[i]))) st = graph_no_memory(err);
            if (!st) st = report(s, NULL, NULL, n->inputs[i], &own[i], &c, err);
        }
    }
    if (!st) st = op_run(node, own, outputs, wanted, host, err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        const pgy_dtype type = noise_assumed(outputs[i].dtype, s->options.assume);
        if (noise_is_float(&outputs[i]) && type != outputs[i].dtype)
            op_conform(outputs[i].value, type, true);
    }
    for (size_t i = 0; i < n->input_count; i++) op_tensor_release(&own[i]);
    mem_free(own);
    return st;
}

/* ---- The search ----------------------------------------------------------------------------- */

pgy_status pgy_nan_create(pgy_nan_search **out, pgy_model *model, const pgy_nan_options *options,
                          pgy_error *err)
{
    pgy_nan_options o = {0};
    pgy_status st = SIZED_TAKE(pgy_nan_options, &o, options, err);
    if (!st) st = noise_check_type(o.assume, "nan_options.assume", err);
    if (!st && o.assume && !o.model_precision)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "nan_options.assume is %s, but without nan_options.model_precision "
                           "nothing is rounded",
                           pgy_dtype_name(o.assume));
    if (st) return st;
    pgy_nan_search *s = mem_calloc(1, sizeof *s);
    if (!s) return graph_no_memory(err);
    s->options = o;
    if (!o.max_origins) s->options.max_origins = DEFAULT_ORIGINS;
    st = noise_walk_init(&s->walk, model, err);
    s->walk.max_steps = o.max_steps;
    s->walk.limit = "nan_options.max_steps";
    if (st)
        mem_free(s);
    else
        *out = s;
    return st;
}

void pgy_nan_destroy(pgy_nan_search *s)
{
    if (!s) return;
    noise_walk_deinit(&s->walk);
    id_marks_deinit(&s->sources);
    arena_deinit(&s->memory);
    mem_free(s->origins);
    mem_free(s);
}

pgy_status pgy_nan_add(pgy_nan_search *s, const pgy_tensor_map *feed, pgy_error *err)
{
    const execute_watch watch = {.ran = ran, .user = s, .begins = begins, .starts = starts};
    const execute_operators rounded = {.run = run_rounded, .user = s, .storage = true};
    const bool assumes = s->options.assume != PGY_DTYPE_NONE;
    id_marks_clear(&s->sources);
    const pgy_status st = noise_walk_run(&s->walk, feed, s->options.model_precision, 1,
                                         assumes ? &rounded : NULL, &watch, err);
    s->sample++;
    return st;
}

size_t pgy_nan_count(const pgy_nan_search *s)
{
    return s->count;
}

const pgy_nan_origin *pgy_nan_at(const pgy_nan_search *s, size_t i)
{
    return i < s->count ? &s->origins[i] : NULL;
}

uint64_t pgy_nan_total(const pgy_nan_search *s)
{
    return s->total;
}

uint64_t pgy_nan_checked(const pgy_nan_search *s)
{
    return s->checked;
}
