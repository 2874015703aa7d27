/* SPDX-License-Identifier: Apache-2.0 */
/* Bisection assumes one border between numbers that pass and numbers that fail. */
#include "debug/bisect.h"

bisection bisection_start(size_t count, bool linear, bool downward)
{
    bisection b = {.linear = linear, .downward = downward, .count = count};
    if (linear)
        b.index = downward && count ? count - 1 : 0;
    else
        b.index = count / 2;
    b.good = downward ? 0 : count;
    b.bad = downward ? count : 0;
    return b;
}

static size_t distance(const bisection *b)
{
    return b->good > b->bad ? b->good - b->bad : b->bad - b->good;
}

bool bisection_next(bisection *b, bool passed)
{
    b->visited++;
    if (b->linear) {
        if (b->visited >= b->count) return false;
        b->index = b->downward ? b->index - 1 : b->index + 1;
        return true;
    }
    if (passed)
        b->good = b->index;
    else
        b->bad = b->index;
    const size_t sum = b->good + b->bad;
    b->index = passed ? (sum + 1) / 2 : sum / 2;
    return distance(b) > 1;
}

int64_t bisection_remaining(const bisection *b)
{
    int64_t steps = 0;
    if (b->linear) return (int64_t)(b->count - b->visited);
    while (((size_t)1 << steps) < distance(b)) steps++;
    return steps;
}
