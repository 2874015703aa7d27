/* SPDX-License-Identifier: Apache-2.0 */
/* Reshapes the two outputs of a comparison to one shape, if the options allow it. */
#include "base/log.h"
#include "base/pytext.h"
#include "compare/compare.h"

static const char LOG_PATH[] = "comparator/compare.py";

static void log_shapes(const compare_job *job)
{
    str a = {0}, b = {0};
    str_append_py_tuple(&a, pgy_tensor_shape(job->a.tensor), pgy_tensor_rank(job->a.tensor));
    str_append_py_tuple(&b, pgy_tensor_shape(job->b.tensor), pgy_tensor_rank(job->b.tensor));
    LOG(ERROR,
        "FAILED | Output: `%s` | Will not compare outputs of different shapes.\nNote: Output "
        "shapes are %s and %s.",
        job->a.output, str_text(&a), str_text(&b));
    LOG_ONCE(ERROR,
             "Note: Use compare.no_shape_check or set check_shapes=False to attempt to compare "
             "values anyway.");
    str_deinit(&a);
    str_deinit(&b);
}

pgy_status compare_match_shapes(bool *same, pgy_tensor **a, pgy_tensor **b, const compare_job *job,
                                pgy_error *err)
{
    pgy_tensor *first = job->a.tensor, *second = job->b.tensor, *x = NULL, *y = NULL;
    pgy_status st = PGY_OK;
    *same = pgy_view_same_shape(pgy_tensor_view(first), pgy_tensor_view(second));
    if (*same) {
        *a = pgy_tensor_retain(first);
        *b = pgy_tensor_retain(second);
        return PGY_OK;
    }
    if (!job->compare->options.no_shape_check) {
        log_shapes(job);
        return PGY_OK;
    }
    st = pgy_match_shape(&y, second, pgy_tensor_rank(first), pgy_tensor_shape(first), err);
    if (st) return st;
    if (pgy_tensor_count(first) != pgy_tensor_count(y)) {
        LOG(ERROR, "FAILED | Output: `%s` | Cannot compare %zu elements with %zu.", job->a.output,
            pgy_tensor_count(first), pgy_tensor_count(y));
        pgy_tensor_release(y);
        return PGY_OK;
    }
    st = pgy_tensor_reshape(&x, first, pgy_tensor_rank(y), pgy_tensor_shape(y), err);
    if (st) {
        pgy_tensor_release(y);
        return st;
    }
    *same = true;
    *a = x;
    *b = y;
    return PGY_OK;
}
