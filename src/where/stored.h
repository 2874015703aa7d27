/* SPDX-License-Identifier: Apache-2.0 */
/* Stored results on both sides: their iterations are the samples. */
#ifndef WHERE_STORED_H
#define WHERE_STORED_H

#include "where/walk.h"

bool where_is_stored(const where_search *s); /* both sides are stored results */
/* Makes a sample, without inputs, for each iteration. */
pgy_status where_stored_count(where_search *s, pgy_error *err) PGY_MUST_CHECK;
/* Without a model: pairs the tensors by name, in the order of side A's file. */
pgy_status where_stored_match(where_search *s, strvec *unmatched, pgy_error *err) PGY_MUST_CHECK;
/* Compares the pairs. */
pgy_status where_stored_compare(where_search *s, pgy_error *err) PGY_MUST_CHECK;

#endif
