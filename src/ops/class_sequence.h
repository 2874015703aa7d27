/* SPDX-License-Identifier: Apache-2.0 */
/* What operators on sequences share: elements in shape rules, items in evaluation. A sequence is
 * never changed in place; a new one holds references to the same tensors. */
#ifndef OPS_CLASS_SEQUENCE_H
#define OPS_CLASS_SEQUENCE_H

#include "ops/rule.h"

/* The rank of the element of a sequence that has no items: what is put in decides. */
enum { SEQUENCE_NO_ITEMS = -2 };

/* What is known of the elements of input i, which must be a sequence where that is known. */
pgy_status sequence_element(op_value *out, const op_infer *c, size_t i,
                            pgy_error *err) PGY_MUST_CHECK;
/* Output i is a sequence of elements like `element`, whose values are not kept. */
pgy_status sequence_set(op_infer *c, size_t i, const op_value *element,
                        pgy_error *err) PGY_MUST_CHECK;

/* The sequence of input i; borrowed. */
pgy_status sequence_input(op_sequence **out, const op_eval *c, size_t i,
                          pgy_error *err) PGY_MUST_CHECK;
/* The position that input i gives, negative ones from the end; below `limit`. */
pgy_status sequence_position(size_t *out, const op_eval *c, size_t i, size_t count, size_t limit,
                             pgy_error *err) PGY_MUST_CHECK;
/* Gives a sequence to output i; the reference moves. */
void sequence_output(op_eval *c, size_t i, op_sequence *s);

#define SEQUENCE_ROW(op, version, inputs_least, inputs_most, flag_bits, definitions, rule, work) \
    {                                                                                            \
        .name = op, .domain = "", .since = version, .min_inputs = inputs_least,                  \
        .max_inputs = inputs_most, .min_outputs = 1, .max_outputs = 1,                           \
        .flags = (flag_bits) | OP_SEQUENCES, .attrs = definitions, .types = "", .infer = rule,   \
        .eval = work, .flops = rule_no_flops                                                     \
    }

#endif
