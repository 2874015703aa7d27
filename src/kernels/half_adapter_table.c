/* SPDX-License-Identifier: Apache-2.0 */
/* The entries "half:NAME". The first look-up in the table of kernels makes them. */
#include <stdio.h>
#include <string.h>

#include "kernels/half_adapter.h"

/* VERSION: version of the adapter, below VERSIONS */
enum { MOST = 512, NAME_SIZE = 64, VERSION = 3, VERSIONS = 16 };

static const kernel *wrapped[MOST];
static kernel table[MOST + 1];
static char names[MOST][NAME_SIZE];
static size_t count;

static void half_adapter_add(const kernel *k, const kernel *like)
{
    if (count == MOST || k->device || (k->flags & KERNEL_TAKES_HALF)) return;
    if (strlen(k->name) + sizeof "half:" > NAME_SIZE) return;
    snprintf(names[count], NAME_SIZE, "half:%s", k->name);
    wrapped[count] = k;
    table[count] = *k;
    table[count].name = names[count];
    table[count].version = (uint16_t)(k->version * VERSIONS + VERSION);
    /* it converts all of a cache */
    table[count].flags &= ~(uint32_t)(KERNEL_JOINS_CACHES | KERNEL_GROWS_CACHES | KERNEL_SHORT_PARTS);
    table[count].flags |= KERNEL_WIDENS;
    table[count].accept = like->accept;
    table[count].prepare = like->prepare;
    table[count].run = like->run;
    table[count].extent = like->extent;
    count++;
}

const kernel *half_adapter_wrap(const kernel *const *families, const kernel *like)
{
    for (; *families; families++)
        for (const kernel *k = *families; k->name; k++) half_adapter_add(k, like);
    return table;
}

const kernel *half_adapter_inner(const kernel *self)
{
    return wrapped[self - table];
}
