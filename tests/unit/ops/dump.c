/* SPDX-License-Identifier: Apache-2.0 */
/* The registry as JSON, for comparisons from outside: OP_DUMP=path names the file, one object per
 * row. Without it the text is made and looked at only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "ops/op.h"

static void write_attributes(json_writer *w, const op_def *row)
{
    static const char *const KINDS[] = {
        "NONE", "FLOAT",   "INT",     "STRING", "TENSOR",        "GRAPH",     "FLOATS",
        "INTS", "STRINGS", "TENSORS", "GRAPHS", "SPARSE_TENSOR", "TYPE_PROTO"};
    json_key(w, "attributes");
    json_begin_array(w);
    for (const op_attr_def *d = row->attrs; d && d->name; d++) {
        json_begin_object(w);
        json_put_text(w, "name", d->name);
        json_put_text(w, "kind", KINDS[d->kind]);
        json_put_int(w, "required", d->required);
        json_put_text(w, "default", d->fallback);
        json_put_text(w, "choices", d->choices);
        json_put_text(w, "range", d->range);
        json_end_object(w);
    }
    json_end_array(w);
}

static void write_row(json_writer *w, const op_def *row)
{
    const pgy_dtype_info *types;
    const size_t count = pgy_dtype_list(&types);
    json_begin_object(w);
    json_put_text(w, "name", row->name);
    json_put_text(w, "domain", row->domain);
    json_put_text(w, "signature", row->signature);
    json_put_int(w, "since", row->since);
    json_put_int(w, "deprecated", row->deprecated);
    json_put_int(w, "min_inputs", row->min_inputs);
    json_put_int(w, "max_inputs", row->flags & OP_VARIADIC_INPUTS ? -1 : row->max_inputs);
    json_put_int(w, "min_outputs", row->min_outputs);
    json_put_int(w, "max_outputs", row->flags & OP_VARIADIC_OUTPUTS ? -1 : row->max_outputs);
    json_key(w, "types");
    json_begin_array(w);
    for (size_t i = 0; row->types && *row->types && i < count; i++)
        if (op_type_in(row->types, types[i].dtype)) json_text(w, types[i].onnx_name);
    json_end_array(w);
    write_attributes(w, row);
    json_end_object(w);
}

static void test_dump__every_row(void **state)
{
    (void)state;
    str out = {0};
    json_writer *w = NULL;
    pgy_error err = {0};
    assert_int_equal(json_writer_create_str(&w, &out, &err), PGY_OK);
    json_begin_array(w);
    for (size_t i = 0; i < op_table_count(); i++) write_row(w, op_table_at(i));
    json_end_array(w);
    assert_int_equal(json_writer_finish(w, &err), PGY_OK);
    json_writer_destroy(w);
    assert_non_null(strstr(str_text(&out), "\"Conv\""));
    const char *path = getenv("OP_DUMP");
    if (path) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(str_text(&out), 1, out.size, f), out.size);
        assert_int_equal(fclose(f), 0);
    }
    str_deinit(&out);
}
