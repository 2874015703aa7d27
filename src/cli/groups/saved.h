/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of saved data a path holds. */
#ifndef CLI_GROUPS_SAVED_H
#define CLI_GROUPS_SAVED_H

#include <polygraphy/compare.h>

#include "cli/command.h"

typedef enum saved_kind { SAVED_INPUTS, SAVED_RESULTS, SAVED_ACCURACY } saved_kind;
/* A folder is what its first file is. Formats other than JSON are inputs. PGY_E_NOT_FOUND for a
 * folder without such a file. */
pgy_status saved_kind_of(saved_kind *out, const char *path, pgy_error *err) PGY_MUST_CHECK;

#endif
