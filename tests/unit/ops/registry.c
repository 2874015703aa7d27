/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table: look-up by version, consistency of the rows, and that no operator file was
 * forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op.h"

static void test_registry__newest_row_not_above_the_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < op_table_count(); i++) {
        const op_def *row = op_table_at(i);
        assert_ptr_equal(op_find(row->domain, row->name, row->since), row);
        const op_def *before = op_find(row->domain, row->name, row->since - 1);
        assert_true(!before ||
                    (before->since < row->since && strcmp(before->name, row->name) == 0));
    }
    const op_def *relu = op_find("", "Relu", 1000);
    assert_non_null(relu);
    assert_string_equal(relu->name, "Relu");
    assert_ptr_equal(op_find("ai.onnx", "Relu", 1000), relu);
}

static void test_registry__unknown_names(void **state)
{
    (void)state;
    assert_null(op_find("", "Relux", 13));
    assert_null(op_find("", "", 13));
    assert_null(op_find("nobody.here", "Relu", 13));
    assert_null(op_find("", "Relu", 0));
    assert_null(op_table_at(op_table_count()));
}

static void test_registry__rows_are_complete(void **state)
{
    (void)state;
    assert_true(op_table_count() > 0);
    for (size_t i = 0; i < op_table_count(); i++) {
        const op_def *row = op_table_at(i);
        assert_non_null(row->domain);
        assert_non_null(row->infer);
        assert_non_null(row->eval);
        assert_true(row->since >= 1);
        assert_true(row->min_inputs <= row->max_inputs || (row->flags & OP_VARIADIC_INPUTS));
        assert_true(row->min_outputs <= row->max_outputs || (row->flags & OP_VARIADIC_OUTPUTS));
        const op_def *next = op_table_at(i + 1);
        if (next && strcmp(next->name, row->name) == 0 && strcmp(next->domain, row->domain) == 0)
            assert_true(next->since > row->since);
        for (const op_attr_def *d = row->attrs; d && d->name; d++)
            assert_false(d->required && d->fallback);
    }
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

static void test_registry__every_operator_file_has_its_line(void **state)
{
    (void)state;
    glob_t files = {0};
    char *lines = read_all(TEST_SOURCE_DIR "/src/ops/ops.def");
    assert_int_equal(glob(TEST_SOURCE_DIR "/src/ops/*.c", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char name[256], table[300], line[300];
        const char *base = strrchr(files.gl_pathv[i], '/') + 1;
        snprintf(name, sizeof name, "%.*s", (int)strlen(base) - 2, base);
        snprintf(table, sizeof table, "const op_def OP_%s[]", name);
        snprintf(line, sizeof line, "OP(%s)\n", name);
        char *source = read_all(files.gl_pathv[i]);
        if (strstr(source, table) && !strstr(lines, line)) fail_msg("ops.def lacks OP(%s)", name);
        free(source);
    }
    globfree(&files);
    free(lines);
}
