/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul, Gemm and their fusions on CUDA devices: tiles, or for few rows a kernel that reads B
 * once. The problem is described as for the host (kernels/matmul.h). */
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/matmul.h"

enum { NARROW = 8 };

typedef cuda_matmul_params params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool has_types(const kernel_problem *u)
{
    const pgy_dtype type = u->inputs[0].dtype;
    if (!cuda_is_float(type) || u->inputs[1].dtype != type) return false;
    for (size_t i = 2; i < u->input_count; i++)
        if (u->inputs[i].dtype && !cuda_is_float(u->inputs[i].dtype)) return false;
    return cuda_is_float(u->outputs[0].dtype);
}

bool cuda_matmul_describe(params *p, const kernel_problem *u)
{
    kernel_problem wide;
    cuda_room room;
    *p = (params){.inputs = (uint32_t)u->input_count};
    if (u->input_count < 2 || u->output_count != 1 || !has_types(u)) return false;
    cuda_widen(&wide, room, u);
    if (!matmul_describe(&p->s, &wide)) return false;
    p->type = u->inputs[0].dtype;
    p->out_type = u->outputs[0].dtype;
    p->bias_type = u->input_count > 2 && u->inputs[2].dtype ? u->inputs[2].dtype : PGY_F32;
    p->has_residual = u->input_count > 3 && u->inputs[3].dtype;
    p->residual_type = p->has_residual ? u->inputs[3].dtype : PGY_F32;
    p->cut = product_cut_of(p->s.m, p->s.n, p->s.k, p->s.batch);
    return true;
}

static bool is_narrow(const params *p)
{
    return p->s.m <= NARROW;
}

uint64_t cuda_matmul_workspace(const params *p)
{
    return is_narrow(p) ? 0 : product_workspace(&p->cut, p->s.m, p->s.n, p->s.batch);
}

static bool cuda_matmul_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    cuda_set_linear(u);
    if (!cuda_matmul_describe(&p, u)) return false;
    *cost_ns = cuda_cost(cuda_bytes(u), 2.0 * (double)(p.s.m * p.s.n * p.s.k * p.s.batch),
                         cuda_is_half((pgy_dtype)p.type));
    return true;
}

static pgy_status cuda_matmul_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)cuda_matmul_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .phases = 1,
                         .parts = 1,
                         .in_place = -1,
                         .workspace_bytes = cuda_matmul_workspace(p)};
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool has_valid_types(const params *p)
{
    const uint32_t types[] = {p->type, p->bias_type, p->residual_type, p->out_type};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!cuda_is_float((pgy_dtype)types[i])) return false;
    return true;
}

/* Corrects the extent of operand i for its type, because matmul_extent counts float32. */
static void set_item(kernel_extent *e, uint32_t i, uint32_t type)
{
    if (e->tensors[i] != EXTENT_TOO_MUCH)
        e->tensors[i] = e->tensors[i] / sizeof(float) * cuda_item((pgy_dtype)type);
}

/* The product merges batches whose A follow each other; other strides are those of the shapes. */
bool cuda_matmul_reach(kernel_extent *e, const kernel_claim *q, const params *p)
{
    if (p->inputs != q->input_count || p->inputs < 2) return extent_refuse(e, "number of inputs");
    if (!has_valid_types(p)) return extent_refuse(e, "types");
    if (p->s.bias && p->inputs < 3) return extent_refuse(e, "number of inputs");
    if (p->has_residual && p->inputs < 4) return extent_refuse(e, "number of inputs");
    if (!matmul_extent(e, &p->s, p->has_residual, p->inputs)) return false;
    if (!product_cut_extent(e, &p->cut, p->s.k)) return false;
    extent_tensor(e, 1, matmul_b_reach(&p->s), sizeof(float));
    set_item(e, 0, p->type);
    set_item(e, 1, p->type);
    if (p->s.bias) set_item(e, 2, p->bias_type);
    if (p->has_residual) set_item(e, 3, p->residual_type);
    set_item(e, p->inputs, p->out_type);
    e->workspace = cuda_matmul_workspace(p);
    return true;
}

static bool cuda_matmul_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    return p && cuda_matmul_reach(e, q, p);
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The conv_activation for each matmul_activation. */
static const uint32_t ACTIVATIONS[] = {
    [MATMUL_NO_ACTIVATION] = CONV_NO_ACTIVATION,
    [MATMUL_RELU] = CONV_RELU,
    [MATMUL_SIGMOID] = CONV_SIGMOID,
    [MATMUL_TANH] = CONV_TANH,
    [MATMUL_GELU] = CONV_GELU,
    [MATMUL_FAST_GELU] = CONV_FAST_GELU,
    [MATMUL_SILU] = CONV_SILU,
};

uint32_t cuda_matmul_activation(const params *p)
{
    return ACTIVATIONS[p->s.activation];
}

/* Number of elements in one access to a matrix whose rows have `inner` elements; 1 if these are not
 * contiguous. */
static uint32_t vector_of(const params *p, uint64_t inner, uint64_t inner_stride, uint64_t stride,
                          const uint64_t *batch)
{
    uint64_t sizes[2 + MATMUL_MAX_BATCH_RANK] = {inner, stride};
    if (inner_stride != 1) return 1;
    memcpy(sizes + 2, batch, sizeof p->s.a_batch);
    return product_vector((pgy_dtype)p->type, sizes, 2 + p->s.batch_rank);
}

static uint32_t b_vector(const params *p)
{
    const matmul_shape *s = &p->s;
    return cuda_matmul_is_turned(s->b_row, s->b_column)
               ? vector_of(p, s->k, s->b_row, s->b_column, s->b_batch)
               : vector_of(p, s->n, s->b_column, s->b_row, s->b_batch);
}

static void define_tile(str *defines, const params *p)
{
    const matmul_shape *s = &p->s;
    const bool a_turned = cuda_matmul_is_turned(s->a_row, s->a_column);
    product_define(defines, &p->cut, (pgy_dtype)p->type);
    cuda_define_int(defines, "BLOCKS", cuda_is_half((pgy_dtype)p->type) ? 2 : 1);
    cuda_define_int(defines, "CONV", 0);
    cuda_define_int(defines, "PAIRED", s->n % 2 == 0);
    cuda_define_int(defines, "A_TURNED", a_turned);
    cuda_define_int(defines, "A_VECTOR",
                    a_turned ? vector_of(p, s->m, s->a_row, s->a_column, s->a_batch)
                             : vector_of(p, s->k, s->a_column, s->a_row, s->a_batch));
    cuda_define_int(defines, "B_VECTOR", b_vector(p));
}

/* Threads of narrow.cu that read a row of B: few for few columns, so that there are more blocks. */
static uint32_t narrow_lanes(const params *p)
{
    const uint32_t vector = b_vector(p);
    uint32_t lanes = 32;
    while (lanes > 1 && (lanes * vector > 64 || p->s.n * p->s.batch / (lanes * vector) < 96))
        lanes /= 2;
    return lanes;
}

/* Much k is shared by more threads; those with B turned are 8 warps with a column each. */
static uint32_t narrow_threads(const params *p)
{
    const bool turned = cuda_matmul_is_turned(p->s.b_row, p->s.b_column);
    return turned || p->s.k < 512 || p->s.m > 4 ? 256 : 512;
}

pgy_status cuda_matmul_load(void **out, const params *p, device *d, pgy_error *err)
{
    static const cuda_source TILE = {"tile",
                                     CUDA_SOURCE_tile,
                                     {"tile", "finish"},
                                     {CUDA_SOURCE_mma}},
                             FEW_ROWS = {"narrow", CUDA_SOURCE_narrow, {"rows"}};
    str defines = {0};
    cuda_define_int(&defines, "ACTIVATION", cuda_matmul_activation(p));
    cuda_define_int(&defines, "BIASED", p->s.bias);
    cuda_define_int(&defines, "ADDED", p->has_residual);
    cuda_define_int(&defines, "B_TURNED", cuda_matmul_is_turned(p->s.b_row, p->s.b_column));
    cuda_define_type(&defines, "BIAS", (pgy_dtype)p->bias_type);
    cuda_define_type(&defines, "RESIDUAL", (pgy_dtype)p->residual_type);
    cuda_define_type(&defines, "Y", (pgy_dtype)p->out_type);
    if (!is_narrow(p)) {
        define_tile(&defines, p);
        return cuda_load(out, d, &TILE, &defines, err);
    }
    cuda_define_int(&defines, "ROWS", (int64_t)p->s.m);
    cuda_define_int(&defines, "VECTOR", b_vector(p));
    cuda_define_int(&defines, "LANES", narrow_lanes(p));
    cuda_define_int(&defines, "THREADS", narrow_threads(p));
    cuda_define_type(&defines, "X", (pgy_dtype)p->type);
    return cuda_load(out, d, &FEW_ROWS, &defines, err);
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    (void)self;
    return cuda_matmul_load(out, plan->params, d, err);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* Arguments of the kernel in narrow.cu: the same struct as there. */
typedef struct narrow_call {
    uint64_t a, b, bias, residual, c, m, n, k, batch, a_row, a_column, b_row, b_column;
    uint64_t batch_shape[MATMUL_MAX_BATCH_RANK], a_batch[MATMUL_MAX_BATCH_RANK],
        b_batch[MATMUL_MAX_BATCH_RANK];
    uint32_t batch_rank;
    float alpha, beta, first, second;
} narrow_call;

static pgy_status launch_narrow(const product_call *c, const params *p, const cuda_loaded *l,
                                device_stream *stream, pgy_error *err)
{
    const uint64_t columns =
        cuda_matmul_is_turned(c->b_row, c->b_column) ? 8 : narrow_lanes(p) * b_vector(p);
    narrow_call n = {c->a, c->b,     c->bias,  c->residual, c->c,     c->m,       c->n,
                     c->k, c->batch, c->a_row, c->a_column, c->b_row, c->b_column};
    memcpy(n.batch_shape, c->batch_shape, sizeof n.batch_shape);
    memcpy(n.a_batch, c->a_batch, sizeof n.a_batch);
    memcpy(n.b_batch, c->b_batch, sizeof n.b_batch);
    n.batch_rank = c->batch_rank;
    n.alpha = p->s.alpha;
    n.beta = p->s.beta;
    return cuda_launch_blocks(stream, l->functions[0], (c->n + columns - 1) / columns * c->batch,
                              narrow_threads(p), &n, err);
}

pgy_status cuda_matmul_enqueue(const params *p, const cuda_loaded *l, const kernel_run *r,
                               device_stream *stream, pgy_error *err)
{
    const matmul_shape *s = &p->s;
    product_call c = {.a = address(r->tensors[0]),
                      .b = address(r->tensors[1]),
                      .bias = s->bias ? address(r->tensors[2]) : 0,
                      .residual = p->has_residual ? address(r->tensors[3]) : 0,
                      .c = address(r->tensors[p->inputs]),
                      .partial = address(r->workspace),
                      .m = s->m,
                      .n = s->n,
                      .k = s->k,
                      .batch = s->batch,
                      .a_row = s->a_row,
                      .a_column = s->a_column,
                      .b_row = s->b_row,
                      .b_column = s->b_column,
                      .batch_rank = s->batch_rank,
                      .alpha = s->alpha,
                      .beta = s->beta};
    memcpy(c.batch_shape, s->batch_shape, sizeof c.batch_shape);
    memcpy(c.a_batch, s->a_batch, sizeof c.a_batch);
    memcpy(c.b_batch, s->b_batch, sizeof c.b_batch);
    return is_narrow(p) ? launch_narrow(&c, p, l, stream, err)
                        : product_launch(stream, l, &p->cut, (pgy_dtype)p->type, &c, err);
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    return cuda_matmul_enqueue(r->params, r->loaded, r, stream, err);
}

const kernel KERNELS_cuda_matmul[] = {
    {.name = "cuda_matmul",
     .version = 1,
     .ops = "MatMul Gemm pgy:FusedMatMul com.microsoft:FusedMatMul",
     .device = "cuda",
     .accept = cuda_matmul_accept,
     .prepare = cuda_matmul_prepare,
     .extent = cuda_matmul_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};
