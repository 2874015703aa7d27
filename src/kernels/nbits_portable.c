/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a few bits for any processor; and the choice of the loops for a processor. */
#include "kernels/nbits.h"

#include <math.h>
#include <string.h>

#include "kernels/vector_portable.h"

typedef uint32_t vector_words __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t vector_ints __attribute__((vector_size(32), aligned(4), may_alias));

#define NV 1
#define BYTES nbits_four
#define WORDS vector_words
#define LOAD_WORDS(p) (*(const vector_words *)(const void *)(p))
#define AHEAD(p) ((void)(p))
#define SPREAD_INT(p) ((vector_words){0} + (uint32_t) * (p))
#define SPREAD_BYTES(p) (*(const nbits_four *)(const void *)(p))
#define FLOATS(v) __builtin_convertvector((vector_ints)(v), vector_eight)
#define LOAD_SCALES(p, n, half) ((void)(half), LOAD((const float *)(const void *)(p) + 8 * (n)))
#define TABLE const float *
#define LOAD_TABLE(p) (p)

typedef struct nbits_four {
    int8_t at[4];
} nbits_four;

static inline vector_eight nbits_look_up(const vector_words *w, int shift, const float *table)
{
    vector_eight v;
    for (int i = 0; i < LANES; i++) v[i] = table[(*w)[i] >> shift & 15];
    return v;
}

static inline vector_words nbits_dot(vector_words sum, const vector_words *w, nbits_four a)
{
    for (int i = 0; i < 4; i++) sum += (*w >> 8 * i & 255) * (uint32_t)a.at[i];
    return sum;
}

#define NAME_(word, bits) nbits_##word##_##bits
#define NAME(word, bits) NAME_(word, bits)
#define DOT(sum, w, a) nbits_dot(sum, &(w), a)
#define BITS 2
#define PICK(w, i, table) nbits_look_up(&(w), 2 * (i), table)
#define PLANE(w, i) ((w) >> 2 * (i)&0x03030303)
#include "kernels/nbits_set.inc"
#define BITS 4
#define PICK(w, i, table) nbits_look_up(&(w), 4 * (i), table)
#define PLANE(w, i) ((w) >> 4 * (i)&0x0f0f0f0f)
#include "kernels/nbits_set.inc"
#define BITS 8
#define PICK(w, i, table) ((void)(table), FLOATS((w) >> 8 * (i)&255) - 128)
#define PLANE(w, i) (w)
#define NARROW_ROW(to, from, order) nbits_narrow_row(to, from, order)
static inline void nbits_narrow_row(int8_t *to, const int32_t *from, const uint8_t *order)
{
    for (size_t t = 0; t < 16; t++) to[t] = (int8_t)from[order[t]];
}
#include "kernels/nbits_quantise.inc"
#include "kernels/nbits_set.inc"

#include "kernels/nbits_table.inc"
const nbits_tile nbits_portable = NBITS_TILE;

const nbits_tile *nbits_tile_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &nbits_avx512;
    if (level >= CPU_AVX2) return &nbits_avx2;
#endif
    (void)level;
    return &nbits_portable;
}

nbits_function nbits_bytes_of(cpu_level level, size_t kind, size_t rows)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512 && cpu_has_byte_sums(CPU_AVX512)) return nbits_vnni[kind][rows];
    if (level == CPU_AVX2 && cpu_has_byte_sums(CPU_AVX2)) return nbits_avx_vnni[kind][rows];
#endif
    return nbits_tile_of(level)->bytes[kind][rows];
}

nbits_function nbits_digits_of(cpu_level level, size_t kind)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512 && cpu_has_byte_sums(CPU_AVX512)) return nbits_vnni_digits[kind];
    if (level == CPU_AVX2 && cpu_has_byte_sums(CPU_AVX2)) return nbits_avx_vnni_digits[kind];
#endif
    return nbits_tile_of(level)->digits[kind];
}
