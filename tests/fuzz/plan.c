/* SPDX-License-Identifier: Apache-2.0 */
/* Plan files: any bytes give a plan that can be looked at, or an error. Hashes are not looked at,
 * since no mutation would get past them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/plan/plan.h"
#include "kernels/packing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t look_at_program(const program *p)
{
    size_t length = 0;
    for (size_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        const size_t count = (size_t)s->input_count + s->captured_count + s->output_count;
        length += strlen(s->label);
        for (size_t k = 0; k < count; k++)
            if (s->tensors[k] != PROGRAM_NO_TENSOR)
                length += strlen(p->tensors[s->tensors[k]].name);
    }
    for (size_t i = 0; i < p->mark_count; i++)
        length += strlen(p->tensors[p->marks[i].tensor].name);
    for (size_t i = 0; i < p->output_count; i++) length += strlen(p->tensors[p->outputs[i]].name);
    return length;
}

static size_t look_at_config(const pgy_build_config *c)
{
    size_t length = 0;
    for (size_t i = 0; i < c->layer_type_count; i++) length += strlen(c->layer_types[i].name);
    for (size_t i = 0; i < c->tensor_type_count; i++) length += strlen(c->tensor_types[i].name);
    for (size_t i = 0; i < c->debug_tensors.count; i++) length += strlen(c->debug_tensors.items[i]);
    return length + (size_t)c->profiling_verbosity;
}

static size_t look_at_profiles(const plan_file *p)
{
    pgy_metadata *inputs = NULL;
    profile_set *profiles = NULL;
    str text = {0};
    size_t length = 0;
    if (!plan_metadata(&inputs, p, false, NULL) && !plan_profiles(&profiles, p, inputs, NULL)) {
        profiles_text(&text, profiles);
        for (size_t i = 0; i < profiles_count(profiles); i++) {
            pgy_metadata *usual = NULL;
            length += plan_profile_program(p, i);
            if (!profiles_shapes(&usual, profiles, i, PROFILE_USUAL, NULL)) length++;
            pgy_metadata_destroy(usual);
        }
        length += text.size;
    }
    str_deinit(&text);
    profiles_destroy(profiles);
    pgy_metadata_destroy(inputs);
    return length;
}

/* Weights are within the file, or left out. */
static size_t look_at_original(const plan_file *p)
{
    pgy_model *model = NULL;
    size_t length = 0;
    if (plan_original(&model, p, NULL) || !model) return 0;
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    for (size_t i = 0; g && i < g->initializer_count; i++) {
        pgy_tensor *t = NULL;
        if (!pgy_onnx_tensor_load(&t, model, g->initializers[i], NULL)) {
            const size_t bytes = pgy_tensor_size_bytes(t);
            if (bytes) length += ((const unsigned char *)pgy_tensor_data(t))[bytes - 1];
        }
        pgy_tensor_release(t);
    }
    pgy_model_destroy(model);
    return length;
}

static size_t look(const plan_file *p)
{
    arena memory = {0};
    pgy_build_config *config = NULL;
    pgy_metadata *outputs = NULL;
    pgy_graph *g = NULL;
    size_t length = strlen(plan_describe(p)->name);
    if (!plan_config(&config, p, &memory, NULL)) length += look_at_config(config);
    arena_deinit(&memory);
    if (!plan_metadata(&outputs, p, true, NULL)) pgy_metadata_destroy(outputs);
    length += look_at_profiles(p) + look_at_original(p);
    packed_table *packed = packed_table_create();
    if (plan_graph(&g, p, packed, NULL)) g = NULL;
    for (size_t i = 0; i < plan_describe(p)->program_count; i++) {
        program *made = NULL;
        if (!plan_program_at(&made, p, i, false, NULL)) length += look_at_program(made);
        program_release(made);
        made = NULL;
        if (!plan_program_at(&made, p, i, true, NULL) && g && plan_bind(made, p, i, g, NULL))
            length++;
        program_release(made);
    }
    pgy_graph_destroy(g);
    packed_table_release(packed);
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plan_file *p = NULL;
    pgy_error err = {0};
    if (!plan_parse(&p, data, size, true, &err)) {
        if (look(p) == SIZE_MAX) __builtin_trap();
    } else if (!err.text[0]) {
        __builtin_trap();
    }
    plan_close(p);
    return 0;
}
