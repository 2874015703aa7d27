/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's layout of float arrays. The digits are the shortest that identify the value in its own
 * type, with at most 8 after the point. If that limit cuts digits off, the exact value is rounded,
 * not its shortest digits. Exponent style is chosen for the whole array from its largest and
 * smallest non-zero magnitudes, compared in the array's own type. */
#include "tensor/text_float.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pytext.h"
#include "tensor/convert.h"

enum { PRECISION = 8, SHORTEST_SIZE = 32, BODY_SIZE = 512 };

/* The digits of one value, before and after the point. */
typedef struct parts {
    char whole[330], fraction[PRECISION + 1];
    int exponent;
} parts;

static pgy_dtype dtype_of(int bits)
{
    return bits == 16 ? PGY_F16 : bits == 32 ? PGY_F32 : PGY_F64;
}

/* Significant digits d1d2d3... with value 0.d1d2d3 * 10^*point. Zero is the digit 0. */
static int shortest(char *digits, int *point, double v, int bits)
{
    if (v == 0) {
        digits[0] = '0';
        *point = 1;
        return 1;
    }
    return py_shortest_digits(digits, point, v, bits);
}

static void trim_zeros(char *fraction)
{
    size_t n = strlen(fraction);
    while (n && fraction[n - 1] == '0') fraction[--n] = 0;
}

/* Splits the output of printf ("12.345", "1.2345") at the point. */
static void split(parts *p, const char *text)
{
    const char *point = strchr(text, '.');
    size_t size = point ? (size_t)(point - text) : strlen(text);
    memcpy(p->whole, text, size);
    p->whole[size] = 0;
    p->fraction[0] = 0;
    if (point) snprintf(p->fraction, sizeof p->fraction, "%.8s", point + 1);
    trim_zeros(p->fraction);
}

static void positional_parts(parts *p, double v, int bits)
{
    char digits[SHORTEST_SIZE], text[BODY_SIZE];
    int point, n = shortest(digits, &point, v, bits);
    p->exponent = 0;
    if (n - point > PRECISION) {
        snprintf(text, sizeof text, "%.*f", PRECISION, v);
        split(p, text);
        return;
    }
    int whole = point > 0 ? point : 0, size = 0;
    for (int i = 0; i < whole; i++) p->whole[size++] = i < n ? digits[i] : '0';
    if (!whole) p->whole[size++] = '0';
    p->whole[size] = 0;
    size = 0;
    for (int i = point; i < n; i++) p->fraction[size++] = i < 0 ? '0' : digits[i];
    p->fraction[size] = 0;
    trim_zeros(p->fraction);
}

static void exponent_parts(parts *p, double v, int bits)
{
    char digits[SHORTEST_SIZE], text[BODY_SIZE];
    int point, n = shortest(digits, &point, v, bits);
    if (n - 1 > PRECISION) {
        snprintf(text, sizeof text, "%.*e", PRECISION, v);
        char *e = strchr(text, 'e');
        sscanf(e, "e%d", &p->exponent);
        *e = 0;
        split(p, text);
        return;
    }
    p->whole[0] = digits[0];
    p->whole[1] = 0;
    memcpy(p->fraction, digits + 1, (size_t)(n - 1));
    p->fraction[n - 1] = 0;
    trim_zeros(p->fraction);
    p->exponent = point - 1;
}

static void take_parts(const text_float *f, parts *p, double magnitude)
{
    if (f->exponent)
        exponent_parts(p, magnitude, f->bits);
    else
        positional_parts(p, magnitude, f->bits);
}

static const char *sign_of(const text_float *f, double v)
{
    return signbit(v) ? "-" : f->always_sign ? "+" : "";
}

static int exponent_width(int exponent)
{
    return exponent > -100 && exponent < 100 ? 2 : 3;
}

void text_float_range(text_float *f, double v)
{
    double magnitude = fabs(v);
    if (!isfinite(v)) {
        f->any_special = true;
        f->any_negative_inf |= isinf(v) && v < 0;
        return;
    }
    f->any_finite = true;
    if (magnitude == 0) return;
    if (f->max == 0 || magnitude > f->max) f->max = magnitude;
    if (f->min == 0 || magnitude < f->min) f->min = magnitude;
}

void text_float_choose(text_float *f)
{
    pgy_dtype type = dtype_of(f->bits);
    double large = f->bits == 16 ? 1e3 : f->bits == 32 ? 1e6 : 1e8;
    if (f->max == 0) return;
    f->exponent = f->max >= large || f->min < float_round(type, 0.0001, false) ||
                  float_round(type, f->max / f->min, false) > 1000;
}

void text_float_widths(text_float *f, double v)
{
    parts p;
    if (!isfinite(v)) return;
    take_parts(f, &p, fabs(v));
    int left = (int)(strlen(sign_of(f, v)) + strlen(p.whole)), right = (int)strlen(p.fraction);
    if (left > f->left) f->left = left;
    if (right > f->right) f->right = right;
    if (f->exponent && exponent_width(p.exponent) > f->exponent_digits)
        f->exponent_digits = exponent_width(p.exponent);
}

/* Columns after the point, exponent included. */
static int right_columns(const text_float *f)
{
    return f->right + (f->exponent ? f->exponent_digits + 2 : 0);
}

void text_float_finish(text_float *f)
{
    if (!f->any_special) return;
    int after = right_columns(f) + 1, nan = 3 - after;
    int inf = 3 + (f->any_negative_inf || f->always_sign) - after;
    if (nan > f->left) f->left = nan;
    if (inf > f->left) f->left = inf;
}

static void append_special(str *out, const text_float *f, double v)
{
    const char *sign = isnan(v) ? (f->always_sign ? "+" : "") : sign_of(f, v);
    int width = f->left + right_columns(f) + 1, size = (int)strlen(sign) + 3;
    if (width > size) str_append_fill(out, ' ', (size_t)(width - size));
    str_append(out, sign);
    str_append(out, isnan(v) ? "nan" : "inf");
}

/* All values get the same number of digits. Digits beyond the shortest ones come from the exact
 * value; they are not zeros. */
static void append_exponent(str *out, const text_float *f, double v)
{
    char text[BODY_SIZE];
    int exponent;
    snprintf(text, sizeof text, "%.*e", f->right, fabs(v));
    char *e = strchr(text, 'e');
    sscanf(e, "e%d", &exponent);
    const char *sign = sign_of(f, v), *point = f->right ? "" : ".";
    str_append_fill(out, ' ', (size_t)(f->left - 1 - (int)strlen(sign)));
    str_printf(out, "%s%.*s%se%c%0*d", sign, (int)(e - text), text, point, exponent < 0 ? '-' : '+',
               f->exponent_digits, abs(exponent));
}

void text_float_append(str *out, const text_float *f, double v)
{
    parts p;
    if (!isfinite(v)) {
        append_special(out, f, v);
        return;
    }
    if (f->exponent) {
        append_exponent(out, f, v);
        return;
    }
    positional_parts(&p, fabs(v), f->bits);
    const char *sign = sign_of(f, v);
    int pad = f->left - (int)(strlen(sign) + strlen(p.whole)),
        rest = f->right - (int)strlen(p.fraction);
    if (pad > 0) str_append_fill(out, ' ', (size_t)pad);
    str_printf(out, "%s%s.%s", sign, p.whole, p.fraction);
    if (rest > 0) str_append_fill(out, ' ', (size_t)rest);
}

/* Prints all digits that identify the value: "0.0", "1e-05". For narrow types exponent notation
 * begins at smaller values than in Python. */
void text_float_scalar(str *out, int bits, double v)
{
    char digits[SHORTEST_SIZE];
    int point;
    double magnitude = fabs(v);
    if (!isfinite(v)) {
        str_append(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    int n = shortest(digits, &point, magnitude, bits);
    if (signbit(v)) str_append_char(out, '-');
    double large = bits == 16 ? 1e3 : bits == 32 ? 1e6 : 1e16;
    if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= large)) {
        str_append_char(out, digits[0]);
        if (n > 1) str_append_char(out, '.');
        str_append_n(out, digits + 1, (size_t)(n - 1));
        str_printf(out, "e%c%02d", point < 1 ? '-' : '+', abs(point - 1));
        return;
    }
    for (int i = point < 1 ? point - 1 : 0; i < n || i < point; i++) {
        if (i == point) str_append_char(out, '.');
        str_append_char(out, i >= 0 && i < n ? digits[i] : '0');
    }
    if (n <= point) str_append(out, ".0");
}
