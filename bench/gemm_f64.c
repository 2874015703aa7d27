/* SPDX-License-Identifier: Apache-2.0 */
/* The double-precision matrix product: best of several runs at a few sizes, in GFLOP/s of all
 * threads. Prints, asserts nothing. POLYGRAPHY_CPU and POLYGRAPHY_THREADS choose level and threads.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/gemm.h"

static int measure(size_t m, size_t n, size_t k)
{
    double *a = mem_alloc(m * k * sizeof *a), *b = mem_alloc(k * n * sizeof *b),
           *c = mem_alloc(m * n * sizeof *c);
    int64_t best = INT64_MAX;
    int status = !a || !b || !c;
    for (size_t i = 0; !status && i < m * k; i++) a[i] = (double)(i % 97) / 97;
    for (size_t i = 0; !status && i < k * n; i++) b[i] = (double)(i % 89) / 89;
    for (int run = 0; !status && run < 5; run++) {
        int64_t start = clock_ns();
        status = gemm_f64(m, n, k, (gemm_matrix){a, (int64_t)k, 1}, (gemm_matrix){b, (int64_t)n, 1},
                          c, n, false, NULL);
        int64_t took = clock_ns() - start;
        if (took < best) best = took;
    }
    if (!status)
        printf("gemm_f64 %5zu x %5zu x %5zu  %8.3f ms  %6.1f GFLOP/s\n", m, n, k,
               (double)best / 1e6, 2.0 * (double)m * (double)n * (double)k / (double)best);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    return status;
}

int main(void)
{
    static const size_t SIZES[][3] = {
        {512, 512, 512}, {1024, 1024, 1024}, {64, 3136, 576}, {512, 49, 4608}, {128, 768, 3072}};
    printf("%s, %zu threads\n", cpu_level_name(cpu_features()), cpu_count());
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        if (measure(SIZES[i][0], SIZES[i][1], SIZES[i][2])) return 1;
    return 0;
}
