/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft SparseAttention: the kernel of GroupQueryAttention, whose units skip blocks of keys
 * that no query row sees. The operator's inputs are given to it at the places where
 * GroupQueryAttention has them. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/group_attention.h"

/* Inputs that GroupQueryAttention does not have, and those with other places there. */
enum { ROWS = 5, COLUMNS, INPUTS = 11 };
enum { OUTPUTS = 3, GROUP_INPUTS = GROUP_K_NORM + 1 };

typedef struct params {
    group_params g; /* of a GroupQueryAttention with GROUP_INPUTS inputs */
    uint64_t count, row_width, column_width, block;
    uint32_t inputs, unused;
} params;

/* The place of an input there; GROUP_INPUTS: it has none. */
static const uint8_t PLACES[INPUTS] = {GROUP_QUERY,   GROUP_KEY,    GROUP_VALUE,  GROUP_PAST_K,
                                       GROUP_PAST_V,  GROUP_INPUTS, GROUP_INPUTS, GROUP_TOTAL,
                                       GROUP_LENGTHS, GROUP_COS,    GROUP_SIN};

/* ---- The problem ---------------------------------------------------------------------------- */

static kernel_problem group_problem(const kernel_problem *u)
{
    kernel_problem g = *u;
    for (size_t i = 0; i < KERNEL_MAX_INPUTS; i++) g.inputs[i] = (kernel_tensor){0};
    for (size_t i = 0; i < u->input_count && i < INPUTS; i++)
        if (PLACES[i] < GROUP_INPUTS) g.inputs[PLACES[i]] = u->inputs[i];
    g.input_count = GROUP_INPUTS;
    return g;
}

static bool sparse_attention_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *rows = &u->inputs[ROWS], *columns = &u->inputs[COLUMNS];
    const int64_t block = op_attr_int(u->node, "sparse_block_size", 0);
    if (u->input_count < GROUP_TOTAL + 3 || u->input_count > INPUTS) return false;
    const kernel_problem g = group_problem(u);
    if (!u->inputs[3].dtype || !group_attention_describe(&p->g, &g)) return false;
    p->g.counts_all = p->g.keeps_rows = 1;
    if (rows->dtype != PGY_I32 || columns->dtype != PGY_I32 || rows->rank != 2 ||
        columns->rank != 2 || block < 1 || block > INT32_MAX)
        return false;
    p->count = (uint64_t)rows->shape[0];
    p->row_width = (uint64_t)rows->shape[1];
    p->column_width = (uint64_t)columns->shape[1];
    p->block = (uint64_t)block;
    p->inputs = (uint32_t)u->input_count;
    p->unused = 0;
    return p->count && p->g.heads % p->count == 0 && p->row_width > 1 &&
           (uint64_t)columns->shape[0] == p->count && p->g.past == p->g.capacity;
}

static bool sparse_attention_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!sparse_attention_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double scores = (double)(p.g.batch * p.g.heads * p.g.rows) * (double)p.g.capacity;
    *cost_ns = 500 + scores * (double)p.g.size / u->self->rates[0];
    return true;
}

static pgy_status sparse_attention_prepare(kernel_plan *out, const kernel_problem *u,
                                           pgy_error *err)
{
    enum { PARTS = 256 };
    uint64_t places[3], scratch[GROUP_SPARSE_END + 1];
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)sparse_attention_describe(p, u); /* cannot fail after `accept` */
    const uint64_t units = group_sparse_units(&p->g), others = group_cache_units(&p->g);
    const uint64_t most = units > others ? units : others;
    group_places(places, &p->g);
    group_sparse_scratch(scratch, &p->g, p->block);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    out->parts = (uint32_t)(most < PARTS ? most : PARTS);
    out->workspace_bytes = places[1] * sizeof(float);
    out->scratch_bytes = scratch[GROUP_SPARSE_END] * sizeof(float);
    return PGY_OK;
}

static bool sparse_attention_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint64_t scratch[GROUP_SPARSE_END + 1], places[3];
    if (!p) return false;
    if (p->inputs != q->input_count || p->inputs <= COLUMNS + 2 || p->inputs > INPUTS ||
        (p->g.half && p->inputs < INPUTS))
        return extent_refuse(e, "number of inputs");
    if (!p->count || p->g.inputs != GROUP_INPUTS || p->row_width < 2 || !p->block ||
        p->block > INT32_MAX || p->g.ids || p->g.bias_keys || p->g.sinks || p->g.normed ||
        p->g.counts_all != 1 || p->g.keeps_rows != 1 || p->g.past != p->g.capacity)
        return extent_refuse(e, "layout of blocks");
    kernel_extent g = {.phases = 1};
    const kernel_claim claim = {.self = q->self,
                                .params = &p->g,
                                .params_bytes = sizeof p->g,
                                .input_count = GROUP_INPUTS,
                                .output_count = q->output_count};
    if (!group_attention_extent(&g, &claim)) return extent_refuse(e, g.why);
    for (uint32_t i = 0; i < p->inputs; i++)
        if (PLACES[i] < GROUP_INPUTS) extent_tensor(e, i, g.tensors[PLACES[i]], 1);
    for (uint32_t i = 0; i < OUTPUTS; i++)
        extent_tensor(e, p->inputs + i, g.tensors[GROUP_INPUTS + i], 1);
    extent_tensor(e, ROWS, extent_mul(p->count, p->row_width), sizeof(int32_t));
    extent_tensor(e, COLUMNS, extent_mul(p->count, p->column_width), sizeof(int32_t));
    e->indices = 1U << ROWS | 1U << COLUMNS | 1U << (COLUMNS + 1) | 1U << (COLUMNS + 2);
    group_places(places, &p->g);
    group_sparse_scratch(scratch, &p->g, p->block);
    e->phases = 2;
    e->workspace = extent_mul(places[1], sizeof(float));
    e->scratch = extent_mul(scratch[GROUP_SPARSE_END], sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Do the indices of rows fit the columns, and is there a block for every key? */
static bool check_layout(const params *p, const group_layout *l, const kernel_run *r)
{
    const int64_t total = *(const int32_t *)r->tensors[COLUMNS + 1];
    for (uint64_t i = 0; i < l->count * l->row_width; i++)
        if (l->rows[i] < 0 || (uint64_t)l->rows[i] > l->column_width) {
            kernel_fault_index(r, l->rows[i], l->column_width + 1);
            return false;
        }
    if (total < 0 || (uint64_t)total > extent_mul(l->row_width - 1, p->block)) {
        kernel_fail(r, KERNEL_FAULT_LENGTH);
        return false;
    }
    return true;
}

static void sparse_attention_run(const kernel_run *r)
{
    const params *p = r->params;
    void *tensors[GROUP_INPUTS + OUTPUTS] = {NULL};
    kernel_run g = *r;
    size_t from, to;
    const group_layout l = {.rows = r->tensors[ROWS],
                            .columns = r->tensors[COLUMNS],
                            .count = p->count,
                            .row_width = p->row_width,
                            .column_width = p->column_width,
                            .block = p->block};
    for (uint32_t i = 0; i < p->inputs; i++)
        if (PLACES[i] < GROUP_INPUTS) tensors[PLACES[i]] = r->tensors[i];
    for (uint32_t i = 0; i < OUTPUTS; i++) tensors[GROUP_INPUTS + i] = r->tensors[p->inputs + i];
    g.tensors = tensors;
    if (!check_layout(p, &l, r)) return;
    kernel_share(&from, &to, r->phase ? group_sparse_units(&p->g) : group_cache_units(&p->g),
                 r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++)
        if (r->phase)
            group_sparse_unit(&p->g, &l, &g, i);
        else
            group_cache_unit(&p->g, &g, i);
}

#define ROW(suffix, level, flops_per_ns)                                                           \
    {                                                                                              \
        .name = "sparse_attention_" #suffix, .version = 1, .ops = "com.microsoft:SparseAttention", \
        .needs = level, .rates = {flops_per_ns}, .flags = KERNEL_SHARES_CACHES,                    \
        .accept = sparse_attention_accept, .prepare = sparse_attention_prepare,                    \
        .run = sparse_attention_run, .extent = sparse_attention_extent                             \
    }
const kernel KERNELS_sparse_attention[] = {
    ROW(portable, CPU_PORTABLE, 6),
    ROW(avx2, CPU_AVX2, 25),
    ROW(avx512, CPU_AVX512, 40),
    {0},
};
