/* SPDX-License-Identifier: Apache-2.0 */
/* DFT and STFT in float32 with constant lengths, axes and steps. Sines and cosines are computed in
 * double, from angles of at most half a turn. */
#include "kernels/dft.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static const double TURN = 6.283185307179586476925286766559;
/* LONGEST: limit of lengths. LONG: longer lines are transformed one by one, as several would not
 * stay in the cache. */
enum { LONGEST = 1 << 26, LONG = 1 << 14 };

/* ---- The problem ---------------------------------------------------------------------------- */

static bool dft_constant(int64_t *out, const kernel_problem *u, size_t input)
{
    if (input >= u->input_count || !u->inputs[input].dtype) return true;
    const kernel_tensor *t = &u->inputs[input];
    if (!t->data || kernel_count(t) != 1 || (t->dtype != PGY_I64 && t->dtype != PGY_I32))
        return false;
    *out = t->dtype == PGY_I64 ? *(const int64_t *)t->data : *(const int32_t *)t->data;
    return true;
}

/* Divides a length into factors; 4 before 2, since it needs fewer passes. False: one is too large.
 */
static bool dft_divide(dft_length *l, uint64_t size)
{
    static const uint32_t FIRST[] = {5, 4, 3, 2};
    *l = (dft_length){.size = size};
    for (size_t i = 0; i < 4; i++)
        for (; size % FIRST[i] == 0; size /= FIRST[i]) l->factors[l->count++] = FIRST[i];
    for (uint32_t f = 7; f <= DFT_LARGEST; f += 2)
        for (; size % f == 0; size /= f) l->factors[l->count++] = f;
    return size == 1;
}

static bool dft_read_dft(dft_params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const bool onesided = op_attr_int(u->node, "onesided", 0) != 0;
    int64_t axis = u->node->def->since < 20 ? op_attr_int(u->node, "axis", 1) : -2;
    if (u->node->def->since >= 20 && !dft_constant(&axis, u, 2)) return false;
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis + 1 >= x->rank || y->rank != x->rank) return false;
    p->inverse = op_attr_int(u->node, "inverse", 0) != 0;
    p->mirrored = p->inverse && onesided;
    int64_t length = p->mirrored ? y->shape[axis] : x->shape[axis];
    if (!dft_constant(&length, u, 1) || length < 1 || length > LONGEST) return false;
    p->outer = p->inner = p->frames = 1;
    for (int64_t d = 0; d < axis; d++) p->outer *= (uint64_t)x->shape[d];
    for (int64_t d = axis + 1; d < x->rank - 1; d++) p->inner *= (uint64_t)x->shape[d];
    p->in_size = (uint64_t)x->shape[axis];
    p->out_size = (uint64_t)y->shape[axis];
    p->length = (uint64_t)length;
    p->in_parts = (uint32_t)x->shape[x->rank - 1];
    p->out_parts = (uint32_t)y->shape[x->rank - 1];
    return true;
}

static bool dft_read_stft(dft_params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const kernel_tensor *window = u->input_count > 2 ? &u->inputs[2] : NULL;
    int64_t step = 0;
    p->windowed = window && window->dtype;
    int64_t length = p->windowed ? (int64_t)kernel_count(window) : x->shape[1];
    if (!dft_constant(&step, u, 1) || !dft_constant(&length, u, 3) || step < 1 || length < 1 ||
        length > LONGEST || x->rank < 2 || x->rank > 3 || y->rank != 4 ||
        (p->windowed && (window->dtype != PGY_F32 || kernel_count(window) != (uint64_t)length)))
        return false;
    p->outer = (uint64_t)x->shape[0];
    p->inner = 1;
    p->in_size = (uint64_t)x->shape[1];
    p->in_parts = x->rank == 3 ? (uint32_t)x->shape[2] : 1;
    p->out_size = (uint64_t)y->shape[2];
    p->out_parts = 2;
    p->length = (uint64_t)length;
    p->step = (uint64_t)step;
    p->frames = (uint64_t)y->shape[1];
    return y->shape[3] == 2;
}

static bool dft_describe(dft_params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    *p = (dft_params){.level = u->self->needs, .inputs = (uint32_t)u->input_count};
    if (x->dtype != PGY_F32 || y->dtype != PGY_F32 || x->rank < 2 || !kernel_count(x) ||
        !kernel_count(y))
        return false;
    if (!(u->node->def->name[0] == 'S' ? dft_read_stft(p, u) : dft_read_dft(p, u))) return false;
    if (p->in_parts < 1 || p->in_parts > 2 || p->out_parts < 1 || p->out_parts > 2 ||
        p->out_size > p->length || (p->mirrored && p->in_parts != 2))
        return false;
    p->halved = p->in_parts == 1 && !p->inverse && p->length % 2 == 0;
    p->complex_length = p->halved ? p->length / 2 : p->length;
    p->convolves = !dft_divide(&p->passes, p->complex_length);
    uint64_t size = 1;
    while (p->convolves && size < 2 * p->complex_length - 1) size *= 2;
    if (p->convolves) (void)dft_divide(&p->passes, size);
    p->wide = p->length <= LONG;
    return true;
}

static bool dft_accept(kernel_problem *u, double *cost_ns)
{
    dft_params p;
    if (!dft_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double lines = (double)(p.outer * p.inner) * (double)p.frames;
    double work = 2 + (p.convolves ? 4 : 0);
    for (uint32_t i = 0; i < p.passes.count; i++)
        work += (p.convolves ? 2 : 1) * (2 + (double)p.passes.factors[i]);
    *cost_ns = 200 + lines * (double)p.passes.size * work * u->self->rates[0];
    return true;
}

/* ---- Tables --------------------------------------------------------------------------------- */

uint64_t dft_table_floats(const dft_params *p)
{
    uint64_t pairs = p->passes.size;
    if (p->halved) pairs = extent_add(pairs, extent_add(p->complex_length, 1));
    if (p->convolves) pairs = extent_add(pairs, extent_add(p->complex_length, p->passes.size));
    return extent_mul(pairs, 2);
}

/* Cosine and sine of -k / of turns. */
static void dft_turn(double *to, uint64_t k, uint64_t of)
{
    const bool mirrored = k > of / 2; /* angles of at most half a turn are more exact */
    const double angle = TURN * (double)(mirrored ? of - k : k) / (double)of;
    to[0] = cos(angle);
    to[1] = mirrored ? sin(angle) : -sin(angle);
}

static void dft_turns(float *to, uint64_t count, uint64_t of)
{
    for (uint64_t k = 0; k < count; k++) {
        double turn[2];
        dft_turn(turn, k, of);
        to[2 * k] = (float)turn[0];
        to[2 * k + 1] = (float)turn[1];
    }
}

/* Transforms n pairs, a power of two, in place. */
static void dft_double(double *x, uint64_t n)
{
    for (uint64_t i = 1, j = 0; i < n; i++) {
        uint64_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        for (int part = 0; i < j && part < 2; part++) {
            const double kept = x[2 * i + (uint64_t)part];
            x[2 * i + (uint64_t)part] = x[2 * j + (uint64_t)part];
            x[2 * j + (uint64_t)part] = kept;
        }
    }
    for (uint64_t half = 1; half < n; half *= 2)
        for (uint64_t k = 0; k < half; k++) {
            double w[2];
            dft_turn(w, k, 2 * half);
            for (uint64_t i = k; i < n; i += 2 * half) {
                double *a = x + 2 * i, *b = x + 2 * (i + half);
                const double re = b[0] * w[0] - b[1] * w[1], im = b[0] * w[1] + b[1] * w[0];
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
        }
}

static bool dft_chirp(float *to, const dft_params *p)
{
    const uint64_t n = p->complex_length, size = p->passes.size;
    double *b = mem_calloc(2 * size, sizeof *b);
    float *spectrum = to + 2 * n;
    if (!b) return false;
    for (uint64_t k = 0; k < n; k++) {
        double turn[2];
        dft_turn(turn, k * k % (2 * n), 2 * n);
        to[2 * k] = (float)turn[0];
        to[2 * k + 1] = (float)turn[1];
        const uint64_t places[] = {k, k ? size - k : 0};
        for (int i = 0; i < 2; i++) {
            b[2 * places[i]] = turn[0];
            b[2 * places[i] + 1] = -turn[1];
        }
    }
    dft_double(b, size);
    for (uint64_t k = 0; k < 2 * size; k++) spectrum[k] = (float)(b[k] / (double)size);
    mem_free(b);
    return true;
}

static uint64_t dft_lines_in_all(const dft_params *p)
{
    const uint64_t lines = p->step ? p->frames : p->inner == 1 ? p->outer : p->inner;
    const uint64_t groups = !p->step && p->inner == 1 ? 1 : p->outer;
    return groups * ((lines - 1) / (p->wide ? DFT_LANES : 1) + 1);
}

static uint64_t dft_scratch(const dft_params *p)
{
    const uint64_t width = p->wide ? DFT_LANES : 1;
    return extent_mul3(2 * width, dft_buffer(p), sizeof(float));
}

static pgy_status dft_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    dft_params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)dft_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t units = dft_lines_in_all(p);
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->scratch_bytes = dft_scratch(p);
    out->packed_bytes = dft_table_floats(p) * sizeof(float);
    float *table = mem_alloc_aligned(64, out->packed_bytes);
    out->packed = table;
    bool made = table != NULL;
    if (made) {
        dft_turns(table, p->passes.size, p->passes.size);
        table += 2 * p->passes.size;
        if (p->halved) {
            dft_turns(table, p->complex_length + 1, p->length);
            table += 2 * (p->complex_length + 1);
        }
        if (p->convolves) made = dft_chirp(table, p);
    }
    if (made) return PGY_OK;
    kernel_plan_deinit(out);
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool dft_valid_length(const dft_length *l)
{
    uint64_t product = 1;
    if (l->count > DFT_FACTORS || l->size > 2 * UINT64_C(2) * LONGEST) return false;
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->factors[i] < 2 || l->factors[i] > DFT_LARGEST) return false;
        product = extent_mul(product, l->factors[i]);
    }
    return product == l->size;
}

static bool dft_valid(const dft_params *p)
{
    const bool parts = (p->in_parts == 1 || p->in_parts == 2) &&
                       (p->out_parts == 1 || p->out_parts == 2) && p->windowed <= 1 &&
                       p->wide <= 1 && p->halved <= 1 && p->inverse <= 1 && p->mirrored <= 1 &&
                       p->convolves <= 1;
    const uint64_t complex_length = p->halved ? p->length / 2 : p->length;
    if (!parts || !p->outer || !p->inner || !p->frames || !p->in_size || !p->out_size ||
        !p->length || p->length > LONGEST || p->out_size > p->length)
        return false;
    if (p->halved && (p->in_parts != 1 || p->inverse || p->mirrored || p->length % 2)) return false;
    if ((p->mirrored && (p->in_parts != 2 || !p->inverse)) ||
        (p->step && (p->inner != 1 || p->mirrored || p->inverse)) ||
        (!p->step && (p->frames != 1 || p->windowed)))
        return false;
    return p->complex_length == complex_length && dft_valid_length(&p->passes) &&
           (p->convolves ? p->passes.size >= 2 * complex_length - 1
                         : p->passes.size == complex_length);
}

static bool dft_extent(kernel_extent *e, const kernel_claim *q)
{
    const dft_params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || !p->inputs || p->inputs > 4 ||
        (p->windowed && p->inputs < 3))
        return extent_refuse(e, "number of inputs");
    if (!dft_valid(p)) return extent_refuse(e, "sizes");
    const uint64_t lines = extent_mul3(p->outer, p->inner, p->frames);
    if (p->step && (p->frames > INT64_MAX ||
                    extent_add(extent_mul(p->frames - 1, p->step), p->length) > p->in_size))
        return extent_refuse(e, "frames");
    const uint64_t read = p->step ? p->outer : lines;
    extent_tensor(e, 0, extent_mul3(read, p->in_size, p->in_parts), sizeof(float));
    if (p->windowed) extent_tensor(e, 2, p->length, sizeof(float));
    extent_tensor(e, p->inputs, extent_mul3(lines, p->out_size, p->out_parts), sizeof(float));
    e->scratch = dft_scratch(p);
    e->packed = extent_mul(dft_table_floats(p), sizeof(float));
    return true;
}

#define ROW(suffix, level, each)                                                       \
    {                                                                                  \
        .name = "dft_f32_" #suffix, .version = 1, .ops = "DFT STFT", .needs = level,   \
        .rates = {each}, .accept = dft_accept, .prepare = dft_prepare, .run = dft_run, \
        .extent = dft_extent                                                           \
    }
const kernel KERNELS_dft[] = {
    ROW(portable, CPU_PORTABLE, 0.4),
    ROW(avx2, CPU_AVX2, 0.2),
    ROW(avx512, CPU_AVX512, 0.12),
    {0},
};
