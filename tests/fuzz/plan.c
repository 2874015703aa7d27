/* SPDX-License-Identifier: Apache-2.0 */
/* Plan files: any bytes give a plan that can be looked at, or an error. Hashes are not looked at,
 * since no mutation would get past them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const plan_file *p)
{
    program *made = NULL;
    pgy_metadata *m = NULL;
    pgy_graph *g = NULL;
    size_t length = strlen(plan_describe(p)->name);
    if (!plan_program(&made, p, false, NULL) && made) {
        for (size_t i = 0; i < made->step_count; i++) {
            const program_step *s = &made->steps[i];
            const size_t count = (size_t)s->input_count + s->captured_count + s->output_count;
            length += strlen(s->label);
            for (size_t k = 0; k < count; k++)
                if (s->tensors[k] != PROGRAM_NO_TENSOR)
                    length += strlen(made->tensors[s->tensors[k]].name);
        }
    }
    program_release(made);
    for (int outputs = 0; outputs < 2; outputs++) {
        if (!plan_metadata(&m, p, outputs, NULL)) pgy_metadata_destroy(m);
    }
    if (!plan_program(&made, p, true, NULL) && made && !plan_graph(&g, p, NULL)) {
        if (plan_bind(made, p, g, NULL)) length++;
        pgy_graph_destroy(g);
    }
    program_release(made);
    if (length == SIZE_MAX) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plan_file *p = NULL;
    pgy_error err = {0};
    if (!plan_parse(&p, data, size, true, &err))
        look(p);
    else if (!err.text[0])
        __builtin_trap();
    plan_close(p);
    return 0;
}
