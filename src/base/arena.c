/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of zeroed blocks that double up to a limit. A request larger than a block gets its own
 * block, placed behind the head so that the rest of the head stays in use. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { ALIGNMENT = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct arena_block {
    arena_block *next;
    size_t size_bytes, used_bytes;
    _Alignas(ALIGNMENT) char data[];
};

void arena_deinit(arena *a)
{
    for (arena_block *b = a->head; b;) {
        arena_block *next = b->next;
        mem_free(b);
        b = next;
    }
    *a = (arena){0};
}

void arena_reset(arena *a)
{
    arena_block *kept = a->head;
    if (!kept) return;
    arena rest = {.head = kept->next};
    arena_deinit(&rest);
    memset(kept->data, 0, kept->used_bytes);
    kept->used_bytes = 0;
    kept->next = NULL;
    a->used_bytes = 0;
}

static arena_block *add_block(arena *a, size_t need)
{
    size_t size = a->head ? a->head->size_bytes * 2 : FIRST_BLOCK;
    size_t total;
    if (size > LARGEST_BLOCK) size = LARGEST_BLOCK;
    const bool alone = need > size / 4 && a->head;
    if (alone || need > size) size = need;
    if (!size_add(&total, size, sizeof(arena_block))) return NULL;
    arena_block *b = mem_calloc(1, total);
    if (!b) return NULL;
    b->size_bytes = size;
    if (alone) {
        b->next = a->head->next;
        a->head->next = b;
    } else {
        b->next = a->head;
        a->head = b;
    }
    return b;
}

void arena_reserve(arena *a, size_t size_bytes)
{
    if (!a->head || a->head->size_bytes - a->head->used_bytes < size_bytes)
        (void)add_block(a, size_bytes);
}

void *arena_alloc(arena *a, size_t size_bytes)
{
    size_t need;
    if (!size_add(&need, size_bytes ? size_bytes : 1, ALIGNMENT - 1)) return NULL;
    need &= ~(size_t)(ALIGNMENT - 1);
    arena_block *b = a->head;
    if (!b || b->size_bytes - b->used_bytes < need) b = add_block(a, need);
    if (!b) return NULL;
    void *p = b->data + b->used_bytes;
    b->used_bytes += need;
    a->used_bytes += need;
    return p;
}

void *arena_alloc_array(arena *a, size_t count, size_t item_bytes)
{
    size_t total;
    return size_mul(&total, count, item_bytes) ? arena_alloc(a, total) : NULL;
}

char *arena_strdup(arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_strndup(arena *a, const char *s, size_t size_bytes)
{
    size_t total;
    char *copy = size_add(&total, size_bytes, 1) ? arena_alloc(a, total) : NULL;
    if (copy && size_bytes) memcpy(copy, s, size_bytes);
    return copy;
}

char *arena_printf(arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = size < 0 ? NULL : arena_alloc(a, (size_t)size + 1);
    if (!text) return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}
