/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulNBits and MatMulBnb4 with constant weights, which stay packed. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/nbits_matmul.h"
#include "kernels/packing.h"
#include "ops/class_matmul.h"

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };
enum { MAX_PARTS = 64 };

typedef struct params {
    nbits_matmul s;
    uint32_t inputs; /* number of inputs, and so the index of the output operand */
    uint32_t unused;
} params;

/* ---- Reading the problem -------------------------------------------------------------------- */

static bool has(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype;
}

/* Is input i a constant of this type with at least `count` elements? */
static bool is_constant(const kernel_problem *u, size_t i, pgy_dtype dtype, uint64_t count)
{
    return has(u, i) && u->inputs[i].dtype == dtype && u->inputs[i].data &&
           kernel_count(&u->inputs[i]) >= count;
}

/* Are all elements of g_idx blocks of the weights? */
static bool read_groups(nbits_weights *w, const kernel_problem *u)
{
    if (!has(u, GROUPS)) return true;
    if (!is_constant(u, GROUPS, PGY_I32, w->k) ||
        kernel_count(&u->inputs[GROUPS]) > KERNEL_READABLE)
        return false;
    w->groups = u->inputs[GROUPS].data;
    for (uint64_t i = 0; i < w->k; i++)
        if (w->groups[i] < 0 || (uint64_t)w->groups[i] >= w->scale_row) return false;
    return true;
}

static bool read_zeros(nbits_weights *w, const kernel_problem *u)
{
    if (!has(u, ZEROS)) return true;
    const uint64_t bytes = (w->scale_row * w->bits + 7) / 8;
    w->zero_row = bytes * 8 / w->bits;
    if (is_constant(u, ZEROS, PGY_U8, w->n * bytes))
        w->zeros = u->inputs[ZEROS].data;
    else if (is_constant(u, ZEROS, PGY_F32, w->n * w->scale_row))
        w->float_zeros = u->inputs[ZEROS].data;
    return w->zeros || w->float_zeros;
}

static bool read_nbits(nbits_weights *w, const kernel_problem *u)
{
    const op_node *n = u->node;
    *w = (nbits_weights){.bits = (uint32_t)op_attr_int(n, "bits", 4),
                         .n = (uint64_t)op_attr_int(n, "N", 0),
                         .k = (uint64_t)op_attr_int(n, "K", 0),
                         .block = (uint64_t)op_attr_int(n, "block_size", 0)};
    w->scale_row = (w->k + w->block - 1) / w->block;
    w->row = w->scale_row * w->block;
    for (uint32_t i = 0; w->bits <= 4 && i < NBITS_CODES; i++)
        w->table[i] = (float)(i & ((1u << w->bits) - 1)) - (float)(1u << (w->bits - 1));
    if (!is_constant(u, B, PGY_U8, w->n * w->row * w->bits / 8) ||
        !is_constant(u, SCALES, PGY_F32, w->n * w->scale_row) || !read_groups(w, u) ||
        !read_zeros(w, u))
        return false;
    return !has(u, BIAS) ||
           (u->inputs[BIAS].dtype == PGY_F32 && kernel_count(&u->inputs[BIAS]) == w->n);
}

static bool read_bnb4(nbits_weights *w, const kernel_problem *u)
{
    const op_node *n = u->node;
    const bool normal = op_attr_int(n, "quant_type", 0) == 1;
    *w = (nbits_weights){.bits = 4,
                         .high_first = true,
                         .flat = true,
                         .n = (uint64_t)op_attr_int(n, "N", 0),
                         .k = (uint64_t)op_attr_int(n, "K", 0),
                         .block = (uint64_t)op_attr_int(n, "block_size", 0)};
    w->row = w->k;
    for (int64_t i = 0; i < NBITS_CODES; i++) w->table[i] = matmul_bnb4_value(i, normal);
    return op_attr_int(n, "transB", 1) && w->block % 8 == 0 && w->k % 8 == 0 &&
           is_constant(u, B, PGY_U8, (w->n * w->k + 1) / 2) &&
           is_constant(u, SCALES, PGY_F32, (w->n * w->k - 1) / w->block + 1);
}

static bool nbits_describe(nbits_matmul *s, nbits_weights *w, const kernel_problem *u)
{
    const bool nbits = strcmp(u->node->def->name, "MatMulNBits") == 0;
    if (!has(u, A) || u->inputs[A].dtype != PGY_F32 || u->outputs[0].dtype != PGY_F32 ||
        !(nbits ? read_nbits(w, u) : read_bnb4(w, u)))
        return false;
    const uint64_t count = kernel_count(&u->inputs[A]);
    if (!w->n || !w->k || !w->block || !count || count % w->k) return false;
    w->codes = u->inputs[B].data;
    w->scales = u->inputs[SCALES].data;
    nbits_matmul_start(s, w, u->self->needs,
                       nbits && op_attr_int(u->node, "accuracy_level", 0) == 4);
    s->has_bias = nbits && has(u, BIAS);
    (void)nbits_matmul_rows(s, count / w->k);
    return true;
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static bool nbits_accept(kernel_problem *u, double *cost_ns)
{
    const double flops_per_ns = u->self->rates[0], bytes_per_ns = u->self->rates[1];
    nbits_matmul s;
    nbits_weights w;
    if (!nbits_describe(&s, &w, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double weights = (double)s.k * (double)s.n;
    *cost_ns = 2 * weights * (double)s.m / flops_per_ns + weights * s.bits / 8 / bytes_per_ns;
    return true;
}

static bool nbits_fill(void *to, const kernel_problem *u, const void *user)
{
    const nbits_matmul *s = user;
    nbits_matmul again;
    nbits_weights w;
    memset(to, 0, nbits_matmul_packed_bytes(s));
    return nbits_describe(&again, &w, u) && !nbits_matmul_pack(s, to, &w, NULL);
}

static pgy_status nbits_pack(kernel_plan *out, const nbits_matmul *s, const nbits_weights *w,
                             const kernel_problem *u, pgy_error *err)
{
    const kernel_packing how = {.form = "nbits",
                                .numbers = {matmul_tile_of((cpu_level)s->level)->columns, s->n,
                                            s->k, s->bits, w->block, s->block, s->blocks,
                                            s->has_zeros, s->ordered, w->flat},
                                .inputs = 1u << B | 1u << SCALES | 1u << ZEROS | 1u << GROUPS,
                                .size_bytes = nbits_matmul_packed_bytes(s),
                                .fill = nbits_fill,
                                .user = s};
    out->packed_inputs = 1u << B | 1u << SCALES;
    if (s->has_zeros) out->packed_inputs |= 1u << ZEROS;
    if (w->groups) out->packed_inputs |= 1u << GROUPS;
    return kernel_pack(out, u, &how, err);
}

static pgy_status nbits_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    nbits_weights w;
    uint64_t bytes = 0;
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)nbits_describe(&p->s, &w, u); /* cannot fail after `accept` */
    p->inputs = (uint32_t)u->input_count;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    /* Programs for other sizes are made without a look at the scales. */
    pgy_status st = nbits_matmul_measure(&p->s, &w, false, &bytes, err);
    if (!st) {
        out->workspace_bytes = nbits_matmul_rows(&p->s, p->s.m);
        out->scratch_bytes = nbits_matmul_scratch_bytes(&p->s);
        out->phases = nbits_matmul_reads(&p->s) ? 2 : 1;
        const uint64_t units = nbits_matmul_units(&p->s);
        out->parts = (uint32_t)(units < MAX_PARTS ? units : MAX_PARTS);
        st = nbits_pack(out, &p->s, &w, u, err);
    }
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool nbits_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !nbits_matmul_extent(e, &p->s)) return false;
    if (p->inputs != q->input_count || p->inputs < 3 || (p->s.has_bias && p->inputs <= BIAS))
        return extent_refuse(e, "number of inputs");
    extent_tensor(e, A, extent_mul(p->s.m, p->s.k), sizeof(float));
    if (p->s.has_bias) extent_tensor(e, BIAS, p->s.n, sizeof(float));
    extent_tensor(e, p->inputs, extent_mul(p->s.m, p->s.n), sizeof(float));
    e->phases = nbits_matmul_reads(&p->s) ? 2 : 1;
    return true;
}

static void nbits_run(const kernel_run *r)
{
    const params *p = r->params;
    const nbits_operands o = {.a = r->tensors[A],
                              .packed = r->packed,
                              .bias = p->s.has_bias ? r->tensors[BIAS] : NULL,
                              .c = r->tensors[p->inputs],
                              .workspace = r->workspace,
                              .scratch = r->scratch};
    size_t from, to;
    if (nbits_matmul_reads(&p->s) && r->phase == 0) {
        nbits_matmul_read(&p->s, &o, r->part, r->parts);
        return;
    }
    kernel_share(&from, &to, nbits_matmul_units(&p->s), r->part, r->parts);
    for (size_t unit = from; unit < to; unit++) nbits_matmul_unit(&p->s, &o, unit);
}

#define ROW(suffix, level, flops_per_ns, bytes_per_ns)                                             \
    {                                                                                              \
        .name = "nbits_" #suffix, .version = 4,                                                    \
        .ops = "com.microsoft:MatMulNBits com.microsoft:MatMulBnb4", .needs = level,               \
        .rates = {flops_per_ns, bytes_per_ns}, .flags = KERNEL_KEEPS_PACKED,                       \
        .accept = nbits_accept, .prepare = nbits_prepare, .run = nbits_run, .extent = nbits_extent \
    }
const kernel KERNELS_nbits[] = {
    ROW(portable, CPU_PORTABLE, 4, 1),
    ROW(avx2, CPU_AVX2, 80, 8),
    ROW(avx512, CPU_AVX512, 90, 20),
    {0},
};
