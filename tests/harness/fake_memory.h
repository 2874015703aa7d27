/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of fake devices: every allocation is a block of pages that are mapped twice, without
 * access for the host, and with access for the device. */
#ifndef HARNESS_FAKE_MEMORY_H
#define HARNESS_FAKE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef enum fake_state {
    FAKE_ENQUEUED, /* the stream has not come to its allocation */
    FAKE_LIVE,
    FAKE_RELEASED,
} fake_state;

typedef struct fake_block {
    char *outside, *inside; /* the same if it is shared with the host */
    size_t size_bytes, mapped_bytes;
    fake_state state;
    const void *owner; /* a device */
    struct fake_block *next;
} fake_block;

/* Full of poison. Aborts if there is no memory. */
fake_block *fake_block_create(const void *owner, size_t size_bytes, bool shared);
/* Poisons it, and takes the device's access away. */
void fake_block_close(fake_block *b);
/* The block that an address lies in, whichever state it is in; NULL: none. */
fake_block *fake_block_find(const void *address);
/* Forgets the released blocks of an owner. @return false: others are left. */
bool fake_block_forget(const void *owner);

#endif
