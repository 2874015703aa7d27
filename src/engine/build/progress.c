/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a progress monitor, any function of which may be missing. */
#include "engine/build/progress.h"

#include "base/cancel.h"
#include "base/progress.h"

void progress_start(const pgy_build_config *c, const char *phase, const char *parent,
                    size_t step_count)
{
    const pgy_progress_monitor *m = c ? c->monitor : NULL;
    progress_begin(phase, parent ? step_count : 0); /* whole phases are not alike */
    if (m && m->start) m->start(m->user, phase, parent, step_count);
}

pgy_status progress_step(const pgy_build_config *c, const char *phase, size_t step, pgy_error *err)
{
    const pgy_progress_monitor *m = c ? c->monitor : NULL;
    progress_advance(step + 1);
    if (!m || !m->step || m->step(m->user, phase, step)) return cancel_check(err);
    return pgy_error_set(err, PGY_E_CANCELLED, "the build was cancelled by its progress monitor");
}

void progress_finish(const pgy_build_config *c, const char *phase)
{
    const pgy_progress_monitor *m = c ? c->monitor : NULL;
    progress_end();
    if (m && m->finish) m->finish(m->user, phase);
}
