/* SPDX-License-Identifier: Apache-2.0 */
/* Compares tensors that do not fit the memory limit, in slices. */
#ifndef WHERE_SLICES_H
#define WHERE_SLICES_H

#include "where/compare_rows.h"

/* Compares the `sliced` tensors of a segment on one sample. Both sides run in parts. */
pgy_status where_slices_compare(where_search *s, const where_segment *g, size_t sample,
                                pgy_error *err) PGY_MUST_CHECK;

#endif
