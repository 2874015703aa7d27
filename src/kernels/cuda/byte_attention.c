/* SPDX-License-Identifier: Apache-2.0 */
/* pgy:QLinearAttention on CUDA devices: heads of 32 or 64 elements, of up to MOST_KEYS rows, whose
 * scores a warp keeps in registers (byte_attention.cu). Results are those of the definition. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/byte_columns.h"
#include "kernels/int_problem.h"

enum { X, Q_SCALE, K_SCALE = 3, V_SCALE = 5, SCORE_SCALE = 7 };
enum { READ_SCALE = 9, SHARE_SCALE = 11, Y_SCALE = 13 };
enum { MASK = 15, SUM_SCALE = 18, INPUTS = 20, PARTS = 3 };
enum { MOST_KEYS = 256, TEAM_ROWS = 64, TEAM_THREADS = 128, LINE = 128, GROUP = 32 };
enum { MULTIPROCESSORS = 132, ALONE = 3, PAIRED = 2 }; /* blocks of one and two teams at once */

/* Teams of four warps in a block, and warps that share rows. */
typedef struct attention_cut {
    uint32_t teams, shares;
} attention_cut;

typedef struct params {
    uint64_t batch, rows, heads, size;
    uint32_t inputs, is_signed, masked, shared_mask; /* shared_mask: all batches have the same */
    int32_t zeros[PARTS];
    int32_t unused;
    double score_scale, share_scale, y_scale;
    int_finish score, result;
    byte_binary sum;
    double powers[256];
} params;

/* Arguments of byte_attention.cu: the same struct as there. */
typedef struct attention_call {
    uint64_t x, mask, y, mask_batch;
    uint32_t heads, units;
    int32_t zeros[PARTS];
    float score_least, score_most, y_least, y_most;
    double score_scale, share_scale, y_scale;
    byte_limits score, result;
    byte_binary_call sum;
    double powers[256];
} attention_call;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool has_sizes(const params *p)
{
    return (p->size == 32 || p->size == 64) && p->rows && p->rows <= MOST_KEYS && p->heads &&
           p->heads <= INT16_MAX && p->batch && p->batch <= INT32_MAX / p->heads / MOST_KEYS;
}

/* Are the scale at i and the zero point behind it constants of the type of X? */
static bool is_grid(const kernel_problem *u, size_t i)
{
    return u->inputs[i].dtype && int_problem_are_scales(u, i, 1) &&
           u->inputs[i + 1].dtype == u->inputs[X].dtype && int_problem_is_fixed(u, i + 1, 1);
}

static int_finish finish_of(const kernel_problem *u, size_t scale)
{
    const pgy_dtype type = u->inputs[X].dtype;
    return (int_finish){.zero = (int32_t)int_problem_int(u, scale + 1, 0),
                        .low = int_problem_low(type),
                        .high = int_problem_high(type)};
}

static bool describe_mask(params *p, const kernel_problem *u)
{
    p->masked = u->input_count > MASK && int_problem_has(u, MASK);
    if (!p->masked) return true;
    const uint64_t count = kernel_count(&u->inputs[MASK]);
    p->shared_mask = count == p->rows;
    return u->input_count == INPUTS && u->inputs[MASK].dtype == u->inputs[X].dtype &&
           u->inputs[SUM_SCALE + 1].dtype == u->inputs[X].dtype &&
           (count == p->rows || count == p->rows * p->batch) &&
           byte_sum_describe(&p->sum, u, READ_SCALE, MASK);
}

static void set_powers(params *p, const kernel_problem *u)
{
    const double scale = int_problem_float(u, p->masked ? SUM_SCALE : READ_SCALE, 0);
    for (int i = 0; i < 256; i++) p->powers[i] = exp(-i * scale);
}

static bool attention_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[X];
    const int64_t heads = op_attr_int(u->node, "num_heads", 0);
    *p = (params){.inputs = (uint32_t)u->input_count};
    if (!int_problem_is_byte(x) || u->outputs[0].dtype != x->dtype || x->rank != 3 ||
        !kernel_count(x) || heads < 1)
        return false;
    for (size_t i = Q_SCALE; i < MASK; i += 2)
        if (!is_grid(u, i)) return false;
    p->batch = (uint64_t)x->shape[0];
    p->rows = (uint64_t)x->shape[1];
    p->heads = (uint64_t)heads;
    p->size = (uint64_t)x->shape[2] / PARTS / p->heads;
    p->is_signed = x->dtype == PGY_I8;
    p->score = finish_of(u, SCORE_SCALE);
    p->result = finish_of(u, Y_SCALE);
    for (size_t i = 0; i < PARTS; i++)
        p->zeros[i] = (int32_t)int_problem_int(u, Q_SCALE + 2 * i + 1, 0);
    const double share = int_problem_float(u, SHARE_SCALE, 0);
    p->score_scale = int_problem_float(u, Q_SCALE, 0) * int_problem_float(u, K_SCALE, 0) /
                     int_problem_float(u, SCORE_SCALE, 0);
    p->share_scale = share;
    p->y_scale = share * int_problem_float(u, V_SCALE, 0) / int_problem_float(u, Y_SCALE, 0);
    /* Shares are not negative, so a zero point above the lowest byte would only waste bytes. */
    if (!has_sizes(p) || int_problem_int(u, SHARE_SCALE + 1, 0) != p->score.low ||
        !describe_mask(p, u))
        return false;
    set_powers(p, u);
    return true;
}

static bool attention_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    cuda_set_linear(u);
    if (!attention_describe(&p, u)) return false;
    const double scores = (double)(p.batch * p.heads) * (double)p.rows * (double)p.rows;
    *cost_ns = 4000 + cuda_cost(cuda_bytes(u), 0, true) + scores * 35 / 25000;
    return true;
}

static pgy_status attention_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)attention_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool attention_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count || p->inputs < (p->masked ? INPUTS : MASK))
        return extent_refuse(e, "number of inputs");
    if (p->masked > 1 || p->shared_mask > 1 || p->is_signed > 1) return extent_refuse(e, "inputs");
    if (!has_sizes(p)) return extent_refuse(e, "shape");
    if (!int_finish_is_valid(&p->score) || !int_finish_is_valid(&p->result) ||
        (p->masked && !byte_sum_is_valid(&p->sum)))
        return extent_refuse(e, "zero points");
    for (size_t i = 0; i < PARTS; i++)
        if (!extent_between(p->zeros[i], INT8_MIN, UINT8_MAX + 1))
            return extent_refuse(e, "zero points");
    const uint64_t count = extent_mul3(p->batch * p->rows, p->heads, p->size);
    extent_tensor(e, X, extent_mul(count, PARTS), 1);
    if (p->masked) extent_tensor(e, MASK, (p->shared_mask ? 1 : p->batch) * p->rows, 1);
    extent_tensor(e, p->inputs, count, 1);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static uint64_t units_of(const params *p, attention_cut c)
{
    const uint64_t rows = (uint64_t)c.teams * TEAM_ROWS / c.shares;
    return p->batch * p->heads * (p->rows / rows + (p->rows % rows != 0));
}

/* Two teams share keys and values, unless that leaves multiprocessors idle; if even one does, its
 * warps share rows. */
static attention_cut cut_of(const params *p)
{
    const attention_cut pair = {2, 1}, alone = {1, 1}, shared = {1, 4};
    if (p->rows > TEAM_ROWS && units_of(p, pair) >= (uint64_t)MULTIPROCESSORS * PAIRED) return pair;
    return p->rows > GROUP && units_of(p, alone) < MULTIPROCESSORS ? shared : alone;
}

static uint32_t room_of(const params *p, attention_cut c)
{
    const uint32_t keys = (uint32_t)extent_round_up(p->rows, (uint64_t)GROUP * c.shares);
    return keys * LINE + (keys + LINE - 1) / LINE * (uint32_t)p->size * LINE + 1024;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    static const cuda_source SOURCE = {"byte_attention",
                                       CUDA_SOURCE_byte_attention,
                                       {"run"},
                                       {CUDA_SOURCE_mma, CUDA_SOURCE_groups, CUDA_SOURCE_bytes,
                                        CUDA_SOURCE_byte_binary, CUDA_SOURCE_byte_words,
                                        CUDA_SOURCE_byte_scores}};
    const params *p = plan->params;
    const char *kind = p->is_signed ? "\"s8\"" : "\"u8\"";
    const attention_cut cut = cut_of(p);
    str defines = {0};
    (void)self;
    cuda_define_int(&defines, "TENSOR", 3);
    cuda_define(&defines, "X_KIND", "\"u8\"");
    cuda_define(&defines, "W_KIND", kind);
    cuda_define(&defines, "T_KIND", kind);
    cuda_define(&defines, "Y_KIND", kind);
    cuda_define_int(&defines, "Y_LOW", p->result.low);
    cuda_define_int(&defines, "Y_HIGH", p->result.high);
    cuda_define_int(&defines, "SIGNED", p->is_signed);
    cuda_define_int(&defines, "KEYS", (int64_t)p->rows);
    cuda_define_int(&defines, "SIZE", (int64_t)p->size);
    cuda_define_int(&defines, "MASKED", p->masked);
    cuda_define_int(&defines, "TEAMS", cut.teams);
    cuda_define_int(&defines, "SHARES", cut.shares);
    cuda_define_int(&defines, "BLOCKS", cut.teams == 1 ? ALONE : PAIRED);
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
    const attention_cut cut = cut_of(p);
    const uint32_t most = MULTIPROCESSORS * (cut.teams == 1 ? ALONE : PAIRED);
    const uint64_t units = units_of(p, cut);
    attention_call c = {.x = address(r, X),
                        .mask = p->masked ? address(r, MASK) : 0,
                        .y = address(r, p->inputs),
                        .mask_batch = p->shared_mask ? 0 : p->rows,
                        .heads = (uint32_t)p->heads,
                        .units = (uint32_t)units,
                        .score_scale = p->score_scale,
                        .share_scale = p->share_scale,
                        .y_scale = p->y_scale,
                        .score = byte_limits_of(&p->score),
                        .result = byte_limits_of(&p->result)};
    byte_columns_bound(&c.score_least, &c.score_most, p->score_scale, (double)p->size * 255 * 255);
    byte_columns_bound(&c.y_least, &c.y_most, p->y_scale, (double)p->rows * 255 * 255);
    if (p->masked) c.sum = byte_binary_call_of(&p->sum);
    memcpy(c.zeros, p->zeros, sizeof c.zeros);
    memcpy(c.powers, p->powers, sizeof c.powers);
    return cuda_launch_shared(stream, l->functions[0], units < most ? units : most,
                              cut.teams * TEAM_THREADS, room_of(p, cut), &c, err);
}

const kernel KERNELS_cuda_byte_attention[] = {
    {.name = "attention_bytes",
     .version = 2,
     .ops = "pgy:QLinearAttention",
     .device = "cuda",
     .accept = attention_accept,
     .prepare = attention_prepare,
     .extent = attention_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};
