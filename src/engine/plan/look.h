/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a plan, or at an engine as if it were one. */
#ifndef ENGINE_PLAN_LOOK_H
#define ENGINE_PLAN_LOOK_H

#include "engine/build/engine.h"

/* What the engine has now; it must outlive *out. */
pgy_status plan_look_at_engine(pgy_plan **out, engine *e, pgy_error *err) PGY_MUST_CHECK;

#endif
