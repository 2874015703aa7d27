/* SPDX-License-Identifier: Apache-2.0 */
/* What vec_math_sums.inc asks of a level: AVX2. vec_math.inc removes the macros. */
#define VEC __m256
#define MASK __m256i
#define REST(left) short_rest(left)
#define LOAD(p) _mm256_loadu_ps(p)
#define LOAD_SOME(mask, p) _mm256_maskload_ps(p, mask) /* 0 elsewhere */
#define LOAD_OR(other, mask, p) \
    _mm256_blendv_ps(other, _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask))
#define STORE(p, x) _mm256_storeu_ps(p, x)
#define STORE_SOME(p, mask, x) _mm256_maskstore_ps(p, mask, x)
#define KEEP(mask, x) _mm256_and_ps(_mm256_castsi256_ps(mask), x)
#define SET(x) _mm256_set1_ps(x)
#define ADD(x, y) _mm256_add_ps(x, y)
#define SUB(x, y) _mm256_sub_ps(x, y)
#define MUL(x, y) _mm256_mul_ps(x, y)
#define FMADD(x, y, z) _mm256_fmadd_ps(x, y, z)
#define MAX(x, y) _mm256_max_ps(x, y)
#define SUM_OF(x) short_sum(x)
#define MAX_OF(x) short_max(x)
#define FLAGS __m256
#define NO_FLAGS _mm256_setzero_ps()
#define FLAG_NAN(flags, x, y) _mm256_or_ps(flags, _mm256_cmp_ps(x, y, _CMP_UNORD_Q))
#define HAS_FLAGS(flags) _mm256_movemask_ps(flags)

#define SHORT static inline __attribute__((always_inline, target("avx2,fma")))

SHORT __m256i short_rest(size_t left)
{
    static const int32_t MASKS[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(MASKS + 8 - (left < 8 ? left : 8)));
}

/* Adds halves. */
SHORT float short_sum(__m256 x)
{
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}

SHORT float short_max(__m256 x)
{
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}
#undef SHORT
