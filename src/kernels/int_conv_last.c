/* SPDX-License-Identifier: Apache-2.0 */
/* QLinearConv of com.microsoft and pgy with attribute channels_last: reading and planning the
 * problem. */
#include "kernels/int_conv_last.h"

#include "base/alloc.h"
#include "kernels/int_problem.h"

/* Does any output position read beyond the image, or its channels need another form? */
static bool int_conv_last_copies(const int_conv *c)
{
    for (size_t d = 0; d < INT_CONV_AXES; d++) {
        const int64_t last =
            (c->out_size[d] - 1) * c->stride[d] - c->pad[d] + (c->kernel[d] - 1) * c->dilation[d];
        if (c->pad[d] || last >= c->size[d]) return true;
    }
    return c->x_signed || c->in % INT_GROUP;
}

/* Few channels leave much of each group of four bytes empty. The taps of a row lie side by side, so
 * they are joined if that takes no more groups. The weights' zero points times the sum of all bytes
 * that are read would count bytes of the next pixel. */
static bool int_conv_last_joins(const int_conv *c)
{
    return c->groups == 1 && c->in % INT_GROUP && c->kernel[2] > 1 && c->dilation[2] == 1 &&
           !c->w_has_zero;
}

/* Joins rows, then slices, into one line if all positions are equally far apart. */
static void find_lines(int_conv_last *p)
{
    const int_conv *c = &p->c;
    const uint64_t out[INT_CONV_AXES] = {(uint64_t)c->out_size[0], (uint64_t)c->out_size[1],
                                         (uint64_t)c->out_size[2]};
    const bool rows = c->stride[2] == 1 && c->stride[1] == 1 && p->width[2] == out[2];
    const bool slices = rows && c->stride[0] == 1 && p->width[1] == out[1];
    p->line = out[2] * (rows ? out[1] : 1) * (slices ? out[0] : 1);
    p->per_slice = rows ? 1 : out[1];
    p->lines = p->per_slice * (slices ? 1 : out[0]);
}

static void int_conv_last_plan(int_conv_last *p, cpu_level level)
{
    int_conv *c = &p->c;
    c->joined = int_conv_last_joins(c);
    int_conv_plan_turned(c, level);
    p->copies = int_conv_last_copies(c);
    p->pixel = c->groups * int_conv_last_channels(p);
    for (size_t d = 0; d < INT_CONV_AXES; d++)
        p->width[d] = p->copies ? (uint64_t)((c->out_size[d] - 1) * c->stride[d] +
                                             (c->kernel[d] - 1) * c->dilation[d] + 1)
                                : (uint64_t)c->size[d];
    const uint64_t columns = c->joined ? 1 : (uint64_t)c->kernel[2];
    for (uint64_t t = 0; t < int_conv_tap_count(c); t++) {
        const uint64_t row = t / columns, x = t % columns * (uint64_t)c->dilation[2];
        const uint64_t y = row % (uint64_t)c->kernel[1] * (uint64_t)c->dilation[1];
        const uint64_t z = row / (uint64_t)c->kernel[1] * (uint64_t)c->dilation[0];
        c->tap_offsets[t] = ((z * p->width[1] + y) * p->width[2] + x) * p->pixel;
    }
    find_lines(p);
    p->pieces = (p->line + INT_CONV_LAST_PIECE - 1) / INT_CONV_LAST_PIECE;
    const uint64_t units = int_conv_last_piece_count(p), panels = c->groups * c->tiles;
    p->chunks = units >= 16 ? 1 : (15 + units) / units;
    if (p->chunks > panels) p->chunks = panels;
}

/* Bytes of the copy; a tile reads up to INT_AMX_ROWS positions behind the last one, and joined taps
 * up to a group of four. */
static uint64_t copy_bytes(const int_conv_last *p)
{
    const uint64_t behind = INT_AMX_ROWS * (uint64_t)p->c.stride[2] * p->pixel + INT_GROUP;
    const uint64_t bytes = p->c.batch * int_conv_last_image_bytes(p) + behind;
    return p->copies ? (bytes + 63) / 64 * 64 : 0;
}

/* Sums of a tile, and of the bytes that it reads; with other bytes to add, the bytes of a panel. */
static uint64_t scratch_bytes(const int_conv_last *p)
{
    const uint64_t made = INT_CONV_LAST_BLOCK * INT_CONV_LAST_PIECE * INT_MAX_COLUMNS;
    return INT_CONV_LAST_SUMS + (p->r_input ? made : 0);
}

/* Reads what is added to the bytes: R, its scale and zero point, those of the sum. */
static bool describe_sum(int_conv_last *p, const kernel_problem *u)
{
    enum { Y_SCALE = 6, Y_ZERO, R = INT_CONV_INPUTS, R_SCALE, R_ZERO, SUM_SCALE, SUM_ZERO, INPUTS };
    const uint8_t flip = u->outputs[0].dtype == PGY_I8 ? 0x80 : 0;
    if (u->input_count != INPUTS || u->inputs[R].dtype != u->outputs[0].dtype ||
        kernel_count(&u->inputs[R]) != kernel_count(&u->outputs[0]))
        return false;
    if (!int_problem_are_scales(u, R_SCALE, 1) || !int_problem_are_scales(u, SUM_SCALE, 1) ||
        !int_problem_is_fixed(u, R_ZERO, 1) || !int_problem_is_fixed(u, SUM_ZERO, 1))
        return false;
    p->r_input = R;
    p->sum.a_flip = p->sum.b_flip = flip;
    p->sum.a_scale = int_problem_float(u, Y_SCALE, 0);
    p->sum.b_scale = int_problem_float(u, R_SCALE, 0);
    p->sum.scale = int_problem_float(u, SUM_SCALE, 0);
    p->sum.a_zero = (int32_t)int_problem_int(u, Y_ZERO, 0) + flip;
    p->sum.b_zero = (int32_t)int_problem_int(u, R_ZERO, 0) + flip;
    p->sum.finish = (int_finish){.zero = (int32_t)int_problem_int(u, SUM_ZERO, 0),
                                 .low = int_problem_low(u->outputs[0].dtype),
                                 .high = int_problem_high(u->outputs[0].dtype)};
    return true;
}

static bool int_conv_last_describe(int_conv_last *p, const kernel_problem *u)
{
    kernel_problem conv = *u;
    if (conv.input_count > INT_CONV_INPUTS) conv.input_count = INT_CONV_INPUTS;
    if (!int_conv_describe(&p->c, &conv) || !p->c.last || p->c.kind != INT_CONV_TO_BYTES)
        return false;
    p->c.inputs = (uint32_t)u->input_count;
    if (u->input_count > INT_CONV_INPUTS && !describe_sum(p, u)) return false;
    int_conv_last_plan(p, u->self->needs);
    return true;
}

static bool int_conv_last_accept(kernel_problem *u, double *cost_ns)
{
    const double products_per_ns = u->self->rates[0];
    int_conv_last p = {0};
    if (!int_conv_last_describe(&p, u)) return false;
    int_problem_linear(u);
    const double y = (double)kernel_count(&u->outputs[0]);
    const size_t lanes = int_tile_of(u->self->needs)->lanes;
    const uint64_t filled = (p.c.out + lanes - 1) / lanes * lanes;
    *cost_ns = 500 + y * (p.r_input ? 0.2 : 0.1) + (double)copy_bytes(&p) * 0.05 +
               y / (double)p.c.out *
                   (double)(filled * int_conv_tap_count(&p.c) * p.c.quads * INT_GROUP) /
                   products_per_ns;
    return true;
}

static pgy_status int_conv_last_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    int_conv_last *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)int_conv_last_describe(p, u); /* cannot fail after `accept` */
    p->c.at_offsets = copy_bytes(p);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .phases = 2,
                         .in_place = p->r_input ? (int8_t)p->r_input : -1};
    const uint64_t units = int_conv_last_piece_count(p) * p->chunks;
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->workspace_bytes = p->c.at_offsets + p->c.groups * p->c.out * sizeof(int32_t);
    out->scratch_bytes = scratch_bytes(p);
    const pgy_status st = int_conv_pack(out, &p->c, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool int_conv_last_extent(kernel_extent *e, const kernel_claim *q)
{
    const int_conv_last *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->c.level)) return false;
    const int_conv *c = &p->c;
    int_conv_last own;
    if (c->inputs != q->input_count || c->x_zero_input >= c->inputs)
        return extent_refuse(e, "numbers of operands");
    if (p->r_input >= c->inputs) return extent_refuse(e, "numbers of operands");
    if (c->kind != INT_CONV_TO_BYTES) return extent_refuse(e, "kind");
    if (!int_conv_has_valid_sizes(c)) return extent_refuse(e, "shape");
    if (!int_finish_is_valid(&c->finish) || !byte_binary_is_valid(&p->sum))
        return extent_refuse(e, "zero points");
    memcpy(&own, p, sizeof own);
    int_conv_last_plan(&own, (cpu_level)c->level);
    own.c.at_offsets = copy_bytes(&own);
    if (memcmp(&own, p, sizeof own)) return extent_refuse(e, "places of taps and weights");
    const uint64_t channels = c->groups * c->out;
    extent_tensor(e, 0, c->batch * int_conv_in_plane(c), c->groups * c->in);
    if (c->x_zero_input) extent_tensor(e, c->x_zero_input, 1, 1);
    if (p->r_input) extent_tensor(e, p->r_input, c->batch * int_conv_out_plane(c), channels);
    extent_tensor(e, c->inputs, c->batch * int_conv_out_plane(c), channels);
    e->packed = c->at_scales + channels * sizeof(double);
    e->workspace = c->at_offsets + channels * sizeof(int32_t);
    e->scratch = scratch_bytes(p);
    e->phases = 2;
    return true;
}

#define ROW(suffix, level, products_per_ns)                                 \
    {                                                                       \
        .name = "conv_int8_last_" #suffix, .version = 3,                    \
        .ops = "com.microsoft:QLinearConv pgy:QLinearConv", .needs = level, \
        .rates = {products_per_ns}, .flags = KERNEL_SHARES_WEIGHTS,         \
        .accept = int_conv_last_accept, .prepare = int_conv_last_prepare,   \
        .run = int_conv_last_run, .extent = int_conv_last_extent            \
    }
const kernel KERNELS_int_conv_last[] = {
    ROW(portable, CPU_PORTABLE, 2),
    ROW(avx2, CPU_AVX2, 50),
    ROW(avx512, CPU_AVX512, 200),
    {0},
};
