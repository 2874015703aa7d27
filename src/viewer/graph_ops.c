/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up what the page says about operators. */
#include "viewer/graph_ops.h"

#include <string.h>

static const view_op KNOWN[] = {
#define OP(domain, name, category, doc) {name, domain, doc, VIEW_##category},
#include "viewer/graph_ops.def"
#undef OP
};

void graph_describe_op(view_op *op, const char *name, const char *domain)
{
    op->category = VIEW_OTHER;
    op->doc = "";
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (strcmp(KNOWN[i].name, name) == 0 && strcmp(KNOWN[i].domain, domain) == 0) {
            op->category = KNOWN[i].category;
            op->doc = KNOWN[i].doc;
            return;
        }
}

const char *graph_category_name(view_category c)
{
    static const char *const NAMES[] = {
        [VIEW_LAYER] = "layer",         [VIEW_ACTIVATION] = "activation",
        [VIEW_POOL] = "pool",           [VIEW_NORMALIZATION] = "normalization",
        [VIEW_SHAPE] = "shape",         [VIEW_TENSOR] = "tensor",
        [VIEW_DATA] = "data",           [VIEW_QUANTIZATION] = "quantization",
        [VIEW_ATTENTION] = "attention", [VIEW_CONTROL] = "control",
        [VIEW_CONSTANT] = "constant",   [VIEW_INPUT] = "input",
        [VIEW_OUTPUT] = "output",       [VIEW_OTHER] = "other",
    };
    return NAMES[c];
}
