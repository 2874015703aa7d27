/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft TorchEmbedding: rows of a table; the inputs for training have no effect. */
#include "ops/class_alias.h"

static const alias_spec SPEC = {"", "Gather", 13, 2};

const op_def OP_torch_embedding[] = {
    ALIAS_ROW(
        "TorchEmbedding", 2, 4, 1, NULL, "", &SPEC,
        "T = all; weight:T, indices:int64, ?padding_idx:int64, ?scale_grad_by_freq:bool -> Y:T"),
    {0},
};
