/* SPDX-License-Identifier: Apache-2.0 */
/* Reports failures of a context to the error recorder. */
#include "engine/context/state.h"

pgy_status context_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

pgy_status context_tell(const context *c, pgy_status st, const pgy_error *err)
{
    if (st && c->recorder)
        pgy_error_recorder_report(c->recorder, st, err->text);
    else if (st)
        engine_tell(c->engine, st, err->text);
    return st;
}
