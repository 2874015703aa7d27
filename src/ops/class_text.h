/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of texts, and the texts of an output: they are written one after the other into one block,
 * each with a terminator. */
#ifndef OPS_CLASS_TEXT_H
#define OPS_CLASS_TEXT_H

#include <string.h>

#include "ops/class_check.h"

/* Parts of texts, which others own. */
typedef struct text_list {
    span *items;
    size_t count, capacity;
} text_list;

/* False: out of memory. */
bool text_list_grow(text_list *l);
void text_list_deinit(text_list *l);

static inline bool text_list_push(text_list *l, const char *data, size_t size)
{
    if (l->count == l->capacity && !text_list_grow(l)) return false;
    l->items[l->count++] = (span){data, size};
    return true;
}

/* Adds the bytes of a text and its terminator to *bytes. False: too many. */
static inline bool text_count(size_t *bytes, size_t size)
{
    return size < SIZE_MAX - *bytes && (*bytes += size + 1);
}

/* Gives zeroed memory for the texts of an output. */
pgy_status text_room(char **out, const op_eval *c, size_t output, size_t bytes,
                     pgy_error *err) PGY_MUST_CHECK;

/* Gives an output texts that lie in `made` one after the other, each with a terminator; the sizes
 * of the elements are set already. */
pgy_status text_take(const op_eval *c, size_t output, const str *made,
                     pgy_error *err) PGY_MUST_CHECK;

/* Copies few bytes without a call: both ends of the text, which may overlap. */
static inline char *text_copy(char *to, const char *from, size_t size)
{
    if (size > 16) {
        memcpy(to, from, size);
    } else if (size >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8);
        memcpy(&last, from + size - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + size - 8, &last, 8);
    } else if (size >= 4) {
        uint32_t first, last;
        memcpy(&first, from, 4);
        memcpy(&last, from + size - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + size - 4, &last, 4);
    } else {
        for (size_t i = 0; i < size; i++) to[i] = from[i];
    }
    return to + size;
}

/* Writes a text at *at, where the terminator is already, and moves *at behind it. */
static inline pgy_string text_put(char **at, const char *data, size_t size)
{
    const pgy_string made = {*at, size};
    *at = text_copy(*at, data, size) + 1;
    return made;
}

#endif
