/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_YAML_SCALAR_H
#define BASE_YAML_SCALAR_H

#include "base/json.h"

/* A plain scalar (v->raw, terminated in `text`) gets the type that it stands for. */
void yaml_resolve(json_value *v, const char *text);

#endif
