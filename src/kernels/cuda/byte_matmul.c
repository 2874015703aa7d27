/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of bytes on CUDA devices, exact in int32: those with constant B, whose rows are
 * whole vectors, on packed weights (packed.h, boxed.h), all others as they lie (loose.cu). The
 * problems are those of the host's kernel, and results that are no floats are equal bit for bit. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/conv.h"
#include "kernels/cuda/boxed.h"
#include "kernels/cuda/byte_columns.h"
#include "kernels/int_matmul.h"
#include "kernels/int_problem.h"

/* Inputs of pgy:QLinearMatMul with a sum, behind which a table may be, and of pgy:QGemm. */
enum { Y_SCALE = 6, Y_ZERO, R, R_SCALE, R_ZERO, SUM_SCALE, SUM_ZERO, SUM_INPUTS, GEMM_TABLE = 9 };
enum { THIN = 8, SQUARE = 64 }; /* THIN: the tile of loose products, with two stages */

typedef enum way { PACKED, BOXED, LOOSE } way;

typedef struct params {
    int_matmul m;
    packed_cut cut;
    uint32_t y_signed;
    uint32_t adds, row;    /* adds: the sum with R, which is a row for all rows of Y if `row` */
    uint32_t parts, table; /* parts: products side by side; table: results are looked up in one */
    byte_binary sum[PACKED_PARTS];
} params;

static uint32_t tile_of(const kernel *self);
static way way_of(const kernel *self);

/* ---- The problem ---------------------------------------------------------------------------- */

static bool is_constant(const kernel_problem *u, size_t place)
{
    return !place || u->inputs[place].data;
}

/* Is B packed when the plan is made, with all that belongs to its columns? */
static bool is_packed(const int_matmul *p, const kernel_problem *u)
{
    const int_matmul_places *at = &p->at;
    return p->b_constant && p->b_count == 1 && p->batch == 1 && !p->turn_a &&
           int_matmul_has_no_zeros(p, u) && p->k % BYTE_CHUNK == 0 && is_constant(u, at->a_zero) &&
           is_constant(u, at->a_scale) && is_constant(u, at->b_scale) &&
           is_constant(u, at->y_scale) && (!p->bias_ints || is_constant(u, at->bias));
}

static bool has_sizes(const int_matmul *p)
{
    return p->m <= INT32_MAX / 2 && p->n <= INT32_MAX / 2 && p->k <= INT32_MAX / 2 &&
           p->batch_rank <= PACKED_BATCH_AXES;
}

static size_t table_place(const params *p)
{
    return p->adds ? SUM_INPUTS : GEMM_TABLE;
}

static bool describe_table(params *p, const kernel_problem *u)
{
    const size_t at = table_place(p);
    p->table = u->input_count > at;
    p->m.inputs = (uint32_t)u->input_count;
    return !p->table || (p->m.kind == INT_MATMUL_TO_BYTES && u->inputs[at].data &&
                         kernel_count(&u->inputs[at]) == 256 && int_problem_is_byte(&u->inputs[at]));
}

static bool describe_sum(params *p, const kernel_problem *u)
{
    if (u->input_count <= R) return true;
    const uint64_t count = kernel_count(&u->inputs[R]), all = kernel_count(&u->outputs[0]);
    if (u->input_count < SUM_INPUTS || p->m.kind != INT_MATMUL_TO_BYTES ||
        p->m.n % PACKED_VECTOR || u->inputs[R].dtype != u->outputs[0].dtype ||
        (count != all && count != p->m.n) ||
        (p->parts == 1 && !byte_sum_describe(&p->sum[0], u, Y_SCALE, R)))
        return false;
    p->adds = 1;
    p->row = count != all;
    return describe_table(p, u);
}

/* The problem in which part `i` has the scales and zero points of all columns. */
static bool take_part(kernel_problem *of, const kernel_problem *u, uint32_t parts, uint32_t i)
{
    static const uint8_t PLACES[] = {Y_SCALE, Y_ZERO, R_SCALE, R_ZERO, SUM_SCALE, SUM_ZERO};
    *of = *u;
    for (size_t k = 0; k < sizeof PLACES; k++) {
        kernel_tensor *t = &of->inputs[PLACES[k]];
        if (!t->data || t->elsewhere || kernel_count(t) != parts) return false;
        t->data = (const char *)t->data + i * (t->dtype == PGY_F32 ? sizeof(float) : 1);
        t->rank = 0;
    }
    return true;
}

static bool describe_parts(params *p, const kernel_problem *u)
{
    kernel_problem of;
    for (uint32_t i = 0; i < p->parts; i++)
        if (!take_part(&of, u, p->parts, i) || !int_problem_are_scales(&of, Y_SCALE, 1) ||
            !int_problem_is_fixed(&of, Y_ZERO, 1) ||
            !byte_sum_describe(&p->sum[i], &of, Y_SCALE, R))
            return false;
    return p->row && p->m.n % (p->parts * BYTE_CHUNK) == 0;
}

static bool describe_sums(params *p, const kernel_problem *u)
{
    const int64_t parts = op_attr_int(u->node, "parts", 1);
    kernel_problem plain = *u;
    if (parts > PACKED_PARTS || (parts > 1 && u->input_count != SUM_INPUTS)) return false;
    p->parts = (uint32_t)parts;
    if (parts > 1 && !take_part(&plain, u, p->parts, 0)) return false;
    if (plain.input_count > R) plain.input_count = R;
    return int_matmul_describe(&p->m, &plain) && describe_sum(p, u) &&
           (parts == 1 || describe_parts(p, u));
}

/* Only operators of pgy have more inputs than the others. */
static bool describe_matmul(params *p, const kernel_problem *u)
{
    p->parts = 1;
    if (strcmp(u->node->def->name, "QLinearMatMul") == 0) return describe_sums(p, u);
    return int_matmul_describe(&p->m, u) &&
           (strcmp(u->node->def->name, "QGemm") != 0 || describe_table(p, u));
}

static bool byte_matmul_describe(params *p, const kernel_problem *u, const kernel *self)
{
    memset(p, 0, sizeof *p);
    if (!describe_matmul(p, u) || p->m.a_float || p->m.a_zeros > 1 || !has_sizes(&p->m))
        return false;
    p->y_signed = u->outputs[0].dtype == PGY_I8;
    p->cut = (packed_cut){.tile = THIN, .splits = 1};
    if (way_of(self) == LOOSE) {
        p->m.b_constant = 0;
        return p->parts == 1;
    }
    p->cut = packed_cut_of(tile_of(self), p->m.m, p->m.n, byte_columns_k(p->m.k), 1);
    return is_packed(&p->m, u);
}

static bool byte_matmul_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!byte_matmul_describe(&p, u, u->self)) return false;
    const int_matmul *m = &p.m;
    const uint64_t k = byte_columns_k(m->k);
    cuda_set_linear(u);
    const double moved = cuda_cost(cuda_bytes(u), 0, true);
    if (way_of(u->self) == BOXED) {
        *cost_ns = boxed_cost(u, &p.cut, m->m, m->n, k);
        return boxed_is_useful(&p.cut);
    }
    const double slower = way_of(u->self) == LOOSE ? 8 : 1,
                 computed = 2500 + slower * packed_cost(&p.cut, m->m, m->n, k, m->batch);
    *cost_ns = moved > computed ? moved : computed;
    return true;
}

/* ---- Packing -------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Do results go from registers to whole vectors of Y? */
static bool is_stored_at_once(const params *p, way w)
{
    return w != LOOSE && p->m.kind == INT_MATMUL_TO_BYTES && p->m.n % BYTE_CHUNK == 0 &&
           p->cut.splits == 1;
}

static uint64_t rows_of(const params *p, way w)
{
    return byte_columns_rows(p->m.n, is_stored_at_once(p, w));
}

static byte_columns columns_of(const params *p, way w)
{
    return byte_columns_of(extent_mul(rows_of(p, w), p->m.k), p->m.n);
}

/* To [n][k], in squares that stay in the cache. */
static void pack_b(int8_t *to, const int8_t *from, const int_matmul *m, bool direct)
{
    const uint64_t row = m->turn_b ? 1 : m->n, column = m->turn_b ? m->k : 1;
    for (uint64_t n0 = 0; n0 < m->n; n0 += SQUARE)
        for (uint64_t k0 = 0; k0 < m->k; k0 += SQUARE)
            for (uint64_t n = n0; n < least(n0 + SQUARE, m->n); n++)
                for (uint64_t k = k0; k < least(k0 + SQUARE, m->k); k++)
                    to[byte_columns_row(n, direct) * m->k + k] = from[k * row + n * column];
}

static double scale_of(const params *p, const kernel_problem *u, uint64_t column)
{
    const int_matmul *m = &p->m;
    const int_matmul_places *at = &m->at;
    const uint64_t part = column / (m->n / p->parts);
    if (!at->b_scale) return 1;
    double scale = m->alpha;
    if (at->a_scale) scale *= int_problem_float(u, at->a_scale, 0);
    scale *= int_problem_float(u, at->b_scale, column);
    if (m->kind == INT_MATMUL_TO_BYTES) scale /= int_problem_float(u, at->y_scale, part);
    return scale;
}

static void pack_columns(void *packed, const byte_columns *at, const params *p, bool direct,
                         const kernel_problem *u)
{
    const int_matmul *m = &p->m;
    const uint32_t a_zero = m->at.a_zero ? (uint32_t)int_problem_int(u, m->at.a_zero, 0) : 0;
    const int8_t *b = packed;
    for (uint64_t n = 0; n < m->n; n++) {
        uint32_t sum = 0, bias = 0;
        const int8_t *row = b + byte_columns_row(n, direct) * m->k;
        for (uint64_t k = 0; k < m->k; k++) sum += (uint32_t)(int32_t)row[k];
        if (m->bias_ints) bias = (uint32_t)int_problem_int(u, m->at.bias, n);
        byte_columns_fill(packed, at, n, scale_of(p, u, n), (int32_t)(bias - a_zero * sum),
                          (double)m->k * 255 * 128 + fabs((double)(int32_t)bias), 0);
    }
}

/* The inputs that the packed data holds. */
static uint32_t packed_inputs_of(const int_matmul *m)
{
    const int_matmul_places *at = &m->at;
    const uint32_t places[] = {at->b,      at->a_scale, at->a_zero, at->b_scale,
                               at->b_zero, at->y_scale, at->y_zero, m->bias_ints ? at->bias : 0};
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) bits |= UINT32_C(1) << places[i];
    return bits & ~UINT32_C(1);
}

static pgy_status byte_matmul_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)byte_matmul_describe(p, u, u->self); /* cannot fail after `accept` */
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    if (way_of(u->self) == LOOSE) return PGY_OK;
    const byte_columns at = columns_of(p, way_of(u->self));
    const bool direct = is_stored_at_once(p, way_of(u->self));
    out->packed = mem_alloc_aligned(64, at.bytes);
    out->packed_bytes = at.bytes;
    out->packed_inputs = packed_inputs_of(&p->m);
    if (!out->packed) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    memset(out->packed, 0, at.bytes);
    pack_b(out->packed, u->inputs[p->m.at.b].data, &p->m, direct);
    pack_columns(out->packed, &at, p, direct, u);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool byte_matmul_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    const bool loose = way_of(q->self) == LOOSE;
    if (!p || !extent_enum(e, p->m.kind, INT_MATMUL_TO_FLOAT + 1, "kind") ||
        !int_matmul_reach(e, q, &p->m))
        return false;
    const int_matmul *m = &p->m;
    if (m->a_float || m->a_zeros > 1 || !has_sizes(m)) return extent_refuse(e, "product");
    if (m->kind != INT_MATMUL_TO_INT32 && !m->at.b_scale) return extent_refuse(e, "scales");
    if (m->kind == INT_MATMUL_TO_BYTES && !m->at.y_scale) return extent_refuse(e, "scales");
    if (p->adds > 1 || p->row > 1 || p->table > 1 || !p->parts || p->parts > PACKED_PARTS)
        return extent_refuse(e, "sum");
    for (uint32_t i = 0; p->adds && i < p->parts; i++)
        if (!byte_sum_is_valid(&p->sum[i])) return extent_refuse(e, "sum");
    if (p->parts > 1 && (!p->adds || !p->row || loose || m->n % (p->parts * BYTE_CHUNK)))
        return extent_refuse(e, "parts");
    const size_t table = table_place(p);
    if (p->table && (p->parts > 1 || m->kind != INT_MATMUL_TO_BYTES || m->inputs <= table))
        return extent_refuse(e, "table");
    if (p->table) extent_tensor(e, table, 256, 1);
    if (p->adds &&
        (m->kind != INT_MATMUL_TO_BYTES || m->n % PACKED_VECTOR || m->inputs < SUM_INPUTS))
        return extent_refuse(e, "sum");
    if (p->adds) extent_tensor(e, R, p->row ? m->n : extent_mul3(m->batch, m->m, m->n), 1);
    if (!packed_cut_extent(e, &p->cut, loose ? THIN : tile_of(q->self))) return false;
    if (loose) return (p->cut.splits == 1 && !m->b_constant) || extent_refuse(e, "parts");
    if (m->batch != 1 || m->turn_a || m->k % BYTE_CHUNK) return extent_refuse(e, "product");
    for (uint32_t i = 1; i < m->inputs; i++)
        if (packed_inputs_of(m) >> i & 1) e->tensors[i] = 0;
    e->packed = columns_of(p, way_of(q->self)).bytes;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static packed_kind kind_of(const params *p, way w)
{
    static const packed_finish FINISH[] = {
        [INT_MATMUL_TO_BYTES] = PACKED_TO_BYTES,
        [INT_MATMUL_TO_INT32] = PACKED_TO_INT32,
        [INT_MATMUL_TO_FLOAT] = PACKED_MATMUL_TO_FLOAT,
    };
    static const pgy_dtype Y[] = {PGY_U8, PGY_I32, PGY_F32};
    const int_matmul *m = &p->m;
    const bool floats = m->kind == INT_MATMUL_TO_FLOAT;
    packed_kind k = {.types = {.x = m->a_signed ? PGY_I8 : PGY_U8,
                               .bias = PGY_F32,
                               .residual = p->adds ? PGY_U8 : PGY_F32,
                               .y = Y[m->kind],
                               .w = m->b_signed ? PGY_I8 : PGY_U8},
                     .cut = p->cut,
                     .finish = FINISH[m->kind],
                     .activation = floats && m->relu ? CONV_RELU : 0,
                     .plain = true,
                     .loose = w == LOOSE,
                     .vector = m->n % PACKED_VECTOR == 0,
                     .biased = floats && m->at.bias && !m->bias_ints,
                     .added = p->adds || (floats && m->at.sum),
                     .row = p->row != 0,
                     .table = p->table != 0,
                     .parts = p->parts,
                     .direct = is_stored_at_once(p, w)};
    byte_columns_limit(&k, &m->finish);
    return k;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const packed_kind kind = kind_of(plan->params, way_of(self));
    return way_of(self) == BOXED ? boxed_load(out, &kind, d, err) : packed_load(out, &kind, d, err);
}

static uint64_t operand(const kernel_run *r, size_t place)
{
    return place ? (uint64_t)(uintptr_t)r->tensors[place] : 0;
}

static void set_loose(packed_call *c, const kernel_run *r)
{
    const int_matmul *m = &((const params *)r->params)->m;
    struct packed_loose *l = &c->loose;
    c->w = operand(r, m->at.b);
    c->groups = (uint32_t)m->batch;
    l->a_scale = operand(r, m->at.a_scale);
    l->b_scale = operand(r, m->at.b_scale);
    l->y_scale = m->kind == INT_MATMUL_TO_BYTES ? operand(r, m->at.y_scale) : 0;
    l->a_zero = operand(r, m->at.a_zero);
    l->b_zero = operand(r, m->at.b_zero);
    l->bias = m->bias_ints ? operand(r, m->at.bias) : 0;
    l->alpha = m->alpha;
    l->a_row = m->turn_a ? 1 : m->k;
    l->a_k = m->turn_a ? m->m : 1;
    l->b_column = m->turn_b ? m->k : 1;
    l->b_k = m->turn_b ? 1 : m->n;
    l->batch_rank = m->batch_rank;
    l->b_scales = m->b_scales;
    l->b_zeros = m->b_zeros;
    memcpy(l->batch_shape, m->batch_shape, sizeof l->batch_shape);
    memcpy(l->a_batch, m->a_batch, sizeof l->a_batch);
    memcpy(l->b_batch, m->b_batch, sizeof l->b_batch);
}

static packed_call call_of(const kernel_run *r)
{
    const params *p = r->params;
    const int_matmul *m = &p->m;
    const byte_columns at = columns_of(p, way_of(r->self));
    packed_call c = {.x = (uint64_t)(uintptr_t)r->tensors[0],
                     .w = (uint64_t)(uintptr_t)r->packed,
                     .bias = m->bias_ints ? 0 : operand(r, m->at.bias),
                     .residual = operand(r, p->adds ? R : m->at.sum),
                     .y = operand(r, m->inputs),
                     .m = m->m,
                     .n = m->n,
                     .k = m->k,
                     .k_pitch = m->k,
                     .w_rows = rows_of(p, way_of(r->self)),
                     .x_row = m->k,
                     .y_row = m->n,
                     .groups = 1,
                     .channels = (uint32_t)m->k,
                     .alpha = 1};
    byte_columns_place(&c, &at, r->packed, &m->finish);
    for (uint32_t i = 0; p->adds && i < p->parts; i++) c.sum[i] = byte_binary_call_of(&p->sum[i]);
    if (p->table) c.table = operand(r, table_place(p));
    c.part = m->n / p->parts;
    return c;
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const pgy_dtype type = p->m.a_signed ? PGY_I8 : PGY_U8;
    boxed_call c = {.own = call_of(r)};
    if (way_of(r->self) == LOOSE) set_loose(&c.own, r);
    if (way_of(r->self) != BOXED) return packed_launch(stream, r->loaded, &p->cut, &c.own, err);
    return boxed_launch_matrix(r->loaded, &p->cut, &c, type, stream, err);
}

#define OPS                                                                        \
    "MatMulInteger QLinearMatMul pgy:QLinearMatMul com.microsoft:QGemm pgy:QGemm " \
    "com.microsoft:MatMulIntegerToFloat pgy:QuantizedMatMul"
#define ROW(name_, unload_)                                                               \
    {                                                                                     \
        .name = "matmul_bytes_" name_, .version = 4, .ops = OPS, .device = "cuda",        \
        .accept = byte_matmul_accept, .prepare = byte_matmul_prepare,                     \
        .extent = byte_matmul_extent, .load = load, .unload = unload_, .enqueue = enqueue \
    }
const kernel KERNELS_cuda_byte_matmul[] = {
    ROW("loose", packed_unload),
    ROW("128x128", packed_unload),
    ROW("128x64", packed_unload),
    ROW("64x64", packed_unload),
    ROW("boxed_128x128", boxed_unload),
    ROW("boxed_128x64", boxed_unload),
    ROW("boxed_64x64", boxed_unload),
    ROW("boxed_64x128", boxed_unload),
    ROW("boxed_deep_128x64", boxed_unload),
    ROW("boxed_deep_64x64", boxed_unload),
    ROW("boxed_thin_64x64", boxed_unload),
    ROW("boxed_short_128x64", boxed_unload),
    {0},
};

/* Of each row. */
static const struct {
    way way;
    uint32_t tile;
} TACTICS[] = {{LOOSE, THIN}, {PACKED, 0}, {PACKED, 1}, {PACKED, 2}, {BOXED, 0}, {BOXED, 1},
               {BOXED, 2},    {BOXED, 4},  {BOXED, 5},  {BOXED, 6},  {BOXED, 8}, {BOXED, 3}};

static uint32_t tile_of(const kernel *self)
{
    return TACTICS[self - KERNELS_cuda_byte_matmul].tile;
}

static way way_of(const kernel *self)
{
    return TACTICS[self - KERNELS_cuda_byte_matmul].way;
}
