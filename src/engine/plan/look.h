/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a plan, or an engine as if it were a plan. */
#ifndef ENGINE_PLAN_LOOK_H
#define ENGINE_PLAN_LOOK_H

#include "engine/build/engine.h"

/* Describes the engine as it is now; the engine must outlive *out. */
pgy_status plan_look_at_engine(pgy_plan **out, engine *e, pgy_error *err) PGY_MUST_CHECK;

#endif
