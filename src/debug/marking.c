/* SPDX-License-Identifier: Apache-2.0 */
/* Bisection begins with all layers, which it expects to pass, and assumes that more layers are
 * never worse. Its end is the original's: 0 layers are never tried, unless the model has none. */
#include "debug/marking.h"

marking marking_start(size_t most, bool linear)
{
    return (marking){
        .linear = linear, .most = most, .count = linear ? 0 : most, .good = most + 1, .bad = 0};
}

static bool next_linear(marking *m, bool passed)
{
    return !passed && ++m->count <= m->most;
}

static bool next_bisect(marking *m, bool passed)
{
    const size_t before = m->count;
    if (!passed) m->bad = m->count;
    const size_t sum = m->good + m->bad;
    m->count = passed ? sum / 2 : (sum + 1) / 2;
    return m->count != before && m->good - m->bad > 1;
}

bool marking_next(marking *m, bool passed)
{
    m->passed |= passed;
    if (passed) m->good = m->count;
    return m->linear ? next_linear(m, passed) : next_bisect(m, passed);
}

int64_t marking_remaining(const marking *m)
{
    int64_t steps = 0;
    if (m->linear) return (int64_t)(m->most - m->count);
    while (((size_t)1 << steps) < m->good - m->bad) steps++;
    return steps;
}
