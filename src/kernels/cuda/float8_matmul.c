/* SPDX-License-Identifier: Apache-2.0 */
/* Float8MatMul of domain pgy on CUDA devices: products of float8 with constant B, which is packed
 * when the plan is made, on the tiles of boxed.h. Sums are float32; the results are floats, or
 * float8 for the product behind. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/conv.h"
#include "kernels/cuda/boxed.h"
#include "kernels/int_problem.h"

enum { A, B, BIAS, RESIDUAL };
enum { CHUNK = 16, SQUARE = 64 }; /* CHUNK: bytes of an access; rows of A and B are whole ones */

typedef struct float8_params {
    uint64_t m, n, k;
    packed_cut cut;
    uint32_t type, bias_type, residual_type, out_type;
    uint32_t inputs, has_bias, has_residual, activation; /* activation: a conv_activation */
    float alpha, scale;                                  /* scale: of a float8 result, else 1 */
} float8_params;

static uint32_t tile_of(const kernel *self);

/* ---- The problem ---------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t activation;
} ACTIVATIONS[] = {{"Relu", CONV_RELU}, {"Gelu", CONV_GELU},       {"FastGelu", CONV_FAST_GELU},
                   {"Silu", CONV_SILU}, {"Sigmoid", CONV_SIGMOID}, {"Tanh", CONV_TANH}};
enum { ACTIVATION_COUNT = sizeof ACTIVATIONS / sizeof *ACTIVATIONS };

static uint32_t activation_of(const op_node *n)
{
    for (size_t i = 0; i < ACTIVATION_COUNT; i++)
        if (op_attr_is(n, "activation", ACTIVATIONS[i].name, "")) return ACTIVATIONS[i].activation;
    return CONV_NO_ACTIVATION;
}

static bool is_known(uint32_t activation)
{
    for (size_t i = 0; i < ACTIVATION_COUNT; i++)
        if (ACTIVATIONS[i].activation == activation) return true;
    return activation == CONV_NO_ACTIVATION;
}

static bool has_types(const float8_params *p)
{
    return cuda_is_float8((pgy_dtype)p->type) && cuda_is_float((pgy_dtype)p->bias_type) &&
           cuda_is_float((pgy_dtype)p->residual_type) &&
           (cuda_is_float((pgy_dtype)p->out_type) || cuda_is_float8((pgy_dtype)p->out_type));
}

static bool has_sizes(const float8_params *p)
{
    return p->m && p->n && p->k && p->k % CHUNK == 0 && p->k <= INT32_MAX / 2 &&
           boxed_has_sizes(p->m, p->n);
}

/* Steps of tiles have 128 bytes of k, as 64 16-bit floats have. */
static uint64_t half_k(uint64_t k)
{
    return (k + 1) / 2;
}

static bool is_turned(const kernel_problem *u)
{
    return op_attr_int(u->node, "transB", 0) != 0;
}

static bool float8_describe(float8_params *p, const kernel_problem *u)
{
    const kernel_tensor *a = &u->inputs[A], *b = &u->inputs[B];
    const bool biased = int_problem_has(u, BIAS), added = int_problem_has(u, RESIDUAL);
    memset(p, 0, sizeof *p);
    if (!b->data || b->rank != 2 || a->rank < 1 || op_attr_int(u->node, "transA", 0) ||
        a->dtype != b->dtype)
        return false;
    p->n = (uint64_t)b->shape[!is_turned(u)];
    p->k = (uint64_t)b->shape[is_turned(u)];
    if (!p->k || (uint64_t)a->shape[a->rank - 1] != p->k) return false;
    p->m = kernel_count(a) / p->k;
    p->type = a->dtype;
    p->bias_type = biased ? u->inputs[BIAS].dtype : PGY_F32;
    p->residual_type = added ? u->inputs[RESIDUAL].dtype : PGY_F32;
    p->out_type = u->outputs[0].dtype;
    p->inputs = (uint32_t)u->input_count;
    p->has_bias = biased;
    p->has_residual = added;
    p->activation = activation_of(u->node);
    p->alpha = (float)op_attr_float(u->node, "alpha", 1);
    p->scale =
        cuda_is_float8((pgy_dtype)p->out_type) ? (float)op_attr_float(u->node, "y_scale", 1) : 1;
    p->cut = packed_cut_of(tile_of(u->self), p->m, p->n, half_k(p->k), 1);
    return has_types(p) && has_sizes(p) && (!biased || kernel_count(&u->inputs[BIAS]) == p->n) &&
           (!added || kernel_count(&u->inputs[RESIDUAL]) == p->m * p->n);
}

static bool float8_accept(kernel_problem *u, double *cost_ns)
{
    float8_params p;
    cuda_set_linear(u);
    if (!float8_describe(&p, u) || !boxed_is_useful(&p.cut)) return false;
    *cost_ns = boxed_cost(u, &p.cut, p.m, p.n, half_k(p.k));
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* To [n][k], in squares that stay in the cache. */
static void pack_b(uint8_t *to, const uint8_t *from, const float8_params *p, bool turned)
{
    const uint64_t row = turned ? 1 : p->n, column = turned ? p->k : 1;
    for (uint64_t n0 = 0; n0 < p->n; n0 += SQUARE)
        for (uint64_t k0 = 0; k0 < p->k; k0 += SQUARE)
            for (uint64_t n = n0; n < least(n0 + SQUARE, p->n); n++)
                for (uint64_t k = k0; k < least(k0 + SQUARE, p->k); k++)
                    to[n * p->k + k] = from[k * row + n * column];
}

static pgy_status float8_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    float8_params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)float8_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .packed = mem_alloc_aligned(64, p->n * p->k),
                         .packed_bytes = p->n * p->k,
                         .packed_inputs = 1u << B,
                         .phases = 1,
                         .parts = 1,
                         .in_place = -1};
    if (!out->packed) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    pack_b(out->packed, u->inputs[B].data, p, is_turned(u));
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool float8_extent(kernel_extent *e, const kernel_claim *q)
{
    const float8_params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count || p->inputs < 2 || p->has_bias > 1 || p->has_residual > 1 ||
        (p->has_bias && p->inputs <= BIAS) || (p->has_residual && p->inputs <= RESIDUAL))
        return extent_refuse(e, "number of inputs");
    if (!has_types(p)) return extent_refuse(e, "types");
    if (!has_sizes(p)) return extent_refuse(e, "sizes");
    if (!is_known(p->activation)) return extent_refuse(e, "activation");
    if (!packed_cut_extent(e, &p->cut, tile_of(q->self))) return false;
    extent_tensor(e, A, extent_mul(p->m, p->k), 1);
    if (p->has_bias) extent_tensor(e, BIAS, p->n, cuda_item((pgy_dtype)p->bias_type));
    const uint64_t count = extent_mul(p->m, p->n);
    if (p->has_residual) extent_tensor(e, RESIDUAL, count, cuda_item((pgy_dtype)p->residual_type));
    extent_tensor(e, p->inputs, count, cuda_item((pgy_dtype)p->out_type));
    e->packed = extent_mul(p->n, p->k);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const float8_params *p = plan->params;
    const packed_kind kind = {.types = {(pgy_dtype)p->type, (pgy_dtype)p->bias_type,
                                        (pgy_dtype)p->residual_type, (pgy_dtype)p->out_type,
                                        (pgy_dtype)p->type},
                              .cut = p->cut,
                              .activation = p->activation,
                              .plain = true,
                              .vector = p->n % PACKED_VECTOR == 0,
                              .biased = p->has_bias != 0,
                              .added = p->has_residual != 0};
    (void)self;
    return boxed_load(out, &kind, d, err);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const float8_params *p = r->params;
    boxed_call c = {.own = {.x = address(r->tensors[A]),
                            .w = address(r->packed),
                            .bias = p->has_bias ? address(r->tensors[BIAS]) : 0,
                            .residual = p->has_residual ? address(r->tensors[RESIDUAL]) : 0,
                            .y = address(r->tensors[p->inputs]),
                            .m = p->m,
                            .n = p->n,
                            .k = p->k,
                            .k_pitch = p->k,
                            .x_row = p->k,
                            .y_row = p->n,
                            .groups = 1,
                            .channels = (uint32_t)p->k,
                            .alpha = p->alpha,
                            .second = 1 / p->scale}};
    return boxed_launch_matrix(r->loaded, &p->cut, &c, (pgy_dtype)p->type, stream, err);
}

#define ROW(tile)                                                                                  \
    {                                                                                              \
        .name = "matmul_float8_" tile, .version = 1, .ops = "pgy:Float8MatMul", .device = "cuda",  \
        .accept = float8_accept, .prepare = float8_prepare, .extent = float8_extent, .load = load, \
        .unload = boxed_unload, .enqueue = enqueue                                                 \
    }
const kernel KERNELS_cuda_float8_matmul[] = {
    ROW("128x64"),      ROW("64x64"),      ROW("64x128"),      ROW("deep_128x128"),
    ROW("deep_128x64"), ROW("deep_64x64"), ROW("deep_64x128"), {0},
};

static uint32_t tile_of(const kernel *self)
{
    static const uint32_t TILES[] = {1, 2, 4, 9, 5, 6, 7};
    return TILES[self - KERNELS_cuda_float8_matmul];
}
