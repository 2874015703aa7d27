/* SPDX-License-Identifier: Apache-2.0 */
/* A bump allocator whose blocks are all freed at once. Models, graphs and parsed JSON live in
 * arenas. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

typedef struct arena_block arena_block;
typedef struct arena {
    arena_block *head;
    size_t used_bytes; /* bytes of all blocks, for reports and limits */
} arena;

void arena_deinit(arena *a);                    /* frees everything; a is zeroed */
void arena_reset(arena *a);                     /* keeps one block for what is allocated next */
/* Makes sure that about this many bytes can be allocated from one block. Without memory for it,
 * does nothing. */
void arena_reserve(arena *a, size_t size_bytes);
void *arena_alloc(arena *a, size_t size_bytes); /* 16-byte aligned, zeroed; NULL on failure */
void *arena_alloc_array(arena *a, size_t count, size_t item_bytes); /* NULL on overflow too */
char *arena_strdup(arena *a, const char *s);
char *arena_strndup(arena *a, const char *s, size_t size_bytes); /* adds a terminator */
char *arena_printf(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
