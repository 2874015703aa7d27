/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by operators on sequences: the element in shape rules, the items in evaluation. Operators
 * never change a sequence in place: a new one holds references to the same tensors. */
#ifndef OPS_CLASS_SEQUENCE_H
#define OPS_CLASS_SEQUENCE_H

#include "ops/rule.h"

/* op_value.rank of the elements of an empty sequence: the first inserted item decides the shape. */
enum { SEQUENCE_NO_ITEMS = -2 };

/* Gives the description of the elements of sequence input i. Fails if the input is known not to be
 * a sequence. */
pgy_status sequence_element(op_value *out, const op_infer *c, size_t i,
                            pgy_error *err) PGY_MUST_CHECK;
/* Makes output i a sequence of elements with the type and shape of `element`. */
pgy_status sequence_set(op_infer *c, size_t i, const op_value *element,
                        pgy_error *err) PGY_MUST_CHECK;

/* Borrows the sequence in input i. */
pgy_status sequence_input(op_sequence **out, const op_eval *c, size_t i,
                          pgy_error *err) PGY_MUST_CHECK;
/* Reads a position below `limit` from input i; negative ones count from the end. */
pgy_status sequence_position(size_t *out, const op_eval *c, size_t i, size_t count, size_t limit,
                             pgy_error *err) PGY_MUST_CHECK;
/* Moves a sequence, with its reference, to output i. */
void sequence_output(op_eval *c, size_t i, op_sequence *s);

#define SEQUENCE_ROW(op, version, inputs_least, inputs_most, flag_bits, definitions, rule, work) \
    {                                                                                            \
        .name = op, .domain = "", .since = version, .min_inputs = inputs_least,                  \
        .max_inputs = inputs_most, .min_outputs = 1, .max_outputs = 1,                           \
        .flags = (flag_bits) | OP_SEQUENCES, .attrs = definitions, .types = "", .infer = rule,   \
        .eval = work, .flops = rule_no_flops                                                     \
    }

#endif
