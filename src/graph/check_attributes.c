/* SPDX-License-Identifier: Apache-2.0 */
/* Checks how attributes are stored: each needs a unique name, a type and one value of that type, or
 * refers to an attribute of the enclosing function. Whether the operator allows the value is
 * checked by inference. */
#include <string.h>

#include "graph/check.h"

/* Field numbers of AttributeProto. */
enum { FIELD_F = 2, FIELD_I = 3, FIELD_S = 4, FIELD_TYPE = 20 };

static bool has(const pgy_onnx_attribute *a, int field)
{
    return a->message.present >> field & 1;
}

/* The value fields that are set: bit i stands for attribute type i. */
static uint32_t stored_types(const pgy_onnx_attribute *a)
{
    const struct {
        bool there;
        pgy_onnx_attribute_type type;
    } FIELDS[] = {{has(a, FIELD_F), PGY_ATTR_FLOAT},
                  {has(a, FIELD_I), PGY_ATTR_INT},
                  {has(a, FIELD_S), PGY_ATTR_STRING},
                  {a->t != NULL, PGY_ATTR_TENSOR},
                  {a->g != NULL, PGY_ATTR_GRAPH},
                  {a->sparse_tensor != NULL, PGY_ATTR_SPARSE_TENSOR},
                  {a->tp != NULL, PGY_ATTR_TYPE_PROTO},
                  {a->float_count != 0, PGY_ATTR_FLOATS},
                  {a->int_count != 0, PGY_ATTR_INTS},
                  {a->string_count != 0, PGY_ATTR_STRINGS},
                  {a->tensor_count != 0, PGY_ATTR_TENSORS},
                  {a->graph_count != 0, PGY_ATTR_GRAPHS},
                  {a->sparse_tensor_count != 0, PGY_ATTR_SPARSE_TENSORS},
                  {a->type_proto_count != 0, PGY_ATTR_TYPE_PROTOS}};
    uint32_t types = 0;
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (FIELDS[i].there) types |= UINT32_C(1) << FIELDS[i].type;
    return types;
}

static void check_fields(checker *c, const pgy_node *n, const pgy_onnx_attribute *a, int64_t ir)
{
    const uint32_t types = stored_types(a);
    const bool refers = a->ref_attr_name && *a->ref_attr_name;
    const char *wrong = NULL;
    if (ir >= 2 && a->type == PGY_ATTR_UNDEFINED)
        wrong = "has no type";
    else if (types & (types - 1))
        wrong = "holds more than one value";
    else if (refers && types)
        wrong = "refers to another attribute and holds a value, too";
    else if (types && a->type > 0 && a->type < 32 && types != UINT32_C(1) << a->type)
        wrong = "holds a value of another type than it declares";
    else if (a->type < 0 || a->type > PGY_ATTR_TYPE_PROTOS)
        wrong = "has a type that does not exist";
    if (wrong)
        finding_add(&c->list, c->state, CHECK_ATTRIBUTE_FIELDS, n, "Attribute '%s' %s", a->name,
                    wrong);
}

static bool function_has(const pgy_onnx_function *f, const char *name)
{
    for (size_t i = 0; i < f->attribute_count; i++)
        if (strcmp(f->attributes[i], name) == 0) return true;
    for (size_t i = 0; i < f->attribute_proto_count; i++)
        if (strcmp(f->attribute_protos[i]->name, name) == 0) return true;
    return false;
}

static void check_reference(checker *c, const pgy_node *n, const pgy_onnx_attribute *a,
                            const pgy_onnx_function *f)
{
    if (!a->ref_attr_name || !*a->ref_attr_name) return;
    if (!f)
        finding_add(&c->list, c->state, CHECK_ATTRIBUTE_REFERENCE, n,
                    "Attribute '%s' refers to attribute '%s' of a function, but the node is not in "
                    "a function",
                    a->name, a->ref_attr_name);
    else if (!function_has(f, a->ref_attr_name))
        finding_add(&c->list, c->state, CHECK_ATTRIBUTE_REFERENCE, n,
                    "Attribute '%s' refers to attribute '%s', which function '%s' does not have",
                    a->name, a->ref_attr_name, f->name);
}

/* Checks the tensors in an attribute, except those of Constants, which check_weights.c checks. */
static void check_tensors(checker *c, const pgy_node *n, const pgy_onnx_attribute *a)
{
    if (node_constant(n)) return;
    for (size_t i = 0; i < a->tensor_count + (a->t != NULL); i++) {
        const char *problem = tensor_field_problem(i < a->tensor_count ? a->tensors[i] : a->t);
        if (problem)
            finding_add(&c->list, c->state, CHECK_TENSOR_FIELDS, n, "The tensor of '%s' %s",
                        a->name, problem);
    }
}

pgy_status check_attributes(checker *c, const pgy_node *n, const pgy_onnx_function *f,
                            pgy_error *err)
{
    const pgy_onnx_model *m = c->top->model ? pgy_model_proto(c->top->model) : NULL;
    strmap seen = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n->attribute_count; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        if (!*a->name)
            finding_add(&c->list, c->state, CHECK_EMPTY_NAME, n, "Attribute %zu has no name", i);
        check_fields(c, n, a, m ? m->ir_version : 0);
        check_reference(c, n, a, f);
        check_tensors(c, n, a);
        if (n->attribute_count == 1) break;
        if (strmap_has(&seen, a->name))
            finding_add(&c->list, c->state, CHECK_DUPLICATE_ATTRIBUTE, n,
                        "The node has two attributes named '%s'", a->name);
        ok = strmap_put(&seen, a->name, c);
    }
    strmap_deinit(&seen);
    return ok ? PGY_OK : graph_no_memory(err);
}
