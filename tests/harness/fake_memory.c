/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/fake_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/fake_device.h"

/* Released blocks keep their addresses until this many newer ones are released, so that later
 * accesses are caught. */
enum { KEPT_BLOCKS = 256 };

static fake_block *blocks; /* list of all blocks, the newest first */

static void need(bool there, const char *what)
{
    if (there) return;
    perror(what);
    abort();
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Maps pages of a file, with an inaccessible page before and after them. */
static char *map_pages(int file, size_t size_bytes, int access)
{
    const size_t page = page_bytes();
    char *room = mmap(NULL, size_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(room != MAP_FAILED, "mmap");
    need(mmap(room + page, size_bytes, access, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED,
         "mmap");
    return room + page;
}

static void unmap_pages(char *pages, size_t size_bytes)
{
    const size_t page = page_bytes();
    need(munmap(pages - page, size_bytes + 2 * page) == 0, "munmap");
}

void fake_poison(void *memory, size_t size_bytes)
{
    static const uint32_t POISON = FAKE_POISON;
    for (size_t i = 0; i < size_bytes; i++)
        ((unsigned char *)memory)[i] = ((const unsigned char *)&POISON)[i % sizeof POISON];
}

fake_block *fake_block_create(const void *owner, size_t size_bytes, bool shared)
{
    const size_t page = page_bytes();
    fake_block *b = mem_calloc(1, sizeof *b);
    need(b != NULL, "fake_block_create");
    b->size_bytes = size_bytes;
    b->mapped_bytes = (size_bytes / page + 1) * page;
    b->owner = owner;
    const int file = memfd_create("fake_device", 0);
    need(file >= 0, "memfd_create");
    need(ftruncate(file, (off_t)b->mapped_bytes) == 0, "ftruncate");
    b->inside = map_pages(file, b->mapped_bytes, PROT_READ | PROT_WRITE);
    b->outside = shared ? b->inside : map_pages(file, b->mapped_bytes, PROT_NONE);
    close(file);
    fake_poison(b->inside, b->mapped_bytes);
    b->next = blocks;
    blocks = b;
    return b;
}

/* Unmaps and frees the block that *link points to, and removes it from the list. */
static void discard(fake_block **link)
{
    fake_block *b = *link;
    *link = b->next;
    if (b->outside != b->inside) unmap_pages(b->outside, b->mapped_bytes);
    unmap_pages(b->inside, b->mapped_bytes);
    mem_free(b);
}

void fake_block_close(fake_block *b)
{
    size_t released = 0;
    fake_poison(b->inside, b->mapped_bytes);
    need(mprotect(b->inside, b->mapped_bytes, PROT_NONE) == 0, "mprotect");
    b->state = FAKE_RELEASED;
    for (fake_block **link = &blocks; *link;) {
        if ((*link)->state == FAKE_RELEASED && ++released > KEPT_BLOCKS)
            discard(link);
        else
            link = &(*link)->next;
    }
}

/* Searches the newest blocks first: an address may belong to a live block and to an older, released
 * one. */
fake_block *fake_block_find(const void *address)
{
    for (fake_block *b = blocks; b; b = b->next)
        if ((const char *)address >= b->outside &&
            (const char *)address < b->outside + b->mapped_bytes)
            return b;
    return NULL;
}

bool fake_block_forget(const void *owner)
{
    bool all = true;
    for (fake_block **link = &blocks; *link;) {
        const bool own = (*link)->owner == owner, gone = (*link)->state == FAKE_RELEASED;
        all = all && (!own || gone);
        if (own && gone)
            discard(link);
        else
            link = &(*link)->next;
    }
    return all;
}
