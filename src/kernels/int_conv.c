/* SPDX-License-Identifier: Apache-2.0 */
/* QLinearConv, ConvInteger and pgy:QuantizedConv over one to three spatial axes: reading the
 * problem and packing the weights. */
#include "kernels/int_conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/int_problem.h"
#include "kernels/packing.h"
#include "ops/class_window.h"

/* ---- Reading -------------------------------------------------------------------------------- */

typedef int_conv_places places;

const int_conv_places INT_CONV_PLACES[] = {
    [INT_CONV_TO_BYTES] = {3, 1, 2, 4, 5, 6, 7, 8, 0},
    [INT_CONV_TO_INT32] = {1, 0, 2, 0, 3, 0, 0, 0, 0},
    [INT_CONV_TO_FLOAT] = {3, 1, 2, 4, 5, 0, 0, 6, 7},
};

static int_conv_kind kind_of(const kernel_problem *u)
{
    if (strcmp(u->node->def->name, "ConvInteger") == 0) return INT_CONV_TO_INT32;
    return strcmp(u->node->def->name, "QuantizedConv") == 0 ? INT_CONV_TO_FLOAT : INT_CONV_TO_BYTES;
}

static bool read_window(int_conv *p, const kernel_problem *u, const kernel_tensor *w)
{
    window v;
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const size_t rank = (size_t)x->rank - 2;
    if (window_read(&v, u->node, rank, NULL) || window_kernel(&v, u->node, w->shape + 2, NULL))
        return false;
    window_resolve(&v, x->shape + 2 - p->last, y->shape + 2 - p->last);
    p->taps = 1;
    for (size_t d = 0; d < INT_CONV_AXES; d++) {
        p->size[d] = p->out_size[d] = p->kernel[d] = p->stride[d] = p->dilation[d] = 1;
        if (d + rank < INT_CONV_AXES) continue;
        const size_t i = d + rank - INT_CONV_AXES;
        p->size[d] = v.in[i];
        p->out_size[d] = v.out[i];
        p->kernel[d] = v.kernel[i];
        p->stride[d] = v.stride[i];
        p->dilation[d] = v.dilation[i];
        p->pad[d] = v.begin[i];
        if (v.stride[i] > INT_CONV_MAX_STRIDE || v.dilation[i] > 64 || v.begin[i] > 1024 ||
            v.kernel[i] > INT_CONV_MAX_TAPS)
            return false;
        p->taps *= (uint64_t)v.kernel[i];
    }
    return p->taps <= INT_CONV_MAX_TAPS;
}

/* Checks that scales and zero points are constants of the right count, and that no sum overflows
 * int32. */
static bool check_constants(const kernel_problem *u, const int_conv *p, const places *at)
{
    const size_t channels = (size_t)(p->groups * p->out);
    const uint64_t depth = p->in * p->taps;
    if (!int_problem_is_fixed(u, at->w_zero, channels)) return false;
    if (int_problem_has(u, at->w_zero) && u->inputs[at->w_zero].dtype != u->inputs[at->w].dtype)
        return false;
    if (int_problem_has(u, at->x_zero) && (u->inputs[at->x_zero].dtype != u->inputs[0].dtype ||
                                           kernel_count(&u->inputs[at->x_zero]) != 1))
        return false;
    if (p->kind == INT_CONV_TO_INT32) return depth < (uint64_t)1 << 24;
    if (!int_problem_are_scales(u, at->x_scale, 1) ||
        !int_problem_are_factors(u, at->w_scale, channels))
        return false;
    if (depth > 32768 || !int_problem_is_fixed(u, at->x_zero, 1)) return false;
    if (int_problem_has(u, at->bias) &&
        ((p->kind == INT_CONV_TO_BYTES && !u->inputs[at->bias].data) ||
         kernel_count(&u->inputs[at->bias]) != channels))
        return false;
    if (p->kind == INT_CONV_TO_FLOAT)
        return !int_problem_has(u, at->sum) ||
               kernel_count(&u->inputs[at->sum]) == kernel_count(&u->outputs[0]);
    for (size_t k = 0; int_problem_has(u, at->bias) && k < channels; k++) {
        const int64_t bias = int_problem_int(u, at->bias, k);
        if ((uint64_t)(bias < 0 ? -bias : bias) + depth * 65025 > INT32_MAX) return false;
    }
    return int_problem_are_scales(u, at->y_scale, 1) && int_problem_is_fixed(u, at->y_zero, 1);
}

static bool is_type_right(const kernel_problem *u, const places *at, int_conv_kind kind)
{
    const pgy_dtype y = u->outputs[0].dtype;
    if (!int_problem_is_byte(&u->inputs[0]) || !int_problem_is_byte(&u->inputs[at->w]))
        return false;
    if (kind == INT_CONV_TO_INT32) return y == PGY_I32;
    if (kind == INT_CONV_TO_BYTES) return int_problem_is_byte(&u->outputs[0]);
    if (int_problem_has(u, at->sum) && u->inputs[at->sum].dtype != PGY_F32) return false;
    if (int_problem_has(u, at->bias) && u->inputs[at->bias].dtype != PGY_F32) return false;
    return y == PGY_F32;
}

/* Does any output channel's weights, read as signed bytes, have a zero point other than 0? */
static bool has_zeros(const int_conv *p, const kernel_problem *u, const places *at)
{
    const int64_t shift = u->inputs[at->w].dtype == PGY_U8 ? 128 : 0;
    for (size_t i = 0; i < p->groups * p->out; i++)
        if (int_problem_int(u, at->w_zero, i) != shift) return true;
    return false;
}

bool int_conv_describe(int_conv *p, const kernel_problem *u)
{
    *p = (int_conv){.inputs = (uint32_t)u->input_count, .kind = kind_of(u)};
    const places *at = &INT_CONV_PLACES[p->kind];
    const kernel_tensor *x = &u->inputs[0], *w = &u->inputs[at->w], *y = &u->outputs[0];
    if (u->input_count <= at->w || u->input_count > INT_CONV_INPUTS) return false;
    p->last = op_attr_int(u->node, "channels_last", 0) != 0;
    if (!is_type_right(u, at, (int_conv_kind)p->kind)) return false;
    if (x->rank < 3 || x->rank > 2 + INT_CONV_AXES || w->rank != x->rank || !w->data) return false;
    if (!kernel_count(x) || !kernel_count(w) || !kernel_count(y)) return false;
    if (!op_attr_is(u->node, "activation", "", "") &&
        !op_attr_is(u->node, "activation", "Relu", ""))
        return false;
    p->groups = (uint64_t)op_attr_int(u->node, "group", 1);
    p->batch = (uint64_t)x->shape[0];
    p->in = (uint64_t)w->shape[1];
    p->out = (uint64_t)y->shape[p->last ? y->rank - 1 : 1] / p->groups;
    if (!read_window(p, u, w) || !check_constants(u, p, at)) return false;
    p->x_signed = x->dtype == PGY_I8;
    p->w_has_zero = has_zeros(p, u, at);
    p->x_zero_input = int_problem_has(u, at->x_zero) ? (uint32_t)at->x_zero : 0;
    p->relu = op_attr_is(u->node, "activation", "Relu", "");
    p->bias_input =
        p->kind == INT_CONV_TO_FLOAT && int_problem_has(u, at->bias) ? (uint32_t)at->bias : 0;
    p->sum_input = int_problem_has(u, at->sum) ? (uint32_t)at->sum : 0;
    if (p->kind == INT_CONV_TO_BYTES) {
        p->finish = (int_finish){.zero = (int32_t)int_problem_int(u, at->y_zero, 0),
                                 .low = int_problem_low(y->dtype),
                                 .high = int_problem_high(y->dtype)};
        if (p->relu) p->finish.low = p->finish.zero;
    }
    return true;
}

/* ---- Planning ------------------------------------------------------------------------------- */

/* Finds the phases along axis d; with `each`, every tap has a phase of its own. Returns how many
 * rows or columns a phase has more than the output. */
static int64_t find_phases(int_conv *p, size_t d, bool each, uint32_t *phases, int64_t *offsets)
{
    int64_t reach = 0;
    p->phase_counts[d] = 0;
    for (int64_t k = 0; k < p->kernel[d]; k++) {
        const int64_t at = k * p->dilation[d], start = each ? at : at % p->stride[d];
        uint32_t i = 0;
        while (i < p->phase_counts[d] && p->phase_starts[d][i] != start) i++;
        if (i == p->phase_counts[d]) p->phase_starts[d][p->phase_counts[d]++] = start;
        phases[k] = i;
        offsets[k] = (at - start) / p->stride[d];
        if (offsets[k] > reach) reach = offsets[k];
    }
    return reach;
}

/* Finds the phases of the padded image that taps read, and the byte offset of each tap in it. */
static void place_taps(int_conv *p)
{
    uint32_t phases[INT_CONV_AXES][INT_CONV_MAX_TAPS];
    int64_t offsets[INT_CONV_AXES][INT_CONV_MAX_TAPS];
    const int64_t more = (p->kernel[2] - 1) * p->dilation[2] / p->stride[2];
    const bool each = more && p->kernel[2] <= INT_CONV_MAX_PHASES;
    p->slices = (uint64_t)(p->out_size[0] + find_phases(p, 0, false, phases[0], offsets[0]));
    p->rows = (uint64_t)(p->out_size[1] + find_phases(p, 1, false, phases[1], offsets[1]));
    p->columns = (uint64_t)(p->out_size[2] + find_phases(p, 2, each, phases[2], offsets[2]));
    p->phases = (uint64_t)p->phase_counts[0] * p->phase_counts[1] * p->phase_counts[2];
    for (uint64_t t = 0; t < p->taps; t++) {
        const uint64_t x = t % (uint64_t)p->kernel[2], row = t / (uint64_t)p->kernel[2];
        const uint64_t y = row % (uint64_t)p->kernel[1], z = row / (uint64_t)p->kernel[1];
        const uint64_t phase =
            ((uint64_t)phases[0][z] * p->phase_counts[1] + phases[1][y]) * p->phase_counts[2] +
            phases[2][x];
        const uint64_t pixel =
            ((uint64_t)offsets[0][z] * p->rows + (uint64_t)offsets[1][y]) * p->columns +
            (uint64_t)offsets[2][x];
        p->tap_offsets[t] = (phase * p->quads * int_conv_phase_pixels(p) + pixel) * INT_GROUP;
    }
}

/* Does it waste less work if a vector holds output channels instead of positions? That is so for
 * few positions. A row of a tile that is not full costs a third more. */
static bool is_turned(const int_conv *p, const int_tile *t)
{
    const uint64_t rest = p->positions % t->rows;
    const uint64_t along = (p->positions + t->lanes - 1) / t->lanes * t->lanes;
    const uint64_t across = (p->out + t->lanes - 1) / t->lanes * t->lanes;
    if (p->kind != INT_CONV_TO_BYTES || p->w_has_zero || p->positions > 128) return false;
    if (!int_conv_is_flat(p)) return false;
    return 21 * across * (3 * p->positions + rest) <
           60 * along * ((p->out + t->rows - 1) / t->rows * t->rows);
}

/* Sets the offsets of the parts of the packed weights. */
static void place_packed(int_conv *p, uint64_t weights, uint64_t steps)
{
    const uint64_t channels = p->groups * p->out;
    p->at_ones = p->groups * weights;
    p->at_sums = (p->at_ones + steps + 63) / 64 * 64;
    p->at_zeros = p->at_sums + channels * sizeof(int32_t);
    p->at_bias = p->at_zeros + channels * sizeof(int32_t);
    p->at_factors = p->at_bias + channels * sizeof(int32_t);
    p->at_scales = (p->at_factors + channels * sizeof(float) + 63) / 64 * 64;
}

void int_conv_plan(int_conv *p, cpu_level level)
{
    const int_tile *t = int_tile_of(level);
    const uint64_t width = t->vectors * t->lanes;
    p->level = level;
    p->quads = (p->in + INT_GROUP - 1) / INT_GROUP;
    place_taps(p);
    p->positions =
        ((uint64_t)(p->out_size[0] - 1) * p->rows + (uint64_t)(p->out_size[1] - 1)) * p->columns +
        (uint64_t)p->out_size[2];
    p->turned = is_turned(p, t);
    const uint64_t steps = p->taps * p->quads * INT_GROUP;
    const uint64_t along = p->turned ? p->out : p->positions;
    p->tiles = (along + width - 1) / width;
    p->row_groups = ((p->turned ? p->positions : p->out) + t->rows - 1) / t->rows;
    const uint64_t weights = p->turned ? p->tiles * width * steps : p->row_groups * t->rows * steps;
    p->block = weights > 262144 && !p->turned ? 6 : 1;
    if (p->block > p->tiles) p->block = p->tiles;
    /* With few tiles, cut the channels, too, so that several threads have work. */
    const uint64_t units = p->batch * p->groups * ((p->tiles + p->block - 1) / p->block);
    p->chunks = units >= 16 || p->turned ? 1 : (15 + units) / units;
    if (p->chunks > (p->row_groups + 3) / 4) p->chunks = (p->row_groups + 3) / 4;
    place_packed(p, weights, steps);
}

void int_conv_plan_turned(int_conv *p, cpu_level level)
{
    const int_tile *t = int_tile_of(level);
    const uint64_t width = t->vectors * t->lanes;
    p->level = level;
    const uint64_t channels = p->joined ? p->in * (uint64_t)p->kernel[2] : p->in;
    p->turned = 1;
    p->quads = (channels + INT_GROUP - 1) / INT_GROUP;
    p->tiles = (p->out + width - 1) / width;
    const uint64_t steps = int_conv_tap_count(p) * p->quads * INT_GROUP;
    place_packed(p, p->tiles * width * steps, steps);
}

/* The count includes products that partial tiles compute beyond the output. */
double int_conv_product_count(const int_conv *p)
{
    const size_t rows = int_tile_of((cpu_level)p->level)->rows;
    const double steps = (double)(p->quads * INT_GROUP * p->taps);
    const double outputs =
        p->turned ? (double)(p->out * p->positions) : (double)(p->row_groups * rows * p->positions);
    return (double)(p->batch * p->groups) * steps * outputs;
}

/* ---- Packing -------------------------------------------------------------------------------- */

/* Returns the first weight of an output channel; *step is the distance between steps. Order along
 * positions: group of rows, tap, quad, row, four channels. Order when turned: panel, tap, quad,
 * column, four channels; the last panel is only as wide as the vectors it fills. */
static uint8_t *find_weights(uint8_t *packed, const int_conv *p, size_t channel, size_t *step)
{
    const int_tile *t = int_tile_of((cpu_level)p->level);
    const size_t group = channel / p->out, at = channel % p->out;
    const size_t steps = int_conv_tap_count(p) * p->quads;
    if (!p->turned) {
        *step = t->rows * INT_GROUP;
        return packed + (group * p->row_groups + at / t->rows) * steps * *step +
               at % t->rows * INT_GROUP;
    }
    const size_t width = t->vectors * t->lanes, first = at / width * width;
    const size_t count = p->out - first < width ? p->out - first : width;
    *step = (count + t->lanes - 1) / t->lanes * t->lanes * INT_GROUP;
    return packed + (group * p->tiles * width + first) * steps * INT_GROUP +
           (at - first) * INT_GROUP;
}

static void int_conv_pack_channel(uint8_t *packed, const int_conv *p, const kernel_problem *u,
                                  size_t channel)
{
    const places *at = &INT_CONV_PLACES[p->kind];
    const kernel_tensor *w = &u->inputs[at->w];
    const size_t shift = w->dtype == PGY_U8 ? 128 : 0;
    const uint8_t *from = (const uint8_t *)w->data + channel * p->in * p->taps;
    const size_t width = (size_t)p->kernel[2];
    size_t step_bytes;
    uint8_t *to = find_weights(packed, p, channel, &step_bytes);
    int32_t sum = 0;
    for (size_t c = 0; c < p->in; c++)
        for (size_t t = 0; t < p->taps; t++) {
            const int8_t value = (int8_t)(from[c * p->taps + t] - shift);
            const size_t row = p->joined ? t / width : t;
            const size_t at_step = p->joined ? t % width * p->in + c : c;
            const size_t step = row * p->quads + at_step / INT_GROUP;
            to[step * step_bytes + at_step % INT_GROUP] = (uint8_t)value;
            packed[p->at_ones + step * INT_GROUP + at_step % INT_GROUP] = 1;
            sum += value;
        }
    ((int32_t *)(packed + p->at_sums))[channel] = sum;
    ((int32_t *)(packed + p->at_zeros))[channel] =
        (int32_t)(int_problem_int(u, at->w_zero, channel) - (int64_t)shift);
}

static void pack_scales(uint8_t *packed, const int_conv *p, const kernel_problem *u, size_t channel)
{
    const places *at = &INT_CONV_PLACES[p->kind];
    double *scale = &((double *)(packed + p->at_scales))[channel];
    if (p->kind == INT_CONV_TO_INT32) return;
    *scale = int_problem_float(u, at->x_scale, 0) * int_problem_float(u, at->w_scale, channel);
    if (p->kind == INT_CONV_TO_FLOAT) return;
    *scale /= int_problem_float(u, at->y_scale, 0);
    ((float *)(packed + p->at_factors))[channel] = (float)*scale;
    ((int32_t *)(packed + p->at_bias))[channel] = (int32_t)int_problem_int(u, at->bias, channel);
}

/* Upper bound of an output channel's sums, bias included, times its scale. */
static double find_most(const uint8_t *packed, const int_conv *p, const kernel_problem *u,
                        size_t channel)
{
    const uint8_t *w = (const uint8_t *)u->inputs[INT_CONV_PLACES[p->kind].w].data;
    const int shift = u->inputs[INT_CONV_PLACES[p->kind].w].dtype == PGY_U8 ? 128 : 0;
    const size_t depth = p->in * p->taps;
    const int32_t zero = ((const int32_t *)(packed + p->at_zeros))[channel];
    const int32_t bias = ((const int32_t *)(packed + p->at_bias))[channel];
    double sum = 0;
    for (size_t i = 0; i < depth; i++) sum += abs((int8_t)(w[channel * depth + i] - shift) - zero);
    return (sum * 255 + fabs((double)bias)) * ((const double *)(packed + p->at_scales))[channel];
}

static bool int_conv_fill(void *packed, const kernel_problem *u, const void *user)
{
    const int_conv *p = user;
    const size_t channels = (size_t)(p->groups * p->out);
    memset(packed, 0, p->at_scales + channels * sizeof(double));
    for (size_t i = 0; i < channels; i++) {
        int_conv_pack_channel(packed, p, u, i);
        pack_scales(packed, p, u, i);
    }
    return true;
}

/* The inputs whose elements are packed. */
static uint32_t packed_of(const int_conv *p)
{
    const places *at = &INT_CONV_PLACES[p->kind];
    const size_t read[] = {at->w, at->x_scale, at->w_scale, at->w_zero, at->y_scale, at->bias};
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (read[i]) bits |= UINT32_C(1) << read[i];
    return bits;
}

pgy_status int_conv_pack(kernel_plan *out, int_conv *p, const kernel_problem *u, pgy_error *err)
{
    const size_t channels = (size_t)(p->groups * p->out);
    const kernel_packing how = {.form = "int_conv",
                                .numbers = {p->level, p->kind, p->groups, p->in, p->out, p->taps,
                                            p->quads, p->turned, p->turned ? 0 : p->row_groups,
                                            p->turned ? p->tiles : 0, p->at_ones, p->at_scales},
                                .inputs = packed_of(p),
                                .size_bytes = p->at_scales + channels * sizeof(double),
                                .fill = int_conv_fill,
                                .user = p};
    out->packed_inputs = UINT32_C(1) << INT_CONV_PLACES[p->kind].w;
    const pgy_status st = kernel_pack(out, u, &how, err);
    const void *packed = u->keeps_packed ? u->kept : out->packed;
    p->small = !st && packed && (!u->keeps_packed || u->kept_bytes >= how.size_bytes);
    for (size_t i = 0; p->small && i < channels; i++)
        if (find_most(packed, p, u, i) >= 0x1p14) p->small = false;
    return st;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

bool int_conv_has_valid_sizes(const int_conv *p)
{
    const uint64_t most = UINT64_C(1) << 48;
    uint64_t image = INT_CONV_MAX_PHASES * INT_CONV_MAX_STRIDE * INT_CONV_MAX_STRIDE * INT_GROUP;
    uint64_t in = 1, taps = 1;
    for (size_t d = 0; d < INT_CONV_AXES; d++) {
        if (!extent_between(p->size[d], 1, INT32_MAX) ||
            !extent_between(p->out_size[d], 1, INT32_MAX) ||
            !extent_between(p->kernel[d], 1, INT_CONV_MAX_TAPS + 1) ||
            !extent_between(p->stride[d], 1, INT_CONV_MAX_STRIDE + 1) ||
            !extent_between(p->dilation[d], 1, 65) || !extent_between(p->pad[d], -INT32_MAX, 1025))
            return false;
        image = extent_mul(image, (uint64_t)(p->out_size[d] + p->kernel[d] * p->dilation[d]));
        in = extent_mul(in, (uint64_t)p->size[d]);
        taps *= (uint64_t)p->kernel[d];
    }
    const uint64_t groups = extent_mul(p->batch, p->groups);
    const uint64_t channels = extent_mul(p->groups, p->out), depth = extent_add(p->in, INT_GROUP);
    return p->batch && p->groups && p->in && p->out && taps == p->taps &&
           taps <= INT_CONV_MAX_TAPS && extent_mul3(groups, depth, image) < most &&
           extent_mul3(groups, depth, in) < most && extent_mul3(groups, p->out, image) < most &&
           extent_mul3(extent_add(channels, extent_mul(p->groups, INT_MAX_COLUMNS)), depth, taps) <
               most;
}

static uint64_t scratch_bytes(const int_conv *p)
{
    const uint64_t tile =
        (INT_MAX_ROWS + 1) * INT_MAX_COLUMNS * sizeof(int32_t) + INT_MAX_ROWS * INT_MAX_COLUMNS;
    const uint64_t plane = int_conv_in_plane(p) * INT_GROUP;
    return tile < plane ? plane : tile;
}

/* Where the workspace holds the channels' offsets: behind the padded images and a gap of one tile,
 * because the last tile reads beyond its image. */
static uint64_t offsets_place(const int_conv *p)
{
    return p->batch * p->groups * int_conv_image_bytes(p) + INT_MAX_COLUMNS * INT_GROUP;
}

void int_conv_extent_tensors(kernel_extent *e, const int_conv *p)
{
    const uint64_t planes = p->batch * p->groups, channels = p->groups * p->out;
    const uint64_t out = planes * p->out * int_conv_out_plane(p);
    extent_tensor(e, 0, planes * p->in * int_conv_in_plane(p), 1);
    if (p->x_zero_input) extent_tensor(e, p->x_zero_input, 1, 1);
    if (p->bias_input) extent_tensor(e, p->bias_input, channels, sizeof(float));
    if (p->sum_input) extent_tensor(e, p->sum_input, out, sizeof(float));
    extent_tensor(e, p->inputs, out, p->kind == INT_CONV_TO_BYTES ? 1 : sizeof(int32_t));
}

static bool int_conv_extent(kernel_extent *e, const kernel_claim *q)
{
    const int_conv *p = extent_params(e, q, sizeof *p);
    int_conv own;
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->kind, INT_CONV_TO_FLOAT + 1, "kind"))
        return false;
    if (p->inputs != q->input_count || p->x_zero_input >= p->inputs || p->bias_input >= p->inputs ||
        p->sum_input >= p->inputs)
        return extent_refuse(e, "numbers of operands");
    if (!int_conv_has_valid_sizes(p)) return extent_refuse(e, "shape");
    if (!int_finish_is_valid(&p->finish)) return extent_refuse(e, "zero points");
    memcpy(&own, p, sizeof own);
    int_conv_plan(&own, (cpu_level)p->level);
    own.at_offsets = offsets_place(&own);
    if (memcmp(&own, p, sizeof own)) return extent_refuse(e, "places of taps and weights");
    const uint64_t channels = p->groups * p->out;
    int_conv_extent_tensors(e, p);
    e->packed = p->at_scales + channels * sizeof(double);
    e->workspace = p->at_offsets + channels * sizeof(int32_t);
    e->scratch = scratch_bytes(p);
    e->phases = 2;
    return true;
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static pgy_status int_conv_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    int_conv *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)int_conv_describe(p, u); /* cannot fail after `accept` */
    int_conv_plan(p, u->self->needs);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    const uint64_t units = int_conv_unit_count(p);
    out->parts = (uint32_t)(units < 256 ? units : 256);
    p->at_offsets = offsets_place(p);
    out->workspace_bytes = p->at_offsets + p->groups * p->out * sizeof(int32_t);
    out->scratch_bytes = scratch_bytes(p);
    const pgy_status st = int_conv_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool int_conv_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double products_per_ns = u->self->rates[0];
    int_conv p;
    if (!int_conv_describe(&p, u) || p.last) return false;
    int_conv_plan(&p, level);
    int_problem_linear(u);
    *cost_ns = 500 + int_conv_product_count(&p) / products_per_ns +
               (double)kernel_count(&u->outputs[0]) * 0.1 +
               (double)(p.batch * p.groups * int_conv_image_bytes(&p)) * 0.05;
    return true;
}

#define ROW(suffix, level, products_per_ns)                                              \
    {                                                                                    \
        .name = "conv_int8_" #suffix, .version = 3,                                      \
        .ops = "QLinearConv ConvInteger com.microsoft:QLinearConv pgy:QLinearConv "      \
               "pgy:QuantizedConv",                                                      \
        .needs = level, .rates = {products_per_ns},                                      \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED, .accept = int_conv_accept, \
        .prepare = int_conv_prepare, .run = int_conv_run, .extent = int_conv_extent      \
    }
const kernel KERNELS_int_conv[] = {
    ROW(portable, CPU_PORTABLE, 2),
    ROW(avx2, CPU_AVX2, 50),
    ROW(avx512, CPU_AVX512, 200),
    {0},
};
