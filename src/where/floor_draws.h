/* SPDX-License-Identifier: Apache-2.0 */
/* The values of all draws beside each exact value. The executor holds only the exact tensors; when it
 * releases one, its draws go, too. */
#ifndef WHERE_FLOOR_DRAWS_H
#define WHERE_FLOOR_DRAWS_H

#include "ops/op.h"

typedef struct floor_companion floor_companion;

typedef struct floor_draws {
    floor_companion **buckets;
    size_t live_bytes, peak_bytes;
} floor_draws;

bool floor_draws_init(floor_draws *d);
/* All exact tensors must have been released. */
void floor_draws_deinit(floor_draws *d);
/* Takes over the references in `draws`, also on failure (count entries; NULL: like the exact one),
 * as the values of *exact, which is replaced by a tensor that shares its elements. */
pgy_status floor_draws_put(floor_draws *d, pgy_tensor **exact, pgy_tensor **draws, size_t count,
                           pgy_error *err) PGY_MUST_CHECK;
bool floor_draws_has(const floor_draws *d, const pgy_tensor *exact);
/* The value of draw k, in the shape of `exact`; the caller releases it. *out is NULL if the tensor
 * is the same in all draws. */
pgy_status floor_draws_get(pgy_tensor **out, const floor_draws *d, const pgy_tensor *exact,
                           size_t k, pgy_error *err) PGY_MUST_CHECK;

#endif
