/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of the engine as the text that `inspect model` shows. */
#ifndef CLI_PLAN_TEXT_H
#define CLI_PLAN_TEXT_H

#include <polygraphy/engine.h>

#include "base/str.h"
#include "cli/tensor_ranges.h"

typedef struct plan_text_options {
    bool layers, attrs;
    const tensor_ranges *ranges; /* shown with the tensors of layers; or NULL */
} plan_text_options;

pgy_status plan_text(str *out, const pgy_plan *plan, plan_text_options options,
                     pgy_error *err) PGY_MUST_CHECK;

#endif
