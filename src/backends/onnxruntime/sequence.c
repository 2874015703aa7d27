/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence of ONNX Runtime is a value of values; an optional is its element, or an empty value.
 * The C interface can make neither an empty sequence nor an empty optional, so these cannot be
 * inputs. */
#include "backends/onnxruntime/sequence.h"

#include "base/alloc.h"
#include "base/str.h"
#include "tensor/elements.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Types ---------------------------------------------------------------------------------- */

static pgy_status read_element(ort_form *out, const ort_api *api, const ort_type_info *type,
                               const char *name, pgy_error *err)
{
    const ort_sequence_info *sequence = NULL;
    const ort_shape_info *tensor = NULL;
    ort_type_info *element = NULL;
    int kind = ORT_UNKNOWN, code = 0;
    pgy_status st = ort_check(api, api->sequence_info_of(type, &sequence), name, err);
    if (!st) st = ort_check(api, api->sequence_element(sequence, &element), name, err);
    if (!st) st = ort_check(api, api->kind_of(element, &kind), name, err);
    if (!st && kind == ORT_TENSOR)
        st = ort_check(api, api->tensor_info_of(element, &tensor), name, err);
    if (!st && tensor) st = ort_check(api, api->element_type(tensor, &code), name, err);
    if (!st && tensor) out->element = ort_dtype_from_type(code);
    if (element) api->release_type_info(element);
    return st;
}

pgy_status ort_form_read(ort_form *out, const ort_api *api, const ort_type_info *type,
                         const char *name, pgy_error *err)
{
    int kind = ORT_UNKNOWN;
    pgy_status st = ort_check(api, api->kind_of(type, &kind), name, err);
    if (st) return st;
    /* The fed tensors show what an optional holds, so its element type is not read here. */
    *out = (ort_form){.form = kind == ORT_TENSOR     ? PGY_FORM_TENSOR
                              : kind == ORT_SEQUENCE ? PGY_FORM_SEQUENCE
                              : kind == ORT_OPTIONAL ? PGY_FORM_OPTIONAL_SEQUENCE
                                                     : PGY_FORM_OTHER};
    return kind == ORT_SEQUENCE ? read_element(out, api, type, name, err) : PGY_OK;
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static pgy_status feed_sequence(ort_value **out, const ort_api *api, const char *name,
                                const pgy_tensor_map *feed, pgy_error *err)
{
    size_t count = 0, made = 0;
    str element = {0};
    pgy_status st = elements_count(&count, feed, name, err);
    if (st) return st;
    if (!count)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "input '%s' is an empty sequence; the C interface of ONNX Runtime cannot create one",
            name);
    ort_value **values = mem_calloc(count, sizeof *values);
    if (!values) return no_memory(err);
    for (; !st && made < count; made++) {
        str_clear(&element);
        str_printf(&element, "%s[%zu]", name, made);
        const pgy_tensor *t = pgy_tensor_map_find(feed, str_text(&element));
        if (element.failed)
            st = no_memory(err);
        else if (!t)
            st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                               "input '%s' is a sequence of sequences; ONNX Runtime takes "
                               "sequences of tensors only",
                               name);
        else
            st = ort_value_from_tensor(&values[made], api, str_text(&element), t, err);
    }
    if (!st)
        st = ort_check(
            api, api->create_sequence((const ort_value *const *)values, count, ORT_SEQUENCE, out),
            name, err);
    for (size_t i = 0; i < count; i++)
        if (values[i]) api->release_value(values[i]);
    mem_free(values);
    str_deinit(&element);
    return st;
}

pgy_status ort_feed(ort_value **out, const ort_api *api, const char *name, const ort_form *form,
                    const pgy_tensor_map *feed, pgy_error *err)
{
    const pgy_tensor *t = pgy_tensor_map_find(feed, name);
    if (t && form->form != PGY_FORM_SEQUENCE) return ort_value_from_tensor(out, api, name, t, err);
    if (form->form == PGY_FORM_SEQUENCE || elements_given(feed, name))
        return feed_sequence(out, api, name, feed, err);
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         form->form == PGY_FORM_OTHER
                             ? "input '%s' is neither a tensor nor a sequence of tensors; other "
                               "types cannot be given to ONNX Runtime"
                             : "input '%s' has no value, and the C interface of ONNX Runtime "
                               "cannot create an empty optional",
                         name);
}

/* ---- Outputs -------------------------------------------------------------------------------- */

static pgy_status take_tensor(pgy_tensor_map *out, const ort_api *api, const char *name,
                              ort_value *value, pgy_error *err)
{
    pgy_tensor *t = NULL;
    const pgy_status st = ort_value_to_tensor(&t, api, name, value, err);
    return st ? st : elements_adopt(out, name, t, err);
}

static pgy_status take_sequence(pgy_tensor_map *out, const ort_api *api, const char *name,
                                const ort_value *value, pgy_dtype element, pgy_error *err)
{
    size_t count = 0;
    str part = {0};
    pgy_status st = ort_check(api, api->element_count(value, &count), name, err);
    if (!st && !count) return elements_adopt_none(out, name, element, err);
    for (size_t i = 0; !st && i < count; i++) {
        ort_value *held = NULL;
        str_clear(&part);
        str_printf(&part, "%s[%zu]", name, i);
        if (part.failed) st = no_memory(err);
        if (!st) st = ort_check(api, api->element(value, (int)i, api->allocator, &held), name, err);
        if (!st) st = take_tensor(out, api, str_text(&part), held, err);
    }
    str_deinit(&part);
    return st;
}

/* Does the value hold anything? Releases before 1.10 lack this query. */
static pgy_status is_given(int *given, const ort_api *api, const char *name, const ort_value *value,
                           pgy_error *err)
{
    *given = value != NULL;
    if (!value || !api->has_value) return PGY_OK;
    return ort_check(api, api->has_value(value, given), name, err);
}

pgy_status ort_take(pgy_tensor_map *out, const ort_api *api, const char *name, ort_value *value,
                    pgy_dtype element, pgy_error *err)
{
    int kind = ORT_UNKNOWN, given = 0;
    pgy_status st = is_given(&given, api, name, value, err);
    if (!st && given) st = ort_check(api, api->value_kind(value, &kind), name, err);
    if (!st && given && kind != ORT_SEQUENCE) return take_tensor(out, api, name, value, err);
    if (!st && given) st = take_sequence(out, api, name, value, element, err);
    if (value) api->release_value(value);
    return st;
}
