/* SPDX-License-Identifier: Apache-2.0 */
/* pgy:QLinearLayerNormalization on CUDA devices: rows of whole words that a warp keeps in
 * registers, or of few rows a block. Results are those of the definition. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/byte_sums.h"
#include "kernels/cuda/code.h"
#include "kernels/extent.h"
#include "kernels/int_problem.h"

enum { X, X_SCALE, X_ZERO, GAIN, BIAS, Y_SCALE, Y_ZERO, R, R_SCALE, R_ZERO, SUM_SCALE, SUM_ZERO };
enum { WORD = 4, WARP = 32, MOST_LENGTH = 2048, THREADS = 128 };
enum { MOST_BLOCKS = 1 << 20, FEW_ROWS = 132 * 4, MOST_LANES = 256 };

typedef struct params {
    uint64_t rows, length;
    uint32_t inputs, biased, added;
    int32_t zero; /* of what is normalised, after the flip */
    uint32_t flip;
    double scale, y_scale, epsilon;
    int_finish finish;
    byte_binary sum;
} params;

/* Arguments of byte_norm.cu: the same struct as there. */
typedef struct norm_call {
    uint64_t x, r, gain, bias, y, rows;
    double scale, y_scale, epsilon, exact_spread, exact_scale, exact_inverse;
    float spread, near_epsilon, near_scale, near_inverse;
    int32_t zero;
    uint32_t flip;
    byte_limits limits;
    byte_binary_call sum;
} norm_call;

/* Are the scale at i and the zero point behind it constants? */
static bool is_grid(const kernel_problem *u, size_t i)
{
    return u->inputs[i].dtype && int_problem_are_scales(u, i, 1) &&
           int_problem_is_fixed(u, i + 1, 1);
}

static int_finish finish_of(const kernel_problem *u, size_t zero, pgy_dtype type)
{
    return (int_finish){.zero = (int32_t)int_problem_int(u, zero, 0),
                        .low = int_problem_low(type),
                        .high = int_problem_high(type)};
}

static bool is_row(const kernel_problem *u, size_t i, uint64_t length)
{
    return u->inputs[i].dtype == PGY_F32 && kernel_count(&u->inputs[i]) == length;
}

static bool has_length(uint64_t length)
{
    return length && length % WORD == 0 && length <= MOST_LENGTH;
}

static bool byte_norm_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[X], *y = &u->outputs[0];
    *p = (params){.inputs = (uint32_t)u->input_count};
    if (u->input_count <= Y_ZERO || !int_problem_is_byte(x) || !int_problem_is_byte(y) ||
        x->rank < 1 || !kernel_count(x) || !is_grid(u, X_SCALE) || !is_grid(u, Y_SCALE))
        return false;
    p->length = (uint64_t)x->shape[x->rank - 1];
    p->biased = int_problem_has(u, BIAS);
    p->added = int_problem_has(u, R);
    if (!has_length(p->length) || !is_row(u, GAIN, p->length) ||
        (p->biased && !is_row(u, BIAS, p->length)))
        return false;
    p->rows = kernel_count(x) / p->length;
    p->flip = x->dtype == PGY_I8 ? 0x80 : 0;
    if (p->added) {
        if (!byte_sum_describe(&p->sum, u, X_SCALE, R) || u->inputs[R].dtype != x->dtype ||
            kernel_count(&u->inputs[R]) != kernel_count(x))
            return false;
    }
    const size_t grid = p->added ? SUM_SCALE : X_SCALE;
    p->scale = int_problem_float(u, grid, 0);
    p->zero = (int32_t)int_problem_int(u, grid + 1, 0) + (int32_t)p->flip;
    p->y_scale = int_problem_float(u, Y_SCALE, 0);
    p->finish = finish_of(u, Y_ZERO, y->dtype);
    p->epsilon = op_attr_float(u->node, "epsilon", 1e-5);
    return true;
}

static bool byte_norm_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    cuda_set_linear(u);
    if (!byte_norm_describe(&p, u)) return false;
    *cost_ns = cuda_cost(cuda_bytes(u), 0, false);
    return true;
}

static pgy_status byte_norm_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)byte_norm_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

static bool byte_norm_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count || p->inputs <= (p->added ? SUM_ZERO : Y_ZERO))
        return extent_refuse(e, "number of inputs");
    if (p->biased > 1 || p->added > 1) return extent_refuse(e, "inputs");
    if (!has_length(p->length) || !p->rows) return extent_refuse(e, "shape");
    if (!int_finish_is_valid(&p->finish) || (p->added && !byte_sum_is_valid(&p->sum)))
        return extent_refuse(e, "zero points");
    const uint64_t count = extent_mul(p->rows, p->length);
    extent_tensor(e, X, count, 1);
    extent_tensor(e, GAIN, p->length, sizeof(float));
    if (p->biased) extent_tensor(e, BIAS, p->length, sizeof(float));
    if (p->added) extent_tensor(e, R, count, 1);
    extent_tensor(e, p->inputs, count, 1);
    return true;
}

/* Threads that share a row: a warp, or all of a block if there are few rows, each with the same
 * number of words, if warps can have it. */
static uint32_t lanes_of(const params *p)
{
    const uint64_t words = p->length / WORD, each = (words + MOST_LANES - 1) / MOST_LANES;
    if (p->rows > FEW_ROWS || words < THREADS) return WARP;
    return (uint32_t)extent_round_up((words + each - 1) / each, WARP);
}

static uint32_t threads_of(const params *p)
{
    return lanes_of(p) == WARP ? THREADS : lanes_of(p);
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    static const cuda_source SOURCE = {
        "byte_norm", CUDA_SOURCE_byte_norm, {"run"}, {CUDA_SOURCE_bytes, CUDA_SOURCE_byte_binary}};
    const params *p = plan->params;
    const uint32_t lanes = lanes_of(p);
    str defines = {0};
    (void)self;
    cuda_define_int(&defines, "LENGTH", (int64_t)p->length);
    cuda_define_int(&defines, "NORM_THREADS", threads_of(p));
    cuda_define_int(&defines, "LANES", lanes);
    cuda_define_int(&defines, "WORDS", (int64_t)((p->length + lanes * WORD - 1) / (lanes * WORD)));
    cuda_define_int(&defines, "BIASED", p->biased);
    cuda_define_int(&defines, "ADDED", p->added);
    return cuda_load(out, d, &SOURCE, &defines, err);
}

static uint64_t address(const kernel_run *r, size_t i)
{
    return (uint64_t)(uintptr_t)r->tensors[i];
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const cuda_loaded *l = r->loaded;
    const uint32_t threads = threads_of(p);
    const uint64_t rows = threads / lanes_of(p), blocks = p->rows / rows + (p->rows % rows != 0);
    const double length = (double)p->length;
    norm_call c = {.x = address(r, X),
                   .r = p->added ? address(r, R) : 0,
                   .gain = address(r, GAIN),
                   .bias = p->biased ? address(r, BIAS) : 0,
                   .y = address(r, p->inputs),
                   .rows = p->rows,
                   .scale = p->scale,
                   .y_scale = p->y_scale,
                   .epsilon = p->epsilon,
                   .exact_spread = p->scale * p->scale / (length * length),
                   .exact_scale = p->scale / (length * p->y_scale),
                   .exact_inverse = 1 / p->y_scale,
                   .spread = (float)(p->scale * p->scale / (length * length)),
                   .near_epsilon = (float)p->epsilon,
                   .near_scale = (float)(p->scale / (length * p->y_scale)),
                   .near_inverse = (float)(1 / p->y_scale),
                   .zero = p->zero,
                   .flip = p->flip,
                   .limits = byte_limits_of(&p->finish)};
    if (p->added) c.sum = byte_binary_call_of(&p->sum);
    return cuda_launch_blocks(stream, l->functions[0], blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS,
                              threads, &c, err);
}

const kernel KERNELS_cuda_byte_norm[] = {
    {.name = "norm_bytes",
     .version = 2,
     .ops = "pgy:QLinearLayerNormalization",
     .device = "cuda",
     .accept = byte_norm_accept,
     .prepare = byte_norm_prepare,
     .extent = byte_norm_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};
