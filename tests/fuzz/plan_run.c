/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as an attacker would make it: one of many small ones, which are built when they are
 * needed, changed as the bytes say and signed again. It must be refused, or run without leaving its
 * memory. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/hostile_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    byte_source choices = {.data = data, .size = size, .state = size};
    const size_t i = byte_source_below(&choices, (uint32_t)hostile_plan_count());
    const void *plan = NULL;
    size_t plan_size = 0;
    pgy_error err = {0};
    if (!hostile_plan_make(&plan, &plan_size, i, &err)) {
        fprintf(stderr, "%s: %s\n", hostile_plan_name(i), err.text);
        __builtin_trap();
    }
    void *bytes = mem_alloc(plan_size);
    if (!bytes) return 0;
    memcpy(bytes, plan, plan_size);
    hostile_plan_change(bytes, plan_size, &choices);
    (void)hostile_plan_run(bytes, plan_size, &err);
    mem_free(bytes);
    return 0;
}
