/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of callers begin with their own size, because a caller may be compiled against an older
 * or a newer header. Every public function reads these structs only through SIZED_TAKE. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <polygraphy/base.h>

/* Overlays the defaults in *to with *from (NULL: defaults stay). An older, shorter struct keeps the
 * defaults of the fields that it lacks; a newer, longer one is accepted if all bytes beyond this
 * version's fields are zero. On failure *to is unchanged and PGY_E_ARGUMENT names the type. A new
 * field that may lie in the tail padding of the older struct must default to zero. */
#define SIZED_TAKE(type, to, from, err) \
    sized_take(1 ? (to) : (type *)0, sizeof(type), 1 ? (from) : (const type *)0, #type, (err))
pgy_status sized_take(void *to, size_t size, const void *from, const char *type,
                      pgy_error *err) PGY_MUST_CHECK;

#endif
