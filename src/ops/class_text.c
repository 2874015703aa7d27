/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of lists and of the texts of outputs. */
#include "ops/class_text.h"

#include "base/alloc.h"
#include "tensor/tensor.h"

bool text_list_grow(text_list *l)
{
    const size_t room = l->capacity ? 2 * l->capacity : 64;
    span *more =
        room <= SIZE_MAX / sizeof *more ? mem_realloc(l->items, room * sizeof *more) : NULL;
    if (!more) return false;
    l->items = more;
    l->capacity = room;
    return true;
}

void text_list_deinit(text_list *l)
{
    mem_free(l->items);
}

pgy_status text_room(char **out, const op_eval *c, size_t output, size_t bytes, pgy_error *err)
{
    *out = tensor_text_room(c->outputs[output].value, bytes);
    if (*out) return PGY_OK;
    return op_error(c->node, err, PGY_E_MEMORY, "out of memory for %zu bytes of texts", bytes);
}

pgy_status text_take(const op_eval *c, size_t output, const str *made, pgy_error *err)
{
    pgy_string *y = out_data(c, output);
    char *at = NULL;
    if (made->failed) return rule_no_memory(c->node, err);
    const pgy_status st = text_room(&at, c, output, made->size, err);
    if (st || !made->size) return st;
    memcpy(at, made->data, made->size);
    for (size_t i = 0; i < out_count(c, output); at += y[i++].size + 1) y[i].data = at;
    return PGY_OK;
}
