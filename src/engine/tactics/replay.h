/* SPDX-License-Identifier: Apache-2.0 */
/* Tactic replays: the kernel of each node, in a file of the original's format. */
#ifndef ENGINE_TACTICS_REPLAY_H
#define ENGINE_TACTICS_REPLAY_H

#include "engine/program/program.h"

typedef struct tactics tactics;

/* Writes the kernel and layouts of each node under the node's label; reorders are not listed. The
 * same program gives the same bytes. */
pgy_status tactics_save(const char *path, const program *p, const char *passes,
                        pgy_error *err) PGY_MUST_CHECK;
pgy_status tactics_load(tactics **out, const char *path, pgy_error *err) PGY_MUST_CHECK;
void tactics_destroy(tactics *t);
/* The tactics of a program, without a file. */
pgy_status tactics_of(tactics **out, const program *p, pgy_error *err) PGY_MUST_CHECK;
pgy_status tactics_create(tactics **out, pgy_error *err) PGY_MUST_CHECK;
/* Adds the entry that kernel k runs step s of p; k NULL: the reference definition runs it. */
pgy_status tactics_add(tactics *t, const program *p, const program_step *s, const kernel *k,
                       pgy_error *err) PGY_MUST_CHECK;

/* The passes that were left out when the replay was recorded; NULL: not recorded. */
const char *tactics_passes(const tactics *t);

/* A replay's entry for a node. */
typedef struct tactic tactic;
/* Returns NULL if the replay has no entry for this label. */
const tactic *tactics_find(const tactics *t, const char *label);
/* Does the entry name kernel k? k NULL: does it name the reference definition? */
bool tactic_is(const tactic *t, const kernel *k);
/* Do the entry's inputs and outputs have these block sizes, in elements per block? */
bool tactic_has_blocks(const tactic *t, const uint32_t *in, size_t in_count, const uint32_t *out,
                       size_t out_count);
/* The kernel's name, or its number if the file has no name. */
const char *tactic_name(const tactic *t);

#endif
