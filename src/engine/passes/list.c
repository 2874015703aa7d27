/* SPDX-License-Identifier: Apache-2.0 */
/* The list of passes. */
#include <string.h>

#include "engine/passes/pass.h"

static const pass *const PASSES[] = {
#define PASS(name) &PASS_##name,
#include "engine/passes/passes.def"
#undef PASS
    NULL,
};
enum { COUNT = sizeof PASSES / sizeof *PASSES - 1 };

const pass *pass_at(size_t i)
{
    if (i < COUNT) return PASSES[i];
    for (size_t k = 0; PASSES_OF_TEST && PASSES_OF_TEST[k]; k++)
        if (COUNT + k == i) return PASSES_OF_TEST[k];
    return NULL;
}

bool pass_is_for_cuda(const pass_target *t)
{
    const pgy_build_config *c = t->config;
    for (size_t i = 0; c && i < c->devices.count; i++)
        if (strncmp(c->devices.items[i], "cuda", 4) == 0) return true;
    return false;
}

size_t pass_occurrence(size_t i)
{
    size_t count = 1;
    for (size_t k = 0; k < i; k++) count += strcmp(pass_at(k)->name, pass_at(i)->name) == 0;
    return count;
}

bool pgy_pass_at(pgy_pass *out, size_t i)
{
    const pass *p = out ? pass_at(i) : NULL;
    if (!p) return false;
    *out = (pgy_pass){.name = p->name, .summary = p->summary, .occurrence = pass_occurrence(i)};
    return true;
}
