/* SPDX-License-Identifier: Apache-2.0 */
/* The leaves of a small tree without walking: all tests are made for eight rows at a time, from the
 * last to the first, and each takes over the leaf that the node of its side has found. There is no
 * step that waits for another, so this is faster than walks up to about a hundred tests. */
#include "base/system.h"
#include "kernels/forest.h"

enum { MOST_NODES = 256 };

/* A test; node numbers count from the root. */
typedef struct sweep_test {
    const float *column;
    float split;
    int32_t missing; /* all bits: a NaN passes */
    uint16_t node, next[2];
} sweep_test;

typedef struct sweep {
    sweep_test tests[MOST_NODES / 2];
    uint16_t leaves[MOST_NODES];
    size_t test_count, leaf_count;
    uint32_t root;
} sweep;

/* Collects the nodes from the root to the next one; false if a test leads out of them, or if they
 * are too many. */
static bool collect(sweep *s, const forest_view *v, size_t tree, const float *columns)
{
    const uint64_t end = tree + 1 < v->p->roots ? v->roots[tree + 1] : v->p->nodes;
    s->root = v->roots[tree];
    if (end <= s->root || end - s->root > MOST_NODES) return false;
    for (uint64_t i = end; i-- > s->root;) {
        const forest_step *n = &v->nodes[i];
        const uint16_t node = (uint16_t)(i - s->root);
        if (n->next[0] == i) {
            s->leaves[s->leaf_count++] = node;
            continue;
        }
        if ((n->feature >> FOREST_MODE_BIT & 7) != FOREST_LEQ) return false;
        if (n->next[0] >= end || n->next[1] >= end || s->test_count == MOST_NODES / 2) return false;
        s->tests[s->test_count++] =
            (sweep_test){columns + (size_t)(n->feature & FOREST_FEATURE) * FOREST_ROWS,
                         n->split,
                         -(int32_t)(n->feature >> FOREST_MISSING_BIT),
                         node,
                         {(uint16_t)(n->next[0] - s->root), (uint16_t)(n->next[1] - s->root)}};
    }
    return true;
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void find(const sweep *s, uint32_t *at, size_t rows)
{
    __m256i found[MOST_NODES];
    for (size_t i = 0; i < s->leaf_count; i++)
        found[s->leaves[i]] = _mm256_set1_epi32((int)(s->root + s->leaves[i]));
    for (size_t row = 0; row < rows; row += FOREST_LANES) {
        for (size_t i = 0; i < s->test_count; i++) {
            const sweep_test *t = &s->tests[i];
            const __m256 x = _mm256_loadu_ps(t->column + row),
                         missing = _mm256_castsi256_ps(_mm256_set1_epi32(t->missing));
            const __m256 passes =
                _mm256_or_ps(_mm256_cmp_ps(x, _mm256_set1_ps(t->split), _CMP_LE_OQ),
                             _mm256_and_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q), missing));
            found[t->node] = _mm256_castps_si256(
                _mm256_blendv_ps(_mm256_castsi256_ps(found[t->next[0]]),
                                 _mm256_castsi256_ps(found[t->next[1]]), passes));
        }
        _mm256_storeu_si256((__m256i *)(at + row), found[0]);
    }
}

bool forest_sweep(const forest_view *v, size_t tree, const float *columns, uint32_t *at,
                  size_t rows)
{
    sweep s;
    s.test_count = s.leaf_count = 0;
    if (cpu_features() < CPU_AVX2 || !collect(&s, v, tree, columns)) return false;
    find(&s, at, rows);
    return true;
}
#else
bool forest_sweep(const forest_view *v, size_t tree, const float *columns, uint32_t *at,
                  size_t rows)
{
    (void)v, (void)tree, (void)columns, (void)at, (void)rows;
    return false;
}
#endif

void forest_turn(float *columns, const float *x, size_t rows, size_t features)
{
    const size_t whole = (rows + FOREST_LANES - 1) / FOREST_LANES * FOREST_LANES;
    for (size_t row = 0; row < whole; row++) {
        const float *from = x + (row < rows ? row : rows - 1) * features;
        for (size_t f = 0; f < features; f++) columns[f * FOREST_ROWS + row] = from[f];
    }
}
