/* SPDX-License-Identifier: Apache-2.0 */
/* Distributes rows to threads in blocks. The block size depends on the work per row only, so
 * results do not depend on the number of threads. */
#include "ops/class_rows.h"

#include "base/system.h"

enum { BLOCK_WORK = 1 << 15 };

typedef struct rows_job {
    size_t count, block;
    rows_task task;
    void *user;
} rows_job;

static void run_block(size_t index, void *user)
{
    const rows_job *job = user;
    size_t begin = index * job->block, end = begin + job->block;
    job->task(begin, end < job->count ? end : job->count, job->user);
}

void rows_run(size_t count, size_t work, rows_task task, void *user)
{
    if (!count) return;
    rows_job job = {count, work >= BLOCK_WORK ? 1 : BLOCK_WORK / (work ? work : 1), task, user};
    size_t blocks = count / job.block + (count % job.block != 0);
    if (blocks <= 2)
        task(0, count, user);
    else
        parallel_for_until_cancelled(blocks, run_block, &job);
}

axis_view axis_view_of(const int64_t *shape, size_t rank, size_t begin, size_t end)
{
    axis_view v = {1, 1, 1};
    for (size_t i = 0; i < rank; i++) {
        size_t *part = i < begin ? &v.outer : i < end ? &v.length : &v.inner;
        *part *= (size_t)shape[i];
    }
    return v;
}

double row_sum(const double *x, size_t count)
{
    double s[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int j = 0; j < 4; j++) s[j] += x[i + j];
    for (; i < count; i++) s[0] += x[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

double row_sum_squares(const double *x, size_t count, double centre)
{
    double s[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int j = 0; j < 4; j++) s[j] += (x[i + j] - centre) * (x[i + j] - centre);
    for (; i < count; i++) s[0] += (x[i] - centre) * (x[i] - centre);
    return (s[0] + s[1]) + (s[2] + s[3]);
}
