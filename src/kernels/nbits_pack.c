/* SPDX-License-Identifier: Apache-2.0 */
/* Packs weights of a few bits. A block of the operator is cut into blocks whose size is a power of
 * two; a block that does not consist of whole words, or whose members g_idx names, is filled up
 * with codes that are multiplied by zeros. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/nbits_matmul.h"
#include "tensor/convert.h"

static uint64_t word_codes(uint32_t bits)
{
    return 32 / bits;
}

/* The largest power of two that divides all three; at least one word. */
static uint64_t block_of(const nbits_weights *w)
{
    uint64_t block = NBITS_MAX_BLOCK;
    while (w->block % block || (w->flat && w->k % block)) block /= 2;
    return block < word_codes(w->bits) ? word_codes(w->bits) : block;
}

static uint64_t up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* Do digits take less time than floats? Their codes must be numbers, not places in a table. */
static bool wants_digits(const nbits_weights *w, cpu_level level, bool a_bytes)
{
    const float middle = (float)(1u << (w->bits - 1));
    bool plain = !a_bytes;
    for (uint32_t i = 0; w->bits <= 4 && i < NBITS_CODES; i++)
        plain &= w->table[i] == (float)(i & ((1u << w->bits) - 1)) - middle;
    return plain && (level >= CPU_AVX512 ? cpu_has_byte_sums(CPU_AVX512) : level == CPU_AVX2 && w->bits <= 4);
}

void nbits_matmul_start(nbits_matmul *p, const nbits_weights *w, cpu_level level, bool a_bytes)
{
    *p = (nbits_matmul){.level = level,
                        .bits = w->bits,
                        .a_bytes = a_bytes,
                        .digits = wants_digits(w, level, a_bytes),
                        .n = w->n,
                        .k = w->k,
                        .has_zeros = w->zeros || w->float_zeros,
                        .block = block_of(w)};
    memcpy(p->table, w->table, sizeof p->table);
    p->ordered = w->groups || w->block % p->block;
    p->blocks = up(w->k, p->block);
    p->copies = p->ordered || w->k % p->block;
}

/* ---- The order of the sum ------------------------------------------------------------------- */

/* What each packed block is made of. */
typedef struct order {
    uint32_t *index; /* of each k; at least K for filling; NULL: as it is */
    uint32_t *block; /* the operator's block of each packed block */
} order;

static uint64_t group_of(const nbits_weights *w, uint64_t k)
{
    return w->groups ? (uint64_t)(uint32_t)w->groups[k] : k / w->block;
}

static uint64_t count_groups(const nbits_weights *w)
{
    return up(w->k, w->block);
}

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for packed weights");
}

/* *ends: for each group the number of packed blocks up to its end. */
static pgy_status count_blocks(uint64_t **ends, const nbits_weights *w, uint64_t block,
                               pgy_error *err)
{
    const uint64_t groups = count_groups(w);
    uint64_t *counts = *ends = mem_calloc(groups + 1, sizeof *counts), sum = 0;
    if (!counts) return no_memory(err);
    for (uint64_t k = 0; k < w->k; k++) counts[group_of(w, k)]++;
    for (uint64_t g = 0; g < groups; g++) counts[g] = sum += up(counts[g], block);
    return PGY_OK;
}

static pgy_status make_order(order *o, const nbits_matmul *p, const nbits_weights *w,
                             pgy_error *err)
{
    const uint64_t groups = count_groups(w), codes = p->blocks * p->block;
    uint64_t *at = NULL;
    *o = (order){.block = mem_calloc(p->blocks + 1, sizeof *o->block)};
    if (!o->block) return no_memory(err);
    if (!p->ordered) {
        for (uint64_t b = 0; b < p->blocks; b++) o->block[b] = (uint32_t)(b * p->block / w->block);
        return PGY_OK;
    }
    pgy_status st = count_blocks(&at, w, p->block, err);
    o->index = st ? NULL : mem_alloc(codes * sizeof *o->index);
    if (!st && !o->index) st = no_memory(err);
    for (uint64_t i = 0; !st && i < codes; i++) o->index[i] = UINT32_MAX;
    for (uint64_t g = groups; !st && g-- > 0;) {
        for (uint64_t b = g ? at[g - 1] : 0; b < at[g]; b++) o->block[b] = (uint32_t)g;
        at[g] = (g ? at[g - 1] : 0) * p->block;
    }
    for (uint64_t k = 0; !st && k < w->k; k++) o->index[at[group_of(w, k)]++] = (uint32_t)k;
    mem_free(at);
    return st;
}

static void order_deinit(order *o)
{
    mem_free(o->index);
    mem_free(o->block);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

static uint32_t code_at(const uint8_t *codes, uint64_t i, uint32_t bits, bool high_first)
{
    const uint32_t per = 8 / bits, place = (uint32_t)(i % per);
    return codes[i / per] >> bits * (high_first ? per - 1 - place : place) & ((1u << bits) - 1);
}

static float zero_at(const nbits_weights *w, uint64_t n, uint64_t block)
{
    const float middle = (float)(1u << (w->bits - 1));
    if (w->zeros) return (float)code_at(w->zeros, n * w->zero_row + block, w->bits, false) - middle;
    return w->float_zeros[n * w->scale_row + block] - middle;
}

static float scale_at(const nbits_weights *w, const nbits_matmul *p, uint64_t n, uint64_t packed,
                      uint64_t block)
{
    if (w->flat) return w->scales[(n * w->k + packed * p->block) / w->block];
    return w->scales[n * w->scale_row + block];
}

static bool fits_half(float v)
{
    const float back = f16_to_f32(f16_from_f64((double)v));
    return memcmp(&back, &v, sizeof v) == 0;
}

static bool are_halves(const nbits_weights *w)
{
    const uint64_t all = w->flat ? up(w->n * w->k, w->block) : w->n * w->scale_row;
    for (uint64_t i = 0; i < all; i++) {
        if (!fits_half(w->scales[i])) return false;
        if (w->float_zeros && !fits_half(w->float_zeros[i] - (float)(1u << (w->bits - 1))))
            return false;
    }
    return true;
}

/* ---- Sizes ---------------------------------------------------------------------------------- */

static uint64_t record_bytes(const nbits_matmul *p, uint64_t columns)
{
    const uint64_t numbers = (p->half ? 2 : 4) * (uint64_t)(1 + p->has_zeros);
    return columns * (p->block * p->bits / 8 + numbers);
}

static uint64_t panels_bytes(const nbits_matmul *p)
{
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    const uint64_t panels = p->n / columns + (p->n % columns != 0);
    return extent_mul3(panels, p->blocks, record_bytes(p, columns));
}

uint64_t nbits_matmul_packed_bytes(const nbits_matmul *p)
{
    const uint64_t order_bytes = extent_mul3(p->blocks, p->block, sizeof(uint32_t));
    return extent_round_up(extent_add(panels_bytes(p), p->ordered ? order_bytes : 0), 64);
}

pgy_status nbits_matmul_measure(nbits_matmul *p, const nbits_weights *w, bool narrow,
                                uint64_t *bytes, pgy_error *err)
{
    uint64_t *ends = NULL;
    pgy_status st = p->ordered ? count_blocks(&ends, w, p->block, err) : PGY_OK;
    if (ends) p->blocks = ends[count_groups(w) - 1];
    mem_free(ends);
    if (st) return st;
    p->half = narrow && p->level != CPU_PORTABLE && are_halves(w);
    *bytes = nbits_matmul_packed_bytes(p);
    if (*bytes > SIZE_MAX / 2) return no_memory(err);
    return PGY_OK;
}

/* ---- Packing -------------------------------------------------------------------------------- */

static uint32_t word_at(const nbits_weights *w, const uint32_t *index, uint64_t n, uint64_t first)
{
    const uint32_t codes = 32 / w->bits;
    uint32_t word = 0;
    for (uint32_t i = 0; i < codes; i++) {
        const uint64_t k = index ? index[first + i] : first + i;
        if (k < w->k)
            word |= code_at(w->codes, n * w->row + k, w->bits, w->high_first) << i * w->bits;
    }
    return word;
}

/* Are all words of a row whole words of the operator's codes? */
static bool has_words(const nbits_matmul *p, const nbits_weights *w)
{
    return !p->ordered && !w->high_first && w->row * w->bits % 32 == 0 &&
           w->row >= p->blocks * p->block;
}

static void store_number(char *to, float v, size_t column, bool half)
{
    const uint16_t h = f16_from_f64((double)v);
    if (half)
        memcpy(to + column * sizeof h, &h, sizeof h);
    else
        memcpy(to + column * sizeof v, &v, sizeof v);
}

/* Packs block `b` of the columns from `first` on. */
static void pack_record(const nbits_matmul *p, char *to, const nbits_weights *w, const order *o,
                        uint64_t first, uint64_t b, uint64_t columns)
{
    const uint64_t words = p->block * p->bits / 32, count = w->n - first;
    const uint64_t filled = count < columns ? count : columns;
    char *scales = to + words * columns * 4, *zeros = scales + columns * (p->half ? 2 : 4);
    const bool whole = has_words(p, w);
    memset(to, 0, record_bytes(p, columns));
    for (uint64_t c = 0; c < filled; c++) {
        const uint64_t n = first + c;
        for (uint64_t g = 0; g < words; g++) {
            const uint64_t k = b * p->block + g * word_codes(p->bits);
            uint32_t word;
            if (whole)
                memcpy(&word, w->codes + (n * w->row + k) * w->bits / 8, sizeof word);
            else
                word = word_at(w, o->index, n, k);
            memcpy(to + (g * columns + c) * 4, &word, sizeof word);
        }
        store_number(scales, scale_at(w, p, n, b, o->block[b]), c, p->half);
        if (p->has_zeros) store_number(zeros, zero_at(w, n, o->block[b]), c, p->half);
    }
}

pgy_status nbits_matmul_pack(const nbits_matmul *p, char *to, const nbits_weights *w,
                             pgy_error *err)
{
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    const uint64_t record = record_bytes(p, columns);
    order o;
    pgy_status st = make_order(&o, p, w, err);
    for (uint64_t first = 0; !st && first < w->n; first += columns)
        for (uint64_t b = 0; b < p->blocks; b++, to += record)
            pack_record(p, to, w, &o, first, b, columns);
    if (!st && p->ordered) memcpy(to, o.index, p->blocks * p->block * sizeof *o.index);
    order_deinit(&o);
    return st;
}
