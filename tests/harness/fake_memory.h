/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of fake devices: every allocation is a block of pages with two mappings, an
 * inaccessible one that the host sees and an accessible one for the device. */
#ifndef HARNESS_FAKE_MEMORY_H
#define HARNESS_FAKE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef enum fake_state {
    FAKE_ENQUEUED, /* the stream has not run its allocation yet */
    FAKE_LIVE,
    FAKE_RELEASED,
} fake_state;

typedef struct fake_block {
    char *outside, *inside; /* addresses for the host and for the device; equal if the block is
                               shared with the host */
    size_t size_bytes, mapped_bytes;
    fake_state state;
    const void *owner; /* a device */
    struct fake_block *next;
} fake_block;

/* Makes a block full of poison. Aborts if there is no memory. */
fake_block *fake_block_create(const void *owner, size_t size_bytes, bool shared);
/* Releases a block: poisons it and makes it inaccessible to the device, too. */
void fake_block_close(fake_block *b);
/* The block that contains an address, in any state; NULL: none. */
fake_block *fake_block_find(const void *address);
/* Frees the released blocks of a device. @return false: the device has blocks that were not
 * released */
bool fake_block_forget(const void *owner);

#endif
