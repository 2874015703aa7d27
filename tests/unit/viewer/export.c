/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as CSV and JSON, and the block for bug reports. */
#include "drawing_case.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "viewer/export.h"

static const view_column COLUMNS[] = {
    {"tensor", VIEW_COLUMN_TENSOR},   {"error", VIEW_COLUMN_NUMBER},
    {"time", VIEW_COLUMN_US},         {"bytes", VIEW_COLUMN_BYTES},
    {"verdict", VIEW_COLUMN_VERDICT}, {"error", VIEW_COLUMN_PERCENT}};

static void add_row(drawing_case *c, view_table *t, const char *name, double error,
                    const char *verdict)
{
    const view_cell cells[LENGTH(COLUMNS)] = {{.text = name, .ref = VIEW_NONE},
                                              {.number = error},
                                              {.number = 12.5},
                                              {.number = 1048576},
                                              {.text = verdict},
                                              {.is_empty = true}};
    GOOD(c, view_table_row(&c->results, t, cells, &c->err));
}

static view_table *make_table(drawing_case *c)
{
    view_table *t;
    const view_table like = {.id = "accuracy",
                             .title = "Errors",
                             .columns = (view_column *)COLUMNS,
                             .column_count = LENGTH(COLUMNS)};
    GOOD(c, view_table_add(&t, &c->results, &like, &c->err));
    return t;
}

/* A page that is complete: nothing is read or laid out. */
static pgy_page page_of(drawing_case *c)
{
    return (pgy_page){
        .graphs = {&c->graph}, .graph_count = 1, .results = c->results, .is_complete = true};
}

static void test_export__csv(void **state)
{
    (void)state;
    drawing_case c;
    str out = {0};
    case_begin(&c);
    view_table *t = make_table(&c);
    add_row(&c, t, "conv", 1.25e-6, "pass");
    add_row(&c, t, "a,b \"quoted\"", NAN, "fail");
    add_row(&c, t, "two\nlines", -INFINITY, NULL);
    add_row(&c, t, " padded ", 0, "");
    view_export_csv(&out, t);
    assert_string_equal(out.data, "tensor,error,time [us],bytes [bytes],verdict,error [%]\n"
                                  "conv,1.25e-06,12.5,1048576,pass,\n"
                                  "\"a,b \"\"quoted\"\"\",nan,12.5,1048576,fail,\n"
                                  "\"two\nlines\",-inf,12.5,1048576,,\n"
                                  "\" padded \",0,12.5,1048576,,\n");
    str_deinit(&out);
    case_end(&c);
}

/* A spreadsheet calculates what begins like a formula, and a terminal obeys control characters. */
static void test_export__csv_hostile(void **state)
{
    (void)state;
    static const char *const NAMES[][2] = {
        {"=HYPERLINK(\"http://x\")", "\"'=HYPERLINK(\"\"http://x\"\")\","},
        {"+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0,"},
        {"@SUM(A1)", "'@SUM(A1),"},
        {"-2+3", "'-2+3,"},
        {"\t=1", "\"'\t=1\","},
        {"\x1b[2J", "\\x1b[2J,"},
        {"\xff\u202e", "\\xff\\u202e,"}};
    drawing_case c;
    case_begin(&c);
    for (size_t i = 0; i < LENGTH(NAMES); i++) {
        str out = {0};
        c.results.table_count = 0;
        view_table *t = make_table(&c);
        add_row(&c, t, NAMES[i][0], -1, "pass"); /* a negative number is no formula */
        view_export_csv(&out, t);
        const char *row = strchr(out.data, '\n') + 1;
        assert_memory_equal(row, NAMES[i][1], strlen(NAMES[i][1]));
        assert_memory_equal(row + strlen(NAMES[i][1]), "-1,", 3);
        mem_free(t->cells);
        str_deinit(&out);
    }
    c.results.table_count = 0;
    case_end(&c);
}

static pgy_status write_table(json_writer *w, const void *user, pgy_error *err)
{
    (void)err;
    view_export_json(w, user);
    return PGY_OK;
}

static void test_export__json(void **state)
{
    (void)state;
    drawing_case c;
    char *text;
    arena memory = {0};
    json_value *root;
    case_begin(&c);
    view_table *t = make_table(&c);
    add_row(&c, t, "\"</script>", NAN, "fail");
    add_row(&c, t, "relu", 0.5, NULL);
    GOOD(&c, json_to_text(&text, write_table, t, &c.err));
    GOOD(&c, json_parse(&root, text, strlen(text), &memory, &c.err));
    const json_value *rows = json_get(root, "rows"), *first = json_at(rows, 0),
                     *second = json_at(rows, 1);
    assert_int_equal(rows->count, 2);
    assert_string_equal(json_string(json_get(first, "tensor"), &memory, NULL), "\"</script>");
    assert_true(span_equals(json_get(first, "error")->raw, "nan"));
    assert_true(json_get(second, "error")->real == 0.5);
    assert_int_equal(json_get(second, "error 2")->type, JSON_NULL); /* another column */
    assert_int_equal(json_get(second, "verdict")->type, JSON_NULL);
    assert_int_equal(json_get(root, "columns")->count, LENGTH(COLUMNS));
    arena_deinit(&memory);
    mem_free(text);
    case_end(&c);
}

static void assert_starts(const char *text, const char *start)
{
    if (!str_starts_with(text, start)) fail_msg("'%s' does not start with '%s'", text, start);
}

static char *read_file(drawing_case *c, const char *path)
{
    str text = {0};
    GOOD(c, file_read(&text, path, &c->err));
    assert_int_equal(unlink(path), 0);
    return str_take(&text);
}

static void test_export__files(void **state)
{
    (void)state;
    char dir[] = "export-XXXXXX";
    drawing_case c;
    case_begin(&c);
    case_errors(&c);
    add_row(&c, make_table(&c), "conv_out", 1.25e-6, "pass");
    pgy_page page = page_of(&c);
    assert_non_null(mkdtemp(dir));
    char *csv = path_join(dir, "t.csv"), *json = path_join(dir, "t.json");
    assert_non_null(csv);
    assert_non_null(json);
    GOOD(&c, view_export_table(&page, "accuracy", csv, &c.err));
    GOOD(&c, view_export_table(&page, "accuracy", json, &c.err));
    char *text = read_file(&c, csv);
    assert_starts(text, "tensor,error,");
    mem_free(text);
    text = read_file(&c, json);
    assert_non_null(strstr(text, "\"conv_out\""));
    mem_free(text);
    GOOD(&c, view_export_table(&page, "tensors", csv, &c.err));
    text = read_file(&c, csv);
    assert_starts(text, "tensor,type,shape,largest absolute error\n"
                        "image,float32,1x3x224x224,0\n"
                        "conv_out,float32,1x64x112x112,1.25e-06\n"
                        "relu_out,float32,1x64x112x112,nan\n"
                        "probs,float32,Nx1000,0.0371\n"
                        "if_out,float32,,\n");
    mem_free(text);
    GOOD(&c, view_export_table(&page, "nodes", csv, &c.err));
    text = read_file(&c, csv);
    assert_non_null(strstr(text, "\n/stem/relu,Relu,activation\n"));
    mem_free(text);
    assert_int_equal(view_export_table(&page, "layers", csv, &c.err), PGY_E_NOT_FOUND);
    assert_string_equal(c.err.text,
                        "the view has no table 'layers'; it has: accuracy, nodes, tensors");
    assert_int_equal(view_export_table(&page, "accuracy", "t.xls", &c.err), PGY_E_ARGUMENT);
    assert_string_equal(c.err.text, "'t.xls' does not end in .csv or .json");
    assert_int_equal(rmdir(dir), 0);
    mem_free(csv);
    mem_free(json);
    case_end(&c);
}

/* ---- Report --------------------------------------------------------------------------------- */

static void test_export__report(void **state)
{
    (void)state;
    drawing_case c;
    str out = {0};
    case_begin(&c);
    case_errors(&c);
    c.results.is_judged = true;
    c.results.verdict = "1 of 2 outputs differs";
    GOOD(&c, view_summary_add(&c.results, "Made with", "Command",
                              "polygraphy view small.onnx acc.json", &c.err));
    pgy_page page = page_of(&c);
    GOOD(&c, view_export_report(&out, &page, &c.err));
    assert_string_equal(out.data,
                        "Verdict: failed: 1 of 2 outputs differs\n"
                        "First failing layer: Add add, node 3 of 8\n"
                        "    fail: tolerance 1e-5\n"
                        "    first\n"
                        "    output probs (float32 Nx1000)\n"
                        "        largest absolute error 0.0371\n"
                        "Failures: 2, the worst first\n"
                        "    relu_out: nan, largest absolute error nan, 3 of 802816 elements\n"
                        "    probs: fail, largest absolute error 0.0371, tolerance 1e-5\n"
                        "Made with:\n"
                        "    Command: polygraphy view small.onnx acc.json\n");
    str_deinit(&out);
    case_end(&c);
}

/* No source named a first layer: it is the earliest that fails. */
static void test_export__report_earliest(void **state)
{
    (void)state;
    drawing_case c;
    str out = {0};
    case_begin(&c);
    pgy_page page = page_of(&c);
    GOOD(&c, view_export_report(&out, &page, &c.err));
    assert_string_equal(out.data, "First failing layer: none is known\n");
    str_clear(&out);
    case_mark(&c, VIEW_OF_TENSOR, T_ADD, VIEW_MARK_FAIL, "");
    case_mark(&c, VIEW_OF_TENSOR, T_CONV, VIEW_MARK_INF, "\x1b[31m");
    page = page_of(&c);
    GOOD(&c, view_export_report(&out, &page, &c.err));
    assert_starts(out.data,
                  "First failing layer: Conv /stem/a_rather_long_name_of_a_layer/conv, node "
                  "1 of 8\n    inf: \\x1b[31m\n    output conv_out (float32 1x64x112x112; the "
                  "file declares 1x64x56x56)\n");
    str_deinit(&out);
    case_end(&c);
}
