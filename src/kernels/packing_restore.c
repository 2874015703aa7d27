/* SPDX-License-Identifier: Apache-2.0 */
/* The way back from packed weights to their elements. A plan stores such weights once, packed; who
 * needs another form of them restores the elements first. The functions mirror those that fill the
 * forms. All numbers may come from a damaged file. */
#include <string.h>

#include "kernels/extent.h"
#include "kernels/half.h"
#include "kernels/int_tile.h"
#include "kernels/packing.h"

/* A piece to read, and where its elements go. */
typedef struct restoring {
    const packed_recipe *r;
    size_t item;
    const char *from;
    uint64_t from_bytes;
    bool prefix; /* other constants may follow the packed weights */
    char *to;
    uint64_t to_bytes;
} restoring;

static uint64_t blocks_of(uint64_t count, uint64_t block)
{
    return count / block + (count % block != 0);
}

static bool has_bytes(const restoring *w, uint64_t wanted)
{
    return w->prefix ? wanted <= w->from_bytes : wanted == w->from_bytes;
}

/* ---- Matrices ------------------------------------------------------------------------------- */

static bool is_single(const packed_recipe *r)
{
    const uint64_t n = r->numbers[1], k = r->numbers[2];
    return !r->numbers[5] && ((r->numbers[3] == n && r->numbers[4] == 1) ||
                              (r->numbers[3] == 1 && r->numbers[4] == k));
}

static bool matmul_restore(const restoring *w)
{
    const uint64_t *numbers = w->r->numbers, columns = numbers[0], n = numbers[1], k = numbers[2];
    const uint64_t row = numbers[3], column = numbers[4];
    const char *from = w->from;
    if (!is_single(w->r) || !columns || columns > 64 || (w->item != 4 && w->item != 2))
        return false;
    const uint64_t padded = extent_mul(blocks_of(n, columns), columns);
    if (extent_mul3(n, k, w->item) != w->to_bytes || !has_bytes(w, extent_mul3(padded, k, w->item)))
        return false;
    for (uint64_t first = 0; first < n; first += columns)
        for (uint64_t p = 0; p < k; p++, from += columns * w->item)
            for (uint64_t j = 0; j < columns && first + j < n; j++)
                memcpy(w->to + (p * row + (first + j) * column) * w->item, from + j * w->item,
                       w->item);
    return true;
}

/* Restores the 16-bit words into the second half of the memory, then widens them. */
static bool narrow_restore(const restoring *w)
{
    enum { CHUNK = 1024 };
    uint16_t some[CHUNK];
    restoring own = *w;
    own.item = sizeof(uint16_t);
    own.to_bytes /= 2;
    own.to += own.to_bytes;
    const pgy_dtype type = packed_recipe_narrow(w->r);
    if (w->item != sizeof(float) || w->to_bytes % sizeof(float) || !type || !matmul_restore(&own))
        return false;
    const half_loops *loops = half_loops_of(type, CPU_AVX512);
    const uint64_t count = own.to_bytes / sizeof *some;
    for (uint64_t i = 0, n; i < count; i += n) {
        n = count - i < CHUNK ? count - i : CHUNK;
        memcpy(some, own.to + i * sizeof *some, n * sizeof *some);
        loops->widen((float *)w->to + i, some, n);
    }
    return true;
}

static bool is_one_byte_matrix(const packed_recipe *r)
{
    return r->numbers[5] == 1 && r->numbers[3] <= 1 && r->numbers[4] <= 1 &&
           r->numbers[0] <= CPU_AVX512;
}

static bool int_matmul_restore(const restoring *w)
{
    const uint64_t *numbers = w->r->numbers, n = numbers[1], k = numbers[2];
    const bool turned = numbers[3];
    const uint8_t flip = numbers[4] ? 0 : 0x80;
    if (!is_one_byte_matrix(w->r) || w->item != 1 || extent_mul(n, k) != w->to_bytes) return false;
    const int_tile *t = int_tile_of((cpu_level)numbers[0]);
    const uint64_t width = t->vectors * t->lanes, groups = blocks_of(k, INT_GROUP);
    const uint64_t padded = extent_mul(blocks_of(n, t->lanes), t->lanes);
    if (extent_mul3(padded, groups, INT_GROUP) > w->from_bytes) return false;
    for (uint64_t first = 0; first < n; first += width) {
        const uint64_t count = n - first < width ? n - first : width;
        const uint64_t wide = blocks_of(count, t->lanes) * t->lanes;
        const char *lines = w->from + first * groups * INT_GROUP;
        for (uint64_t p = 0; p < k; p++)
            for (uint64_t j = 0; j < count; j++) {
                const uint64_t at = turned ? (first + j) * k + p : p * n + first + j;
                const char v = lines[(p / INT_GROUP * wide + j) * INT_GROUP + p % INT_GROUP];
                w->to[at] = (char)((uint8_t)v ^ flip);
            }
    }
    return true;
}

/* ---- Convolutions --------------------------------------------------------------------------- */

/* The part of a packed convolution that one group has. */
typedef struct conv_group {
    uint64_t block, in, out, area;
    bool linear;
} conv_group;

/* Restores output channels [first, first + width); returns the end of what was read. */
static const float *restore_unit(float *to, const float *from, const conv_group *g, uint64_t first,
                                 uint64_t width)
{
    const uint64_t in_blocks = g->linear ? g->in : blocks_of(g->in, g->block);
    const uint64_t taps = g->linear ? 1 : g->area;
    for (uint64_t b = 0; b < in_blocks; b++) {
        const uint64_t left = g->in - b * g->block;
        const uint64_t lanes = g->linear ? g->area : left < g->block ? left : g->block;
        for (uint64_t tap = 0; tap < taps; tap++)
            for (uint64_t lane = 0; lane < lanes; lane++, from += width) {
                const uint64_t channel = g->linear ? b : b * g->block + lane;
                const uint64_t at = channel * g->area + (g->linear ? lane : tap);
                for (uint64_t o = 0; o < width && first + o < g->out; o++)
                    to[(first + o) * g->in * g->area + at] = from[o];
            }
    }
    return from;
}

static bool conv_restore(const restoring *w)
{
    const uint64_t *numbers = w->r->numbers, groups = numbers[2];
    if (!groups || numbers[3] % groups || numbers[4] % groups || w->item != 4) return false;
    const conv_group g = {.block = numbers[0],
                          .linear = numbers[1] != 0,
                          .in = numbers[3] / groups,
                          .out = numbers[4] / groups,
                          .area = extent_mul(numbers[5], numbers[6])};
    if (!g.block || g.block > 64 || !g.in || !g.out || !g.area) return false;
    const uint64_t padded = extent_mul(blocks_of(g.out, g.block), g.block);
    const uint64_t each = extent_mul(g.in, g.area);
    const uint64_t packed = extent_mul3(groups, padded, extent_add(each, 1));
    if (!has_bytes(w, extent_mul(packed, sizeof(float))) ||
        extent_mul3(numbers[4], each, sizeof(float)) != w->to_bytes)
        return false;
    const float *from = (const float *)w->from + groups * padded; /* behind the biases */
    for (uint64_t i = 0; i < groups; i++)
        for (uint64_t o = 0; o < padded; o += 2 * g.block)
            from = restore_unit((float *)w->to + i * g.out * each, from, &g, o,
                                padded - o < 2 * g.block ? g.block : 2 * g.block);
    return true;
}

/* The pointwise convolution comes first, then the other. */
static bool expanded_conv_restore(const restoring *w)
{
    const packed_recipe pointwise = {
        .numbers = {w->r->numbers[0], 0, 1, w->r->numbers[1], w->r->numbers[2], 1, 1}};
    restoring own = *w;
    own.r = &pointwise;
    own.prefix = true;
    return conv_restore(&own);
}

static bool conv_transpose_restore(const restoring *w)
{
    const uint64_t *numbers = w->r->numbers, groups = numbers[0], in = numbers[1];
    const uint64_t rows = extent_mul(numbers[2], numbers[3]);
    const float *from = (const float *)w->from;
    const uint64_t size_bytes = extent_mul(extent_mul3(groups, in, rows), sizeof(float));
    if (w->item != 4 || size_bytes != w->to_bytes || !has_bytes(w, size_bytes)) return false;
    for (uint64_t g = 0; g < groups; g++)
        for (uint64_t row = 0; row < rows; row++)
            for (uint64_t c = 0; c < in; c++) ((float *)w->to)[(g * in + c) * rows + row] = *from++;
    return true;
}

/* Biases, then for each group blocks of `height` output channels and, of the rest, of fewer. */
static bool conv_flat_restore(const restoring *w)
{
    const uint64_t *numbers = w->r->numbers, height = numbers[0], out = numbers[2];
    const uint64_t each = numbers[3], rows = extent_mul(numbers[1], out);
    const uint64_t wanted = extent_mul3(rows, extent_add(each, 1), sizeof(float));
    if ((height != 4 && height != 8) || w->item != 4 || !has_bytes(w, wanted) ||
        extent_mul3(rows, each, sizeof(float)) != w->to_bytes)
        return false;
    const float *from = (const float *)w->from + rows;
    float *to = (float *)w->to;
    for (uint64_t first = 0, width; first < rows; first += width, to += width * each) {
        const uint64_t left = out - first % out;
        for (width = height; width > left; width /= 2) {
        }
        for (uint64_t k = 0; k < each; k++)
            for (uint64_t o = 0; o < width; o++) to[o * each + k] = *from++;
    }
    return true;
}

/* ---- All forms ------------------------------------------------------------------------------ */

typedef struct restored_form {
    const char *name;
    bool (*fits)(const packed_recipe *r); /* NULL: always */
    bool (*restore)(const restoring *w);
} restored_form;

static const restored_form FORMS[] = {
    {"matmul", is_single, matmul_restore},
    {PACKING_NARROW, is_single, narrow_restore},
    {"int_matmul", is_one_byte_matrix, int_matmul_restore},
    {"conv", NULL, conv_restore},
    {"conv_flat", NULL, conv_flat_restore},
    {"conv_transpose", NULL, conv_transpose_restore},
    {"expanded_conv", NULL, expanded_conv_restore},
};

/* "NAME+" is the form NAME with other constants behind it. */
static const restored_form *find_form(const char *name)
{
    const size_t length = strcspn(name, "+");
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        if (strlen(FORMS[i].name) == length && memcmp(FORMS[i].name, name, length) == 0)
            return &FORMS[i];
    return NULL;
}

/* The weights come first among the inputs that are packed; a bias follows. */
bool packed_can_restore(const packed_recipe *r, uint32_t input)
{
    const restored_form *f = find_form(r->form);
    return f && r->source_count && r->sources[0].input == input && (!f->fits || f->fits(r));
}

bool packed_restore(void *to, uint64_t size_bytes, const packed_recipe *r, uint32_t input,
                    const void *packed, uint64_t packed_bytes)
{
    if (!packed_can_restore(r, input)) return false;
    const restoring w = {.r = r,
                         .item = pgy_dtype_describe(r->sources[0].dtype)->bits / 8,
                         .from = packed,
                         .from_bytes = packed_bytes,
                         .prefix = strchr(r->form, '+') != NULL,
                         .to = to,
                         .to_bytes = size_bytes};
    return find_form(r->form)->restore(&w);
}
