/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as an attacker could make them: small real plans with some numbers changed and valid
 * checksums. A plan that opens must run without accessing memory outside its own. */
#ifndef HARNESS_HOSTILE_PLAN_H
#define HARNESS_HOSTILE_PLAN_H

#include "engine/plan/format.h"
#include "harness/random_network.h"

/* Number of plans: first models of one operator each, then random networks in several
 * configurations. */
size_t hostile_plan_count(void);
const char *hostile_plan_name(size_t i);
/* Gets plan i, which is built by the first call and kept. False: it cannot be built, see err. */
bool hostile_plan_make(const void **bytes, size_t *size, size_t i, pgy_error *err);
/* A section of a plan, which lies at a multiple of 64, and the section's size in bytes. */
void *hostile_plan_section(void *plan, plan_kind kind, size_t *size);
/* Changes some numbers in the plan's records, kernel parameters and constants, and writes valid
 * checksums. */
void hostile_plan_change(void *bytes, size_t size, byte_source *choices);
/* Opens a plan and runs it if it opens. @return PGY_OK if it ran. Traps on an error without a text
 */
pgy_status hostile_plan_run(const void *bytes, size_t size, pgy_error *err);

#endif
