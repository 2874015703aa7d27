/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of a model: for every input the least, usual and largest shape. */
#ifndef ENGINE_BUILD_PROFILE_H
#define ENGINE_BUILD_PROFILE_H

#include <polygraphy/engine.h>

#include "base/str.h"

typedef struct profile_set profile_set;

/* For profiles_check: accept any profile that fits. */
#define PROFILE_ANY SIZE_MAX

/* Gives every input of every profile a range. An input without one gets the model's shape, with 1
 * for each dimension that is not fixed; this is logged once, and such a range restricts nothing.
 * Without profiles, there is one profile of such ranges. Ranges that do not fit the model are
 * errors. config may be NULL. */
pgy_status profiles_create(profile_set **out, const pgy_build_config *config,
                           const pgy_metadata *inputs, pgy_error *err) PGY_MUST_CHECK;
void profiles_destroy(profile_set *s);
size_t profiles_count(const profile_set *s);
/* Appends for each profile: "    Profile 0:\n        {x [min=[1, 3], opt=[2, 3], max=[4, 3]]}". */
void profiles_text(str *out, const profile_set *s);
/* The range of input `i` in a profile, with the input's name. */
pgy_bound_kind profiles_range(pgy_profile_range *out, const profile_set *s, size_t index, size_t i);
/* A range that profiles_create has bound before, as a plan stores it: `inputs` ranges for each
 * profile. PGY_E_FORMAT: a kind does not fit its input. */
typedef struct profile_bound {
    pgy_bound_kind kind;
    pgy_profile_range range; /* its name is ignored */
} profile_bound;
pgy_status profiles_restore(profile_set **out, const profile_bound *bounds, size_t count,
                            const pgy_metadata *inputs, pgy_error *err) PGY_MUST_CHECK;
/* Do the shapes lie in profile `index`? The error names input, shape and range. */
pgy_status profiles_check(const profile_set *s, size_t index, const pgy_tensor_map *feed,
                          pgy_error *err) PGY_MUST_CHECK;
/* The usual, least or largest shapes of a profile. */
typedef enum profile_corner { PROFILE_USUAL, PROFILE_LEAST, PROFILE_LARGEST } profile_corner;
pgy_status profiles_shapes(pgy_metadata **out, const profile_set *s, size_t index,
                           profile_corner which, pgy_error *err) PGY_MUST_CHECK;
/* Does the profile, or the model, fix the usual shapes of all inputs? */
bool profiles_are_given(const profile_set *s, size_t index);

#endif
