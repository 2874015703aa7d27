/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft DynamicTimeWarping: the cheapest path through a matrix of costs from the first to
 * the last element, by steps down, to the right, or both. The output has rows and columns of its
 * points. */
#include <math.h>

#include "base/alloc.h"
#include "ops/class_check.h"

enum step { DIAGONAL, DOWN, RIGHT };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    pgy_status st = rank_check(c, 0, 2, 3, err);
    if (!st && x->rank == 3) st = dim_check(c, 0, 0, dim_const(1), "one matrix", err);
    dim *dims = op_dims(c, 2);
    if (st || !dims) return st ? st : rule_no_memory(c->node, err);
    dims[0] = dim_const(2);
    dims[1] = dim_unknown(c->dims, "the length of the path depends on the costs");
    op_set_output(c, 0, PGY_I32, 2, dims);
    return PGY_OK;
}

/* Fills `way` with the step that leads to each element. Of equal costs, DIAGONAL is not taken, and
 * DOWN is taken before RIGHT only if it is cheaper. */
static void find_ways(unsigned char *way, double *line, const double *costs, size_t rows,
                      size_t columns)
{
    for (size_t r = 0; r < rows; r++) {
        double diagonal = INFINITY, left = INFINITY;
        for (size_t k = 0; k < columns; k++) {
            const double above = r ? line[k] : INFINITY;
            double best = left;
            enum step step = RIGHT;
            if (diagonal < above && diagonal < left) {
                best = diagonal;
                step = DIAGONAL;
            } else if (above < diagonal && above < left) {
                best = above;
                step = DOWN;
            }
            if (!r && !k) best = 0;
            diagonal = above;
            left = line[k] = best + costs[r * columns + k];
            way[r * columns + k] = (unsigned char)step;
        }
    }
}

static size_t walk(int64_t *out, size_t length, const unsigned char *way, size_t rows,
                   size_t columns)
{
    size_t r = rows - 1, k = columns - 1, count = 0;
    for (;;) {
        if (out) {
            out[length - 1 - count] = (int64_t)r;
            out[2 * length - 1 - count] = (int64_t)k;
        }
        count++;
        if (!r && !k) return count;
        const enum step step = !r ? RIGHT : !k ? DOWN : (enum step)way[r * columns + k];
        if (step != RIGHT) r--;
        if (step != DOWN) k--;
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    unsigned char *way = NULL;
    double *line = NULL;
    pgy_status st = inputs_check(c, "F", err);
    if (st) return st;
    const size_t rank = in_rank(c, 0);
    const size_t rows = (size_t)in_shape(c, 0)[rank - 2],
                 columns = (size_t)in_shape(c, 0)[rank - 1];
    if (!rows || !columns)
        return op_error(c->node, err, PGY_E_SHAPE, "the matrix of costs is empty");
    st = workspace_alloc((void **)&way, c, rows * columns, 1, err);
    if (!st) st = workspace_alloc((void **)&line, c, columns, sizeof *line, err);
    if (st) goto done;
    find_ways(way, line, in_f64(c, 0), rows, columns);
    const size_t length = walk(NULL, 0, way, rows, columns);
    st = op_output(c, 0, PGY_DTYPE_NONE, 2, (int64_t[]){2, (int64_t)length}, err);
    if (!st) walk(out_i64(c, 0), length, way, rows, columns);
done:
    mem_free(way);
    mem_free(line);
    return st;
}

const op_def OP_dynamic_time_warping[] = {
    {"DynamicTimeWarping", "com.microsoft", 1, 0, 1, 1, 1, 1, 0, NULL, "float32", infer, eval, NULL,
     .signature = "F = float32; I = int32; input:F -> output:I"},
    {NULL},
};
