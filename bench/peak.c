/* SPDX-License-Identifier: Apache-2.0
 * What one thread of this processor can do at best, for bench/floor.py: bench.peak prints
 *     fma GFLOPS      float32 fused multiply-adds on registers, two operations each
 *     cache GB_S      bytes read a second of 512 KiB, which the second level of caches holds
 *     memory GB_S     of 256 MiB
 * Best of several rounds. Vectors are the widest that the processor has.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 60, CHAINS = 12, STEPS = 1 << 20 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* FMA and READ of vectors of BYTES: enough chains that the latency of none is waited for. */
#define LOOPS(NAME, BYTES, TARGET)                                                                                     \
    typedef float NAME##_vec __attribute__((vector_size(BYTES), aligned(BYTES)));                                     \
    TARGET static float NAME##_fma(float factor, double *operations)                                                  \
    {                                                                                                                  \
        NAME##_vec c[CHAINS], a = {0}, b = {0};                                                                       \
        a += factor;                                                                                                   \
        b += 1e-9f;                                                                                                    \
        for (int k = 0; k < CHAINS; k++) c[k] = (NAME##_vec){0} + (float)k; /* chains that differ, or one would do */ \
        for (int i = 0; i < STEPS; i++) {                                                                              \
            _Pragma("GCC unroll 12") for (int k = 0; k < CHAINS; k++) c[k] = c[k] * a + b;                            \
        }                                                                                                              \
        for (int k = 1; k < CHAINS; k++) c[0] += c[k];                                                                \
        *operations = 2.0 * STEPS * CHAINS * (BYTES / 4);                                                             \
        return c[0][0];                                                                                                \
    }                                                                                                                  \
    TARGET static float NAME##_read(const float *data, size_t bytes, size_t times)                                    \
    {                                                                                                                  \
        NAME##_vec sum[8];                                                                                             \
        memset(sum, 0, sizeof sum);                                                                                    \
        for (size_t t = 0; t < times; t++) {                                                                           \
            const NAME##_vec *v = (const NAME##_vec *)data;                                                            \
            for (size_t i = 0; i + 8 <= bytes / BYTES; i += 8) {                                                       \
                _Pragma("GCC unroll 8") for (int k = 0; k < 8; k++) sum[k] += v[i + k];                               \
            }                                                                                                          \
        }                                                                                                              \
        for (int k = 1; k < 8; k++) sum[0] += sum[k];                                                                 \
        return sum[0][0];                                                                                              \
    }

#if defined(__x86_64__)
LOOPS(avx512, 64, __attribute__((target("avx512f"))))
LOOPS(avx2, 32, __attribute__((target("avx2,fma"))))
#endif
LOOPS(plain, 16, )

typedef struct loops {
    float (*fma)(float factor, double *operations);
    float (*read)(const float *data, size_t bytes, size_t times);
} loops;

static loops widest(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return (loops){avx512_fma, avx512_read};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (loops){avx2_fma, avx2_read};
#endif
    return (loops){plain_fma, plain_read};
}

static volatile float kept;

static double read_rate(const loops *l, const float *data, size_t bytes, size_t times)
{
    double best = 0;
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now();
        kept = l->read(data, bytes, times);
        double rate = (double)bytes * (double)times / (now() - begin);
        if (rate > best) best = rate;
    }
    return best;
}

int main(void)
{
    const size_t cached = 512u << 10, large = 256u << 20;
    loops l = widest();
    double peak = 0;
    for (int r = 0; r < ROUNDS; r++) {
        double operations, begin = now();
        kept = l.fma(0.5f, &operations);
        double rate = operations / (now() - begin);
        if (rate > peak) peak = rate;
    }
    float *data = aligned_alloc(64, large);
    if (!data) {
        fprintf(stderr, "bench.peak: cannot allocate 256 MiB\n");
        return 1;
    }
    memset(data, 1, large);
    printf("fma %.1f\ncache %.1f\nmemory %.1f\n", peak / 1e9, read_rate(&l, data, cached, 200) / 1e9, read_rate(&l, data, large, 1) / 1e9);
    free(data);
    return 0;
}
