/* SPDX-License-Identifier: Apache-2.0 */
/* Edit scripts: what the verbs do, how words are read, what errors say; lists of changes. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "gs/script/script.h"
#include "harness/gs_check.h"
#include "harness/gs_text.h"

/* x -> a (Add w) -> t -> r (Relu) -> y */
static const char CHAIN[] = "variable x FLOAT[N,3]\n"
                            "constant w FLOAT[1,3]=1,2,3\n"
                            "insert Add name=a inputs=x,w outputs=t type=FLOAT[N,3]\n"
                            "insert Relu name=r inputs=t outputs=y type=FLOAT[N,3]\n"
                            "set-io inputs=x outputs=y\n";

static void run_on(pgy_gs_graph *g, const char *text)
{
    pgy_gs_script *s = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_script_create(&s, g, &err), PGY_OK);
    if (pgy_gs_script_run(s, "script", text, &err)) fail_msg("%s", err.text);
    pgy_gs_script_destroy(s);
    assert_null(gs_check(g));
}

static pgy_gs_graph *chain(void)
{
    pgy_gs_graph *g = NULL;
    assert_int_equal(pgy_gs_create(&g, NULL), PGY_OK);
    run_on(g, CHAIN);
    return g;
}

static char *text_of(pgy_gs_graph *g)
{
    const pgy_gs_export_options o = {.size = sizeof o, .no_type_check = true};
    pgy_model *model = NULL;
    pgy_error err = {0};
    if (pgy_gs_export(&model, g, &o, &err)) fail_msg("%s", err.text);
    char *text = gs_model_text(model);
    assert_non_null(text);
    pgy_model_destroy(model);
    return text;
}

/* After the script the chain is this, but for the two lines in front. */
static void assert_edits(const char *script, const char *wanted)
{
    pgy_gs_graph *g = chain();
    run_on(g, script);
    char *text = text_of(g);
    const char *body = strstr(text, "\nin ");
    assert_non_null(body);
    assert_string_equal(body + 1, wanted);
    pgy_text_free(text);
    pgy_gs_destroy(g);
}

/* The script fails with exactly this message. */
static void assert_refused(const char *script, const char *message)
{
    pgy_gs_graph *g = chain();
    pgy_gs_script *s = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_script_create(&s, g, &err), PGY_OK);
    assert_int_not_equal(pgy_gs_script_run(s, "script", script, &err), PGY_OK);
    assert_string_equal(err.text, message);
    pgy_gs_script_destroy(s);
    pgy_gs_destroy(g);
}

static void test_script__builds_a_graph(void **state)
{
    (void)state;
    assert_edits("", "in   x:FLOAT['N',3]\n"
                     "Add \"a\" (x, w -> t)\n"
                     "Relu \"r\" (t -> y)\n"
                     "out  y:FLOAT['N',3]\n"
                     "vi   t:FLOAT['N',3]\n"
                     "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__inserts_behind_a_node(void **state)
{
    (void)state;
    assert_edits("insert Mul name=m after=a inputs=$out,const:ones[1,3] outputs=u type=FLOAT",
                 "in   x:FLOAT['N',3]\n"
                 "Add \"a\" (x, w -> t)\n"
                 "Mul \"m\" (t, onnx_graphsurgeon_constant_0 -> u)\n"
                 "Relu \"r\" (u -> y)\n"
                 "out  y:FLOAT['N',3]\n"
                 "vi   t:FLOAT['N',3]\n"
                 "vi   u:FLOAT(none)\n"
                 "init w FLOAT[1,3] = [1,2,3]\n"
                 "init onnx_graphsurgeon_constant_0 FLOAT[1,3] = all 1\n");
}

static void test_script__an_output_keeps_its_name(void **state)
{
    (void)state;
    assert_edits("insert Neg after=r", "in   x:FLOAT['N',3]\n"
                                       "Add \"a\" (x, w -> t)\n"
                                       "Relu \"r\" (t -> neg_out_0)\n"
                                       "Neg \"onnx_graphsurgeon_node_1\" (neg_out_0 -> y)\n"
                                       "out  y:FLOAT['N',3]\n"
                                       "vi   t:FLOAT['N',3]\n"
                                       "vi   neg_out_0:FLOAT['N',3]\n"
                                       "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__inserts_before_a_node(void **state)
{
    (void)state;
    assert_edits("insert Cast name=c before=a outputs=h attr.to=type:FLOAT16",
                 "in   x:FLOAT['N',3]\n"
                 "Cast \"c\" (x -> h) {to=10}\n"
                 "Add \"a\" (h, w -> t)\n"
                 "Relu \"r\" (t -> y)\n"
                 "out  y:FLOAT['N',3]\n"
                 "vi   t:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__removes_a_node(void **state)
{
    (void)state;
    assert_edits("remove a\ncleanup", "in   x:FLOAT['N',3]\n"
                                      "Relu \"r\" (x -> y)\n"
                                      "out  y:FLOAT['N',3]\n");
    assert_edits("remove node=r", "in   x:FLOAT['N',3]\n"
                                  "Add \"a\" (x, w -> y)\n"
                                  "out  y:FLOAT['N',3]\n"
                                  "init w FLOAT[1,3] = [1,2,3]\n");
    assert_edits("remove r keep=input", "in   x:FLOAT['N',3]\n"
                                        "Add \"a\" (x, w -> t)\n"
                                        "out  t:FLOAT['N',3]\n"
                                        "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__replaces_and_renames(void **state)
{
    (void)state;
    assert_edits("replace a op=Sub name='my sub' attr.k=2\n"
                 "rename-node r \"re\\\"lu\"\r\n"
                 "rename t u\\ v",
                 "in   x:FLOAT['N',3]\n"
                 "Sub \"my sub\" (x, w -> u v) {k=2}\n"
                 "Relu \"re\"lu\" (u v -> y)\n"
                 "out  y:FLOAT['N',3]\n"
                 "vi   u v:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n");
    assert_edits("replace-region inputs=x,w outputs=y op=Gemm domain=d name=g\ncleanup",
                 "in   x:FLOAT['N',3]\n"
                 "d.Gemm \"g\" (x, w -> y)\n"
                 "out  y:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__reads_numbers_lists_and_texts(void **state)
{
    (void)state;
    assert_edits("set-attr a i=-3 f=0.5 s=abc q='1' li=[1,2] lf=[1,2.5] ls=[a,'b,c'] e=[] \\\n"
                 "   t=text:5 g=float:2 y=type:INT64 w=tensor:INT64[2]=1,2",
                 "in   x:FLOAT['N',3]\n"
                 "Add \"a\" (x, w -> t) {i=-3 f=0.5 s='abc' q='1' li=[1,2] lf=[1.0,2.5] "
                 "ls=['a','b,c'] e=[] t='5' g=2.0 y=7 w=INT64[2] = [1,2]}\n"
                 "Relu \"r\" (t -> y)\n"
                 "out  y:FLOAT['N',3]\n"
                 "vi   t:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n");
    assert_edits("set-attr a x=1 y=2\nremove-attr a x # and y stays",
                 "in   x:FLOAT['N',3]\n"
                 "Add \"a\" (x, w -> t) {y=2}\n"
                 "Relu \"r\" (t -> y)\n"
                 "out  y:FLOAT['N',3]\n"
                 "vi   t:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__makes_constants(void **state)
{
    (void)state;
    assert_edits("constant a1 zeros[2]\nconstant a2 ones:INT64[]\nconstant a3 iota:INT32[3]\n"
                 "constant a4 INT8=[[1,-2],[3,4]]\nconstant a5 FLOAT16[2]=0.5\n"
                 "constant a6 STRING=[p,'q r']\nconstant a7 [1,2]\nconstant a8 2.5\n"
                 "constant a9 BOOL[2]=true,0\nconstant a10 FLOAT8E4M3FN[2]=0.5,1\n"
                 "insert C name=c inputs=a1,a2,a3,a4,a5,a6,a7,a8,a9,a10 outputs=z\n"
                 "remove a r --cut\nset-outputs c y",
                 "in   x:FLOAT['N',3]\n"
                 "C \"c\" (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10 -> y)\n"
                 "out  y:FLOAT['N',3]\n"
                 "init a1 FLOAT[2] = all 0\n"
                 "init a2 INT64[] = 1\n"
                 "init a3 INT32[3] = [0,1,2]\n"
                 "init a4 INT8[2,2] = [1,-2,3,4]\n"
                 "init a5 FLOAT16[2] = all 0.5\n"
                 "init a6 STRING[2] = ['p','q r']\n"
                 "init a7 INT64[2] = [1,2]\n"
                 "init a8 FLOAT[] = 2.5\n"
                 "init a9 BOOL[2] = [1,0]\n"
                 "init a10 FLOAT8E4M3FN[2] = [0.5,1]\n");
}

static void test_script__values_of_lists_stay_together(void **state)
{
    (void)state;
    assert_edits("set-inputs r t,const:INT64[3]=1,2,3,,const:[4,5],w",
                 "in   x:FLOAT['N',3]\n"
                 "Add \"a\" (x, w -> t)\n"
                 "Relu \"r\" (t, onnx_graphsurgeon_constant_0, , onnx_graphsurgeon_lst_constant_1, "
                 "w -> y)\n"
                 "out  y:FLOAT['N',3]\n"
                 "vi   t:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n"
                 "init onnx_graphsurgeon_constant_0 INT64[3] = [1,2,3]\n"
                 "init onnx_graphsurgeon_lst_constant_1 INT64[2] = [4,5]\n");
}

static void test_script__moves_slots(void **state)
{
    (void)state;
    assert_edits("insert-input a 0 w\nremove-input a 2\nset-input @y 0 x\nset-output @y 1 $none\n"
                 "remove-output r 1",
                 "in   x:FLOAT['N',3]\n"
                 "Add \"a\" (w, x -> t)\n"
                 "Relu \"r\" (x -> y)\n"
                 "out  y:FLOAT['N',3]\n"
                 "vi   t:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__changes_types_and_values(void **state)
{
    (void)state;
    assert_edits("set-type t FLOAT16\nset-type y [?,3]\nto-constant x FLOAT[1,3]=4\n"
                 "to-variable w FLOAT[3]\nset-io inputs=w",
                 "in   w:FLOAT[3]\n"
                 "Add \"a\" (x, w -> t)\n"
                 "Relu \"r\" (t -> y)\n"
                 "out  y:FLOAT[?,3]\n"
                 "vi   t:FLOAT16['N',3]\n"
                 "init x FLOAT[1,3] = all 4\n");
}

static void test_script__another_input_shape_forgets_what_depends_on_it(void **state)
{
    (void)state;
    assert_edits("set-input-shape x 2,3", "in   x:FLOAT[2,3]\n"
                                          "Add \"a\" (x, w -> t)\n"
                                          "Relu \"r\" (t -> y)\n"
                                          "out  y:FLOAT[?,?]\n"
                                          "vi   t:FLOAT[?,?]\n"
                                          "init w FLOAT[1,3] = [1,2,3]\n");
    assert_edits("set-input-shape x 2,3\ninfer-shapes", "in   x:FLOAT[2,3]\n"
                                                        "Add \"a\" (x, w -> t)\n"
                                                        "Relu \"r\" (t -> y)\n"
                                                        "out  y:FLOAT[2,3]\n"
                                                        "vi   t:FLOAT[2,3]\n"
                                                        "init w FLOAT[1,3] = [1,2,3]\n");
    assert_edits("set-input-shape x [2,3] --keep-stale", "in   x:FLOAT[2,3]\n"
                                                         "Add \"a\" (x, w -> t)\n"
                                                         "Relu \"r\" (t -> y)\n"
                                                         "out  y:FLOAT['N',3]\n"
                                                         "vi   t:FLOAT['N',3]\n"
                                                         "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__places_and_sorts(void **state)
{
    (void)state;
    const char *const moved = "in   x:FLOAT['N',3]\n"
                              "Relu \"r\" (t -> y)\n"
                              "Add \"a\" (x, w -> t)\n"
                              "out  y:FLOAT['N',3]\n"
                              "vi   t:FLOAT['N',3]\n"
                              "init w FLOAT[1,3] = [1,2,3]\n";
    assert_edits("place a 1", moved);
    assert_edits("place a after=r", moved);
    assert_edits("place r before=a", moved);
}

static void test_script__says_where_and_what_is_wrong(void **state)
{
    (void)state;
    assert_refused(
        "cleanup\n\n  remvoe a",
        "script:3:3: there is no verb 'remvoe'; did you mean 'remove', 'rename', 'leave'?");
    assert_refused("remove aa", "script:1:1: remove: graph 'onnx_graphsurgeon_graph' has "
                                "no node 'aa'; did you mean 'a'?");
    assert_refused("sort --stabel", "script:1:6: sort: unknown argument '--stabel'; did you mean "
                                    "'--stable'?; usage: sort [--stable] [--no-subgraphs] "
                                    "[--no-functions] [--functions-only]");
    assert_refused("rename t", "script:1:1: rename: name is missing; usage: rename TENSOR NAME");
    assert_refused("rename t 'u", "script:1: column 10: a ' is not closed");
    assert_refused("rename t x", "script:1:1: rename: a tensor 'x' already exists");
    assert_refused("set-type t FLAOT[1]",
                   "script:1:1: set-type: there is no type 'FLAOT'; did you mean 'FLOAT'?");
    assert_refused("constant c INT8[2]=1,300",
                   "script:1:1: constant: '300' is not a value of type INT8");
    assert_refused("constant c INT8[3]=1,2",
                   "script:1:1: constant: 2 values are given, but the shape has 3 elements");
    assert_refused("set-input-shape y 1",
                   "script:1:1: set-input-shape: the graph has no input 'y'; did you mean 'x'?");
    assert_refused("insert Neg after=a slot=1",
                   "script:1:1: insert: node 'a' (Add): has no output 1");
    assert_refused("set-input a 0 $out[1]@r",
                   "script:1:1: set-input: '$out[1]@r': node 'r' has 1 outputs");
    assert_refused("set-io inputs=w",
                   "script:1:1: set-io: weight 'w' cannot be an input of the graph");
    assert_refused("set-io inputs=x,t,x",
                   "script:1:1: set-io: tensor 'x' would become an input of the graph twice");
    assert_refused("add-input x",
                   "script:1:1: add-input: tensor 'x' would become an input of the graph twice");
    assert_refused("set-io outputs=t,t",
                   "script:1:1: set-io: tensor 't' would become an output of the graph twice");
    assert_refused("add-output y",
                   "script:1:1: add-output: tensor 'y' would become an output of the graph twice");
}

static void test_script__refuses_opsets_that_nobody_knows(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    assert_refused(
        "set-opset 99999",
        "script:1:1: set-opset: opset 99999 is newer than 28, the newest that this version knows");
    assert_refused(
        "set-import ai.onnx 29",
        "script:1:1: set-import: opset 29 is newer than 28, the newest that this version knows");
    run_on(g, "set-opset 28\nset-import com.example 99999");
    assert_int_equal(g->opset, 28);
    assert_int_equal(pgy_gs_set_opset(g, 30, NULL), PGY_OK);
    run_on(g, "set-opset 30");
    assert_int_equal(g->opset, 30);
    pgy_gs_destroy(g);
}

static void test_script__refuses_lists_of_numbers_and_texts(void **state)
{
    (void)state;
    assert_refused("set-attr a pads=[1,b]",
                   "script:1:1: set-attr: pads: '[1,b]' mixes numbers and strings; write "
                   "texts:[1,b] to make all of them strings");
    assert_refused("set-attr a pads=[1,'2']",
                   "script:1:1: set-attr: pads: '[1,2]' mixes numbers and strings; write "
                   "texts:[1,2] to make all of them strings");
    assert_edits("set-attr a p=texts:[1,b] q=['1',b]",
                 "in   x:FLOAT['N',3]\n"
                 "Add \"a\" (x, w -> t) {p=['1','b'] q=['1','b']}\n"
                 "Relu \"r\" (t -> y)\n"
                 "out  y:FLOAT['N',3]\n"
                 "vi   t:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__references_belong_into_functions(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain(), *f = NULL;
    assert_refused("set-attr a alpha=ref:alpha:FLOAT",
                   "script:1:1: set-attr: alpha: 'ref:alpha' refers to an attribute of a function, "
                   "but the node is not in a function");
    assert_int_equal(pgy_gs_function(&f, g, "F", NULL, NULL), PGY_OK);
    run_on(g, "enter-function F\nvariable u\ninsert LeakyRelu name=l inputs=u outputs=v "
              "attr.alpha=ref:alpha:FLOAT\nset-io inputs=u outputs=v");
    assert_int_equal(f->node_count, 1);
    assert_string_equal(f->nodes[0]->attributes[0].name, "alpha");
    pgy_gs_destroy(g);
}

static void test_script__text_is_utf8(void **state)
{
    (void)state;
    assert_refused("rename t \xff", "script:1: the text is not UTF-8 at byte 9");
}

static void test_script__refuses_circles(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    pgy_gs_script *s = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_script_create(&s, g, &err), PGY_OK);
    assert_int_equal(pgy_gs_script_run(s, "script", "set-input a 0 y", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "script:1:1: set-input: "));
    assert_non_null(strstr(err.text, "node a -> node r -> node a"));
    pgy_gs_script_destroy(s);
    pgy_gs_destroy(g);
}

static void test_script__two_nodes_of_a_name_are_told(void **state)
{
    (void)state;
    assert_refused("rename-node r a\nremove a",
                   "script:2:1: remove: 2 nodes have the name 'a'; write @TENSOR, where TENSOR is "
                   "an output of the node");
}

static void test_script__every_verb_has_help_and_a_grammar(void **state)
{
    (void)state;
    for (size_t i = 0; pgy_gs_verb_at(i); i++) {
        const pgy_gs_verb *v = pgy_gs_verb_at(i);
        assert_true(v->help[0] != '\0');
        assert_ptr_equal(verb_find(v->name), verb_at(i));
        for (size_t k = 0; k < i; k++) assert_string_not_equal(pgy_gs_verb_at(k)->name, v->name);
    }
}

static void test_script__docs_name_every_verb(void **state)
{
    (void)state;
    str page = {0}, row = {0};
    assert_int_equal(file_read(&page, TEST_SOURCE_DIR "/docs/formats/edit_script.md", NULL),
                     PGY_OK);
    for (size_t i = 0; pgy_gs_verb_at(i); i++) {
        const pgy_gs_verb *v = pgy_gs_verb_at(i);
        str_clear(&row);
        str_printf(&row, "- `%s%s%s`: %s\n", v->name, *v->arguments ? " " : "", v->arguments,
                   v->help);
        if (!strstr(str_text(&page), str_text(&row))) fail_msg("not there: %s", str_text(&row));
    }
    str_deinit(&row);
    str_deinit(&page);
}

static void test_script__changes_are_listed(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain(), *before = NULL;
    pgy_gs_change_list list = {0};
    assert_int_equal(pgy_gs_copy(&before, g, NULL), PGY_OK);
    run_on(g, "insert Neg name=n after=a outputs=u\nreplace r op=Abs attr.k=1\nset-type t FLOAT16\n"
              "to-constant w FLOAT[3]=1\nset-io outputs=u");
    assert_int_equal(pgy_gs_changes(&list, before, g, NULL), PGY_OK);
    char *text = pgy_gs_changes_text(&list, 0), *short_text = pgy_gs_changes_text(&list, 1);
    assert_true(text && short_text);
    assert_string_equal(text, "~ graph 'onnx_graphsurgeon_graph' outputs y become u\n"
                              "+ node 'n' Neg (t -> u)\n"
                              "~ node 'r' Relu -> Abs, k=1\n"
                              "~ node 'r' (t -> y) becomes (u -> y)\n"
                              "~ weight 'w' FLOAT[3]\n"
                              "~ tensor 't' FLOAT[N,3] -> FLOAT16[N,3]\n");
    assert_string_equal(short_text,
                        "~ graph 'onnx_graphsurgeon_graph' outputs y become u\n... and 5 more\n");
    assert_int_equal(list.items[1].kind, PGY_GS_NODE_ADDED);
    pgy_text_free(short_text);
    pgy_text_free(text);
    pgy_gs_change_list_free(&list);
    pgy_gs_destroy(before);
    pgy_gs_destroy(g);
}

static void test_script__no_changes(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain(), *before = NULL;
    pgy_gs_change_list list = {0};
    assert_int_equal(pgy_gs_copy(&before, g, NULL), PGY_OK);
    assert_int_equal(pgy_gs_changes(&list, before, g, NULL), PGY_OK);
    assert_int_equal(list.count, 0);
    pgy_gs_change_list_free(&list);
    pgy_gs_destroy(before);
    pgy_gs_destroy(g);
}

/* ---- A published network -------------------------------------------------------------------- */

static const char NETWORK[] =
    "variable tensor-0 FLOAT[B,1,28,28]\nconstant w1 FLOAT[32,1,5,5]=0.5\nconstant b1 ones[32]\n"
    "constant w2 FLOAT[64,32,5,5]=0.25\nconstant b2 ones[64]\nconstant shape INT64[2]=-1,3136\n"
    "constant m1 ones[3136,1024]\nconstant a1 ones[1024]\nconstant m2 ones[1024,10]\n"
    "constant a2 ones[10]\n"
    "insert Conv name=Conv-1 inputs=tensor-0,w1,b1 outputs=tensor-1 attr.kernel_shape=[5,5] "
    "attr.pads=[2,2,2,2]\n"
    "insert Relu name=ReLU-2 inputs=tensor-1 outputs=tensor-2\n"
    "insert MaxPool name=MaxPool-3 inputs=tensor-2 outputs=tensor-3 attr.kernel_shape=[2,2] "
    "attr.strides=[2,2]\n"
    "insert Conv name=Conv-4 inputs=tensor-3,w2,b2 outputs=tensor-4 attr.kernel_shape=[5,5] "
    "attr.pads=[2,2,2,2]\n"
    "insert Relu name=ReLU-5 inputs=tensor-4 outputs=tensor-5\n"
    "insert MaxPool name=MaxPool-6 inputs=tensor-5 outputs=tensor-6 attr.kernel_shape=[2,2] "
    "attr.strides=[2,2]\n"
    "insert Transpose name=Transpose-7 inputs=tensor-6 outputs=tensor-7 attr.perm=[0,2,3,1]\n"
    "insert Reshape name=Reshape-7 inputs=tensor-7,shape outputs=tensor-8\n"
    "insert MatMul name=MatMul-9 inputs=tensor-8,m1 outputs=tensor-9\n"
    "insert Add name=Add-10 inputs=tensor-9,a1 outputs=tensor-10\n"
    "insert Relu name=ReLU-11 inputs=tensor-10 outputs=tensor-11\n"
    "insert MatMul name=MatMul-12 inputs=tensor-11,m2 outputs=tensor-12\n"
    "insert Add name=Add-13 inputs=tensor-12,a2 outputs=tensor-13\n"
    "insert Softmax name=Softmax-14 inputs=tensor-13 outputs=tensor-14 attr.axis=1\n"
    "insert ArgMax name=ArgMax-15 inputs=tensor-14 outputs=tensor-15 attr.axis=1 attr.keepdims=0\n"
    "set-io inputs=tensor-0 outputs=tensor-15\ninfer-shapes\n";

static void test_script__the_published_network(void **state)
{
    (void)state;
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor_list list = {0};
    assert_int_equal(pgy_gs_create(&g, NULL), PGY_OK);
    run_on(g, NETWORK);
    assert_int_equal(g->node_count, 15);
    assert_int_equal(pgy_gs_tensors(&list, g, true, NULL), PGY_OK);
    static const char *const FIRST[] = {"tensor-0", "w1", "b1", "tensor-1"};
    assert_int_equal(list.count, 25);
    for (size_t i = 0; i < 4; i++) assert_string_equal(list.items[i]->name, FIRST[i]);
    assert_string_equal(list.items[24]->name, "tensor-15");
    assert_int_equal(list.items[24]->dtype, PGY_I64);
    assert_int_equal(list.items[24]->rank, 1);
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        assert_ptr_equal(pgy_gs_node_i(n, 0, 0), i ? g->nodes[i - 1] : NULL);
        assert_ptr_equal(pgy_gs_node_o(n, 0, 0), i < 14 ? g->nodes[i + 1] : NULL);
        assert_ptr_equal(pgy_gs_tensor_i(n->outputs[0], 0, 0), n->inputs[0]);
        assert_ptr_equal(pgy_gs_tensor_o(n->inputs[0], 0, 0), n->outputs[0]);
    }
    pgy_gs_tensor_list_free(&list);
    pgy_gs_destroy(g);
}

/* ---- The seed cases as scripts -------------------------------------------------------------- */

static void run_file(pgy_gs_graph *g, const char *folder, const char *script)
{
    char path[512];
    str text = {0};
    snprintf(path, sizeof path, TEST_SOURCE_DIR "/examples/gs/%s/%s.edit", folder, script);
    assert_int_equal(file_read(&text, path, NULL), PGY_OK);
    run_on(g, str_text(&text));
    str_deinit(&text);
}

static void assert_golden(pgy_gs_graph *g, const char *folder, int number)
{
    char path[512];
    str golden = {0};
    snprintf(path, sizeof path, TEST_SOURCE_DIR "/tests/data/gs/%s.%d.txt", folder, number);
    assert_int_equal(file_read(&golden, path, NULL), PGY_OK);
    char *text = text_of(g);
    assert_string_equal(text, str_text(&golden));
    pgy_text_free(text);
    str_deinit(&golden);
}

/* The scripts of an example write the models that its program writes. */
static void assert_example(const char *folder, const char *script, int before, int after)
{
    pgy_gs_graph *g = NULL;
    assert_int_equal(pgy_gs_create(&g, NULL), PGY_OK);
    if (before) {
        run_file(g, folder, "before");
        assert_golden(g, folder, before);
    }
    run_file(g, folder, script);
    assert_golden(g, folder, after);
    pgy_gs_destroy(g);
}

static void test_script__examples(void **state)
{
    (void)state;
    assert_example("01_build_a_model", "after", 0, 1);
    assert_example("02_insert_a_node", "after", 1, 2);
    assert_example("03_remove_a_node", "after", 1, 2);
    assert_example("04_replace_a_node", "after", 1, 2);
    assert_example("04_replace_a_node", "new_node", 1, 3);
    assert_example("06_fold_clean_sort", "after", 1, 4);
    assert_example("07_simplify_shapes", "after", 1, 2);
    assert_example("08_isolate_a_subgraph", "after", 1, 2);
    assert_example("09_build_with_operations", "after", 1, 2);
}

/* ---- Functions and subgraphs ---------------------------------------------------------------- */

#define SCALED                                                                  \
    "new-function Scaled domain=my inputs=p outputs=q\nadd-parameter f\n"       \
    "add-parameter g 0.5\nset-type q FLOAT[N,3]\n"                              \
    "insert Constant name=k inputs='' outputs=c attr.value_float=ref:f:FLOAT\n" \
    "insert Mul name=m inputs=p,c outputs=q\nleave\n"

static void test_script__a_function_is_made_and_called(void **state)
{
    (void)state;
    assert_edits(SCALED "call Scaled name=one inputs=y outputs=z attr.f=2.0\n"
                        "call Scaled inputs=z attr.f=3.0 attr.g=1.0",
                 "in   x:FLOAT['N',3]\n"
                 "Add \"a\" (x, w -> t)\n"
                 "Relu \"r\" (t -> y)\n"
                 "my.Scaled \"one\" (y -> z) {f=2.0}\n"
                 "my.Scaled \"onnx_graphsurgeon_node_1\" (z -> q_0) {f=3.0 g=1.0}\n"
                 "out  y:FLOAT['N',3]\n"
                 "vi   t:FLOAT['N',3]\n"
                 "vi   z:FLOAT['N',3]\n"
                 "vi   q_0:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n"
                 "function my.Scaled (p -> q) [f] {g=0.5}\n"
                 "  opset \"\" 11\n"
                 "  Constant \"k\" ( -> c) {value_float=@f:FLOAT}\n"
                 "  Mul \"m\" (p, c -> q)\n");
}

static void test_script__calls_have_the_types_of_the_function(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    run_on(g, SCALED "call Scaled name=one inputs=y outputs=z attr.f=2.0");
    const pgy_gs_tensor *z = pgy_gs_find_tensor(g, "z");
    assert_int_equal(z->dtype, PGY_F32);
    assert_int_equal(z->dims[1].value, 3);
    assert_int_equal(g->function_count, 1);
    assert_int_equal(g->functions[0]->parameter_count, 2);
    assert_null(g->functions[0]->parameters[0].value);
    pgy_gs_destroy(g);
}

static void test_script__a_subgraph_is_made(void **state)
{
    (void)state;
    assert_edits("insert If name=i inputs=x outputs=z\n"
                 "new-subgraph i then_branch name=yes outputs=u\ninsert Neg inputs=t outputs=u\n"
                 "leave\nnew-subgraph i else_branch outputs=v\ninsert Abs inputs=x outputs=v\n"
                 "leave\nreplace r op=Tanh",
                 "in   x:FLOAT['N',3]\n"
                 "Add \"a\" (x, w -> t)\n"
                 "Tanh \"r\" (t -> y)\n"
                 "If \"i\" (x -> z) {then_branch=<GRAPH> else_branch=<GRAPH>}\n"
                 "  graph then_branch \"yes\"\n"
                 "    Neg \"onnx_graphsurgeon_node_0\" (t -> u)\n"
                 "    out  u:(no type)\n"
                 "  graph else_branch \"else_branch\"\n"
                 "    Abs \"onnx_graphsurgeon_node_0\" (x -> v)\n"
                 "    out  v:(no type)\n"
                 "out  y:FLOAT['N',3]\n"
                 "vi   t:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__an_input_may_be_an_output_of_a_new_graph(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    run_on(g, "new-function Same inputs=a,b outputs=b,c");
    const pgy_gs_graph *f = g->functions[0];
    assert_ptr_equal(f->inputs[1], f->outputs[0]);
    assert_string_equal(f->domain, "onnx_graphsurgeon");
    pgy_gs_destroy(g);
}

static void test_script__functions_see_their_own_tensors_only(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    run_on(g, "variable lonely FLOAT\nnew-function F inputs=x outputs=lonely\n"
              "insert Neg inputs=x outputs=lonely\nleave");
    assert_int_equal(g->functions[0]->inputs[0]->consumer_count, 1);
    assert_int_equal(pgy_gs_find_tensor(g, "x")->consumer_count, 1);
    pgy_gs_destroy(g);
    assert_refused("variable lonely FLOAT\nnew-function F inputs=p\ninsert Neg inputs=lonely",
                   "script:3:1: insert: graph 'F' has no tensor 'lonely'");
}

static void test_script__a_function_that_nothing_calls_is_removed(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    run_on(g, SCALED "new-function G inputs=p outputs=q\ncall Scaled domain=my inputs=p outputs=q "
                     "attr.f=1.0\nremove-function G\nremove-function Scaled domain=my\n"
                     "insert Neg inputs=y");
    assert_int_equal(g->function_count, 0);
    assert_int_equal(g->node_count, 3);
    pgy_gs_destroy(g);
}

static void test_script__functions_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    assert_refused(SCALED "call Scald inputs=x",
                   "script:8:1: call: there is no function 'Scald'; did you mean 'Scaled'?");
    assert_refused(SCALED "enter-function Scaled\ncall Scaled inputs=p",
                   "script:9:1: call: function 'Scaled' cannot call itself");
    assert_refused(SCALED "new-function Scaled domain=my",
                   "script:8:1: new-function: a function 'Scaled' of domain 'my' already exists");
    assert_refused(
        SCALED "new-function Scaled domain=b\nleave\ncall Scaled inputs=x",
        "script:10:1: call: domains 'my' and 'b' both have a function 'Scaled'; choose one by "
        "domain=");
    assert_refused(SCALED "call Scaled inputs=y\nremove-function Scaled",
                   "script:9:1: remove-function: function 'Scaled' cannot be removed: "
                   "'onnx_graphsurgeon_node_1' calls it");
    assert_refused("add-parameter f",
                   "script:1:1: add-parameter: graph 'onnx_graphsurgeon_graph' is not a function; "
                   "enter one with new-function or enter-function");
    assert_refused("new-function F inputs=a,a",
                   "script:1:1: new-function: inputs: a tensor 'a' already exists");
    assert_refused("new-subgraph a body inputs=x",
                   "script:1:1: new-subgraph: inputs: a tensor 'x' already exists");
    assert_refused("new-subgraph a body\nleave\nnew-subgraph a body",
                   "script:3:1: new-subgraph: node 'a' (Add): already has an attribute 'body'");
    assert_refused("new-function F inputs=p\nnew-function G inputs=p\ncall F inputs=p\n"
                   "enter-function F\ncall G inputs=p",
                   "script:5:1: call: functions call each other in a cycle: function F "
                   "-> function G -> function F");
}

/* ---- Sequences ------------------------------------------------------------------------------ */

static void test_script__sequences_have_types(void **state)
{
    (void)state;
    assert_edits("insert SequenceConstruct name=s inputs=t,y outputs=l\n"
                 "set-type l seq(FLOAT[N,3])\nvariable o optional(seq(INT64))\n"
                 "insert Optional inputs=l outputs=o\nadd-output l o",
                 "in   x:FLOAT['N',3]\n"
                 "Add \"a\" (x, w -> t)\n"
                 "Relu \"r\" (t -> y)\n"
                 "SequenceConstruct \"s\" (t, y -> l)\n"
                 "Optional \"onnx_graphsurgeon_node_0\" (l -> o)\n"
                 "out  y:FLOAT['N',3]\n"
                 "out  l:sequence_type\n"
                 "out  o:optional_type\n"
                 "vi   t:FLOAT['N',3]\n"
                 "init w FLOAT[1,3] = [1,2,3]\n");
}

static void test_script__types_of_sequences_are_inferred(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    run_on(g, "insert SequenceConstruct name=s inputs=t,y outputs=l\n"
              "insert Optional inputs=l outputs=o\nset-opset 17\ninfer-shapes\nadd-output l o");
    assert_int_equal(pgy_gs_find_tensor(g, "l")->type_kind, PGY_VALUE_SEQUENCE);
    assert_int_equal(pgy_gs_find_tensor(g, "l")->dtype, PGY_F32);
    assert_int_equal(pgy_gs_find_tensor(g, "o")->type_kind, PGY_VALUE_OPTIONAL);
    pgy_model *model = NULL;
    pgy_error err = {0};
    if (pgy_gs_export(&model, g, NULL, &err)) fail_msg("%s", err.text);
    const pgy_onnx_type *o = pgy_model_proto(model)->graph->outputs[2]->type;
    const pgy_onnx_type *element = o->optional_type->elem_type->sequence_type->elem_type;
    assert_int_equal(element->tensor_type->elem_type, 1);
    assert_int_equal(element->tensor_type->shape->dims[1]->dim_value, 3);
    pgy_model_destroy(model);
    pgy_gs_destroy(g);
}

static void test_script__a_sequence_can_become_a_tensor_again(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    run_on(g, "set-type t seq(FLOAT)\nset-type t INT64\nset-type y seq(FLOAT[N])\n"
              "set-type y tensor(FLOAT[N,3])");
    assert_int_equal(pgy_gs_find_tensor(g, "t")->type_kind, PGY_VALUE_SEQUENCE);
    assert_int_equal(pgy_gs_find_tensor(g, "t")->dtype, PGY_I64);
    assert_int_equal(pgy_gs_find_tensor(g, "y")->type_kind, PGY_VALUE_TENSOR);
    assert_int_equal(pgy_gs_find_tensor(g, "y")->rank, 2);
    pgy_gs_destroy(g);
    assert_refused("set-type t seq(FLOAT", "script:1:1: set-type: 'seq(FLOAT' lacks its ')'");
    assert_refused("variable v seq([2])",
                   "script:1:1: variable: tensor 'v': a sequence or optional "
                   "needs an element type");
    assert_refused("set-type w seq(FLOAT)", "script:1:1: set-type: the type of tensor 'w' cannot "
                                            "change, because it is a constant; replace its values");
    assert_refused("insert Add inputs=x,const:seq(FLOAT)=1",
                   "script:1:1: insert: 'seq(FLOAT)' is not a tensor type, so it has no values");
}
