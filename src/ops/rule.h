/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that many shape rules and evaluations share: integer inputs as dims, axes, and lists that
 * are an attribute in old versions and an input in new ones. */
#ifndef OPS_RULE_H
#define OPS_RULE_H

#include "ops/op.h"

/* Word lists for op_def.types: the type constraints that recur through ONNX's versions. */
#define TYPES_F3 "float16 float32 float64"
#define TYPES_F4 "float16 float32 float64 bfloat16"
#define TYPES_F8 TYPES_F4 " float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"
#define TYPES_SIGNED "int8 int16 int32 int64"
#define TYPES_UNSIGNED "uint8 uint16 uint32 uint64"
#define TYPES_WIDE "int32 int64 uint32 uint64"
#define TYPES_N11 TYPES_F3 " " TYPES_SIGNED " " TYPES_UNSIGNED
#define TYPES_N12 TYPES_N11 " bfloat16"

/* Value lists longer than this are not propagated symbolically. */
enum { RULE_MAX_ELEMENTS = 1024 };

pgy_status rule_no_memory(const op_node *n, pgy_error *err);
double rule_no_flops(const op_infer *c); /* Gives 0, for operators that only move data. */

/* Gives the values of an integer or boolean input of rank 0 or 1 as dims. False: unknown. */
bool rule_values(const op_infer *c, size_t input, const dim **out, size_t *count);
/* Sets the known elements of an output; does nothing if they do not fit the output's type and
 * shape, which are set already. */
void rule_set_elements(op_infer *c, size_t output, const dim *elements, size_t count);
/* Gives element i of `count` elements; a list of one element is broadcast, so its element is given
 * for every i. */
dim rule_element(const dim *elements, size_t count, size_t i);
/* Gives the number of elements of a tensor with these dims. False: its rank is unknown. */
bool rule_count(const op_infer *c, dim *out, int32_t rank, const dim *dims);
dim *rule_copy_dims(
    op_infer *c,
    const op_value *v); /* allocates rank + 1 entries, so that NULL always means out of memory */
dim *rule_from_ints(op_infer *c, const int64_t *ints, size_t count);
bool rule_is_negative(dim d);              /* certainly < 0 */
bool rule_is_natural(dim_table *t, dim d); /* certainly >= 0 */

/* Gives a list (such as axes) that older versions take as attribute `attr` and newer ones as input
 * `input`. */
typedef enum rule_source { RULE_ABSENT, RULE_UNKNOWN, RULE_KNOWN } rule_source;
rule_source rule_list(op_infer *c, const char *attr, size_t input, const dim **out, size_t *count);
/* Gives such a list in eval, from the node's values; *out is NULL if the list is absent. */
pgy_status rule_eval_list(const op_eval *c, const char *attr, size_t input, const int64_t **out,
                          size_t *count, pgy_error *err) PGY_MUST_CHECK;

/* Normalises axes into `out` (PGY_MAX_RANK entries). PGY_E_SHAPE: duplicate, out of range or too
 * many axes. */
pgy_status rule_axes(size_t *out, const op_node *n, const int64_t *axes, size_t count, int32_t rank,
                     pgy_error *err) PGY_MUST_CHECK;
pgy_status rule_dim_axes(size_t *out, const op_node *n, const dim *axes, size_t count, int32_t rank,
                         pgy_error *err) PGY_MUST_CHECK;
/* Checks that the declared types of two inputs agree where both are known. */
pgy_status rule_same_type(const op_infer *c, size_t a, size_t b, pgy_error *err) PGY_MUST_CHECK;
/* Checks that a rank is at most PGY_MAX_RANK, so that work arrays can have a fixed size. */
pgy_status rule_check_rank(const op_node *n, int64_t rank, pgy_error *err) PGY_MUST_CHECK;

/* The tensor of output i that infer's shape allocated; PGY_E_SHAPE if the shape stayed unknown. */
pgy_status rule_output(const op_eval *c, size_t output, pgy_tensor **out,
                       pgy_error *err) PGY_MUST_CHECK;
/* The tensor of a required input; PGY_E_ARGUMENT if it is absent. */
pgy_status rule_input(const op_eval *c, size_t input, pgy_tensor **out,
                      pgy_error *err) PGY_MUST_CHECK;
/* Output 0 shares the data of input 0 under the shape that infer gave. */
pgy_status rule_forward(op_eval *c, pgy_error *err);
/* Output 0 has the values of input 0, if both are scalars or vectors. */
void rule_same_elements(op_infer *c);
/* An op_def row of an operator that only moves data, so it accepts any type and counts no
 * operations. */
#define RULE_ROW(op, version, inputs_least, inputs_most, definitions, rule, work)            \
    {                                                                                        \
        .name = op, .domain = "", .since = version, .min_inputs = inputs_least,              \
        .max_inputs = inputs_most, .min_outputs = 1, .max_outputs = 1, .attrs = definitions, \
        .types = "", .infer = rule, .eval = work, .flops = rule_no_flops                     \
    }

/* RULE_ROW for operators whose eval writes the whole output or replaces it, so it need not be
 * zeroed. */
#define RULE_ROW_FILLS(op, version, inputs_least, inputs_most, definitions, rule, work)        \
    {                                                                                          \
        .name = op, .domain = "", .since = version, .min_inputs = inputs_least,                \
        .max_inputs = inputs_most, .min_outputs = 1, .max_outputs = 1, .flags = OP_FILLS,      \
        .attrs = definitions, .types = "", .infer = rule, .eval = work, .flops = rule_no_flops \
    }

/* Resolves an index, counting negative ones from the end; false if it is outside [-size, size). */
bool rule_index(size_t *out, int64_t index, size_t size);

/* Truncation as x86-64 does it. Signed: NaN and numbers out of range give -2^63. Unsigned: numbers
 * of 2^64 and more give 0, NaN gives 2^63, negative numbers wrap. */
static inline int64_t rule_truncate(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}
static inline uint64_t rule_truncate_unsigned(double x)
{
    if (x >= 0x1p64) return 0;
    if (x >= 0x1p63) return (uint64_t)(x - 0x1p63) + ((uint64_t)1 << 63);
    return (uint64_t)rule_truncate(x);
}

#endif
