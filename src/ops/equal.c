/* SPDX-License-Identifier: Apache-2.0 */
/* Equal: which elements are equal; NaN equals nothing. */
#include "ops/class_binary.h"

#include <string.h>

static inline bool same_text(pgy_string a, pgy_string b)
{
    return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

static dim decide(dim_table *t, dim a, dim b)
{
    if (dim_equal(a, b)) return dim_const(1);
    return dim_differ(a, b)
               ? dim_const(0)
               : dim_unknown(t, "it is not known whether two symbolic numbers are equal");
}

#define NAME equal_f64
#define OUT uint8_t
#define F(a, b) ((a) == (b))
#include "ops/binary_loop.inc"

#define NAME equal_i64
#define T int64_t
#define OUT uint8_t
#define F(a, b) ((a) == (b))
#include "ops/binary_loop.inc"

#define NAME equal_u64
#define T uint64_t
#define OUT uint8_t
#define F(a, b) ((a) == (b))
#include "ops/binary_loop.inc"

#define NAME equal_boolean
#define T uint8_t
#define F(a, b) ((a) == (b))
#include "ops/binary_loop.inc"

#define NAME equal_string
#define T pgy_string
#define OUT uint8_t
#define F(a, b) (same_text(a, b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {.f64 = equal_f64,
                                 .i64 = equal_i64,
                                 .u64 = equal_u64,
                                 .boolean = equal_boolean,
                                 .string = equal_string,
                                 .predicate = true,
                                 .symbolic = decide};

const op_def OP_equal[] = {
    BINARY_ROW("Equal", 7, "bool int32 int64", &SPEC),
    BINARY_ROW("Equal", 11, TYPES_N11 " bool", &SPEC),
    BINARY_ROW("Equal", 13, TYPES_N12 " bool", &SPEC),
    BINARY_ROW("Equal", 19, TYPES_N12 " bool string", &SPEC),
    {0},
};
