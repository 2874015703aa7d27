/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks are 1, 2 or 5 times a power of ten; on a logarithmic axis powers of ten, some skipped if
 * there are many. Labels get digits until they differ from their neighbours. Denormal numbers and
 * the largest doubles are ordinary input, so every power of ten is checked. */
#include "compare/axis.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

axis axis_of(const double *values, size_t n, bool logarithmic)
{
    axis a = {INFINITY, -INFINITY, logarithmic};
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]) || (logarithmic && values[i] <= 0)) continue;
        if (values[i] < a.low) a.low = values[i];
        if (values[i] > a.high) a.high = values[i];
    }
    return a.low <= a.high ? a : (axis){0, 0, false};
}

/* The smallest tick distance of the form 1, 2 or 5 times a power of ten that divides `span` into at
 * most `most` steps; 0 if no double holds it. */
static double round_step(double span, size_t most)
{
    static const double FACTORS[] = {1, 2, 5, 10};
    double raw = span / (double)most;
    if (!(raw >= DBL_MIN)) return 0;
    double power = pow(10, floor(log10(raw)));
    for (size_t i = 0; i < sizeof FACTORS / sizeof FACTORS[0]; i++)
        if (FACTORS[i] * power >= raw && isfinite(FACTORS[i] * power)) return FACTORS[i] * power;
    return 0;
}

static axis round_linear(axis a)
{
    if (a.high <= 0) return (axis){0, 1, false};
    if (a.low == a.high || a.low < 0.9 * a.high) a.low = 0;
    double step = round_step(a.high - a.low, 8);
    if (!(step > 0)) return a;
    double low = floor(a.low / step) * step, high = ceil(a.high / step) * step;
    if (low <= a.low) a.low = low;
    if (high >= a.high && isfinite(high)) a.high = high;
    return a;
}

static axis round_logarithmic(axis a)
{
    double low = pow(10, floor(log10(a.low))), high = pow(10, ceil(log10(a.high)));
    if (low > 0 && low <= a.low) a.low = low;
    if (isfinite(high) && high >= a.high) a.high = high;
    if (a.low == a.high && a.high <= DBL_MAX / 10)
        a.high *= 10;
    else if (a.low == a.high)
        a.low /= 10;
    return a;
}

axis axis_rounded(const double *values, size_t n, bool logarithmic)
{
    axis a = axis_of(values, n, logarithmic);
    return a.logarithmic ? round_logarithmic(a) : round_linear(a);
}

double axis_place(const axis *a, double value)
{
    if (!(value > a->low)) return 0;
    if (value >= a->high) return a->low < a->high ? 1 : 0;
    if (!a->logarithmic) return (value - a->low) / (a->high - a->low);
    return (log10(value) - log10(a->low)) / (log10(a->high) - log10(a->low));
}

static double value_at(const axis *a, double t)
{
    if (t <= 0) return a->low;
    if (t >= 1) return a->high;
    if (!a->logarithmic) return a->low + (a->high - a->low) * t;
    return pow(10, log10(a->low) + (log10(a->high) - log10(a->low)) * t);
}

/* Adds a value above the last one and inside the axis. */
static void add(tick *out, size_t *count, const axis *a, double value)
{
    if (*count == AXIS_TICKS || !(value >= a->low) || !(value <= a->high)) return;
    if (*count && !(value > out[*count - 1].value)) return;
    out[*count].value = value;
    out[*count].at = axis_place(a, value);
    ++*count;
}

/* Is each label, read back, much closer to its own value than to the neighbours'? */
static bool labels_tell(const tick *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double gap = n == 1 ? fabs(t[0].value) : INFINITY;
        if (i) gap = fmin(gap, t[i].value - t[i - 1].value);
        if (i + 1 < n) gap = fmin(gap, t[i + 1].value - t[i].value);
        if (fabs(strtod(t[i].label, NULL) - t[i].value) > 0.01 * gap) return false;
        if (i && !strcmp(t[i].label, t[i - 1].label)) return false;
    }
    return true;
}

/* Writes the labels and returns the length of the longest one. */
static size_t label(tick *t, size_t n)
{
    size_t longest = 0;
    for (int digits = 4; digits <= DBL_DECIMAL_DIG; digits++) {
        for (size_t i = 0; i < n; i++)
            snprintf(t[i].label, sizeof t[i].label, "%.*g", digits, t[i].value);
        if (labels_tell(t, n)) break;
    }
    for (size_t i = 0; i < n; i++)
        if (strlen(t[i].label) > longest) longest = strlen(t[i].label);
    return longest;
}

static size_t place_linear(tick *out, const axis *a, size_t most)
{
    size_t n = 0;
    double step = round_step(a->high - a->low, most);
    if (!(step > 0)) return 0;
    double first = ceil(a->low / step - 1e-9);
    for (size_t i = 0; i <= most + 1; i++) {
        double value = (first + (double)i) * step;
        /* Rounding may move the last tick off the axis's end: use the end itself. */
        if (fabs(value - a->high) < 1e-9 * step) value = a->high;
        add(out, &n, a, value);
    }
    return n;
}

static size_t place_logarithmic(tick *out, const axis *a, size_t most)
{
    size_t n = 0;
    int first = (int)floor(log10(a->low)), last = (int)ceil(log10(a->high));
    int stride = (last - first + (int)most - 1) / (int)most;
    bool fine = last - first <= 2 && most >= 6;
    for (int e = first; e <= last; e += stride > 0 ? stride : 1) {
        add(out, &n, a, pow(10, e));
        if (fine) add(out, &n, a, 2 * pow(10, e));
        if (fine) add(out, &n, a, 5 * pow(10, e));
    }
    return n;
}

size_t axis_even_ticks(tick out[AXIS_TICKS], const axis *a, size_t intervals)
{
    size_t n = 0;
    for (size_t i = 0; i <= intervals; i++)
        add(out, &n, a, value_at(a, (double)i / (double)intervals));
    label(out, n);
    return n;
}

size_t axis_ticks(tick out[AXIS_TICKS], const axis *a, size_t most, size_t characters)
{
    for (; most >= 2; most--) {
        size_t n = a->logarithmic ? place_logarithmic(out, a, most) : place_linear(out, a, most);
        if (n >= 2 && n * (label(out, n) + 2) <= characters) return n;
    }
    return axis_even_ticks(out, a, 1);
}
