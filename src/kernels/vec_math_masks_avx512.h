/* SPDX-License-Identifier: Apache-2.0 */
/* What vec_math_sums.inc asks of a level: AVX-512. vec_math.inc removes the macros. */
#define VEC __m512
#define MASK __mmask16
#define REST(left) wide_rest(left)
#define LOAD(p) _mm512_loadu_ps(p)
#define LOAD_SOME(mask, p) _mm512_maskz_loadu_ps(mask, p) /* 0 elsewhere */
#define LOAD_OR(other, mask, p) _mm512_mask_loadu_ps(other, mask, p)
#define STORE(p, x) _mm512_storeu_ps(p, x)
#define STORE_SOME(p, mask, x) _mm512_mask_storeu_ps(p, mask, x)
#define KEEP(mask, x) _mm512_maskz_mov_ps(mask, x)
#define SET(x) _mm512_set1_ps(x)
#define ADD(x, y) _mm512_add_ps(x, y)
#define SUB(x, y) _mm512_sub_ps(x, y)
#define MUL(x, y) _mm512_mul_ps(x, y)
#define FMADD(x, y, z) _mm512_fmadd_ps(x, y, z)
#define MAX(x, y) _mm512_max_ps(x, y)
#define SUM_OF(x) _mm512_reduce_add_ps(x) /* adds halves */
#define MAX_OF(x) _mm512_reduce_max_ps(x)
#define FLAGS __mmask16
#define NO_FLAGS 0
#define FLAG_NAN(flags, x, y) ((flags) | _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q))
#define HAS_FLAGS(flags) (flags)
