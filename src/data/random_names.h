/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the options of generated inputs. */
#ifndef DATA_RANDOM_NAMES_H
#define DATA_RANDOM_NAMES_H

#include <polygraphy/data.h>

/* Is it the input's name, or a wildcard that matches it? */
bool random_name_fits(const char *given, const char *input);
/* The shape and type given for an input; the last name that fits wins. NULL: none. `given` may be
 * NULL. */
const pgy_tensor_info *random_find_given(const pgy_metadata *given, const char *input);
/* Warns of names that fit none of the inputs. */
void random_warn_unmatched(const pgy_metadata *given, const pgy_value_range *ranges,
                           size_t range_count, const pgy_metadata *inputs);

#endif
