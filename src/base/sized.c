/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sized.h"

#include <string.h>

/* The first byte at or after `at` that is set; `size` if there is none. */
static size_t first_set(const unsigned char *bytes, size_t at, size_t size)
{
    while (at < size && !bytes[at]) at++;
    return at;
}

pgy_status sized_take(void *to, size_t size, const void *from, const char *type, pgy_error *err)
{
    /* All structs of this library are much smaller, so a larger size is an uninitialised field. */
    enum { LARGEST = 1 << 16 };
    size_t given;
    if (!from) return PGY_OK;
    memcpy(&given, from, sizeof given);
    if (given < sizeof given || given > LARGEST)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s.size is %zu; set it to sizeof(%s)", type,
                             given, type);
    const size_t unknown = first_set(from, size, given);
    if (unknown < given)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "%s has %zu bytes and byte %zu is not zero, but polygraphy %s knows only the first %zu "
            "bytes: leave newer fields zero, or use a newer library",
            type, given, unknown, pgy_version(), size);
    memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    return PGY_OK;
}
