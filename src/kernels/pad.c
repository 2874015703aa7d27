/* SPDX-License-Identifier: Apache-2.0 */
/* Pad in all modes, and CenterCropPad: a table for each axis says which input index, or the padding
 * value, each output index takes. */
#include "kernels/axis_tables.h"

typedef enum pad_mode { CONSTANT, EDGE, REFLECT, WRAP } pad_mode;

static bool pad_mode_of(pad_mode *out, const op_node *n)
{
    static const char *const NAMES[] = {"constant", "edge", "reflect", "wrap"};
    for (int i = 0; i < 4; i++) {
        *out = (pad_mode)i;
        if (op_attr_is(n, "mode", NAMES[i], "constant")) return true;
    }
    return false;
}

static bool is_centred(const op_node *n)
{
    return n->def->name[0] == 'C';
}

/* CenterCropPad adds or removes as much at both ends; one more at the end if the number is odd. */
static void centre_pads(int64_t *before, int64_t *after, const kernel_problem *u)
{
    for (int32_t d = 0; d < u->inputs[0].rank; d++) {
        const int64_t more = u->outputs[0].shape[d] - u->inputs[0].shape[d];
        before[d] = more / 2;
        after[d] = more - before[d];
    }
}

static bool read_pads(int64_t *before, int64_t *after, const kernel_problem *u)
{
    const int32_t rank = u->inputs[0].rank;
    const int64_t *pads = u->input_count > 1 ? u->inputs[1].data : NULL, *axes = NULL;
    if (!pads || u->inputs[1].dtype != PGY_I64) return false;
    size_t count = (size_t)rank;
    if (u->input_count > 3 && u->inputs[3].dtype) {
        axes = u->inputs[3].data;
        count = kernel_count(&u->inputs[3]);
        if (!axes || u->inputs[3].dtype != PGY_I64) return false;
    }
    if (kernel_count(&u->inputs[1]) != 2 * count) return false;
    for (int32_t d = 0; d < rank; d++) before[d] = after[d] = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t axis = axes ? axes[i] : (int64_t)i;
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank) return false;
        before[axis] = pads[i];
        after[axis] = pads[i + count];
    }
    return true;
}

/* Negative pads remove elements; the mode then pads the remaining ones. */
static void map_pad(int32_t *table, int64_t size, int64_t before, int64_t after, pad_mode mode)
{
    const int64_t first = before < 0 ? -before : 0, last = size + (after < 0 ? after : 0);
    const int64_t kept = last - first, lead = before > 0 ? before : 0;
    const int64_t total = size + before + after;
    for (int64_t o = 0; o < total; o++) {
        int64_t i = o - lead;
        const int64_t period = mode == REFLECT && kept > 1 ? 2 * (kept - 1) : kept;
        if (mode == CONSTANT && (i < 0 || i >= kept)) {
            table[o] = -1;
            continue;
        }
        if (mode == EDGE || kept == 1) {
            i = i < 0 ? 0 : i >= kept ? kept - 1 : i;
        } else {
            i %= period;
            if (i < 0) i += period;
            if (i >= kept) i = period - i;
        }
        table[o] = (int32_t)(first + i);
    }
}

static bool pad_fill(int32_t *tables, const axis_tables *p, const kernel_problem *u)
{
    int64_t before[WALK_AXES], after[WALK_AXES];
    pad_mode mode;
    if (!pad_mode_of(&mode, u->node)) return false;
    if (is_centred(u->node))
        centre_pads(before, after, u);
    else if (!read_pads(before, after, u))
        return false;
    for (uint32_t d = 0; d < p->rank; d++) {
        const int64_t size = u->inputs[0].shape[d];
        const int64_t taken = (before[d] < 0 ? -before[d] : 0) + (after[d] < 0 ? -after[d] : 0);
        if (size + before[d] + after[d] != u->outputs[0].shape[d] || taken >= size) return false;
        if (tables) map_pad(tables + p->tables[d], size, before[d], after[d], mode);
    }
    return true;
}

static bool pad_describe(axis_tables *p, const kernel_problem *u)
{
    if (!axis_tables_describe(p, u)) return false;
    if (u->input_count > 2 && u->inputs[2].dtype) {
        if (u->inputs[2].dtype != u->inputs[0].dtype || kernel_count(&u->inputs[2]) != 1)
            return false;
        p->value = 2;
    }
    return (u->node->def->since >= 11 || is_centred(u->node)) && pad_fill(NULL, p, u);
}

static bool pad_accept(kernel_problem *u, double *cost_ns)
{
    axis_tables p;
    if (!pad_describe(&p, u)) return false;
    axis_tables_cost(u, &p, cost_ns);
    return true;
}

static pgy_status pad_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    axis_tables p;
    (void)pad_describe(&p, u); /* cannot fail after `accept` */
    const pgy_status st = axis_tables_plan(out, &p, err);
    if (st) return st;
    (void)pad_fill(out->packed, &p, u);
    axis_tables_finish(out);
    return PGY_OK;
}

static void pad_run(const kernel_run *r)
{
    axis_tables_run(r);
}

const kernel KERNELS_pad[] = {
    {.name = "pad",
     .version = 1,
     .ops = "Pad CenterCropPad",
     .accept = pad_accept,
     .prepare = pad_prepare,
     .run = pad_run,
     .extent = axis_tables_extent},
    {0},
};
