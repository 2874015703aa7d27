/* SPDX-License-Identifier: Apache-2.0 */
/* Work by rows: distribution to threads, and views of tensors as [outer, length, inner] around an
 * axis. */
#ifndef OPS_CLASS_ROWS_H
#define OPS_CLASS_ROWS_H

#include <polygraphy/tensor.h>

/* Calls task(begin, end, user) over [0, count) in blocks on several threads. `work` is the
 * approximate number of operations for one of the `count` items. The block size depends on `work`
 * alone; small jobs run on the calling thread. */
typedef void (*rows_task)(size_t begin, size_t end, void *user);
void rows_run(size_t count, size_t work, rows_task task, void *user);

typedef struct axis_view {
    size_t outer, length, inner; /* products of dims before, within and after [begin, end) */
} axis_view;
axis_view axis_view_of(const int64_t *shape, size_t rank, size_t begin, size_t end);

/* Sum in a fixed order (four partial sums), so that results are reproducible. */
double row_sum(const double *x, size_t count);
double row_sum_squares(const double *x, size_t count, double centre); /* of x - centre */

#endif
