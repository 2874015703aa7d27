/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of a model: for every input the smallest, most usual and largest shape. */
#ifndef ENGINE_BUILD_PROFILE_H
#define ENGINE_BUILD_PROFILE_H

#include <polygraphy/engine.h>

#include "base/str.h"

typedef struct profile_set profile_set;

/* Any profile that fits, for profiles_check. */
#define PROFILE_ANY SIZE_MAX

/* Every input gets a range: what the profile says, or the model's shape with 1 where it is not
 * fixed (said once; such a range restricts nothing). No profiles: one of such ranges. What does not
 * fit the model is an error. config may be NULL. */
pgy_status profiles_create(profile_set **out, const pgy_build_config *config,
                           const pgy_metadata *inputs, pgy_error *err) PGY_MUST_CHECK;
void profiles_destroy(profile_set *s);
size_t profiles_count(const profile_set *s);
/* "    Profile 0:\n        {x [min=[1, 3], opt=[2, 3], max=[4, 3]]}" for each. */
void profiles_text(str *out, const profile_set *s);
/* The range of input `i` in a profile, with the input's name. */
pgy_bound_kind profiles_range(pgy_profile_range *out, const profile_set *s, size_t index, size_t i);
/* Ranges that were bound before, `inputs` of them for each profile: of a plan. A kind that does not
 * fit its input is PGY_E_FORMAT. */
typedef struct profile_bound {
    pgy_bound_kind kind;
    pgy_profile_range range; /* its name is not looked at */
} profile_bound;
pgy_status profiles_restore(profile_set **out, const profile_bound *bounds, size_t count,
                            const pgy_metadata *inputs, pgy_error *err) PGY_MUST_CHECK;
/* Do the shapes lie in profile `index`? The error names input, shape and range. */
pgy_status profiles_check(const profile_set *s, size_t index, const pgy_tensor_map *feed,
                          pgy_error *err) PGY_MUST_CHECK;
/* The most usual shapes of a profile. */
pgy_status profiles_shapes(pgy_metadata **out, const profile_set *s, size_t index,
                           pgy_error *err) PGY_MUST_CHECK;

#endif
