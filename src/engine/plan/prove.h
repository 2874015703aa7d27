/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs about a plan's steps, made when the plan is opened. */
#ifndef ENGINE_PLAN_PROVE_H
#define ENGINE_PLAN_PROVE_H

#include "engine/plan/file.h"

/* Proves for each step of a program with valid records: its kernel, with these parameters, stays
 * within the step's tensors, packed weights, workspace and scratch memory, and writes nothing that
 * it reads. Steps with unknown kernels (a plug-in may bring them) are skipped; plan_program_at
 * repeats the proof. */
pgy_status plan_prove_program(const plan_file *p, size_t index, pgy_error *err) PGY_MUST_CHECK;

/* Proves that no step touches host memory while a device's copy may still read or write it:
 * otherwise data could change after a step has checked it and before it uses it. For programs with
 * devices. */
pgy_status plan_prove_order(const program_view *v, pgy_error *err) PGY_MUST_CHECK;

#endif
