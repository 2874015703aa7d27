/* SPDX-License-Identifier: Apache-2.0 */
/* The functions and the table of all CUDA kernels that reuse a family of host kernels. */
#include "kernels/cuda/adapted.h"

#include <string.h>

#include "base/alloc.h"

enum { INNER_AT = (sizeof(adapted_params) + 63) / 64 * 64, MOST_ATTRS = 8 };

extern const kernel KERNELS_cuda_adapted[];

static const adapted_family *const FAMILIES[] = {
    &ADAPTED_CHAIN,           &ADAPTED_CONCAT,         &ADAPTED_ELEMENTWISE, &ADAPTED_EXPAND,
    &ADAPTED_GATHER,          &ADAPTED_NORM,           &ADAPTED_PAD,         &ADAPTED_REDUCE,
    &ADAPTED_RESIZE_NEAREST,  &ADAPTED_SLICE,          &ADAPTED_SOFTMAX,     &ADAPTED_TRANSPOSE,
    &ADAPTED_BYTE_POOL,       &ADAPTED_BYTE_POOL_LAST, &ADAPTED_LOOKUP,      &ADAPTED_QLINEAR,
    &ADAPTED_QLINEAR_SOFTMAX, &ADAPTED_QUANTIZE,
};

static const adapted_family *family_of(const kernel *self)
{
    return FAMILIES[self - KERNELS_cuda_adapted];
}

static const kernel_tensor *tensor_of(const kernel_problem *u, size_t i)
{
    return i < u->input_count ? &u->inputs[i] : &u->outputs[i - u->input_count];
}

/* ---- Channels last -------------------------------------------------------------------------- */

/* A problem in channels last as the linear problem that it is in memory: its last axis is that of
 * the channels. */
typedef struct turned_problem {
    kernel_problem u;
    op_node node;
    op_attr attrs[MOST_ATTRS];
    int64_t shapes[KERNEL_TENSORS][PGY_MAX_RANK];
} turned_problem;

static bool is_last(const kernel_problem *u)
{
    for (size_t i = 0; i < u->input_count + u->output_count; i++)
        if (tensor_of(u, i)->layout == KERNEL_CHANNELS_LAST) return true;
    return false;
}

/* Moves the channels of an operand behind its other axes. An operand in linear layout, to which
 * axes of size 1 are added in front, must have the same order both ways. */
static bool turn_operand(kernel_tensor *t, int64_t *shape, int32_t rank)
{
    int32_t long_axes = 0;
    if (!t->dtype) return true;
    if (t->rank > rank) return false;
    for (int32_t d = 0; d < t->rank; d++) long_axes += t->shape[d] != 1;
    if (t->layout != KERNEL_CHANNELS_LAST && long_axes > 1) return false;
    if (t->layout == KERNEL_CHANNELS_LAST && t->rank != rank) return false;
    for (int32_t d = 0; d < rank; d++) {
        const int32_t from = (d == 0 ? 0 : d + 1 < rank ? d + 1 : 1) - (rank - t->rank);
        shape[d] = from < 0 ? 1 : t->shape[from];
    }
    t->rank = rank;
    t->shape = shape;
    t->layout = KERNEL_LINEAR;
    return true;
}

static bool turn_axis(turned_problem *to, int32_t rank)
{
    const op_node *n = to->u.node;
    if (n->attr_count > MOST_ATTRS) return false;
    to->node = *n;
    memcpy(to->attrs, n->attrs, n->attr_count * sizeof *n->attrs);
    for (size_t i = 0; i < n->attr_count; i++) {
        op_attr *a = &to->attrs[i];
        if (strcmp(a->name, "axis") != 0) continue;
        const int64_t axis = a->i < 0 ? a->i + rank : a->i;
        a->i = axis == 1 ? rank - 1 : axis > 1 ? axis - 1 : axis;
    }
    to->node.attrs = to->attrs;
    to->u.node = &to->node;
    return true;
}

static bool turn(turned_problem *to, const kernel_problem *u)
{
    const int32_t rank = u->outputs[0].rank;
    to->u = *u;
    if (rank < 3 || !turn_axis(to, rank)) return false;
    for (size_t i = 0; i < u->input_count; i++)
        if (!turn_operand(&to->u.inputs[i], to->shapes[i], rank)) return false;
    for (size_t i = 0; i < u->output_count; i++)
        if (!turn_operand(&to->u.outputs[i], to->shapes[u->input_count + i], rank)) return false;
    return true;
}

/* ---- Preparing ------------------------------------------------------------------------------ */

static void widen(kernel_problem *wide, cuda_room room, const adapted_family *f,
                  const kernel_problem *u)
{
    if (f->is_move && f->is_move(u))
        *wide = *u;
    else
        cuda_widen(wide, room, u);
    wide->self = f->inner;
}

/* Sets the layouts of a problem whose plan can be turned: false if it is not in channels last. */
static bool turns_plan(const adapted_family *f, kernel_problem *u)
{
    if (!f->turn || u->inputs[0].layout != KERNEL_CHANNELS_LAST || u->inputs[0].rank < 3)
        return false;
    cuda_set_linear(u);
    u->inputs[0].layout = u->outputs[0].layout = KERNEL_CHANNELS_LAST;
    return true;
}

static bool adapted_accept(kernel_problem *u, double *cost_ns)
{
    const adapted_family *f = family_of(u->self);
    kernel_problem wide;
    turned_problem turned;
    cuda_room room;
    const bool last = f->any_order && is_last(u);
    if (last)
        for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_CHANNELS_LAST;
    else if (!turns_plan(f, u))
        cuda_set_linear(u);
    if (last && !turn(&turned, u)) return false;
    widen(&wide, room, f, last ? &turned.u : u);
    if (!f->inner->accept(&wide, cost_ns) || (f->can && !f->can(u))) return false;
    *cost_ns = cuda_cost(cuda_bytes(u), 0, false);
    return true;
}

static adapted_params adapted_describe(const kernel_problem *u)
{
    adapted_params a = {.inputs = (uint32_t)u->input_count, .outputs = (uint32_t)u->output_count};
    for (uint32_t i = 0; i < a.inputs + a.outputs; i++) {
        a.types[i] = tensor_of(u, i)->dtype;
        if (a.types[i]) a.present |= UINT64_C(1) << i;
    }
    return a;
}

static pgy_status adapted_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const adapted_family *f = family_of(u->self);
    const adapted_params a = adapted_describe(u);
    kernel_problem wide;
    turned_problem turned;
    kernel_plan plan = {0};
    cuda_room room;
    const bool last = f->any_order && is_last(u);
    if (last) (void)turn(&turned, u); /* cannot fail after `accept` */
    widen(&wide, room, f, last ? &turned.u : u);
    pgy_status st = f->inner->prepare(&plan, &wide, err);
    if (!st && f->turn && is_last(u)) st = f->turn(&plan, err);
    char *params = st ? NULL : mem_calloc(1, INNER_AT + plan.params_bytes);
    if (!st && !params) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (st) {
        kernel_plan_deinit(&plan);
        return st;
    }
    memcpy(params, &a, sizeof a);
    memcpy(params + INNER_AT, plan.params, plan.params_bytes);
    mem_free(plan.params);
    plan.params = params;
    plan.params_bytes += INNER_AT;
    plan.workspace_bytes = plan.scratch_bytes = 0;
    plan.phases = plan.parts = 1;
    if (plan.in_place >= 0 && a.types[plan.in_place] != a.types[a.inputs]) plan.in_place = -1;
    *out = plan;
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

/* Halves the extent of an operand in 16-bit floats, because the host's kernel counts float32.
 * Refuses an invalid type. */
static bool narrow_operand(kernel_extent *e, const adapted_family *f, const adapted_params *a,
                           const void *inner, uint32_t i)
{
    const bool is_float = !f->is_float || f->is_float(inner, a->inputs, i);
    const pgy_dtype type = (pgy_dtype)a->types[i];
    if (is_float && !cuda_is_float(type)) return extent_refuse(e, "type");
    if (is_float && cuda_is_half(type) && e->tensors[i] != EXTENT_TOO_MUCH)
        e->tensors[i] = e->tensors[i] / 2 + e->tensors[i] % 2;
    return true;
}

static bool adapted_extent(kernel_extent *e, const kernel_claim *q)
{
    const adapted_family *f = family_of(q->self);
    const adapted_params *a = q->params;
    kernel_claim own = *q;
    if (q->params_bytes < INNER_AT) return extent_refuse(e, "their size");
    if (a->inputs != q->input_count || a->outputs != q->output_count)
        return extent_refuse(e, "number of operands");
    own.self = f->inner;
    own.params = (const char *)q->params + INNER_AT;
    own.params_bytes = q->params_bytes - INNER_AT;
    own.present &= a->present;
    if (!f->inner->extent(e, &own)) return false;
    for (uint32_t i = 0; i < a->inputs + a->outputs; i++) {
        if (!(a->present >> i & 1) && e->tensors[i]) return extent_refuse(e, "operands");
        if ((a->present >> i & 1) && !extent_has(q, i) && e->tensors[i])
            return extent_refuse(e, "operands");
        if (e->tensors[i] && !narrow_operand(e, f, a, own.params, i)) return false;
    }
    e->workspace = e->scratch = 0;
    e->phases = e->parts = 1;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    cuda_source s = {0};
    str defines = {0};
    family_of(self)->load(&s, &defines, plan->params, (const char *)plan->params + INNER_AT);
    return cuda_load(out, d, &s, &defines, err);
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const adapted_run run = {.run = r,
                             .a = r->params,
                             .inner = (const char *)r->params + INNER_AT,
                             .loaded = r->loaded,
                             .stream = stream};
    return family_of(r->self)->launch(&run, err);
}

static const char ELEMENTWISE_OPS[] =
#define ROW(op, in, out, loop, count, args, ns) op " "
#include "kernels/elementwise.def"
#undef ROW
    ;

#define ROW(name_, ops_)                                                                \
    {                                                                                   \
        .name = "cuda_" name_, .version = 1, .ops = ops_, .device = "cuda",             \
        .accept = adapted_accept, .prepare = adapted_prepare, .extent = adapted_extent, \
        .load = load, .unload = cuda_unload, .enqueue = enqueue                         \
    }
const kernel KERNELS_cuda_adapted[] = {
    ROW("chain", "pgy:Elementwise"),
    ROW("concat", "Concat Split"),
    ROW("elementwise", ELEMENTWISE_OPS),
    ROW("expand", "Expand Tile"),
    ROW("gather", "Gather"),
    ROW("norm", "LayerNormalization RMSNormalization SimplifiedLayerNormalization "
                "InstanceNormalization GroupNormalization BatchNormalization LpNormalization "
                "com.microsoft:SkipLayerNormalization "
                "com.microsoft:SkipSimplifiedLayerNormalization"),
    ROW("pad", "Pad"),
    ROW("reduce", "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 "
                  "ReduceSumSquare ReduceLogSum ReduceLogSumExp"),
    ROW("resize_nearest", "Resize"),
    ROW("slice", "Slice"),
    ROW("softmax", "Softmax LogSoftmax"),
    ROW("transpose", "Transpose DepthToSpace SpaceToDepth"),
    ROW("byte_pool",
        "MaxPool com.microsoft:QLinearAveragePool com.microsoft:QLinearGlobalAveragePool"),
    ROW("byte_pool_last", "com.microsoft:NhwcMaxPool com.microsoft:QLinearAveragePool "
                          "com.microsoft:QLinearGlobalAveragePool"),
    ROW("lookup", "com.microsoft:QLinearSigmoid com.microsoft:QLinearLeakyRelu "
                  "com.microsoft:QLinearConcat pgy:Lookup"),
    ROW("qlinear", "com.microsoft:QLinearAdd com.microsoft:QLinearMul"),
    ROW("qlinear_softmax", "com.microsoft:QLinearSoftmax"),
    ROW("quantize", "QuantizeLinear DequantizeLinear com.microsoft:QuantizeLinear "
                    "com.microsoft:DequantizeLinear"),
    {0},
};
