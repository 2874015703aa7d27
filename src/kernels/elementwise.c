/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators with broadcasting: iterates over the operands, and folds operators of
 * several operands. Blocked tensors are processed in their own layout, as [N, C/b, spatial..., b].
 */
#include <string.h>

#include "base/alloc.h"
#include "kernels/elementwise_rows.h"
#include "kernels/walk.h"

typedef elementwise_params params;

/* ---- Layouts -------------------------------------------------------------------------------- */

static bool is_spot(const kernel_tensor *t) /* has t at most one number for each channel? */
{
    for (int32_t d = 2; d < t->rank; d++)
        if (t->shape[d] != 1) return false;
    return true;
}

/* The preferred layout: that of the largest input, so that the largest reorder is saved. */
static kernel_layout wanted_layout(const kernel_problem *u, uint32_t operands)
{
    kernel_layout layout = KERNEL_LINEAR;
    size_t most = 0;
    for (uint32_t i = 0; i < operands; i++)
        if (u->inputs[i].dtype && kernel_count(&u->inputs[i]) > most) {
            most = kernel_count(&u->inputs[i]);
            layout = u->inputs[i].layout;
        }
    return layout;
}

/* Sets a blocked layout if all operands allow it. Channels must fill the blocks, so that no lane is
 * padding. Operands must be single numbers, or have the rank and all channels of the output. A
 * constant must have channels as its only axis above 1, because then its bytes are the same in both
 * layouts. */
static bool take_blocked(kernel_problem *u, uint32_t operands, kernel_layout layout)
{
    kernel_tensor *y = &u->outputs[0];
    const int64_t block = (int64_t)kernel_block(layout);
    if (y->rank < 3 || y->rank > WALK_AXES - 1 || y->shape[1] % block) return false;
    for (uint32_t i = 0; i < operands; i++) {
        kernel_tensor *x = &u->inputs[i];
        if (!x->dtype || kernel_count(x) == 1) {
            if (x->layout != KERNEL_LINEAR) return false;
            continue;
        }
        if (x->rank != y->rank || x->shape[1] != y->shape[1]) return false;
        if (x->data && !is_spot(x)) return false;
        if (!x->data) x->layout = layout;
    }
    y->layout = layout;
    return true;
}

/* Describes a blocked tensor as a linear one whose last axis has the lanes of a block. */
static kernel_tensor elementwise_unfold(const kernel_tensor *t, int64_t *shape, size_t block)
{
    kernel_tensor plain = *t;
    plain.layout = KERNEL_LINEAR;
    if (t->rank < 3 || kernel_count(t) == 1) return plain;
    memcpy(shape, t->shape, (size_t)t->rank * sizeof *shape);
    shape[1] /= (int64_t)block;
    shape[t->rank] = (int64_t)block;
    plain.shape = shape;
    plain.rank++;
    return plain;
}

static bool find_walk(walk *w, const kernel_problem *u, uint32_t count)
{
    static int64_t none;
    int64_t shapes[KERNEL_MAX_INPUTS + 1][WALK_AXES];
    kernel_tensor plain[KERNEL_MAX_INPUTS], y = u->outputs[0];
    const kernel_tensor *operands[KERNEL_MAX_INPUTS];
    const size_t block = kernel_block(y.layout);
    const kernel_tensor missing = {.dtype = y.dtype, .rank = 0, .shape = &none};
    for (uint32_t i = 0; i < count; i++) {
        plain[i] = u->inputs[i].dtype ? u->inputs[i] : missing;
        if (block > 1) plain[i] = elementwise_unfold(&plain[i], shapes[i], block);
        operands[i] = &plain[i];
    }
    if (block > 1) y = elementwise_unfold(&y, shapes[KERNEL_MAX_INPUTS], block);
    return walk_init(w, &y, operands, count);
}

bool elementwise_place(walk *w, kernel_problem *u, uint32_t operands)
{
    const kernel_layout layout = wanted_layout(u, operands);
    u->outputs[0].layout = KERNEL_LINEAR;
    if (layout == KERNEL_LINEAR || !take_blocked(u, operands, layout)) {
        for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
        u->outputs[0].layout = KERNEL_LINEAR;
    }
    return find_walk(w, u, operands);
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static bool elementwise_describe(params *p, kernel_problem *u, const elementwise_row **found)
{
    if (u->input_count < 1 || u->output_count != 1) return false;
    *found = elementwise_find_row(p, u);
    return *found && elementwise_place(&p->w, u, p->w.operands);
}

static bool elementwise_accept(kernel_problem *u, double *cost_ns)
{
    const double slower = u->self->rates[0];
    params p;
    const elementwise_row *r;
    if (!elementwise_describe(&p, u, &r)) return false;
    double bytes = (double)kernel_size_bytes(&u->outputs[0]);
    for (uint32_t i = 0; i < p.w.operands; i++)
        if (u->inputs[i].dtype) bytes += (double)kernel_size_bytes(&u->inputs[i]);
    *cost_ns = 100 + bytes / 10 + (double)p.w.count * r->ns * slower;
    return true;
}

/* Finds an input with the output's element size whose elements all map to the same index of the
 * output: each is read before it is overwritten. */
static int8_t find_in_place(const params *p, const kernel_problem *u)
{
    for (uint32_t i = 0; i < p->w.operands; i++)
        if (u->inputs[i].dtype && !u->inputs[i].data && p->in_bytes[i] == p->out_bytes &&
            kernel_count(&u->inputs[i]) == p->w.count && !(p->fold && i))
            return (int8_t)i;
    return -1;
}

static pgy_status elementwise_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const elementwise_row *r = elementwise_find_row(p, u);
    (void)find_walk(&p->w, u, p->w.operands); /* cannot fail after `accept`, which set layouts */
    p->level = u->self->needs;
    p->out_bytes = pgy_dtype_describe(u->outputs[0].dtype)->bits / 8;
    for (uint32_t i = 0; i < p->inputs; i++)
        p->in_bytes[i] = pgy_dtype_describe(u->inputs[i].dtype)->bits / 8;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1};
    out->in_place = find_in_place(p, u);
    out->parts = walk_parts(p->w.count, p->out_bytes + (r->ns > 0.3 ? 8 : 0));
    return PGY_OK;
}

static bool has_valid_items(const params *p, const elementwise_row *r)
{
    const uint32_t out =
        r->out ? pgy_dtype_describe((pgy_dtype)r->out)->bits / 8 : elementwise_item_of(r, 1);
    if (p->out_bytes != out || (p->fold && p->last != 1 && r->out != PGY_F32)) return false;
    for (uint32_t i = 0; i < p->w.operands; i++)
        if (p->in_bytes[i] != elementwise_item_of(r, i)) return false;
    return true;
}

static bool elementwise_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !walk_extent(e, &p->w, true) ||
        !extent_enum(e, p->loop, ELEMENTWISE_COUNT, "loop"))
        return false;
    const elementwise_row *r = &elementwise_rows[p->loop];
    /* Operand 1, the bias, may be missing. */
    const bool optional = p->loop == ELEMENTWISE_bias_fast_gelu_f32;
    const bool missing = optional && (p->w.operands < 2 || !extent_has(q, 1));
    const uint32_t read = missing ? 1 : p->fold ? p->w.operands : r->operands;
    if (p->inputs != q->input_count || p->w.operands > p->inputs || p->w.operands < read || !read ||
        (p->fold && r->operands != 2))
        return extent_refuse(e, "number of operands");
    if (!has_valid_items(p, r)) return extent_refuse(e, "types");
    if (read == 1 && p->w.strides[0][p->w.rank - 1] != 1) return extent_refuse(e, "strides");
    for (uint32_t i = 0; i < read; i++) extent_tensor(e, i, walk_reach(&p->w, i), p->in_bytes[i]);
    extent_tensor(e, p->inputs, p->w.count, p->out_bytes);
    return true;
}

const elementwise_loop *elementwise_table(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return elementwise_avx512;
    if (level >= CPU_AVX2) return elementwise_avx2;
#endif
    (void)level;
    return elementwise_portable;
}

/* Computes y = f(x0, x1), then y = f(y, xi) for every further operand. */
static void elementwise_fold(const params *p, elementwise_loop loop, void *y, const void *const *x,
                             const uint32_t *step, size_t n)
{
    if (p->w.operands == 1) {
        if (y != x[0]) memcpy(y, x[0], n * p->out_bytes);
    } else {
        loop(y, x, step, n, p->args);
    }
    for (uint32_t i = 2; i < p->w.operands; i++)
        loop(y, (const void *const[]){y, x[i]}, (const uint32_t[]){1, step[i]}, n, p->args);
    float *mean = y;
    for (size_t i = 0; p->last != 1 && i < n; i++) mean[i] /= p->last;
}

static void elementwise_run(const kernel_run *r)
{
    const params *p = r->params;
    const elementwise_loop loop = elementwise_table((cpu_level)p->level)[p->loop];
    const uint32_t last = p->w.rank - 1;
    const void *x[KERNEL_MAX_INPUTS] = {0};
    uint32_t step[KERNEL_MAX_INPUTS] = {0};
    for (uint32_t i = 0; i < p->w.operands; i++) step[i] = (uint32_t)p->w.strides[i][last];
    walk_at at;
    size_t n;
    walk_begin(&at, &p->w, r->part, r->parts);
    for (; walk_run(&at, &p->w, WALK_PIECE, &n); walk_next(&at, &p->w, n)) {
        char *y = (char *)r->tensors[p->inputs] + at.done * p->out_bytes;
        for (uint32_t i = 0; i < p->w.operands; i++)
            x[i] =
                r->tensors[i] ? (const char *)r->tensors[i] + at.offset[i] * p->in_bytes[i] : NULL;
        if (p->fold)
            elementwise_fold(p, loop, y, x, step, n);
        else
            loop(y, x, step, n, p->args);
    }
}

static const char OPS[] =
#define ROW(op, in, out, loop, count, args, ns) op " "
#include "kernels/elementwise.def"
#undef ROW
    ;

#define KERNEL_ROW(suffix, level, slower)                                                    \
    {                                                                                        \
        .name = "elementwise_" #suffix, .version = 2, .ops = OPS, .needs = level,            \
        .rates = {slower}, .free_axes = kernel_all_axes, .accept = elementwise_accept,       \
        .prepare = elementwise_prepare, .run = elementwise_run, .extent = elementwise_extent \
    }
const kernel KERNELS_elementwise[] = {
    KERNEL_ROW(portable, CPU_PORTABLE, 4),
    KERNEL_ROW(avx2, CPU_AVX2, 1.5),
    KERNEL_ROW(avx512, CPU_AVX512, 1),
    {0},
};
