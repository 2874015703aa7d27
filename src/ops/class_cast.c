/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between storage types, with the rounding of the declared target. Floats truncate to
 * integers, and the executor wraps integers to their width; together this matches NumPy and x86-64.
 * A float is rounded only if the target is narrower than the source. Strings are read and written
 * as ONNX Runtime does. */
#include "ops/class_cast.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/system.h"
#include "ops/class_text.h"
#include "ops/class_unary.h"
#include "tensor/convert.h"

#define NAME f64_to_i64
#define OUT int64_t
#define F(x) rule_truncate(x)
#include "ops/unary_loop.inc"
#define NAME f64_to_u64
#define OUT uint64_t
#define F(x) rule_truncate_unsigned(x)
#include "ops/unary_loop.inc"
#define NAME f64_to_bool
#define OUT uint8_t
#define F(x) ((x) != 0)
#include "ops/unary_loop.inc"
#define NAME f64_to_f64
#define F(x) (x)
#include "ops/unary_loop.inc"

#define NAME i64_to_f64
#define T int64_t
#define OUT double
#define F(x) (x)
#include "ops/unary_loop.inc"
#define NAME i64_to_i64 /* also used to and from u64, because the bits stay the same */
#define T uint64_t
#define F(x) (x)
#include "ops/unary_loop.inc"
#define NAME i64_to_bool
#define T uint64_t
#define OUT uint8_t
#define F(x) ((x) != 0)
#include "ops/unary_loop.inc"
#define NAME u64_to_f64
#define T uint64_t
#define OUT double
#define F(x) (x)
#include "ops/unary_loop.inc"

#define NAME bool_to_f64
#define T uint8_t
#define OUT double
#define F(x) (x)
#include "ops/unary_loop.inc"
#define NAME bool_to_i64
#define T uint8_t
#define OUT uint64_t
#define F(x) (x)
#include "ops/unary_loop.inc"
#define NAME bool_to_bool
#define T uint8_t
#define F(x) (x)
#include "ops/unary_loop.inc"

enum { STORED_F64, STORED_I64, STORED_U64, STORED_BOOL, STORED_OTHER };

static const unary_loop LOOPS[STORED_OTHER][STORED_OTHER] = {
    /* indexed by source, then by target: f64, i64, u64, bool */
    {f64_to_f64, f64_to_i64, f64_to_u64, f64_to_bool},
    {i64_to_f64, i64_to_i64, i64_to_i64, i64_to_bool},
    {u64_to_f64, i64_to_i64, i64_to_i64, i64_to_bool},
    {bool_to_f64, bool_to_i64, bool_to_i64, bool_to_bool},
};

static int kind_of(pgy_dtype storage)
{
    switch (storage) {
    case PGY_F64: return STORED_F64;
    case PGY_I64: return STORED_I64;
    case PGY_U64: return STORED_U64;
    case PGY_BOOL: return STORED_BOOL;
    default: return STORED_OTHER;
    }
}

pgy_status cast_infer(op_infer *c, pgy_dtype to, pgy_error *err)
{
    const dim *values;
    size_t count;
    (void)err;
    op_set_like(c, 0, 0);
    c->outputs[0].dtype = to;
    if (pgy_dtype_is_float(c->inputs[0].dtype) || !(to == PGY_BOOL || pgy_dtype_is_integer(to)) ||
        !rule_values(c, 0, &values, &count))
        return PGY_OK;
    if (to != PGY_BOOL) {
        rule_set_elements(c, 0, values, count);
        return PGY_OK;
    }
    dim *truth = count <= RULE_MAX_ELEMENTS ? op_dims(c, count + 1) : NULL;
    for (size_t i = 0; truth && i < count; i++) {
        if (dim_is_const(values[i]))
            truth[i] = dim_const(values[i].value != 0);
        else if (dim_is_positive(values[i]))
            truth[i] = dim_const(1);
        else
            truth[i] = dim_unknown(c->dims, "it is not known whether a symbolic number is zero");
    }
    rule_set_elements(c, 0, truth, count);
    return PGY_OK;
}

/* ---- Rounding ------------------------------------------------------------------------------- */

/* Rounds x to float8e8m0, which holds only powers of two. The specification does not define the
 * result for negative numbers. */
static double round_e8m0(const op_node *n, double x, bool saturate)
{
    int exponent;
    if (isnan(x) || (isinf(x) && !saturate) || (x <= 0 && !saturate)) return NAN;
    if (isinf(x)) return 0x1p127;
    if (x <= 0) return 0x1p-127;
    const double half = frexp(x, &exponent); /* x = half * 2^exponent, half in [0.5, 1) */
    const bool up = op_attr_is(n, "round_mode", "up", "up"),
               nearest = op_attr_is(n, "round_mode", "nearest", NULL);
    exponent -= half == 0.5 || !(up || (nearest && half >= 0.75));
    if (exponent > 127) return saturate ? 0x1p127 : NAN;
    if (exponent < -127) return saturate || exponent == -128 ? 0x1p-127 : NAN;
    return ldexp(1, exponent);
}

typedef struct round_job {
    const op_node *node;
    double *y;
    size_t count;
    pgy_dtype to;
    bool saturate;
} round_job;

enum { PIECE = 16384 };

static void round_piece(size_t piece, void *user)
{
    const round_job *j = user;
    const size_t begin = piece * PIECE;
    const size_t end = j->count - begin < PIECE ? j->count : begin + PIECE;
    if (j->to == PGY_F32)
        for (size_t i = begin; i < end; i++) j->y[i] = (double)(float)j->y[i];
    else if (j->to == PGY_F8E8M0)
        for (size_t i = begin; i < end; i++) j->y[i] = round_e8m0(j->node, j->y[i], j->saturate);
    else
        for (size_t i = begin; i < end; i++) j->y[i] = float_round(j->to, j->y[i], j->saturate);
}

static bool narrows(pgy_dtype from, pgy_dtype to)
{
    if (to == PGY_F64) return false;
    return !pgy_dtype_is_float(from) ||
           pgy_dtype_describe(to)->bits <= pgy_dtype_describe(from)->bits;
}

static void round_to_target(op_eval *c, pgy_tensor *y, pgy_dtype to)
{
    round_job j = {c->node, pgy_tensor_data(y), pgy_tensor_count(y), to,
                   op_attr_int(c->node, "saturate", 1) != 0};
    parallel_for_until_cancelled((j.count + PIECE - 1) / PIECE, round_piece, &j);
}

/* ---- Strings --------------------------------------------------------------------------------- */

static void append_float(str *out, double v, int digits)
{
    char text[64];
    if (isnan(v))
        str_append(out, "NaN");
    else if (isinf(v))
        str_append(out, v < 0 ? "-INF" : "INF");
    else
        str_append_n(out, text, (size_t)snprintf(text, sizeof text, "%.*g", digits, v));
}

static pgy_status floats_to_strings(const op_eval *c, pgy_tensor *y, pgy_error *err)
{
    const double *x = pgy_tensor_data(c->inputs[0].value);
    pgy_string *items = pgy_tensor_data(y);
    str made = {0};
    for (size_t i = 0; i < pgy_tensor_count(y) && !cancel_requested(); i++) {
        const size_t before = made.size;
        append_float(&made, x[i], c->inputs[0].dtype == PGY_F64 ? 17 : 8);
        items[i].size = made.size - before;
        str_append_char(&made, '\0');
    }
    pgy_status st = cancel_check(err);
    if (!st) st = text_take(c, 0, &made, err);
    str_deinit(&made);
    return st;
}

/* The absolute value of an integer; *negative: it has a sign. */
static inline uint64_t natural_at(bool *negative, pgy_dtype storage, const void *data, size_t i)
{
    *negative = false;
    if (storage == PGY_U64) return ((const uint64_t *)data)[i];
    if (storage == PGY_BOOL) return ((const uint8_t *)data)[i] != 0;
    const int64_t v = ((const int64_t *)data)[i];
    *negative = v < 0;
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static size_t count_digits(uint64_t v)
{
    size_t count = 1;
    for (; v > 9999; v /= 10000) count += 4;
    return count + (v > 9) + (v > 99) + (v > 999);
}

static pgy_status integers_to_strings(const op_eval *c, pgy_tensor *y, pgy_error *err)
{
    const pgy_dtype storage = pgy_tensor_dtype(c->inputs[0].value);
    const void *x = pgy_tensor_data(c->inputs[0].value);
    const size_t count = pgy_tensor_count(y);
    pgy_string *items = pgy_tensor_data(y);
    size_t bytes = 0; /* at most 21 for each element of 16 bytes */
    bool negative;
    char *at = NULL;
    for (size_t i = 0; i < count; bytes += items[i++].size + 1) {
        const uint64_t v = natural_at(&negative, storage, x, i);
        items[i].size = count_digits(v) + negative;
    }
    const pgy_status st = text_room(&at, c, 0, bytes, err);
    for (size_t i = 0; !st && i < count; at += items[i++].size + 1) {
        uint64_t v = natural_at(&negative, storage, x, i);
        char *digit = at + items[i].size;
        do *--digit = (char)('0' + v % 10);
        while (v /= 10);
        if (negative) *at = '-';
        items[i].data = at;
    }
    return st;
}

static pgy_status to_strings(const op_eval *c, pgy_tensor *y, pgy_error *err)
{
    return pgy_tensor_dtype(c->inputs[0].value) == PGY_F64 ? floats_to_strings(c, y, err)
                                                           : integers_to_strings(c, y, err);
}

static bool ends(const char *text, const char *end)
{
    while (isspace((unsigned char)*end)) end++;
    return end != text && !*end;
}

/* Reads an integer of at most 15 digits, which float64 holds exactly. False: it is another number.
 */
static bool read_integer(int64_t *out, pgy_string s)
{
    const bool negative = s.size && *s.data == '-';
    int64_t v = 0;
    if (s.size <= negative || s.size - negative > 15) return false;
    for (size_t i = negative; i < s.size; i++) {
        if (s.data[i] < '0' || s.data[i] > '9') return false;
        v = v * 10 + (s.data[i] - '0');
    }
    *out = negative ? -v : v;
    return v || !negative; /* float64 has a negative zero */
}

static bool put_integer(int64_t v, pgy_dtype storage, void *data, size_t i)
{
    switch (storage) {
    case PGY_F64: ((double *)data)[i] = (double)v; return true;
    case PGY_BOOL: ((uint8_t *)data)[i] = v != 0; return true;
    case PGY_I64: ((int64_t *)data)[i] = v; return true;
    case PGY_U64: ((uint64_t *)data)[i] = (uint64_t)v; return true;
    default: return false;
    }
}

static bool parse_number(const char *text, pgy_dtype storage, void *data, size_t i)
{
    char *end;
    const double real = strtod(text, &end);
    if (!ends(text, end)) return false;
    errno = 0;
    const long long whole = strtoll(text, &end, 10);
    const bool is_int = ends(text, end) && !errno;
    switch (storage) {
    case PGY_F64: ((double *)data)[i] = real; return true;
    case PGY_BOOL: ((uint8_t *)data)[i] = real != 0; return true;
    case PGY_I64: ((int64_t *)data)[i] = is_int ? (int64_t)whole : rule_truncate(real); return true;
    case PGY_U64: {
        errno = 0;
        const unsigned long long natural = strtoull(text, &end, 10);
        ((uint64_t *)data)[i] =
            ends(text, end) && !errno ? (uint64_t)natural : rule_truncate_unsigned(real);
        return true;
    }
    default: return false;
    }
}

static pgy_status from_strings(const op_eval *c, pgy_tensor *y, const pgy_tensor *x, pgy_error *err)
{
    const pgy_string *items = pgy_tensor_data(x);
    for (size_t i = 0; i < pgy_tensor_count(x); i++) {
        char text[128];
        int64_t whole;
        if (read_integer(&whole, items[i]) &&
            put_integer(whole, pgy_tensor_dtype(y), pgy_tensor_data(y), i))
            continue;
        const size_t size = items[i].size < sizeof text - 1 ? items[i].size : sizeof text - 1;
        if (size) memcpy(text, items[i].data, size);
        text[size] = 0;
        if (items[i].size >= sizeof text ||
            !parse_number(text, pgy_tensor_dtype(y), pgy_tensor_data(y), i))
            return op_error(c->node, err, PGY_E_TYPE, "cannot cast the string '%.40s' to a number",
                            text);
    }
    return PGY_OK;
}

pgy_status cast_eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    const pgy_dtype from = c->inputs[0].dtype, to = c->outputs[0].dtype;
    if (from == to) return op_forward(c, 0, 0, err);
    const int a = kind_of(pgy_tensor_dtype(x)), b = kind_of(pgy_tensor_dtype(y));
    if (a != STORED_OTHER && b != STORED_OTHER)
        st = unary_run(c, LOOPS[a][b], NULL, err);
    else if (a != STORED_OTHER && to == PGY_STRING)
        return to_strings(c, y, err);
    else if (from == PGY_STRING && b != STORED_OTHER)
        st = from_strings(c, y, x, err);
    else
        return op_error(c->node, err, PGY_E_UNSUPPORTED, "cannot convert %s to %s",
                        pgy_dtype_name(from), pgy_dtype_name(to));
    if (!st && b == STORED_F64 && narrows(from, to)) round_to_target(c, y, to);
    return st;
}
