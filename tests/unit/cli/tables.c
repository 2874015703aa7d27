/* SPDX-License-Identifier: Apache-2.0 */
/* The option tables of every command: what the parser and the help take for granted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "cli/program_polygraphy.h"

static size_t member_size(const pgy_option *row)
{
    switch (row->kind) {
    case PGY_OPTION_FLAG: return sizeof(bool);
    case PGY_OPTION_COUNT: return sizeof(int);
    case PGY_OPTION_INT: return sizeof(int64_t);
    case PGY_OPTION_TEXT: return sizeof(char *);
    case PGY_OPTION_POSITIONAL:
        return row->nargs == PGY_ONE || row->nargs == PGY_OPTIONAL ? sizeof(char *)
                                                                   : sizeof(pgy_text_list);
    default: return sizeof(pgy_text_list);
    }
}

static bool takes_value(const pgy_option *row)
{
    return row->kind == PGY_OPTION_INT || row->kind == PGY_OPTION_TEXT ||
           row->kind == PGY_OPTION_LIST || row->kind == PGY_OPTION_APPEND;
}

static void check_row(const option_group *group, const pgy_option *row, void *user)
{
    strmap *seen = user;
    span name;
    assert_true(row->offset + member_size(row) <= group->settings_size);
    if (!row->hidden) assert_true(row->help && row->help[0]);
    if (row->hidden && row->kind != PGY_OPTION_RUNNER)
        assert_true(row->deprecated || row->help); /* older spellings say what to use */
    assert_true(takes_value(row) == (row->nargs != PGY_NONE) || row->kind == PGY_OPTION_POSITIONAL);
    if (row->meta) assert_true(row->meta[0] != 0);
    if (row->nargs == PGY_OPTIONAL && takes_value(row)) assert_non_null(row->constant);
    for (size_t i = 0; option_spelling(&name, row, i); i++) {
        if (row->kind != PGY_OPTION_POSITIONAL) {
            assert_true(name.size >= 2 && name.data[0] == '-');
            assert_true(name.size == 2 ? name.data[1] != '-' : name.data[1] == '-');
        }
        if (strmap_get_n(seen, name.data, name.size))
            fail_msg("%.*s stands in two rows", (int)name.size, name.data);
        assert_true(strmap_put_n(seen, name.data, name.size, (void *)row));
    }
    for (size_t i = 0; row->choices && row->choices[i]; i++)
        for (size_t k = 0; k < i; k++) assert_string_not_equal(row->choices[i], row->choices[k]);
}

/* Settings are found by their type, so a line has one group of each. */
static void test_tables__one_group_of_each_settings_type(void **state)
{
    (void)state;
    for (const command *const *c = PROGRAM_POLYGRAPHY.commands; *c; c++) {
        const option_group *const *groups = command_groups(*c);
        for (size_t g = 0; groups[g]; g++) {
            assert_non_null(groups[g]->settings_type);
            for (size_t k = 0; k < g; k++)
                if (!strcmp(groups[k]->settings_type, groups[g]->settings_type))
                    fail_msg("%s: two groups of %s", (*c)->tool, groups[g]->settings_type);
        }
    }
}

static void test_tables__rows(void **state)
{
    (void)state;
    for (const command *const *c = PROGRAM_POLYGRAPHY.commands; *c; c++) {
        strmap seen = {0};
        assert_true(strmap_put(&seen, "-h", &seen) && strmap_put(&seen, "--help", &seen));
        args_visit(command_groups(*c), check_row, &seen);
        strmap_deinit(&seen);
    }
}

static void test_tables__commands(void **state)
{
    (void)state;
    const program *p = &PROGRAM_POLYGRAPHY;
    for (const command *const *at = PROGRAM_POLYGRAPHY.commands; *at; at++) {
        const command *c = *at;
        bool known = false;
        for (const tool_info *t = p->tools; t->name; t++)
            known = known || !strcmp(t->name, c->tool);
        assert_true(known);
        assert_non_null(c->run);
        assert_true(c->summary[0] && c->description[0]);
        assert_ptr_equal(command_find(p, c->tool, c->subtool), c);
    }
    for (const tool_info *t = p->tools; t->name; t++) {
        size_t count = 0;
        for (const command *const *c = p->commands; *c; c++) count += !strcmp((*c)->tool, t->name);
        if (!count) fail_msg("tool %s has no command", t->name);
        assert_true(t->summary && t->summary[0]);
    }
    const command_alias *alias = NULL;
    assert_ptr_equal(command_find_older(&alias, p, "data", "to-input"),
                     command_find(p, "data", "merge"));
    assert_null(alias->words);
    assert_ptr_equal(command_find_older(&alias, p, "precision", "linear"),
                     command_find(p, "debug", "precision"));
    assert_string_equal(alias->words, "--mode linear --dir reverse");
    assert_null(command_find_older(&alias, p, "precision", "nothing"));
    assert_null(command_find_older(&alias, p, "data", NULL));
    assert_null(command_find(p, "data", "nothing"));
}

static void test_tables__commands_can_be_parsed_as_often_as_one_likes(void **state)
{
    (void)state;
    for (const command *const *c = PROGRAM_POLYGRAPHY.commands; *c; c++) {
        for (int i = 0; i < 2; i++) {
            args line = {0};
            args_outcome outcome;
            const char *words[] = {"--help"};
            assert_int_equal(command_open(&line, &PROGRAM_POLYGRAPHY, *c, NULL), PGY_OK);
            assert_int_equal(args_parse(&line, &outcome, 1, words, NULL), PGY_OK);
            assert_int_equal(outcome, ARGS_HELP);
            args_deinit(&line);
        }
    }
}
