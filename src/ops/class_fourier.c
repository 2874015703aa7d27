/* SPDX-License-Identifier: Apache-2.0 */
/* Fast Fourier transform by decimation in time. For a length N = p * m with p prime, p transforms
 * of length m over every p-th element are combined. A prime length is summed directly. Sines and
 * cosines come from a table made with angles of at most half a turn, so that errors do not grow
 * with the index. */
#include "ops/class_fourier.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static const double TURN = 6.283185307179586476925286766559;

pgy_status fourier_init(fourier_plan *p, const op_eval *c, size_t length, pgy_error *err)
{
    *p = (fourier_plan){.length = length};
    if (length > SIZE_MAX / 64)
        return op_error(c->node, err, PGY_E_MEMORY,
                        "a transform of length %zu is too large for memory", length);
    pgy_status st = workspace_alloc((void **)&p->table, c, 2 * length, sizeof *p->table, err);
    if (st) return st;
    for (size_t k = 0; k < length; k++) {
        /* Angles beyond half a turn are mirrored, because sine and cosine of smaller angles are
         * more exact. */
        const bool mirrored = k > length / 2;
        const double angle = TURN * (double)(mirrored ? length - k : k) / (double)length;
        p->table[2 * k] = cos(angle);
        p->table[2 * k + 1] = mirrored ? -sin(angle) : sin(angle);
    }
    return PGY_OK;
}

void fourier_deinit(fourier_plan *p)
{
    mem_free(p->table);
    p->table = NULL;
}

static size_t smallest_factor(size_t n)
{
    for (size_t f = 2; f * f <= n; f++)
        if (n % f == 0) return f;
    return n;
}

/* Combines the transforms of `factor` parts: y[q + r * m] = sum over i of part i at q times w^(i *
 * (q + r * m)). */
static void combine(const fourier_plan *p, double *y, const double *parts, size_t n, size_t factor,
                    double sign)
{
    const size_t m = n / factor, step = p->length / n;
    for (size_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (size_t i = 0, turn = 0; i < factor; i++) {
            const double *x = parts + 2 * (i * m + k % m), *w = p->table + 2 * turn * step;
            const double s = sign * w[1];
            re += x[0] * w[0] - x[1] * s;
            im += x[0] * s + x[1] * w[0];
            turn += k;
            if (turn >= n) turn -= n;
        }
        y[2 * k] = re;
        y[2 * k + 1] = im;
    }
}

/* Transforms the n elements x[0], x[stride], ... into y; work holds n pairs. */
static void transform(const fourier_plan *p, double *y, const double *x, size_t stride, size_t n,
                      double *work, double sign)
{
    if (n == 1) {
        memcpy(y, x, 2 * sizeof *y);
        return;
    }
    const size_t factor = smallest_factor(n), m = n / factor;
    for (size_t i = 0; i < factor; i++)
        transform(p, work + 2 * i * m, x + 2 * i * stride, stride * factor, m, y + 2 * i * m, sign);
    combine(p, y, work, n, factor, sign);
}

void fourier_run(const fourier_plan *p, double *y, const double *x, double *work, bool inverse)
{
    if (p->length) transform(p, y, x, 1, p->length, work, inverse ? 1 : -1);
}
