/* SPDX-License-Identifier: Apache-2.0 */
/* LabelEncoder from texts to integers, without its definition: the table of the keys is made in the
 * first run and stays. Version 1 gives the places of texts. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/interpret_parts.h"
#include "ops/class_label.h"
#include "tensor/tensor.h"

/* The keys of a node. */
typedef struct text_labels {
    const pgy_node *n;
    label_texts texts;
    struct text_labels *next;
} text_labels;

void interpret_forget_labels(interpreter *it)
{
    for (text_labels *l = it->labels, *next; l; l = next) {
        next = l->next;
        label_texts_deinit(&l->texts);
        mem_free(l);
    }
    it->labels = NULL;
}

bool interpret_is_text_encoder(const call *c)
{
    const bool places = c->node->def->since < 2;
    if (c->node->input_count != 1 || !c->inputs[0].value || c->inputs[0].dtype != PGY_STRING ||
        strcmp(c->n->op_type, "LabelEncoder") != 0 || strcmp(c->n->domain, "ai.onnx.ml") != 0 ||
        node_box_of(c->n)->has_refs)
        return false;
    if (places) return op_attr_find(c->node, "classes_strings") != NULL;
    const op_attr *keys = op_attr_find(c->node, "keys_strings");
    const op_attr *values = op_attr_find(c->node, "values_int64s");
    return keys && values && keys->count == values->count &&
           !op_attr_find(c->node, "values_strings") && !op_attr_find(c->node, "default_tensor");
}

static pgy_status texts_of(const label_texts **out, call *c, pgy_error *err)
{
    text_labels *l = c->it->labels;
    while (l && l->n != c->n) l = l->next;
    if (!l) {
        l = mem_calloc(1, sizeof *l);
        if (!l) return interpret_no_memory(err);
        const op_attr *keys = op_attr_find(c->node, "keys_strings");
        if (!keys) keys = op_attr_find(c->node, "classes_strings");
        if (!label_texts_read(&l->texts, keys, SIZE_MAX)) {
            label_texts_deinit(&l->texts);
            mem_free(l);
            return interpret_no_memory(err);
        }
        l->n = c->n;
        l->next = c->it->labels;
        c->it->labels = l;
    }
    *out = &l->texts;
    return PGY_OK;
}

pgy_status interpret_encode_texts(bool *done, call *c, op_tensor *outputs, pgy_error *err)
{
    const pgy_tensor *x = c->inputs[0].value;
    const pgy_string *from = pgy_tensor_data(x);
    const op_attr *values = op_attr_find(c->node, "values_int64s");
    const int64_t fallback = op_attr_int(c->node, "default_int64", -1);
    const size_t count = pgy_tensor_count(x);
    const uint64_t limit = c->host->max_bytes;
    const label_texts *texts = NULL;
    pgy_tensor *made = NULL;
    if (limit && count > limit / sizeof(int64_t)) return PGY_OK; /* the definition says so */
    pgy_status st = texts_of(&texts, c, err);
    if (!st) st = tensor_create_raw(&made, PGY_I64, pgy_tensor_rank(x), pgy_tensor_shape(x), err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", c->n->op_type, c->node->name);
    int64_t *to = pgy_tensor_data(made);
    for (size_t i = 0; i < count; i++) {
        const size_t found = label_texts_find(texts, from[i].data, from[i].size);
        to[i] = !found ? fallback : values ? values->ints[found - 1] : (int64_t)found - 1;
    }
    outputs[0] = (op_tensor){.dtype = PGY_I64, .value = made};
    *done = true;
    return PGY_OK;
}
