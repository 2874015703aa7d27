/* SPDX-License-Identifier: Apache-2.0 */
/* Tactic replays: which kernel does which node, in a file of the original's form. */
#ifndef ENGINE_TACTICS_REPLAY_H
#define ENGINE_TACTICS_REPLAY_H

#include "engine/program/program.h"

typedef struct tactics tactics;

/* Nodes by their labels; moves between layouts are not listed. The same program gives the same
 * bytes. */
pgy_status tactics_save(const char *path, const program *p, pgy_error *err) PGY_MUST_CHECK;
pgy_status tactics_load(tactics **out, const char *path, pgy_error *err) PGY_MUST_CHECK;
void tactics_destroy(tactics *t);
/* Those of a program, without a file. */
pgy_status tactics_of(tactics **out, const program *p, pgy_error *err) PGY_MUST_CHECK;
pgy_status tactics_create(tactics **out, pgy_error *err) PGY_MUST_CHECK;
/* That a step of p is done by this kernel; NULL: the reference definition. */
pgy_status tactics_add(tactics *t, const program *p, const program_step *s, const kernel *k,
                       pgy_error *err) PGY_MUST_CHECK;

/* What POLYGRAPHY_PASSES was when it was recorded; NULL: not known. */
const char *tactics_passes(const tactics *t);

/* What a replay says of a node. */
typedef struct tactic tactic;
/* NULL: nothing. */
const tactic *tactics_find(const tactics *t, const char *label);
/* Is it this kernel? NULL: the reference definition. */
bool tactic_is(const tactic *t, const kernel *k);
/* Do its inputs and outputs lie in vectors of so many elements? */
bool tactic_has_blocks(const tactic *t, const uint32_t *in, size_t in_count, const uint32_t *out,
                       size_t out_count);
/* The name of the kernel, or its number if that is all there is. */
const char *tactic_name(const tactic *t);

#endif
