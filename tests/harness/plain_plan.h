/* SPDX-License-Identifier: Apache-2.0 */
/* Plans whose sections are not deflated, so that tests can change their records. */
#ifndef HARNESS_PLAIN_PLAN_H
#define HARNESS_PLAIN_PLAN_H

#include "base/str.h"
#include "engine/plan/format.h"

/* Appends the plan with all sections inflated, those of the bundle in its section table; aborts if
 * it is damaged. */
void plain_plan_append(str *out, const void *plan);
/* The same, but the bundle remains one. */
void plain_plan_append_bundled(str *out, const void *plan);
/* Writes valid checksums into a changed plan. */
void plain_plan_sign(void *plan);

#endif
