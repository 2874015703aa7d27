/* SPDX-License-Identifier: Apache-2.0 */
/* The model codec. What parses must serialise to the same bytes; encoded from its fields it must
 * parse again, and encoding that once more must change nothing. */
#include <polygraphy/onnx.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/model_write.h"
#include "onnx/schema.h"

static pgy_status load_tensor(const pgy_onnx_tensor *t, const schema_field *f, void *user,
                              pgy_error *err)
{
    pgy_tensor *out = NULL;
    (void)f;
    if (pgy_onnx_tensor_load(&out, user, t, err)) return PGY_OK;
    pgy_tensor_release(out);
    return PGY_OK;
}

static void describe_values(pgy_model *m)
{
    const pgy_onnx_graph *g = pgy_model_proto(m)->graph;
    for (size_t i = 0; i < g->input_count; i++) {
        pgy_tensor_info info;
        if (pgy_onnx_value_info_describe(&info, m, g->inputs[i], NULL)) continue;
        if (info.rank > PGY_MAX_RANK) abort();
    }
}

static void check_unchanged(pgy_model *m, const void *data, size_t size)
{
    void *again = NULL;
    size_t again_size = 0;
    if (pgy_model_has_external_data(m)) return;
    if (pgy_model_serialize(&again, &again_size, m, NULL)) abort();
    if (again_size != size || memcmp(again, data, size)) abort();
    pgy_text_free(again);
}

/* Encodes from fields and parses that. */
static pgy_model *rebuild(pgy_model *m, void **bytes, size_t *size)
{
    const encode_options options = {.rebuild = true};
    pgy_model *again = NULL;
    if (model_encode(bytes, size, m, &options, NULL)) abort();
    if (pgy_model_parse(&again, *bytes, *size, true, NULL, NULL)) abort();
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_model *m = NULL;
    void *first = NULL, *second = NULL;
    size_t first_size = 0, second_size = 0;
    pgy_error err = {0};
    if (pgy_model_parse(&m, data, size, true, NULL, &err)) return 0;
    check_unchanged(m, data, size);
    describe_values(m);
    if (schema_visit_tensors(&SCHEMA_MODEL, pgy_model_proto(m), load_tensor, m, &err)) abort();
    pgy_model *again = rebuild(m, &first, &first_size);
    pgy_model *fixed = rebuild(again, &second, &second_size);
    if (first_size != second_size || memcmp(first, second, first_size)) abort();
    pgy_model_destroy(fixed);
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    mem_free(first);
    mem_free(second);
    return 0;
}
