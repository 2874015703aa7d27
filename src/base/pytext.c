/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and text as Python prints them. The shortest digits of a number are found by printing it
 * with growing precision until it reads back as itself; integers and short decimals, the usual
 * case, are found without printing. */
#include "base/pytext.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { MAX_DIGITS = 17 };

/* ---- locale --------------------------------------------------------------------------------- */

static locale_t c_locale;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t get_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    return c_locale;
}

double text_to_double(const char *text, char **end)
{
    const locale_t l = get_locale();
    return l ? strtod_l(text, end, l) : strtod(text, end);
}

/* ---- shortest digits ------------------------------------------------------------------------ */

static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Digits of an integer below 2^53 without its trailing zeros; scale: value = integer / 10^scale. */
static int integer_digits(char *digits, int *exp10, uint64_t integer, int scale)
{
    char reversed[20];
    int n = 0;
    while (integer % 10 == 0) integer /= 10, scale--;
    for (; integer; integer /= 10) reversed[n++] = (char)('0' + integer % 10);
    for (int i = 0; i < n; i++) digits[i] = reversed[n - 1 - i];
    *exp10 = n - scale;
    return n;
}

/* A double that is a decimal of at most 15 digits, few of them after the point. Division of two
 * exact doubles rounds once, so an equal quotient proves that the decimal reads back as v; 15
 * digits are always unique. */
static int simple_digits(char *digits, int *exp10, double v)
{
    enum { SCALES = 7 };
    if (!(v >= 1e-5 && v < 1e15)) return 0;
    for (int scale = 0; scale < SCALES; scale++) {
        const double scaled = v * POWERS[scale];
        if (scaled >= 1e15) return 0;
        const uint64_t integer = (uint64_t)(scaled + 0.5);
        if (integer && (double)integer / POWERS[scale] == v)
            return integer_digits(digits, exp10, integer, scale);
    }
    return 0;
}

/* The `precision` digits closest to v. */
static void nearest_digits(char *digits, int *exp10, double v, int precision)
{
    char text[48];
    int n = 0;
    snprintf(text, sizeof text, "%.*e", precision - 1, v);
    const char *p = text;
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') digits[n++] = *p; /* the point depends on the locale */
    *exp10 = (int)strtol(p + 1, NULL, 10) + 1;
}

static double half_spacing_below(double v, double spacing)
{
    int e;
    return frexp(v, &e) == 0.5 && e > -13 ? spacing / 2 : spacing;
}

/* True if a correctly rounding reader of half precision reads d as v. */
static bool is_half(double d, double v)
{
    int e;
    frexp(v, &e);
    const double spacing = ldexp(1.0, (e < -13 ? -13 : e) - 11);
    const double low = v - half_spacing_below(v, spacing) / 2, high = v + spacing / 2;
    const bool even = fmod(v / spacing, 2) == 0;
    return even ? low <= d && d <= high : low < d && d < high;
}

static bool reads_back(const char *digits, int n, int exp10, double v, int bits)
{
    char text[48];
    snprintf(text, sizeof text, "%.*se%d", n, digits, exp10 - n);
    if (bits == 32) {
        const locale_t l = get_locale();
        return (l ? strtof_l(text, NULL, l) : strtof(text, NULL)) == (float)v;
    }
    const double d = text_to_double(text, NULL);
    return bits == 16 ? is_half(d, v) : d == v;
}

/* Rounds the digits up to the next decimal of the same length. */
static void increment(char *digits, int n, int *exp10)
{
    int i = n - 1;
    while (i >= 0 && digits[i] == '9') digits[i--] = '0';
    if (i >= 0) {
        digits[i]++;
        return;
    }
    digits[0] = '1';
    *exp10 += 1;
}

/* Below a power of two numbers lie closer together: there the nearest decimal, just below, may
 * belong to the neighbour while the next one above reads back. */
static bool fits(char *digits, int n, int *exp10, double v, int bits)
{
    int unused;
    if (reads_back(digits, n, *exp10, v, bits)) return true;
    if (frexp(v, &unused) != 0.5) return false;
    char above[20];
    int above_exp10 = *exp10;
    memcpy(above, digits, (size_t)n);
    increment(above, n, &above_exp10);
    if (!reads_back(above, n, above_exp10, v, bits)) return false;
    memcpy(digits, above, (size_t)n);
    *exp10 = above_exp10;
    return true;
}

int py_shortest_digits(char *digits, int *exp10, double v, int bits)
{
    int n = bits == 64 ? simple_digits(digits, exp10, v) : 0;
    if (n) return n;
    /* Decimals of up to `unique` digits survive a round trip, so shorter ones need not be tried;
     * subnormals have fewer. */
    const double smallest_normal = bits == 64 ? 0x1p-1022 : bits == 32 ? 0x1p-126 : 0x1p-14;
    const int unique = bits == 64 ? 15 : bits == 32 ? 6 : 3;
    for (n = v < smallest_normal ? 1 : unique; n < MAX_DIGITS; n++) {
        nearest_digits(digits, exp10, v, n);
        if (fits(digits, n, exp10, v, bits)) break;
    }
    if (n == MAX_DIGITS) nearest_digits(digits, exp10, v, n);
    while (n > 1 && digits[n - 1] == '0') n--;
    return n;
}

/* ---- float repr ----------------------------------------------------------------------------- */

static size_t put(char *out, size_t at, const char *text, size_t size)
{
    memcpy(out + at, text, size);
    return at + size;
}

/* Writes the digits of py_shortest_digits to out + at; with an exponent below 1e-4 and from 1e16
 * on. */
static size_t lay_out(char *out, size_t at, const char *digits, int n, int exp10)
{
    if (exp10 > 16 || exp10 < -3) {
        at = put(out, at, digits, 1);
        if (n > 1) {
            out[at++] = '.';
            at = put(out, at, digits + 1, (size_t)n - 1);
        }
        return at + (size_t)snprintf(out + at, 8, "e%c%02d", exp10 > 0 ? '+' : '-', abs(exp10 - 1));
    }
    if (exp10 <= 0) {
        at = put(out, at, "0.000", (size_t)(2 - exp10));
        at = put(out, at, digits, (size_t)n);
    } else if (n <= exp10) {
        at = put(out, at, digits, (size_t)n);
        memset(out + at, '0', (size_t)(exp10 - n));
        at = put(out, at + (size_t)(exp10 - n), ".0", 2);
    } else {
        at = put(out, at, digits, (size_t)exp10);
        out[at++] = '.';
        at = put(out, at, digits + exp10, (size_t)(n - exp10));
    }
    out[at] = '\0';
    return at;
}

static size_t repr(char *out, double v, int bits)
{
    char digits[20];
    int exp10;
    const size_t sign = signbit(v) && !isnan(v);
    out[0] = '-';
    if (!isfinite(v) || v == 0) {
        const char *text = isnan(v) ? "nan" : v == 0 ? "0.0" : "inf";
        memcpy(out + sign, text, 4);
        return sign + 3;
    }
    const int n = py_shortest_digits(digits, &exp10, fabs(v), bits);
    return lay_out(out, sign, digits, n, exp10);
}

size_t py_double_repr(char *out, double v)
{
    return repr(out, v, 64);
}

size_t py_float_repr(char *out, float v)
{
    return repr(out, v, 32);
}

void str_append_g(str *s, int precision, double v)
{
    if (isnan(v)) {
        str_append(s, "nan");
        return;
    }
    if (isinf(v)) {
        str_append(s, v < 0 ? "-inf" : "inf");
        return;
    }
    const locale_t l = get_locale();
    const locale_t before = l ? uselocale(l) : (locale_t)0;
    str_printf(s, "%.*g", precision, v);
    if (l) uselocale(before);
}

/* ---- text repr ------------------------------------------------------------------------------ */

typedef struct char_range {
    uint32_t first, last;
} char_range;

/* The characters above ASCII that Python escapes: controls, separators, format characters, private
 * ones. */
static const char_range UNPRINTABLE[] = {
    {0x80, 0xA0},     {0xAD, 0xAD},        {0x600, 0x605},   {0x61C, 0x61C},   {0x6DD, 0x6DD},
    {0x70F, 0x70F},   {0x1680, 0x1680},    {0x180E, 0x180E}, {0x2000, 0x200F}, {0x2028, 0x202F},
    {0x205F, 0x206F}, {0x3000, 0x3000},    {0xD800, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB},
    {0xFFFE, 0xFFFF}, {0xE0000, 0x10FFFF},
};

static bool is_printable(uint32_t c)
{
    if (c < 0x80) return c >= 0x20 && c != 0x7F;
    for (size_t i = 0; i < sizeof UNPRINTABLE / sizeof UNPRINTABLE[0]; i++)
        if (c >= UNPRINTABLE[i].first && c <= UNPRINTABLE[i].last) return false;
    return true;
}

/* Reads one UTF-8 character; an invalid byte becomes U+DC80..U+DCFF, as with Python's
 * surrogateescape. */
static size_t read_char(const char *p, const char *end, uint32_t *c)
{
    const size_t size = utf8_read(p, end, c);
    if (size) return size;
    *c = 0xDC00u + (unsigned char)*p;
    return 1;
}

static void append_escaped(str *s, uint32_t c)
{
    if (c == '\n')
        str_append(s, "\\n");
    else if (c == '\r')
        str_append(s, "\\r");
    else if (c == '\t')
        str_append(s, "\\t");
    else if (c < 0x100)
        str_printf(s, "\\x%02x", c);
    else if (c < 0x10000)
        str_printf(s, "\\u%04x", c);
    else
        str_printf(s, "\\U%08x", c);
}

void str_append_py_repr(str *s, const char *text)
{
    const char quote = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';
    str_append_char(s, quote);
    const char *const end = text + strlen(text);
    while (text < end) {
        uint32_t c;
        const size_t size = read_char(text, end, &c);
        if (!is_printable(c)) {
            append_escaped(s, c);
        } else {
            if (c == '\\' || c == (unsigned char)quote) str_append_char(s, '\\');
            str_append_n(s, text, size);
        }
        text += size;
    }
    str_append_char(s, quote);
}

void str_append_py_list(str *s, const char *const *items, size_t count)
{
    str_append_char(s, '[');
    for (size_t i = 0; i < count; i++) {
        if (i) str_append(s, ", ");
        str_append_py_repr(s, items[i]);
    }
    str_append_char(s, ']');
}

static void append_ints(str *s, const int64_t *items, size_t count)
{
    for (size_t i = 0; i < count; i++) str_printf(s, "%s%lld", i ? ", " : "", (long long)items[i]);
}

void str_append_py_tuple(str *s, const int64_t *items, size_t count)
{
    str_append_char(s, '(');
    append_ints(s, items, count);
    str_append(s, count == 1 ? ",)" : ")");
}

void str_append_py_ints(str *s, const int64_t *items, size_t count)
{
    str_append_char(s, '[');
    append_ints(s, items, count);
    str_append_char(s, ']');
}
