/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions. Adjacent axes are merged into runs that are kept or reduced. If the innermost run is
 * reduced, an output element folds contiguous rows; if it is kept, whole rows are folded element by
 * element, in blocks of columns. Both fold each output element in a fixed order, so results do not
 * depend on threads. */
#include "ops/class_reduce.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_rows.h"

const op_attr_def reduce_attrs_axes[] = {
    {"axes", OP_ATTR_INTS, false, NULL},
    {"keepdims", OP_ATTR_INT, false, "1", NULL, "0..1"},
    {NULL},
};

const op_attr_def reduce_attrs[] = {
    {"keepdims", OP_ATTR_INT, false, "1", NULL, "0..1"},
    {"noop_with_empty_axes", OP_ATTR_INT, false, "0"},
    {NULL},
};

/* ---- Shape ---------------------------------------------------------------------------------- */

/* Marks the reduced axes of a node without axes: all, or none if noop_with_empty_axes is set. */
static void mark_default(bool *reduced, const op_node *n, size_t rank)
{
    bool none = op_attr_int(n, "noop_with_empty_axes", 0) != 0;
    for (size_t i = 0; i < rank; i++) reduced[i] = !none;
}

static pgy_status mark_axes(bool *reduced, op_infer *c, const dim *axes, size_t count, int32_t rank,
                            pgy_error *err)
{
    size_t list[PGY_MAX_RANK];
    mark_default(reduced, c->node, (size_t)rank);
    if (!count) return PGY_OK;
    pgy_status st = rule_dim_axes(list, c->node, axes, count, rank, err);
    if (st) return st;
    memset(reduced, 0, (size_t)rank * sizeof *reduced);
    for (size_t i = 0; i < count; i++) reduced[list[i]] = true;
    return PGY_OK;
}

static bool all_constant(const dim *dims, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!dim_is_const(dims[i])) return false;
    return true;
}

pgy_status reduce_infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    bool keep = op_attr_int(c->node, "keepdims", 1) != 0, reduced[PGY_MAX_RANK];
    const dim *axes = NULL;
    size_t count = 0;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the input's shape is not known");
        return PGY_OK;
    }
    pgy_status st = rule_check_rank(c->node, x->rank, err);
    if (st) return st;
    rule_source source = rule_list(c, "axes", 1, &axes, &count);
    if (source == RULE_UNKNOWN || (source == RULE_KNOWN && !all_constant(axes, count))) {
        op_set_unknown(c, 0, x->dtype, keep ? x->rank : -1, "the axes are not known");
        return PGY_OK;
    }
    st = mark_axes(reduced, c, axes, source == RULE_KNOWN ? count : 0, x->rank, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    int32_t rank = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        if (!reduced[i])
            dims[rank++] = x->dims[i];
        else if (keep)
            dims[rank++] = dim_const(1);
    }
    op_set_output(c, 0, x->dtype, rank, dims);
    return PGY_OK;
}

double reduce_flops(const op_infer *c)
{
    return dims_product(&c->inputs[0]);
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

typedef enum fold_kind { FOLD_SUM, FOLD_ABS, FOLD_SQUARE, FOLD_PROD, FOLD_MAX, FOLD_MIN } fold_kind;

static const fold_kind FOLDS[] = {
    [REDUCE_SUM] = FOLD_SUM,         [REDUCE_MEAN] = FOLD_SUM,          [REDUCE_MAX] = FOLD_MAX,
    [REDUCE_MIN] = FOLD_MIN,         [REDUCE_PROD] = FOLD_PROD,         [REDUCE_L1] = FOLD_ABS,
    [REDUCE_L2] = FOLD_SQUARE,       [REDUCE_SUM_SQUARE] = FOLD_SQUARE, [REDUCE_LOG_SUM] = FOLD_SUM,
    [REDUCE_LOG_SUM_EXP] = FOLD_MAX,
};

enum { COLUMNS = 256 }; /* number of columns per block */

/* A nested loop: size and stride of each merged axis, outermost first. */
typedef struct walk {
    size_t rank, count;
    size_t extents[PGY_MAX_RANK], strides[PGY_MAX_RANK];
} walk;

typedef struct reduction {
    const op_eval *c;
    fold_kind fold;
    walk kept, reduced;
    size_t inner; /* size of the innermost run if it is kept (`kept` excludes it then); else 0 */
    size_t row;   /* size of the innermost run if it is reduced (`reduced` excludes it then) */
    int64_t empty_max, empty_min; /* integer maximum or minimum of no elements */
} reduction;

static size_t walk_offset(const walk *w, size_t index)
{
    size_t offset = 0;
    for (size_t i = w->rank; i-- > 0; index /= w->extents[i])
        offset += index % w->extents[i] * w->strides[i];
    return offset;
}

static void walk_push(walk *w, size_t extent, size_t stride)
{
    w->extents[w->rank] = extent;
    w->strides[w->rank++] = stride;
}

static void walk_flip(walk *w)
{
    w->count = 1;
    for (size_t i = 0; i < w->rank; i++) w->count *= w->extents[i];
    for (size_t i = 0, j = w->rank; i + 1 < j; i++) {
        j--;
        size_t e = w->extents[i], s = w->strides[i];
        w->extents[i] = w->extents[j];
        w->strides[i] = w->strides[j];
        w->extents[j] = e;
        w->strides[j] = s;
    }
}

/* Merges adjacent axes that are both kept or both reduced, from the innermost outwards. */
static void plan(reduction *r, const int64_t *shape, size_t rank, const bool *reduced)
{
    size_t stride = 1;
    bool first = true;
    r->row = 1;
    for (size_t i = rank; i-- > 0;) {
        if (shape[i] == 1) continue;
        size_t extent = (size_t)shape[i], begin = stride;
        bool kind = reduced[i];
        stride *= extent;
        while (i > 0 && (reduced[i - 1] == kind || shape[i - 1] == 1)) {
            extent *= (size_t)shape[--i];
            stride = begin * extent;
        }
        if (first && kind)
            r->row = extent;
        else if (first)
            r->inner = extent;
        else
            walk_push(kind ? &r->reduced : &r->kept, extent, begin);
        first = false;
    }
    walk_flip(&r->kept);
    walk_flip(&r->reduced);
}

static void int_limits(pgy_dtype dtype, int64_t *least, int64_t *most)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    unsigned bits = info->bits < 1 ? 1 : info->bits;
    *least = 0;
    *most = bits >= 64 ? INT64_MAX : (INT64_C(1) << bits) - 1;
    if (info->kind != PGY_KIND_SIGNED) return;
    *least = bits >= 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1));
    *most = bits >= 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
}

#define T double
#define U double
#define TAG(name) name##_f64
#define IS_NAN(x) isnan(x)
#define IS_NEGATIVE(x) ((x) < 0)
#define EMPTY_MAX(r) (-INFINITY)
#define EMPTY_MIN(r) INFINITY
#include "ops/reduce.inc"

#define T int64_t
#define U uint64_t
#define TAG(name) name##_i64
#define IS_NAN(x) false
#define IS_NEGATIVE(x) ((x) < 0)
#define EMPTY_MAX(r) ((r)->empty_max)
#define EMPTY_MIN(r) ((r)->empty_min)
#include "ops/reduce.inc"

#define T uint64_t
#define U uint64_t
#define TAG(name) name##_u64
#define IS_NAN(x) false
#define IS_NEGATIVE(x) false
#define EMPTY_MAX(r) 0
#define EMPTY_MIN(r) UINT64_MAX
#include "ops/reduce.inc"

#define T uint8_t
#define U unsigned
#define TAG(name) name##_bool
#define IS_NAN(x) false
#define IS_NEGATIVE(x) false
#define EMPTY_MAX(r) 0
#define EMPTY_MIN(r) 1
#include "ops/reduce.inc"

/* y = largest + log(sum exp(x - largest)), where y holds the largest already. */
static void log_sum_exp(size_t begin, size_t end, void *user)
{
    const reduction *r = user;
    const double *x = in_f64(r->c, 0);
    double *y = out_f64(r->c, 0);
    size_t inner = r->inner ? r->inner : 1;
    for (size_t i = begin; i < end; i++) {
        const double *from = x + walk_offset(&r->kept, i / inner) + i % inner;
        double sum = 0, top = y[i];
        if (isinf(top)) continue;
        for (size_t j = 0; j < r->reduced.count; j++) {
            const double *row = from + walk_offset(&r->reduced, j);
            for (size_t k = 0; k < r->row; k++) sum += exp(row[k] - top);
        }
        y[i] = top + log(sum);
    }
}

static double finish_value(reduce_kind kind, double v, double count)
{
    switch (kind) {
    case REDUCE_MEAN: return v / count;
    case REDUCE_L2: return sqrt(v);
    case REDUCE_LOG_SUM: return log(v);
    default: return v;
    }
}

static int64_t finish_int(reduce_kind kind, int64_t v, size_t count)
{
    if (kind == REDUCE_MEAN) return count ? v / (int64_t)count : 0;
    double d = finish_value(kind, (double)v, (double)count);
    return d > -9.2e18 && d < 9.2e18 ? (int64_t)d : INT64_MIN;
}

static uint64_t finish_uint(reduce_kind kind, uint64_t v, size_t count)
{
    if (kind == REDUCE_MEAN) return count ? v / count : 0;
    double d = finish_value(kind, (double)v, (double)count);
    return d >= 0 && d < 1.8e19 ? (uint64_t)d : 0;
}

static void finish(const reduction *r, reduce_kind kind, size_t elements)
{
    size_t count = out_count(r->c, 0);
    pgy_dtype dtype = pgy_tensor_dtype(r->c->outputs[0].value);
    if (kind == REDUCE_LOG_SUM_EXP) rows_run(count, elements * 8, log_sum_exp, (void *)r);
    if (kind != REDUCE_MEAN && kind != REDUCE_L2 && kind != REDUCE_LOG_SUM) return;
    for (size_t i = 0; i < count; i++) {
        if (dtype == PGY_F64)
            out_f64(r->c, 0)[i] = finish_value(kind, out_f64(r->c, 0)[i], (double)elements);
        else if (dtype == PGY_I64)
            out_i64(r->c, 0)[i] = finish_int(kind, out_i64(r->c, 0)[i], elements);
        else if (dtype == PGY_U64)
            ((uint64_t *)out_data(r->c, 0))[i] =
                finish_uint(kind, ((uint64_t *)out_data(r->c, 0))[i], elements);
    }
}

static void run(const reduction *r, reduce_kind kind)
{
    size_t elements = r->reduced.count * r->row;
    static const struct {
        pgy_dtype dtype;
        rows_task rows, columns;
    } TASKS[] = {
        {PGY_F64, rows_f64, columns_f64},
        {PGY_I64, rows_i64, columns_i64},
        {PGY_U64, rows_u64, columns_u64},
        {PGY_BOOL, rows_bool, columns_bool},
    };
    for (size_t i = 0; i < sizeof TASKS / sizeof *TASKS; i++) {
        if (TASKS[i].dtype != pgy_tensor_dtype(r->c->inputs[0].value)) continue;
        if (r->inner)
            rows_run(r->kept.count * ((r->inner + COLUMNS - 1) / COLUMNS), elements * COLUMNS,
                     TASKS[i].columns, (void *)r);
        else
            rows_run(r->kept.count, elements, TASKS[i].rows, (void *)r);
    }
    finish(r, kind, elements);
}

/* log(sum(exp)) of integers, computed in doubles and truncated. */
static pgy_status integer_log_sum_exp(op_eval *c, const reduction *r, pgy_error *err)
{
    double *x = NULL;
    size_t inner = r->inner ? r->inner : 1, count = out_count(c, 0);
    bool is_signed = pgy_tensor_dtype(c->inputs[0].value) == PGY_I64;
    pgy_status st = workspace_alloc((void **)&x, c, in_count(c, 0), sizeof *x, err);
    if (st) return st;
    for (size_t i = 0; i < in_count(c, 0); i++)
        x[i] = is_signed ? (double)in_i64(c, 0)[i] : (double)((const uint64_t *)in_data(c, 0))[i];
    for (size_t i = 0; i < count; i++) {
        const double *from = x + walk_offset(&r->kept, i / inner) + i % inner;
        double top = -INFINITY, sum = 0;
        for (size_t j = 0; j < r->reduced.count * r->row; j++)
            top = fmax(top, from[walk_offset(&r->reduced, j / r->row) + j % r->row]);
        for (size_t j = 0; j < r->reduced.count * r->row; j++)
            sum += exp(from[walk_offset(&r->reduced, j / r->row) + j % r->row] - top);
        double v = top + log(sum);
        out_i64(c, 0)[i] = v > -9.2e18 && v < 9.2e18 ? (int64_t)v : INT64_MIN;
    }
    mem_free(x);
    return PGY_OK;
}

pgy_status reduce_eval(op_eval *c, pgy_error *err)
{
    reduce_kind kind = (reduce_kind)c->node->def->user;
    reduction r = {.c = c, .fold = FOLDS[kind]};
    const int64_t *axes = NULL;
    size_t count = 0, list[PGY_MAX_RANK], rank = in_rank(c, 0);
    bool reduced[PGY_MAX_RANK];
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = rule_eval_list(c, "axes", 1, &axes, &count, err);
    if (!st && count) st = rule_axes(list, c->node, axes, count, (int32_t)rank, err);
    if (st) return st;
    mark_default(reduced, c->node, rank);
    for (size_t i = 0; count && i < rank; i++) reduced[i] = false;
    for (size_t i = 0; i < count; i++) reduced[list[i]] = true;
    if (!c->outputs[0].value)
        return op_error(c->node, err, PGY_E_INTERNAL, "the shape of output 0 is unknown");
    if (!out_count(c, 0)) return PGY_OK;
    int_limits(c->inputs[0].dtype, &r.empty_max, &r.empty_min);
    plan(&r, in_shape(c, 0), rank, reduced);
    if (kind == REDUCE_LOG_SUM_EXP && pgy_tensor_dtype(c->inputs[0].value) != PGY_F64)
        return integer_log_sum_exp(c, &r, err);
    run(&r, kind);
    return PGY_OK;
}
