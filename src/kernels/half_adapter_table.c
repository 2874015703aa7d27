/* SPDX-License-Identifier: Apache-2.0 */
/* The entries "half:NAME". The first look-up in the table of kernels makes them. */
#include <stdio.h>
#include <string.h>

#include "kernels/half_adapter.h"

enum { MOST = 512, NAME_SIZE = 64, VERSION = 1, VERSIONS = 16 }; /* VERSION: of the adapter */

static const kernel *wrapped[MOST];
static kernel table[MOST + 1];
static char names[MOST][NAME_SIZE];
static size_t count;

/* Is the kernel wrapped? Kernels that only convert or copy take 16-bit floats themselves. */
static bool is_wrapped(const kernel *k)
{
    static const char *const OTHERS[] = {"cast", "copy", "reorder"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (strcmp(k->name, OTHERS[i]) == 0) return false;
    return strlen(k->name) + sizeof "half:" <= NAME_SIZE;
}

static void add(const kernel *k)
{
    if (count == MOST || !is_wrapped(k)) return;
    snprintf(names[count], NAME_SIZE, "half:%s", k->name);
    wrapped[count] = k;
    table[count] = *k;
    table[count].name = names[count];
    table[count].version = (uint16_t)(k->version * VERSIONS + VERSION);
    table[count].accept = half_adapter_accept;
    table[count].prepare = half_adapter_prepare;
    table[count].run = half_adapter_run;
    table[count].extent = half_adapter_extent;
    count++;
}

const kernel *half_adapter_table(const kernel *const *families)
{
    for (; *families; families++)
        for (const kernel *k = *families; k->name; k++) add(k);
    return table;
}

const kernel *half_adapter_inner(const kernel *self)
{
    return wrapped[self - table];
}
