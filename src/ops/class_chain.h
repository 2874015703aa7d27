/* SPDX-License-Identifier: Apache-2.0 */
/* The program of the operator Elementwise of domain pgy: a text like "Add x0 x1; Clip t0 0 6; Mul
 * t1 x2", whose steps run in order. An operand is an input (x) or the result of an earlier step
 * (t); parameters follow the operands. The last step computes the output. */
#ifndef OPS_CLASS_CHAIN_H
#define OPS_CLASS_CHAIN_H

#include "base/str.h"
#include "ops/op.h"

enum { CHAIN_STEPS = 64, CHAIN_OPERANDS = 2, CHAIN_ARGS = 2 };

typedef enum chain_op {
    CHAIN_ADD,
    CHAIN_SUB,
    CHAIN_MUL,
    CHAIN_DIV,
    CHAIN_MIN,
    CHAIN_MAX,
    CHAIN_RELU,
    CHAIN_LEAKY_RELU,
    CHAIN_CLIP,
    CHAIN_HARD_SIGMOID,
    CHAIN_HARD_SWISH,
    CHAIN_ABS,
    CHAIN_NEG,
    CHAIN_SQRT,
    CHAIN_RECIPROCAL,
    CHAIN_EXP,
    CHAIN_LOG,
    CHAIN_TANH,
    CHAIN_SIGMOID,
    CHAIN_ERF,
    CHAIN_GELU,
    CHAIN_FAST_GELU,
    CHAIN_SWISH, /* x sigmoid(args[0] x) */
    CHAIN_SOFTPLUS,
    CHAIN_MISH,
    CHAIN_SIN,
    CHAIN_COS,
    CHAIN_TAN,
    CHAIN_ASIN,
    CHAIN_ACOS,
    CHAIN_ATAN,
    CHAIN_SINH,
    CHAIN_COSH,
    CHAIN_ASINH,
    CHAIN_ACOSH,
    CHAIN_ATANH,
    CHAIN_FLOOR,
    CHAIN_CEIL,
    CHAIN_ROUND,
    CHAIN_SIGN,
    CHAIN_OPS
} chain_op;

typedef struct chain_step {
    uint32_t op;
    uint32_t at[CHAIN_OPERANDS]; /* operands: the number of an input, or `inputs` + the number of an
                                    earlier step */
    float args[CHAIN_ARGS];
} chain_step;

typedef struct chain {
    uint32_t inputs, count;
    chain_step steps[CHAIN_STEPS];
} chain;

/* Properties of a chain_op: its name (NULL: no such operator) and how many operands and parameters
 * it takes. */
const char *chain_op_name(uint32_t op);
size_t chain_op_operands(uint32_t op);
size_t chain_op_args(uint32_t op);

/* False: the text is not a valid program for this number of inputs. */
bool chain_parse(chain *c, const char *text, size_t size, size_t inputs);
/* Parses the program in the node's attribute. */
bool chain_read(chain *c, const op_node *n, size_t inputs);
void chain_print(str *out, const chain *c);

#endif
