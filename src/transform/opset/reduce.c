/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions without axes, and Softmax and its relatives, which once treated the input as a matrix.
 */
#include <string.h>

#include "transform/opset/adapters.h"

/* Reductions over no axes, and the elementwise operator that each then equals. */
static const struct {
    const char *op_type, *element;
} ELEMENTS[] = {{"ReduceL1", "Abs"}, {"ReduceL2", "Abs"}, {"ReduceLogSum", "Log"}};

static void reduce_nothing(rewrite *r)
{
    pgy_value *x = rw_input(r, 0);
    for (size_t i = 0; i < sizeof ELEMENTS / sizeof *ELEMENTS; i++)
        if (strcmp(r->node->op_type, ELEMENTS[i].op_type) == 0) {
            rw_become(r, ELEMENTS[i].element, 1, x);
            return;
        }
    if (strcmp(r->node->op_type, "ReduceSumSquare") == 0)
        rw_become(r, "Mul", 2, x, x);
    else
        rw_become(r, "Identity", 1, x);
}

/* Axes that are empty or missing mean all axes or, with noop_with_empty_axes, none. */
void reduce_empty_down(rewrite *r)
{
    size_t count = 0;
    if (rw_input(r, 1)) rw_constant_ints(r, 1, &count);
    if (r->status || count) return;
    if (rw_int(r, "noop_with_empty_axes", 0))
        reduce_nothing(r);
    else
        rw_cut_inputs(r, 1);
}

/* ---- Softmax -------------------------------------------------------------------------------- */

/* Before opset 13, Softmax treated all axes from `axis` on as one. */
void softmax_up(rewrite *r)
{
    pgy_value *x = rw_input(r, 0);
    const int64_t axis = rw_int(r, "axis", 1);
    const int32_t rank = rw_rank(x);
    rw_set_int(r, r->node, "axis", -1);
    if (axis == -1 || (rank >= 0 && axis == rank - 1)) return;
    rw_set_input(r, 0, rw_with_int(r, rw_emit(r, "Flatten", 1, x), "axis", axis));
    pgy_value *old = rw_detach(r, 0);
    if (old) rw_emit_into(r, old, "Reshape", 2, r->node->outputs[0], rw_emit(r, "Shape", 1, x));
}

/* Normalises one axis, which a Transpose moves to the end if necessary. */
void softmax_down(rewrite *r)
{
    int64_t perm[PGY_MAX_RANK];
    const int64_t axis = rw_int(r, "axis", -1);
    const int32_t rank = rw_rank(rw_input(r, 0));
    if (rank < 0 && axis != -1) rw_refuse(r, "axis %lld needs a known rank", (long long)axis);
    if (r->status) return;
    rw_set_int(r, r->node, "axis", rank < 0 ? -1 : rank - 1);
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (axis == -1 || at == rank - 1 || at < 0 || at >= rank) return;
    for (int32_t i = 0; i < rank; i++) perm[i] = i;
    perm[at] = rank - 1;
    perm[rank - 1] = at;
    rw_set_input(r, 0, rw_transpose(r, rw_input(r, 0), perm, (size_t)rank));
    pgy_value *old = rw_detach(r, 0);
    if (!old) return;
    rw_emit_into(r, old, "Transpose", 1, r->node->outputs[0]);
    rw_with_ints(r, old, "perm", perm, (size_t)rank);
}
