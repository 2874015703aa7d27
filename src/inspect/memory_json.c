/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a graph as JSON: sums, steps, tensors. */
#include "base/json.h"
#include "inspect/memory_report.h"

static void write_tensor(json_writer *w, const pgy_memory_tensor *t)
{
    json_begin_object(w);
    json_put_text(w, "name", t->name);
    json_put_text(w, "dtype", pgy_dtype_name(t->dtype));
    if (t->rank < 0)
        json_put_null(w, "shape");
    else
        json_put_ints(w, "shape", t->shape, (size_t)t->rank);
    json_put_uint(w, "size_bytes", t->size_bytes);
    json_put_uint(w, "first_step", t->first);
    json_put_uint(w, "last_step", t->last);
    json_put_text(w, "producer", t->producer);
    json_put_text(w, "last_user", t->last_user);
    json_put_text(w, "shares_with", t->shares_with);
    json_put_text(w, "unknown_why", t->unknown_why);
    json_put_bool(w, "input", t->is_input);
    json_put_bool(w, "output", t->is_output);
    json_put_bool(w, "bound", t->is_bound);
    json_end_object(w);
}

static void write_steps(json_writer *w, const pgy_memory *m)
{
    json_key(w, "steps");
    json_begin_array(w);
    for (size_t i = 0; i < pgy_memory_step_count(m); i++) {
        const pgy_memory_step *s = pgy_memory_step_at(m, i);
        json_begin_object(w);
        json_put_text(w, "node", s->node);
        json_put_text(w, "op_type", s->op_type);
        json_put_uint(w, "live_bytes", s->live_bytes);
        json_put_uint(w, "inner_bytes", s->inner_bytes);
        json_end_object(w);
    }
    json_end_array(w);
}

static void write_sums(json_writer *w, const pgy_memory_summary *s)
{
    json_put_uint(w, "peak_bytes", s->peak_bytes);
    json_put_uint(w, "peak_step", s->peak_step);
    json_put_uint(w, "weight_bytes", s->weight_bytes);
    json_put_uint(w, "weight_count", s->weight_count);
    json_put_uint(w, "input_bytes", s->input_bytes);
    json_put_uint(w, "output_bytes", s->output_bytes);
    json_put_uint(w, "unknown_count", s->unknown_count);
    json_put_uint(w, "bound_count", s->bound_count);
    json_put_bool(w, "out_of_order", s->out_of_order);
}

typedef struct memory_document {
    const pgy_memory *memory;
    pgy_memory_report_options options;
} memory_document;

static pgy_status write_document(json_writer *w, const void *user, pgy_error *err)
{
    const memory_document *document = user;
    const pgy_memory *m = document->memory;
    const pgy_memory_summary *s = pgy_memory_summarize(m);
    (void)err;
    json_begin_object(w);
    json_put_int(w, "version", 1);
    json_put_text(w, "model", document->options.model);
    write_sums(w, s);
    write_steps(w, m);
    json_key(w, "tensors");
    json_begin_array(w);
    for (size_t i = 0; i < pgy_memory_tensor_count(m); i++)
        write_tensor(w, pgy_memory_tensor_at(m, i));
    json_end_array(w);
    json_key(w, "unknown");
    json_begin_array(w);
    for (size_t i = 0; i < s->unknown_count; i++) write_tensor(w, pgy_memory_unknown_at(m, i));
    json_end_array(w);
    json_key(w, "bounds");
    json_begin_array(w);
    for (size_t i = 0; i < s->bound_count; i++) write_tensor(w, pgy_memory_bound_at(m, i));
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_memory_json(char **out, const pgy_memory *m,
                           const pgy_memory_report_options *options, pgy_error *err)
{
    memory_document document = {.memory = m};
    const pgy_status st = memory_report_options(&document.options, options, err);
    return st ? st : json_to_text(out, write_document, &document, err);
}

pgy_status pgy_memory_save_json(const pgy_memory *m, const char *path,
                                const pgy_memory_report_options *options, pgy_error *err)
{
    memory_document document = {.memory = m};
    const pgy_status st = memory_report_options(&document.options, options, err);
    return st ? st : json_save(path, write_document, &document, err);
}
