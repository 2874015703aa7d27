/* SPDX-License-Identifier: Apache-2.0 */
/* MemcpyFromHost and MemcpyToHost: copies between devices, which ONNX Runtime puts into graphs that
 * it saves after it placed them. Values stay as they are. */
#include "ops/class_alias.h"

static const alias_spec SPEC = {"", "Identity", 1, 0};

#define ROW(op)                                                                                   \
    {                                                                                             \
        .name = op, .domain = "", .since = 1, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1, \
        .max_outputs = 1, .flags = OP_SEQUENCES, .types = "", .infer = alias_infer,               \
        .eval = alias_eval, .flops = rule_no_flops, .user_data = &SPEC                            \
    }
const op_def OP_memcpy_host[] = {ROW("MemcpyFromHost"), ROW("MemcpyToHost"), {0}};
