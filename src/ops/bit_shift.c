/* SPDX-License-Identifier: Apache-2.0 */
/* BitShift: shifts by an amount per element. Right shifts of signed numbers keep the sign; a shift
 * by a negative amount or by the whole width leaves only sign bits. The executor drops the bits
 * above the declared width. */
#include "ops/class_binary.h"

static inline uint64_t left(uint64_t a, uint64_t by)
{
    return by < 64 ? a << by : 0;
}

static inline int64_t right_signed(int64_t a, int64_t by)
{
    return a >> (by >= 0 && by < 64 ? by : 63);
}

#define NAME left_i64
#define T int64_t
#define F(a, b) ((int64_t)left((uint64_t)(a), (uint64_t)(b)))
#include "ops/binary_loop.inc"

#define NAME left_u64
#define T uint64_t
#define F(a, b) left(a, b)
#include "ops/binary_loop.inc"

#define NAME right_i64
#define T int64_t
#define F(a, b) right_signed(a, b)
#include "ops/binary_loop.inc"

#define NAME right_u64
#define T uint64_t
#define F(a, b) ((b) < 64 ? (a) >> (b) : 0)
#include "ops/binary_loop.inc"

static const binary_spec LEFT = {.i64 = left_i64, .u64 = left_u64};
static const binary_spec RIGHT = {.i64 = right_i64, .u64 = right_u64};
static const op_attr_def ATTRS[] = {
    {"direction", OP_ATTR_STRING, true, NULL, "LEFT RIGHT"},
    {0},
};

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const bool to_left = op_attr_is(c->node, "direction", "LEFT", NULL);
    if (!to_left && !op_attr_is(c->node, "direction", "RIGHT", NULL))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute direction must be 'LEFT' or 'RIGHT'");
    return binary_eval_with(c, to_left ? &LEFT : &RIGHT, err);
}

#define ROW(version, accepted)                                                                \
    {                                                                                         \
        .name = "BitShift", .domain = "", .since = version, .min_inputs = 2, .max_inputs = 2, \
        .min_outputs = 1, .max_outputs = 1, .attrs = ATTRS, .types = accepted,                \
        .infer = binary_infer, .eval = eval, .user_data = &LEFT                               \
    }

const op_def OP_bit_shift[] = {
    ROW(11, TYPES_UNSIGNED),
    ROW(28, TYPES_SIGNED " " TYPES_UNSIGNED),
    {0},
};
