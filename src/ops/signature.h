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

/* The types that a parameter accepts. Bit n of a member stands for element type n of
 * TensorProto.DataType, in a tensor, a sequence of tensors, and so on. */
typedef struct op_type_set {
    uint32_t tensors, sequences, optionals, optional_sequences;
} op_type_set;

enum op_parameter_flags { OP_PARAM_OPTIONAL = 1, OP_PARAM_VARIADIC = 2, OP_PARAM_MIXED = 4 };
enum { OP_MAX_VARIABLES = 16 };

typedef struct op_parameter {
    const char *name;
    const char *type; /* name of the type variable, such as "T"; "": the parameter has none */
    uint8_t variable; /* number of the type variable in its signature, from 1; 0: none */
    uint8_t set;      /* index in op_signature.sets */
    uint8_t flags;
} op_parameter;

struct op_signature {
    const char *name;
    int since;
    uint16_t first; /* index of the first input in `parameters`; the outputs follow the inputs */
    uint8_t input_count, output_count;
    const op_parameter *parameters;
    const op_type_set *sets;
};

/* Finds the signature of the newest version up to `version`, from opset 7 on. NULL: unknown. */
const op_signature *op_signature_find(const char *domain, const char *name, int64_t version);
/* Give the parameter of input or output i. If the last parameter is variadic, it stands for all
 * further inputs or outputs. */
const op_parameter *op_signature_input(const op_signature *s, size_t i);
const op_parameter *op_signature_output(const op_signature *s, size_t i);
const op_type_set *op_parameter_set(const op_signature *s, const op_parameter *p);
/* Parses a signature text; the result's arrays live in `memory`. The message of PGY_E_FORMAT names
 * the place in the text. */
pgy_status op_signature_parse(op_signature *out, const char *text, arena *memory,
                              pgy_error *err) PGY_MUST_CHECK;
/* Number of signatures in the generated table, and signature i of them, for tests and dumps. */
size_t op_signature_count(void);
const op_signature *op_signature_at(size_t i); /* NULL beyond the last */
int op_newest_opset(void);                     /* Newest opset of ONNX's own domain in the table. */
/* The signature parsed from def->signature, kept by the registry; NULL if the text is malformed. */
const op_signature *op_signature_of_text(const op_def *def);
/* Sets `out` to the names of the types, like "float16, float32". */
void op_type_set_print(str *out, const op_type_set *set);

/* Check a node against a signature: the types of its inputs, or the types that infer gave its
 * outputs. */
pgy_status op_signature_check(const op_infer *c, const op_signature *s,
                              pgy_error *err) PGY_MUST_CHECK;
pgy_status op_signature_check_outputs(const op_infer *c, const op_signature *s,
                                      pgy_error *err) PGY_MUST_CHECK;

#endif
