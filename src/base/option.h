/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of an option table does with its values: checks them and stores them in the settings.
 * The command line and options that are set by name share this. */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <polygraphy/base.h>
#include <polygraphy/option.h>

#include "base/arena.h"

/* Is the value one that the row names, or does it name none? */
bool option_takes(const pgy_option *row, const char *value);
/* Stores values that are borrowed; lists are made in `memory`. Flags take no value. The error says
 * what is wrong with the value, and the caller puts the option or the field in front of it. */
pgy_status option_store(const pgy_option *row, void *settings, const char *const *values,
                        size_t count, arena *memory, pgy_error *err) PGY_MUST_CHECK;

#endif
