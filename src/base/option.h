/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the values of one row of an option table and stores them in the settings. The command line
 * and options that are set by name share this code. */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <polygraphy/base.h>
#include <polygraphy/option.h>

#include "base/arena.h"

/* True if the value is one of the choices of the option, or the option has no choices. */
bool option_takes(const pgy_option *row, const char *value);
/* Stores the values, which stay borrowed; lists are allocated in `memory`. Flags take no value. The
 * error describes the wrong value only; the caller prefixes it with the name of the option or
 * field. */
pgy_status option_store(const pgy_option *row, void *settings, const char *const *values,
                        size_t count, arena *memory, pgy_error *err) PGY_MUST_CHECK;

#endif
