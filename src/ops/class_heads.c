/* SPDX-License-Identifier: Apache-2.0 */
/* Rotations and norms of heads, in place. */
#include "ops/class_heads.h"

#include <math.h>

void heads_turn(double *x, const double *cosines, const double *sines, size_t half,
                bool interleaved)
{
    const size_t step = interleaved ? 2 : 1, other = interleaved ? 1 : half;
    for (size_t i = 0; i < half; i++) {
        const double a = x[i * step], b = x[i * step + other];
        x[i * step] = a * cosines[i] - b * sines[i];
        x[i * step + other] = b * cosines[i] + a * sines[i];
    }
}

void heads_normalise(double *x, size_t size, const double *weights, double epsilon)
{
    double sum = 0;
    if (!weights || !size) return;
    for (size_t i = 0; i < size; i++) sum += x[i] * x[i];
    const double factor = 1 / sqrt(sum / (double)size + epsilon);
    for (size_t i = 0; i < size; i++) x[i] *= factor * weights[i];
}
