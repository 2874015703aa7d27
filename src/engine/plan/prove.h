/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs about a plan's steps, made when it is opened. */
#ifndef ENGINE_PLAN_PROVE_H
#define ENGINE_PLAN_PROVE_H

#include "engine/plan/file.h"

/* Each step of a program whose records are valid: with these parameters its kernel stays within the
 * step's tensors, packed weights, workspace and scratch memory, and writes nothing that it reads.
 * Steps whose kernels are not known (yet: plug-ins) are left out: what runs is proved again. */
pgy_status plan_prove_program(const plan_file *p, size_t index, pgy_error *err) PGY_MUST_CHECK;

/* That nobody touches memory of the host while a device's copy may still read or write it: what
 * steps check must stay as it is until they use it. For a program with devices. */
pgy_status plan_prove_order(const program_view *v, pgy_error *err) PGY_MUST_CHECK;

#endif
