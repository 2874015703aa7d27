/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GS_YAML_SCALAR_H
#define GS_YAML_SCALAR_H

#include "base/json.h"

/* A plain scalar (v->raw, terminated in `text`) gets the type that it stands for. */
void yaml_resolve(json_value *v, const char *text);

#endif
