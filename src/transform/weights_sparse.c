/* SPDX-License-Identifier: Apache-2.0 */
/* 2:4 sparsity: finds eligible weights, checks them and prunes them. From each Conv, Gemm and
 * MatMul the weight is searched backwards through operators that keep its values or only move them.
 * An axis counted from the end is negative until the weight, and with it the rank, is known. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "graph/graph.h"
#include "onnx/computed.h"
#include "onnx/elements.h"
#include "transform/weights.h"

static const char LOG_PATH[] = "transform/weights_sparse.c";
static const char ORIGINAL_PATH[] = "tools/sparse.py";

typedef uint32_t vector_32 __attribute__((vector_size(16)));
typedef uint16_t vector_16 __attribute__((vector_size(16)));

#define T uint32_t
#define VECTOR vector_32
#define MAGNITUDE 0x7FFFFFFFu
#define NAME(verb) verb##_32
#include "transform/weights_sparse.inc"
#undef T
#undef VECTOR
#undef MAGNITUDE
#undef NAME
#define T uint16_t
#define VECTOR vector_16
#define MAGNITUDE 0x7FFFu
#define NAME(verb) verb##_16
#include "transform/weights_sparse.inc"
#undef T
#undef VECTOR
#undef MAGNITUDE
#undef NAME

pgy_status quads_of(quad_layout *out, const pgy_onnx_tensor *t, size_t axis, pgy_error *err)
{
    quad_layout q = {.dtype = pgy_dtype_from_onnx(t->data_type), .inner = 1};
    size_t whole;
    const pgy_status st = tensor_needs_bytes(
        &whole, t, err); /* this check ensures that products of its sizes do not overflow */
    if (st) return st;
    for (size_t i = axis + 1; whole && i < t->dim_count; i++) q.inner *= (size_t)t->dims[i];
    q.run_bytes = q.inner * (pgy_dtype_describe(q.dtype)->bits / 8);
    q.bytes = 4 * q.run_bytes;
    *out = q;
    return PGY_OK;
}

static bool holds(const quad_layout *q, const void *elements, size_t size_bytes)
{
    const size_t count = size_bytes / q->bytes;
    return q->dtype == PGY_F32 ? holds_32(elements, count, q->inner)
                               : holds_16(elements, count, q->inner);
}

void quads_prune(const quad_layout *q, void *elements, size_t size_bytes)
{
    const size_t count = size_bytes / q->bytes;
    if (q->dtype == PGY_F32)
        prune_32(elements, count, q->inner);
    else
        prune_16(elements, count, q->inner);
}

/* ---- Which weights -------------------------------------------------------------------------- */

/* Inputs that may be weights. `axis` is the one that the original prunes, or its place when the
 * attribute is set; `summed` is the one along which the node sums, which sparse tensor cores need
 * to be sparse (from the end: in a stack of matrices the sums run along the last two). They differ
 * in stacks, and behind a Transpose whose permutation is not its own inverse: files of both
 * programs must agree, so the original's counts, and a warning says that it is another one. */
static const struct {
    const char *op;
    size_t input;
    const char *transposed;
    int64_t axis, transposed_axis, summed;
} PLACES[] = {
    {"Conv", 1, NULL, 1, 1, 1},    {"Gemm", 0, "transA", 1, 0, -1}, {"Gemm", 1, "transB", 0, 1, -2},
    {"MatMul", 0, NULL, 1, 1, -1}, {"MatMul", 1, NULL, 0, 0, -2},
};

typedef struct axes {
    int64_t pruned, summed;
} axes;

static const char *const TRANSPARENT[] = {"QuantizeLinear", "DequantizeLinear",
                                          "TRT_FP8QuantizeLinear", "TRT_FP8DequantizeLinear",
                                          "Cast"};
/* Operators at which the search for a weight ends without a warning, because they are common before
 * a Conv, Gemm or MatMul. */
static const char *const ENDS[] = {"LayerNormalization", "Reshape", "Concat", "Slice", "Shape",
                                   "Unsqueeze",          "Gather",  "Mul",    "Add"};

static bool is_one_of(const char *const *list, size_t count, const char *op)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], op)) return true;
    return false;
}

/* Maps axes of a Transpose's result to those of its input; false: its permutation does not have
 * them. */
static bool axes_before(axes *a, const pgy_node *transpose)
{
    const pgy_onnx_attribute *perm = node_attribute(transpose, "perm");
    if (!perm || !perm->int_count) {
        LOG_ORIGINAL(WARNING, "%s doesn't have <perm> attribute!", transpose->op_type);
        return false;
    }
    const int64_t rank = (int64_t)perm->int_count;
    const int64_t at = a->summed < 0 ? a->summed + rank : a->summed;
    int64_t place = 0;
    while (place < rank && perm->ints[place] != a->pruned) place++;
    if (at < 0 || at >= rank || place == rank) return false;
    *a = (axes){place, perm->ints[at]};
    return true;
}

/* Searches back to a stored weight; NULL if there is none. */
static pgy_value *find_weight(pgy_value *v, axes *a, size_t steps)
{
    for (; v && !v->initializer && v->producer && steps; steps--) {
        const pgy_node *n = v->producer;
        bool moves = !strcmp(n->op_type, "Transpose");
        if (!moves &&
            !is_one_of(TRANSPARENT, sizeof TRANSPARENT / sizeof *TRANSPARENT, n->op_type)) {
            if (!is_one_of(ENDS, sizeof ENDS / sizeof *ENDS, n->op_type))
                LOG_ORIGINAL(WARNING, "(%s) produced by %s type: %s is unsupported!", v->name,
                             n->name, n->op_type);
            return NULL;
        }
        if (moves && !axes_before(a, n)) return NULL;
        v = n->input_count ? n->inputs[0] : NULL;
    }
    return v && v->initializer ? v : NULL;
}

static bool is_eligible(const pgy_value *v, int64_t axis)
{
    const pgy_onnx_tensor *t = v->initializer;
    pgy_dtype dtype = pgy_dtype_from_onnx(t->data_type);
    if (dtype != PGY_F32 && dtype != PGY_F16 && dtype != PGY_BF16) {
        LOG_ORIGINAL(WARNING, "Skipping tensor: %s due to unsupported type: %s", v->name,
                     pgy_dtype_name(dtype));
        return false;
    }
    if (axis < 0 || axis >= (int64_t)t->dim_count) {
        LOG_ORIGINAL(VERBOSE, "Skipping %s since it has no axis %lld.", v->name, (long long)axis);
        return false;
    }
    if (t->dims[axis] % 4 == 0) return true;
    str shape = {0};
    str_append_py_ints(&shape, t->dims, t->dim_count);
    LOG_ORIGINAL(VERBOSE,
                 "Skipping %s since the length of axis %lld (%lld in %s) is not a multiple of 4.",
                 v->name, (long long)axis, (long long)t->dims[axis], str_text(&shape));
    str_deinit(&shape);
    return false;
}

/* ---- Gathering weights ---------------------------------------------------------------------- */

typedef struct candidate {
    pgy_value *value;
    axes axes;
} candidate;

typedef struct candidates {
    candidate *items;
    size_t count, capacity;
    strmap by_name; /* name of a weight -> its index in the list, plus 1 */
} candidates;

static void candidates_deinit(candidates *c)
{
    mem_free(c->items);
    strmap_deinit(&c->by_name);
}

/* Adds weight v; if nodes use it along several axes, the last one counts. */
static pgy_status add_candidate(candidates *c, pgy_value *v, axes a, pgy_error *err)
{
    const int64_t rank = (int64_t)v->initializer->dim_count;
    if (a.summed < 0) a.summed = rank > 1 ? a.summed + rank : 0;
    const uintptr_t known = (uintptr_t)strmap_get(&c->by_name, v->name);
    if (known) {
        c->items[known - 1].axes = a;
        return PGY_OK;
    }
    void *items = c->items;
    const bool grown = mem_grow(&items, &c->capacity, c->count + 1, sizeof *c->items);
    c->items = items;
    if (!grown || !strmap_put(&c->by_name, v->name, (void *)(uintptr_t)(c->count + 1)))
        return graph_no_memory(err);
    c->items[c->count++] = (candidate){v, a};
    return PGY_OK;
}

static pgy_status visit_node(candidates *out, const pgy_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < sizeof PLACES / sizeof *PLACES; i++) {
        if (strcmp(PLACES[i].op, n->op_type) || PLACES[i].input >= n->input_count) continue;
        const pgy_onnx_attribute *transposed =
            PLACES[i].transposed ? node_attribute(n, PLACES[i].transposed) : NULL;
        const bool turned = transposed && transposed->i;
        axes a = {turned ? PLACES[i].transposed_axis : PLACES[i].axis,
                  turned ? PLACES[i].transposed_axis : PLACES[i].summed};
        pgy_value *v = find_weight(n->inputs[PLACES[i].input], &a, n->graph->node_count);
        if (v) st = add_candidate(out, v, a, err);
    }
    return st;
}

static void warn_of_axis(const candidate *c)
{
    if (c->axes.pruned == c->axes.summed) return;
    LOG(WARNING,
        "%s: pruning goes along axis %lld, as in the original, but the operator sums along axis "
        "%lld: hardware for 2:4 sparsity cannot use this weight",
        c->value->name, (long long)c->axes.pruned, (long long)c->axes.summed);
}

/* Selects the candidates that are eligible for 2:4 sparsity. */
static pgy_status select_weights(const pgy_sparse_weight **out, size_t *count, pgy_graph *g,
                                 const candidates *found, const strmap *skip, pgy_error *err)
{
    pgy_sparse_weight *items =
        arena_alloc_array(&state_of(g)->memory, found->count + 1, sizeof *items);
    size_t n = 0;
    if (!items) return graph_no_memory(err);
    for (size_t i = 0; i < found->count; i++) {
        const candidate *c = &found->items[i];
        if (skip && strmap_has(skip, c->value->name))
            LOG_ORIGINAL(WARNING, "Skipping tensor: %s since it was marked to skip pruning",
                         c->value->name);
        else if (is_eligible(c->value, c->axes.pruned)) {
            items[n++] = (pgy_sparse_weight){c->value, (size_t)c->axes.pruned};
            warn_of_axis(c);
        }
    }
    LOG_ORIGINAL(INFO, "Found: %zu weight tensor(s) eligible for pruning.", n);
    *out = items;
    *count = n;
    return PGY_OK;
}

pgy_status sparse_weights_find(const pgy_sparse_weight **out, size_t *count, pgy_graph *g,
                               const strmap *skip, pgy_error *err)
{
    candidates found = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) st = visit_node(&found, g->nodes[i], err);
    if (!st) st = select_weights(out, count, g, &found, skip, err);
    candidates_deinit(&found);
    return st;
}

pgy_status pgy_graph_sparse_weights(const pgy_sparse_weight **out, size_t *count, pgy_graph *g,
                                    pgy_error *err)
{
    if (!out || !count || !g)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'count' and 'g' must not be NULL");
    return sparse_weights_find(out, count, g, NULL, err);
}

/* ---- Elements of weights -------------------------------------------------------------------- */

/* Groups larger than WIDE_BYTES are processed in columns, to limit memory. */
enum { WIDE_BYTES = 8 << 20, COLUMN_BYTES = 64 * 1024 };

/* Reads the same range of columns from all four runs of a group, as four shorter runs. */
static pgy_status read_columns(void *to, element_reader *r, const quad_layout *q, size_t group,
                               size_t column, size_t size_bytes, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < 4; i++)
        st = element_reader_get(r, (char *)to + i * size_bytes, group + i * q->run_bytes + column,
                                size_bytes, err);
    return st;
}

static quad_layout columns_of(const quad_layout *q, size_t size_bytes)
{
    return (quad_layout){q->dtype, size_bytes / (q->run_bytes / q->inner), size_bytes,
                         4 * size_bytes};
}

static pgy_status holds_wide(bool *out, element_reader *r, const quad_layout *q, void *buffer,
                             pgy_error *err)
{
    pgy_status st = PGY_OK;
    bool good = true;
    for (size_t group = 0; !st && good && group < r->size_bytes; group += q->bytes)
        for (size_t at = 0; !st && good && at < q->run_bytes; at += COLUMN_BYTES) {
            const size_t left = q->run_bytes - at, size = left < COLUMN_BYTES ? left : COLUMN_BYTES;
            const quad_layout part = columns_of(q, size);
            st = read_columns(buffer, r, q, group, at, size, err);
            good = st || holds(&part, buffer, part.bytes);
        }
    *out = good;
    return st;
}

static pgy_status holds_groups(bool *out, element_reader *r, const quad_layout *q, void *buffer,
                               size_t size_bytes, pgy_error *err)
{
    pgy_status st = PGY_OK;
    bool good = true;
    for (size_t at = 0; !st && good && at < r->size_bytes; at += size_bytes) {
        const size_t left = r->size_bytes - at, size = left < size_bytes ? left : size_bytes;
        st = element_reader_get(r, buffer, at, size, err);
        good = st || holds(q, buffer, size);
    }
    *out = good;
    return st;
}

pgy_status pgy_sparse_weight_holds(bool *out, const pgy_sparse_weight *w, pgy_error *err)
{
    element_reader r = {0};
    quad_layout q;
    const pgy_onnx_tensor *t = w->value->initializer;
    pgy_status st = quads_of(&q, t, w->axis, err);
    if (!st) st = element_reader_open(&r, w->value->graph->model, t, err);
    if (st) return st;
    if (!r.size_bytes) {
        *out = true;
        element_reader_close(&r);
        return PGY_OK;
    }
    const bool wide = q.bytes > WIDE_BYTES;
    const size_t size = wide                   ? 4 * COLUMN_BYTES
                        : q.bytes > PART_BYTES ? q.bytes
                                               : PART_BYTES / q.bytes * q.bytes;
    void *buffer = mem_alloc_aligned(64, size);
    if (!buffer)
        st = graph_no_memory(err);
    else if (wide)
        st = holds_wide(out, &r, &q, buffer, err);
    else
        st = holds_groups(out, &r, &q, buffer, size, err);
    mem_free(buffer);
    element_reader_close(&r);
    return st;
}

static pgy_status prune_groups(const tensor_part *p, void *user, pgy_error *err)
{
    const pgy_status st = element_reader_get(p->source, p->to, p->offset, p->size_bytes, err);
    if (!st) quads_prune(user, p->to, p->size_bytes);
    return st;
}

/* Prunes a part of one run, which needs the same columns of all four runs. */
static pgy_status prune_wide(const tensor_part *p, void *user, pgy_error *err)
{
    const quad_layout *q = user;
    pgy_status st = PGY_OK;
    for (size_t done = 0, size; !st && done < p->size_bytes; done += size) {
        const size_t at = p->offset + done, group = at / q->bytes * q->bytes;
        const size_t run = (at - group) / q->run_bytes, column = (at - group) % q->run_bytes;
        size = q->run_bytes - column < COLUMN_BYTES ? q->run_bytes - column : COLUMN_BYTES;
        if (size > p->size_bytes - done) size = p->size_bytes - done;
        const quad_layout part = columns_of(q, size);
        st = read_columns(p->memory, p->source, q, group, column, size, err);
        if (st) break;
        quads_prune(&part, p->memory, part.bytes);
        memcpy((char *)p->to + done, (char *)p->memory + run * size, size);
    }
    return st;
}

pgy_status sparse_weight_pruned(pgy_onnx_tensor **out, pgy_model *m, const pgy_onnx_tensor *t,
                                size_t axis, pgy_error *err)
{
    quad_layout *q = pgy_model_alloc(m, 1, sizeof *q);
    if (!q) return graph_no_memory(err);
    const pgy_status st = quads_of(q, t, axis, err);
    if (st) return st;
    const bool wide = q->bytes > WIDE_BYTES;
    const parts_maker maker = {.make = wide ? prune_wide : prune_groups,
                               .user = q,
                               .source = t,
                               .unit_bytes = wide ? q->run_bytes / q->inner : q->bytes,
                               .memory_bytes = wide ? 4 * COLUMN_BYTES : 0};
    return computed_parts_tensor(out, m, t, &maker, err);
}

pgy_status sparse_weights_check(strmap *sparse, pgy_graph *g, pgy_error *err)
{
    const pgy_sparse_weight *weights;
    size_t count;
    pgy_status st = sparse_weights_find(&weights, &count, g, NULL, err);
    if (!st) LOG_ORIGINAL(START, "Checking the sparsity pattern of %zu tensors.", count);
    for (size_t i = 0; !st && i < count; i++) {
        const pgy_value *v = weights[i].value;
        bool is_sparse = false;
        if (weight_is_stripped(v->initializer)) continue;
        st = pgy_sparse_weight_holds(&is_sparse, &weights[i], err);
        if (!st && is_sparse) {
            LOG_ORIGINAL(INFO, "Found sparse tensor: %s", v->name);
            if (!strmap_put(sparse, v->name, sparse)) st = graph_no_memory(err);
        } else if (!st) {
            LOG_ORIGINAL(WARNING, "Found non-sparse tensor: %s", v->name);
        }
    }
    if (!st) LOG_ORIGINAL(FINISH, "Finished checking %zu tensors. ", count);
    return st;
}
