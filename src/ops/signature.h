/* SPDX-License-Identifier: Apache-2.0 */
/* The signature of an operator version: name, optional and variadic marks, and allowed types of
 * every input and output. Signatures of ONNX's operators are a generated table (signatures.inc);
 * operators of other domains may state theirs as a text in op_def.signature:
 *
 *     "T = float16 float32; I = int32 int64; X:T, index:I, ?mask:bool, *rest:T -> Y:T"
 *
 * A variable stands for one type per node; words of op_type_in after `:` allow types without
 * binding a variable. `?` marks an optional parameter, `*` any number of one type, `~` any number,
 * each of any allowed type. */
#ifndef OPS_SIGNATURE_H
#define OPS_SIGNATURE_H

#include "base/arena.h"
#include "ops/op.h"

/* Bit n: element type n of TensorProto, in a tensor, a sequence, and so on. */
typedef struct op_type_set {
    uint32_t tensors, sequences, optionals, optional_sequences;
} op_type_set;

enum op_parameter_flags { OP_PARAM_OPTIONAL = 1, OP_PARAM_VARIADIC = 2, OP_PARAM_MIXED = 4 };
enum { OP_MAX_VARIABLES = 16 };

typedef struct op_parameter {
    const char *name;
    const char *type; /* the variable's name, or "" */
    uint8_t variable; /* from 1; 0 = binds no variable */
    uint8_t set;      /* index */
    uint8_t flags;
} op_parameter;

struct op_signature {
    const char *name;
    int since;
    uint16_t first; /* index of the first parameter; inputs precede outputs */
    uint8_t input_count, output_count;
    const op_parameter *parameters;
    const op_type_set *sets;
};

/* Finds the signature of the newest version up to `version`, from opset 7 on. NULL: unknown. */
const op_signature *op_signature_find(const char *domain, const char *name, int64_t version);
/* Parameter of input or output i; a variadic last one also covers all further inputs or outputs. */
const op_parameter *op_signature_input(const op_signature *s, size_t i);
const op_parameter *op_signature_output(const op_signature *s, size_t i);
const op_type_set *op_parameter_set(const op_signature *s, const op_parameter *p);
/* Parses a text into a signature whose parts live in `memory`. PGY_E_FORMAT names the place. */
pgy_status op_signature_parse(op_signature *out, const char *text, arena *memory,
                              pgy_error *err) PGY_MUST_CHECK;
/* Rows of the generated table, for tests and dumps. */
size_t op_signature_count(void);
const op_signature *op_signature_at(size_t i); /* NULL beyond the last */
int op_newest_opset(void);                     /* of ONNX's domain in the table */
/* The signature parsed from def->signature, kept by the registry; NULL if the text is malformed. */
const op_signature *op_signature_of_text(const op_def *def);
/* Sets `out` to a list like "float16, float32". */
void op_type_set_print(str *out, const op_type_set *set);

/* Check the types of a node's inputs, or those that infer gave its outputs, against a signature. */
pgy_status op_signature_check(const op_infer *c, const op_signature *s,
                              pgy_error *err) PGY_MUST_CHECK;
pgy_status op_signature_check_outputs(const op_infer *c, const op_signature *s,
                                      pgy_error *err) PGY_MUST_CHECK;

#endif
