/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as an attacker would make them: small real ones, changed here and there, with checksums
 * that are valid again. What opens must run without leaving its memory. */
#ifndef HARNESS_HOSTILE_PLAN_H
#define HARNESS_HOSTILE_PLAN_H

#include "engine/plan/format.h"
#include "harness/random_network.h"

/* Models of one operator each, then random networks in several configurations. */
size_t hostile_plan_count(void);
const char *hostile_plan_name(size_t i);
/* Plan i, built at the first call and kept; false: it cannot be built, see err. */
bool hostile_plan_make(const void **bytes, size_t *size, size_t i, pgy_error *err);
/* A section of plan bytes at a multiple of 64, and its bytes. */
void *hostile_plan_section(void *plan, plan_kind kind, size_t *size);
/* Makes all checksums valid. */
void hostile_plan_sign(void *plan);
/* Changes numbers of the records, parameters and constants, and signs the plan. */
void hostile_plan_change(void *bytes, size_t size, byte_source *choices);
/* Opens it and runs what opens. PGY_OK: it ran. Traps on an error without a text. */
pgy_status hostile_plan_run(const void *bytes, size_t size, pgy_error *err);

#endif
