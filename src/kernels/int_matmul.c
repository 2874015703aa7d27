/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulInteger, QLinearMatMul, QGemm, MatMulIntegerToFloat, DynamicQuantizeMatMul and
 * pgy:QuantizedMatMul: reading the problem and packing B. */
#include "kernels/int_matmul.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "kernels/extent.h"
#include "kernels/int_amx.h"
#include "kernels/int_problem.h"
#include "kernels/packing.h"

/* A thread's scratch memory: sums of a tile, then offsets, scales, scales in float32 and zero
 * points of its columns. */
enum {
    SCRATCH_BYTES = (INT_AMX_MOST_ROWS + 2) * INT_MAX_COLUMNS * sizeof(int32_t) +
                    INT_MAX_COLUMNS * (sizeof(double) + sizeof(float))
};

/* ---- Reading -------------------------------------------------------------------------------- */

static const struct {
    const char *op;
    /* input indices of b, a_scale, a_zero, b_scale, b_zero, y_scale, y_zero, bias, sum */
    int_matmul_places at;
    bool dynamic; /* A is float32 */
} OPERATORS[] = {
    {"MatMulInteger", {1, 0, 2, 0, 3, 0, 0, 0, 0}, false},
    {"QLinearMatMul", {3, 1, 2, 4, 5, 6, 7, 0, 0}, false},
    {"QGemm", {3, 1, 2, 4, 5, 7, 8, 6, 0}, false},
    {"MatMulIntegerToFloat", {1, 2, 4, 3, 5, 0, 0, 6, 0}, false},
    {"DynamicQuantizeMatMul", {1, 0, 0, 2, 3, 0, 0, 4, 0}, true},
    {"QuantizedMatMul", {3, 1, 2, 4, 5, 0, 0, 6, 7}, false},
};

static void keep_present(uint8_t *place, const kernel_problem *u)
{
    if (!int_problem_has(u, *place)) *place = 0;
}

static bool find_operator(int_matmul *p, const kernel_problem *u)
{
    for (size_t i = 0; i < sizeof OPERATORS / sizeof *OPERATORS; i++) {
        if (strcmp(u->node->def->name, OPERATORS[i].op)) continue;
        p->at = OPERATORS[i].at;
        p->a_float = OPERATORS[i].dynamic;
    }
    uint8_t *const places[] = {&p->at.a_scale, &p->at.a_zero, &p->at.b_scale, &p->at.b_zero,
                               &p->at.y_scale, &p->at.y_zero, &p->at.bias,    &p->at.sum};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) keep_present(places[i], u);
    const pgy_dtype y = u->outputs[0].dtype;
    p->kind = y == PGY_F32   ? INT_MATMUL_TO_FLOAT
              : y == PGY_I32 ? INT_MATMUL_TO_INT32
                             : INT_MATMUL_TO_BYTES;
    return p->at.b != 0 && (p->kind != INT_MATMUL_TO_BYTES || int_problem_is_byte(&u->outputs[0]));
}

/* Computes an operand's strides along the leading axes under NumPy's broadcasting. Returns true if
 * any of them is not 0. */
static bool batch_strides(uint64_t *out, const int_matmul *p, const kernel_tensor *t,
                          uint64_t matrix)
{
    const int32_t own = t->rank > 2 ? t->rank - 2 : 0;
    uint64_t stride = matrix;
    bool any = false;
    for (uint32_t i = 0; i < p->batch_rank; i++) {
        const uint32_t d = p->batch_rank - 1 - i;
        const int32_t axis = own - 1 - (int32_t)i;
        const uint64_t size = axis >= 0 ? (uint64_t)t->shape[axis] : 1;
        out[d] = size == 1 ? 0 : stride;
        if (size != 1) any = true;
        stride *= size;
    }
    return any;
}

/* Merges products that share B into one tall product. */
static void join_batches(int_matmul *p)
{
    uint64_t stride = p->m * p->k;
    if (p->turn_a || p->a_zeros > 1) return;
    for (uint32_t d = p->batch_rank; d-- > 0; stride *= p->batch_shape[d])
        if (p->a_batch[d] != stride && p->batch_shape[d] != 1) return;
    p->m *= p->batch;
    p->batch = 1;
    p->batch_rank = 0;
}

static bool read_shapes(int_matmul *p, const kernel_problem *u)
{
    const kernel_tensor *a = &u->inputs[0], *b = &u->inputs[p->at.b], *y = &u->outputs[0];
    if (!kernel_count(a) || !kernel_count(b) || !kernel_count(y) || !a->rank || !b->rank)
        return false;
    p->turn_a = a->rank > 1 && op_attr_int(u->node, "transA", 0);
    p->turn_b = b->rank > 1 && op_attr_int(u->node, "transB", 0);
    p->m = a->rank > 1 ? (uint64_t)a->shape[a->rank - (p->turn_a ? 1 : 2)] : 1;
    p->k = (uint64_t)a->shape[a->rank - (p->turn_a ? 2 : 1)];
    p->n = b->rank > 1 ? (uint64_t)b->shape[b->rank - (p->turn_b ? 2 : 1)] : 1;
    const int32_t leading = y->rank - (a->rank > 1) - (b->rank > 1);
    if (leading > INT_MATMUL_AXES || leading < 0) return false;
    p->batch_rank = (uint32_t)leading;
    p->batch = 1;
    for (int32_t i = 0; i < leading; i++) {
        p->batch_shape[i] = (uint64_t)y->shape[i];
        p->batch *= p->batch_shape[i];
    }
    (void)batch_strides(p->a_batch, p, a, p->m * p->k);
    const bool many = batch_strides(p->b_batch, p, b, p->k * p->n);
    p->b_count = many ? p->batch : 1;
    if (!many) join_batches(p);
    return true;
}

/* Accepts zero points that are absent, or one or `count` bytes of the type of `like`. *out: their
 * number. */
static bool read_zeros(uint32_t *out, const kernel_problem *u, size_t place,
                       const kernel_tensor *like, uint64_t count)
{
    *out = 0;
    if (!place) return true;
    const size_t have = kernel_count(&u->inputs[place]);
    *out = (uint32_t)have;
    return u->inputs[place].dtype == like->dtype && (have == 1 || have == count);
}

static bool is_vector(const kernel_tensor *t, uint64_t n)
{
    return kernel_count(t) == n && (t->rank == 1 || (t->rank == 2 && t->shape[0] == 1));
}

static bool read_scales(int_matmul *p, const kernel_problem *u)
{
    const kernel_tensor *bias = &u->inputs[p->at.bias];
    const pgy_dtype wanted = strcmp(u->node->def->name, "QGemm") ? PGY_F32 : PGY_I32;
    p->bias_ints = p->at.bias && wanted == PGY_I32;
    if (p->kind == INT_MATMUL_TO_INT32) return p->k < (uint64_t)1 << 24;
    if (p->k > 32768 || !p->at.b_scale || (!p->at.a_scale && !p->a_float)) return false;
    p->b_scales = (uint32_t)kernel_count(&u->inputs[p->at.b_scale]);
    if (p->b_scales != 1 && p->b_scales != p->n) return false;
    if (u->inputs[p->at.b_scale].dtype != PGY_F32) return false;
    if (p->at.a_scale &&
        (u->inputs[p->at.a_scale].dtype != PGY_F32 || kernel_count(&u->inputs[p->at.a_scale]) != 1))
        return false;
    if (p->at.bias && (bias->dtype != wanted || !is_vector(bias, p->n))) return false;
    for (size_t i = 0; p->at.bias && wanted == PGY_I32 && i < p->n; i++) {
        if (!bias->data) return false;
        const int64_t v = int_problem_int(u, p->at.bias, i);
        if ((uint64_t)(v < 0 ? -v : v) + p->k * 65025 > INT32_MAX) return false;
    }
    if (p->at.sum && (u->inputs[p->at.sum].dtype != PGY_F32 ||
                      kernel_count(&u->inputs[p->at.sum]) != kernel_count(&u->outputs[0])))
        return false;
    if (p->kind == INT_MATMUL_TO_FLOAT) return true;
    return p->at.y_scale && int_problem_are_scales(u, p->at.y_scale, 1) &&
           int_problem_are_scales(u, p->at.a_scale, 1) &&
           int_problem_are_factors(u, p->at.b_scale, p->n) &&
           int_problem_is_fixed(u, p->at.y_zero, 1) &&
           (!p->at.y_zero || kernel_count(&u->inputs[p->at.y_zero]) == 1);
}

bool int_matmul_describe(int_matmul *p, const kernel_problem *u)
{
    *p = (int_matmul){.inputs = (uint32_t)u->input_count,
                      .alpha = op_attr_float(u->node, "alpha", 1)};
    if (!find_operator(p, u)) return false;
    const kernel_tensor *a = &u->inputs[0], *b = &u->inputs[p->at.b];
    if (p->a_float ? a->dtype != PGY_F32 : !int_problem_is_byte(a)) return false;
    if (!int_problem_is_byte(b)) return false;
    if (!op_attr_is(u->node, "activation", "", "") &&
        !op_attr_is(u->node, "activation", "Relu", ""))
        return false;
    const uint64_t rows = a->rank > 1 ? (uint64_t)a->shape[a->rank - 2] : 1;
    const uint64_t columns = b->rank > 1 ? (uint64_t)b->shape[b->rank - 1] : 1;
    if (!read_zeros(&p->a_zeros, u, p->at.a_zero, a, rows) || !read_shapes(p, u)) return false;
    if (!read_zeros(&p->b_zeros, u, p->at.b_zero, b, p->turn_b ? p->n : columns)) return false;
    if (!read_scales(p, u)) return false;
    p->a_signed = a->dtype == PGY_I8;
    p->b_signed = b->dtype == PGY_I8;
    p->b_constant = b->data != NULL;
    p->relu = op_attr_is(u->node, "activation", "Relu", "");
    if (p->kind != INT_MATMUL_TO_BYTES) return true;
    const pgy_dtype y = u->outputs[0].dtype;
    p->finish = (int_finish){.zero = (int32_t)int_problem_int(u, p->at.y_zero, 0),
                             .low = int_problem_low(y),
                             .high = int_problem_high(y)};
    if (!p->at.y_zero) p->finish.zero = 0;
    if (p->relu) p->finish.low = p->finish.zero;
    return true;
}

/* ---- Planning ------------------------------------------------------------------------------- */

/* Are all zero points of B known to be zero? */
bool int_matmul_has_no_zeros(const int_matmul *p, const kernel_problem *u)
{
    /* Unsigned bytes are packed minus 128, which acts as a zero point. */
    if (!p->b_signed) return false;
    if (!p->at.b_zero) return true;
    if (!u->inputs[p->at.b_zero].data) return false;
    for (size_t i = 0; i < p->b_zeros; i++)
        if (int_problem_int(u, p->at.b_zero, i)) return false;
    return true;
}

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t int_matmul_plan(int_matmul *p, cpu_level level)
{
    const int_tile *t = int_tile_of(level);
    const uint64_t width = t->vectors * t->lanes;
    p->level = level;
    p->groups = (p->k + INT_GROUP - 1) / INT_GROUP;
    p->panels = (p->n + width - 1) / width;
    p->chunk = p->m < 64 ? p->m : 64;
    p->chunks = (p->m + p->chunk - 1) / p->chunk;
    p->copies_a = p->a_float || p->a_signed || p->k % INT_GROUP || p->turn_a;
    p->b_bytes = rounded(p->panels * width * p->groups * INT_GROUP);
    p->b_stride = p->b_bytes + rounded(p->panels * width * sizeof(int32_t));
    uint64_t end = 0;
    p->at_b = end;
    if (!p->b_constant) end += p->b_count * p->b_stride;
    p->at_a = end;
    if (p->copies_a) end += rounded(p->batch * p->m * p->groups * INT_GROUP);
    p->at_rows = end;
    if (p->sums_rows) end += rounded(p->batch * p->m * sizeof(int32_t));
    p->at_range = end;
    if (p->a_float) end += INT_MATMUL_PARTS * 2 * sizeof(float);
    return (size_t)end;
}

/* ---- Packing -------------------------------------------------------------------------------- */

static bool int_matmul_fill(void *packed, const kernel_problem *u, const void *user)
{
    const int_matmul *p = user;
    memset(packed, 0, p->b_count * p->b_stride);
    for (size_t i = 0; i < p->b_count; i++) {
        uint64_t offset = 0, left = i;
        for (uint32_t d = p->batch_rank; p->b_count > 1 && d-- > 0; left /= p->batch_shape[d])
            offset += left % p->batch_shape[d] * p->b_batch[d];
        int_matmul_pack(p, (uint8_t *)packed + i * p->b_stride,
                        (const uint8_t *)u->inputs[p->at.b].data + offset, 0, p->panels);
    }
    return true;
}

static pgy_status int_matmul_pack_constant(kernel_plan *out, const int_matmul *p,
                                           const kernel_problem *u, pgy_error *err)
{
    kernel_packing how = {.form = "int_matmul",
                          .numbers = {p->level, p->n, p->k, p->turn_b, p->b_signed, p->b_count,
                                      p->b_bytes, p->b_stride},
                          .inputs = UINT32_C(1) << p->at.b,
                          .size_bytes = p->b_count * p->b_stride,
                          .fill = int_matmul_fill,
                          .user = p};
    if (p->b_count > 1) {
        how.numbers[8] = hash_xxh64(p->batch_shape, sizeof p->batch_shape, p->batch_rank);
        how.numbers[9] = hash_xxh64(p->b_batch, sizeof p->b_batch, 0);
    }
    out->packed_inputs = how.inputs;
    return kernel_pack(out, u, &how, err);
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static uint32_t first_phase_of(const int_matmul *p)
{
    return p->a_float ? 0 : !p->b_constant || p->copies_a || p->sums_rows ? 1 : 2;
}

/* Are the sizes small enough that nothing computed from them overflows? */
static bool has_valid_sizes(const int_matmul *p)
{
    const uint64_t most = UINT64_C(1) << 48, depth = extent_add(p->k, INT_GROUP);
    const uint64_t columns = extent_add(p->n, INT_MAX_COLUMNS);
    return p->m && p->n && p->k && p->batch && p->k < 1 << 24 &&
           extent_mul3(p->batch, p->m, depth) < most &&
           extent_mul3(p->batch, p->m, columns) < most &&
           extent_mul3(p->b_count, columns, depth) < most && p->batch_rank <= INT_MATMUL_AXES &&
           extent_product(p->batch_shape, p->batch_rank) == p->batch &&
           (p->b_count == 1 || p->b_count == p->batch);
}

/* Number of elements of A or B up to the last one that any product reads. */
static uint64_t reach_of(const int_matmul *p, const uint64_t *strides, uint64_t each)
{
    return extent_add(extent_reach(p->batch_shape, strides, p->batch_rank), each - 1);
}

/* Number of elements of A whose range the first phase computes. */
static uint64_t range_of(const int_matmul *p)
{
    uint64_t count = p->m * p->k;
    for (uint32_t d = 0; d < p->batch_rank; d++)
        if (p->a_batch[d]) count = extent_mul(count, p->batch_shape[d]);
    return p->a_float ? count : 0;
}

static void touch(kernel_extent *e, uint8_t place, uint64_t count, uint64_t item)
{
    if (place) extent_tensor(e, place, count, item);
}

static void extent_inputs(kernel_extent *e, const int_matmul *p)
{
    const int_matmul_places *at = &p->at;
    const uint64_t a_item = p->a_float ? sizeof(float) : 1, all = p->batch * p->m * p->n;
    extent_tensor(e, 0, reach_of(p, p->a_batch, p->m * p->k), a_item);
    extent_tensor(e, 0, range_of(p), a_item);
    if (!p->b_constant)
        touch(e, at->b, p->b_count > 1 ? reach_of(p, p->b_batch, p->k * p->n) : p->k * p->n, 1);
    touch(e, at->a_scale, 1, sizeof(float));
    touch(e, at->b_scale, p->b_scales == 1 ? 1 : p->n, sizeof(float));
    touch(e, at->y_scale, 1, sizeof(float));
    touch(e, at->a_zero, p->a_zeros == 1 ? 1 : p->m, 1);
    touch(e, at->b_zero, p->b_zeros == 1 ? 1 : p->n, 1);
    touch(e, at->bias, p->n, sizeof(float));
    touch(e, at->sum, all, sizeof(float));
}

static bool are_inputs(const int_matmul *p)
{
    const int_matmul_places *at = &p->at;
    const uint8_t places[] = {at->b,       at->a_scale, at->a_zero, at->b_scale, at->b_zero,
                              at->y_scale, at->y_zero,  at->bias,   at->sum};
    for (size_t i = 0; i < sizeof places; i++)
        if (places[i] >= p->inputs) return false;
    return at->b && (!p->bias_ints || at->bias);
}

bool int_matmul_reach(kernel_extent *e, const kernel_claim *q, const int_matmul *p)
{
    if (p->inputs != q->input_count || !are_inputs(p))
        return extent_refuse(e, "numbers of operands");
    if (!has_valid_sizes(p)) return extent_refuse(e, "shape");
    if (!int_finish_is_valid(&p->finish)) return extent_refuse(e, "zero points");
    extent_inputs(e, p);
    extent_tensor(e, p->inputs, p->batch * p->m * p->n, p->kind == INT_MATMUL_TO_BYTES ? 1 : 4);
    return true;
}

static bool int_matmul_extent(kernel_extent *e, const kernel_claim *q)
{
    const int_matmul *p = extent_params(e, q, sizeof *p);
    int_matmul own;
    if (!p || !extent_level(e, p->level) ||
        !extent_enum(e, p->kind, INT_MATMUL_TO_FLOAT + 1, "kind"))
        return false;
    if (!int_matmul_reach(e, q, p)) return false;
    memcpy(&own, p, sizeof own);
    e->workspace = int_matmul_plan(&own, (cpu_level)p->level);
    own.first_phase = first_phase_of(&own);
    if (memcmp(&own, p, sizeof own)) return extent_refuse(e, "places in the workspace");
    if (p->b_constant) e->packed = p->b_count * p->b_stride;
    e->scratch = SCRATCH_BYTES;
    e->phases = 3 - p->first_phase;
    if (p->a_float) e->parts = INT_MATMUL_PARTS;
    return true;
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static pgy_status int_matmul_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    int_matmul *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)int_matmul_describe(p, u); /* cannot fail after `accept` */
    p->sums_rows = !int_matmul_has_no_zeros(p, u);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->workspace_bytes = int_matmul_plan(p, u->self->needs);
    p->first_phase = first_phase_of(p);
    out->phases = 3 - p->first_phase;
    const uint64_t units = int_matmul_unit_count(p);
    out->parts = (uint32_t)(units < INT_MATMUL_PARTS ? units : INT_MATMUL_PARTS);
    out->scratch_bytes = SCRATCH_BYTES;
    if (!p->b_constant) return PGY_OK;
    const pgy_status st = int_matmul_pack_constant(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool int_matmul_accept(kernel_problem *u, double *cost_ns)
{
    const double products_per_ns = u->self->rates[0];
    int_matmul p;
    if (!int_matmul_describe(&p, u)) return false;
    int_problem_linear(u);
    const double b = (double)(p.k * p.n);
    *cost_ns = 300 + (double)(p.batch * p.m) * b / products_per_ns +
               (double)p.b_count * b * (p.b_constant ? 0.02 : 0.3) +
               (double)kernel_count(&u->outputs[0]) * 0.2;
    return true;
}

#define ROW(suffix, level, products_per_ns)                                                \
    {                                                                                      \
        .name = "matmul_int8_" #suffix, .version = 2,                                      \
        .ops = "MatMulInteger QLinearMatMul com.microsoft:QGemm "                          \
               "com.microsoft:MatMulIntegerToFloat com.microsoft:DynamicQuantizeMatMul "   \
               "pgy:QuantizedMatMul",                                                      \
        .needs = level, .rates = {products_per_ns},                                        \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED, .accept = int_matmul_accept, \
        .prepare = int_matmul_prepare, .run = int_matmul_run, .extent = int_matmul_extent  \
    }
const kernel KERNELS_int_matmul[] = {
    ROW(portable, CPU_PORTABLE, 2),
    ROW(avx2, CPU_AVX2, 50),
    ROW(avx512, CPU_AVX512, 200),
    {0},
};
