/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that adapters.def names. */
#ifndef TRANSFORM_OPSET_ADAPTERS_H
#define TRANSFORM_OPSET_ADAPTERS_H

#include "transform/opset/rewrite.h"

void keep(rewrite *r);
#define ADAPTER(op, version, up, down) \
    void up(rewrite *r);               \
    void down(rewrite *r);
#define MOVE(op, version, attribute, input, form)
#define NEUTRAL(op, version, attribute, value)
#define AXIS(op, attribute)
#include "transform/opset/adapters.def"
#undef ADAPTER
#undef MOVE
#undef NEUTRAL
#undef AXIS

#endif
