/* SPDX-License-Identifier: Apache-2.0 */
/* The entries "narrow:NAME". The functions of a kernel are not told which entry they belong to, so
 * every entry has a pair of its own that knows its index. */
#include <stdio.h>
#include <string.h>

#include "kernels/narrow.h"

enum { SLOTS = 256, NAME_SIZE = 56 };

typedef struct slot {
    bool (*accept)(kernel_use *u, double *cost_ns);
    pgy_status (*prepare)(kernel_plan *out, const kernel_use *u, pgy_error *err);
} slot;

/* Octal numbers, so that digits can be put together. */
#define EIGHT(f, i) f(i##0) f(i##1) f(i##2) f(i##3) f(i##4) f(i##5) f(i##6) f(i##7)
#define SIXTY_FOUR(f, i)                                                                      \
    EIGHT(f, i##0)                                                                            \
    EIGHT(f, i##1) EIGHT(f, i##2) EIGHT(f, i##3) EIGHT(f, i##4) EIGHT(f, i##5) EIGHT(f, i##6) \
        EIGHT(f, i##7)
#define ALL(f) SIXTY_FOUR(f, 00) SIXTY_FOUR(f, 01) SIXTY_FOUR(f, 02) SIXTY_FOUR(f, 03)

#define FUNCTIONS(i)                                                                     \
    static bool accept_##i(kernel_use *u, double *cost_ns)                               \
    {                                                                                    \
        return narrow_accept(i, u, cost_ns);                                             \
    }                                                                                    \
    static pgy_status prepare_##i(kernel_plan *out, const kernel_use *u, pgy_error *err) \
    {                                                                                    \
        return narrow_prepare(i, out, u, err);                                           \
    }
ALL(FUNCTIONS)

#define SLOT(i) {accept_##i, prepare_##i},
static const slot ALL_SLOTS[SLOTS] = {ALL(SLOT)};

static const kernel *wrapped[SLOTS];
static kernel table[SLOTS + 1];
static char names[SLOTS][NAME_SIZE];
static uint32_t count;

/* Those that convert, that move bytes, or that have too long a name for parameters. */
static bool is_wrapped(const kernel *k)
{
    static const char *const OTHERS[] = {"cast", "copy", "reorder"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (strcmp(k->name, OTHERS[i]) == 0) return false;
    return strlen(k->name) + sizeof "narrow:" <= 48;
}

static void add(const kernel *k)
{
    enum { VERSION = 1, VERSIONS = 16 }; /* of the wrapper's own parameters */
    if (count == SLOTS || !is_wrapped(k)) return;
    snprintf(names[count], NAME_SIZE, "narrow:%s", k->name);
    wrapped[count] = k;
    table[count] = *k;
    table[count].name = names[count];
    table[count].version = (uint16_t)(k->version * VERSIONS + VERSION);
    table[count].accept = ALL_SLOTS[count].accept;
    table[count].prepare = ALL_SLOTS[count].prepare;
    table[count].run = narrow_run;
    count++;
}

const kernel *narrow_table(const kernel *const *families)
{
    for (; *families; families++)
        for (const kernel *k = *families; k->name; k++) add(k);
    return table;
}

const kernel *narrow_inner(uint32_t index)
{
    return index < count ? wrapped[index] : NULL;
}
