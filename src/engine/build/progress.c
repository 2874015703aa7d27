/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the configuration's progress monitor, which may lack any of its functions. */
#include "engine/build/progress.h"

#include "base/cancel.h"
#include "base/progress.h"

/* Expected seconds, measured on one core of a machine of 2023. Only the proportions matter. */
static const double PASSES_PER_NODE = 60e-6, KERNELS_PER_NODE = 20e-6, TIMES_PER_NODE = 0.1,
                    PACKING_PER_NODE = 20e-6, WEIGHT_BYTES = 1e9; /* read or packed in a second */

static double weight_bytes(const pgy_graph *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->initializer_count; i++) {
        const pgy_value *v = g->initializers[i];
        double bytes = pgy_dtype_describe(v->dtype)->bits / 8.0;
        for (int32_t k = 0; k < v->rank; k++) bytes *= (double)v->dims[k].value;
        if (bytes > 0) sum += bytes;
    }
    return sum;
}

build_costs build_expect_costs(const pgy_graph *g, int64_t measuring_ns)
{
    const double nodes = (double)g->node_count + 1, weights = weight_bytes(g) / WEIGHT_BYTES;
    const double budget = (double)measuring_ns * 1e-9, all = nodes * TIMES_PER_NODE;
    return (build_costs){.passes = nodes * PASSES_PER_NODE + weights,
                         .kernels = nodes * KERNELS_PER_NODE,
                         .times = budget < all ? budget : all,
                         .packing = nodes * PACKING_PER_NODE + weights,
                         .writing = weights};
}

void progress_expect_costs(double next, double later)
{
    progress_expect(next / (next + later));
}

void progress_start(const pgy_build_config *c, const char *phase, const char *parent,
                    size_t step_count)
{
    const pgy_progress_monitor *m = c ? c->monitor : NULL;
    progress_begin(phase, step_count);
    if (m && m->start) m->start(m->user, phase, parent, step_count);
}

pgy_status progress_step(const pgy_build_config *c, const char *phase, size_t step, pgy_error *err)
{
    const pgy_progress_monitor *m = c ? c->monitor : NULL;
    progress_advance(step + 1);
    if (!m || !m->step || m->step(m->user, phase, step)) return cancel_check(err);
    return pgy_error_set(err, PGY_E_CANCELLED, "the progress monitor cancelled the build");
}

void progress_finish(const pgy_build_config *c, const char *phase)
{
    const pgy_progress_monitor *m = c ? c->monitor : NULL;
    progress_end();
    if (m && m->finish) m->finish(m->user, phase);
}
