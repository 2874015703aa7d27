/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout: the input itself, as at inference, and a mask of all ones. With training_mode, elements
 * are dropped at the given ratio and the others scaled up. The specification names no random
 * generator; see class_random.h. */
#include <string.h>

#include "base/alloc.h"
#include "base/rand.h"
#include "ops/rule.h"

static const op_attr_def ATTRS_7[] = {
    {"ratio", OP_ATTR_FLOAT, false, "0.5"},
    {0},
};
static const op_attr_def ATTRS_12[] = {
    {"seed", OP_ATTR_INT, false, NULL},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    (void)err;
    op_set_like(c, 0, 0);
    if (c->node->output_count < 2) return PGY_OK;
    op_set_like(c, 1, 0);
    if (c->node->def->since >= 10)
        c->outputs[1].dtype = PGY_BOOL; /* in older versions the mask has the input's type */
    return PGY_OK;
}

static bool is_training(const op_eval *c)
{
    return c->node->def->since >= 12 && op_eval_scalar(c, 2, 0) != 0;
}

static void fill_mask(pgy_tensor *mask)
{
    const size_t count = pgy_tensor_count(mask);
    if (pgy_tensor_dtype(mask) == PGY_BOOL)
        memset(pgy_tensor_data(mask), 1, count);
    else
        for (size_t i = 0; i < count; i++) ((double *)pgy_tensor_data(mask))[i] = 1;
}

static pgy_status drop(op_eval *c, const pgy_tensor *x, double ratio, pgy_tensor *y,
                       pgy_tensor *mask, pgy_error *err)
{
    mt19937 *g = mem_alloc(sizeof *g);
    if (!g) return rule_no_memory(c->node, err);
    const double scale = 1 / (1 - ratio);
    const double *from = pgy_tensor_data(x);
    double *to = pgy_tensor_data(y);
    mt19937_seed(g, (uint32_t)op_attr_int(c->node, "seed", c->host ? (int64_t)c->host->seed : 0));
    for (size_t i = 0; i < pgy_tensor_count(x); i++) {
        const bool keep = mt19937_double(g) >= ratio;
        to[i] = keep ? from[i] * scale : 0;
        if (mask) ((uint8_t *)pgy_tensor_data(mask))[i] = keep;
    }
    mem_free(g);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y, *mask = NULL;
    const double ratio = op_eval_scalar(c, 1, 0.5);
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st && c->node->output_count > 1) st = rule_output(c, 1, &mask, err);
    if (st) return st;
    if (is_training(c) && !(ratio >= 0 && ratio < 1))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "input 1 (ratio) is %g, which is not in [0, 1)", ratio);
    if (is_training(c) && ratio > 0) return drop(c, x, ratio, y, mask, err);
    if (mask) fill_mask(mask);
    return op_forward(c, 0, 0, err);
}

#define ROW(version, inputs_most, definitions, accepted)                                     \
    {                                                                                        \
        .name = "Dropout", .domain = "", .since = version, .min_inputs = 1,                  \
        .max_inputs = inputs_most, .min_outputs = 1, .max_outputs = 2, .attrs = definitions, \
        .types = accepted, .infer = infer, .eval = eval, .flops = rule_no_flops              \
    }

const op_def OP_dropout[] = {
    ROW(7, 1, ATTRS_7, TYPES_F3),   ROW(10, 1, ATTRS_7, TYPES_F3),  ROW(12, 3, ATTRS_12, TYPES_F3),
    ROW(13, 3, ATTRS_12, TYPES_F4), ROW(22, 3, ATTRS_12, TYPES_F8), {0},
};
