/* SPDX-License-Identifier: Apache-2.0 */
/* Programs for several devices out of which something is taken: the fake device finds it. Each
 * fault is planted at every place where it can be, in a child process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/fake_split.h"

static const char *const MODELS[] = {
    "examples/models/attention.onnx",         "examples/models/digits.onnx",
    "examples/models/transformer_block.onnx", "tests/data/surgeon/decoder.onnx",
    "tests/data/exported/llama.onnx",         "tests/data/exported/unet.onnx"};
enum { SCHEDULES = 12 };

typedef enum fault {
    NO_FAULT,
    NO_COPY,
    NO_WAIT,
    NO_RECORD, /* the event is that of the run before */
    LATE_WAIT, /* behind the step that needs it */
    WRONG_SPACE,
    FAULTS
} fault;

static const char *const FAULT_NAMES[FAULTS] = {"none",      "no copy",   "no wait",
                                                "no record", "late wait", "wrong space"};

typedef struct planted {
    const fake_split_model *model;
    fake_split *split;
    program *p;
    fault fault;
    size_t at; /* step or tensor */
} planted;

/* ---- Faults ---------------------------------------------------------------------------------- */

/* Kernels need not read constant shapes and scales again, which they read when they were prepared.
 */
static bool is_prepared(const program *p, const program_step *s, size_t k)
{
    const program_tensor *t = &p->tensors[s->tensors[k]];
    return t->place == PROGRAM_CONSTANT &&
           (t->dtype == PGY_I64 || (k && strcmp(s->op_type, "Resize") == 0));
}

static bool is_read_or_written(const program *p, size_t tensor)
{
    const program_tensor *t = &p->tensors[tensor];
    if (!t->size_bytes || t->place == PROGRAM_INPUT || t->place == PROGRAM_OUTPUT) return false;
    for (size_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        for (size_t k = 0; k < (size_t)s->input_count + s->captured_count + s->output_count; k++)
            if (s->tensors[k] == tensor && !is_prepared(p, s, k)) return true;
    }
    return false;
}

/* The last step of each stream that a space is behind. */
typedef struct view {
    size_t behind[PROGRAM_MAX_SPACES];
} view;

static void join(view *to, const view *from)
{
    for (size_t i = 0; i < PROGRAM_MAX_SPACES; i++)
        if (from->behind[i] > to->behind[i]) to->behind[i] = from->behind[i];
}

static bool is_copy_to_host(const program *p, size_t step)
{
    const program_step *s = &p->steps[step];
    return s->act == PROGRAM_COPY && p->tensors[s->tensors[1]].space == 0;
}

/* Does `to` know of a copy to the host that `from` does not know of? */
static bool brings_copy(const program *p, const view *from, const view *to)
{
    for (size_t i = 0; i < p->step_count; i++) {
        const uint32_t stream = p->steps[i].space;
        if (is_copy_to_host(p, i) && i > from->behind[stream] && i <= to->behind[stream])
            return true;
    }
    return false;
}

/* Does this wait bring its space behind a copy that it was not behind before? */
static bool is_needed(const program *p, size_t wait)
{
    view views[PROGRAM_MAX_SPACES] = {0}, recorded[64] = {0};
    for (size_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        view *own = &views[s->space];
        assert_true(s->event < 64);
        if (s->space) join(own, &views[0]); /* the host has enqueued it */
        if (s->act == PROGRAM_RECORD) {
            recorded[s->event] = *own;
            recorded[s->event].behind[s->space] = i;
        } else if (s->act == PROGRAM_WAIT) {
            if (i == wait) return brings_copy(p, own, &recorded[s->event]);
            join(own, &recorded[s->event]);
        }
    }
    return false;
}

static bool is_waited_for(const program *p, size_t record)
{
    for (size_t i = record; i < p->step_count; i++)
        if (p->steps[i].act == PROGRAM_WAIT && p->steps[i].event == p->steps[record].event)
            return true;
    return false;
}

/* What is superfluous would not be missed. */
static void expect_no_redundant_order(const program *p, const char *name)
{
    for (size_t i = 0; i < p->step_count; i++) {
        if (p->steps[i].act == PROGRAM_WAIT && !is_needed(p, i))
            fail_msg("%s: the wait at step %zu is for nothing", name, i);
        if (p->steps[i].act == PROGRAM_RECORD && !is_waited_for(p, i))
            fail_msg("%s: nothing waits for the event of step %zu", name, i);
    }
}

static bool can_be_late(const program *p, size_t step)
{
    return step + 1 < p->step_count && p->steps[step].act == PROGRAM_WAIT &&
           (p->steps[step + 1].act == PROGRAM_RUN || p->steps[step + 1].act == PROGRAM_COPY);
}

/* Behind the device's memory there may be anybody's, and by chance the right bytes. */
static bool fits_on_device(const program *p, size_t tensor)
{
    const program_tensor *t = &p->tensors[tensor];
    const program_space *s = &p->spaces[1];
    const uint64_t size = t->place == PROGRAM_CONSTANT ? s->constant_bytes : s->arena_bytes;
    return t->space || t->offset + t->size_bytes <= size;
}

static bool is_place(const planted *f)
{
    const program *p = f->p;
    const program_step *s = f->fault == WRONG_SPACE ? NULL : &p->steps[f->at];
    switch (f->fault) {
    case NO_COPY: return s->act == PROGRAM_COPY;
    case NO_WAIT: return s->act == PROGRAM_WAIT;
    case NO_RECORD: return s->act == PROGRAM_RECORD;
    case LATE_WAIT: return can_be_late(p, f->at);
    case WRONG_SPACE: return is_read_or_written(p, f->at) && fits_on_device(p, f->at);
    default: return false;
    }
}

static size_t place_count(const planted *f)
{
    return f->fault == WRONG_SPACE ? f->p->tensor_count : f->p->step_count;
}

/* A context has copied what steps read, but walks the steps of the program. */
static void plant_before(const planted *f)
{
    program_step *s = &f->p->steps[f->at];
    if (f->fault == WRONG_SPACE) f->p->tensors[f->at].space = !f->p->tensors[f->at].space;
    if (f->fault == LATE_WAIT) {
        const program_step moved = s[0];
        s[0] = s[1];
        s[1] = moved;
    }
}

static void plant_behind(const planted *f)
{
    if (f->fault == NO_COPY || f->fault == NO_WAIT || f->fault == NO_RECORD)
        f->p->steps[f->at].act = PROGRAM_ACT_END; /* does nothing */
}

/* In a child. */
static void run_with_fault(void *user)
{
    const planted *f = user;
    context *c = NULL;
    plant_before(f);
    if (context_create(&c, f->split->engine, 1, NULL)) abort();
    for (uint64_t i = 0; i < SCHEDULES; i++) {
        for (size_t k = 0; k < f->split->devices; k++)
            fake_device_set_schedule(f->split->made[k], i % 4 ? FAKE_MIXED : FAKE_LATE, i);
        if (fake_split_differs(f->model, c)) abort();
        if (i == 0) {
            fake_split_run_before(f->model, c);
            plant_behind(f);
        }
    }
    context_destroy(c);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void open_model(fake_split_model *m, const char *name)
{
    char path[512];
    pgy_model *model = NULL;
    snprintf(path, sizeof path, "%s/%s", TEST_SOURCE_DIR, name);
    assert_int_equal(pgy_model_load(&model, path, NULL, NULL), PGY_OK);
    assert_true(fake_split_open(m, model));
}

static void plant_everywhere(size_t planted_of[FAULTS], const fake_split_model *m, fake_split *s,
                             const char *name)
{
    planted f = {.model = m, .split = s, .p = fake_split_program(s, m)};
    expect_no_redundant_order(f.p, name);
    assert_true(fake_survives(run_with_fault, &f));
    for (f.fault = NO_FAULT + 1; f.fault < FAULTS; f.fault++)
        for (f.at = 0; f.at < place_count(&f); f.at++) {
            if (!is_place(&f)) continue;
            planted_of[f.fault]++;
            if (fake_survives(run_with_fault, &f))
                fail_msg("%s: %s at %zu of draw %d for %zu devices is not found", name,
                         FAULT_NAMES[f.fault], f.at, (int)s->seed, s->devices);
        }
    program_release(f.p);
}

static void test_fake_faults__each_is_found_at_each_place(void **state)
{
    (void)state;
    size_t planted_of[FAULTS] = {0};
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++) {
        fake_split_model m;
        open_model(&m, MODELS[i]);
        for (size_t devices = 1; devices <= FAKE_SPLIT_DEVICES; devices++) {
            fake_split s = fake_split_draw(i);
            s.devices = devices;
            s.share = 60;
            fake_split_build(&s, &m);
            plant_everywhere(planted_of, &m, &s, MODELS[i]);
            fake_split_destroy(&s);
        }
        fake_split_close(&m);
    }
    for (int i = NO_FAULT + 1; i < FAULTS; i++) {
        print_message("%s: %zu planted, all found\n", FAULT_NAMES[i], planted_of[i]);
        assert_true(planted_of[i] >= 5);
    }
}

/* ---- What no device has to find ---------------------------------------------------------------
 */

static void expect_no_context(const fake_split_model *m, const fake_split *s, const char *why)
{
    context *c = NULL;
    pgy_error err = {0};
    assert_int_equal(context_create(&c, s->engine, 1, &err), PGY_OK);
    const char *failed = fake_split_run_before(m, c);
    if (!failed || !strstr(failed, why)) fail_msg("'%s' is not in '%s'", why, failed);
    context_destroy(c);
}

static uint32_t find_tensor(const program *p, program_place place)
{
    for (uint32_t i = 0; i < p->tensor_count; i++)
        if (p->tensors[i].place == place) return i;
    fail_msg("there is no such tensor");
    return 0;
}

static size_t find_step(const program *p, program_act act)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i].act == act) return i;
    fail_msg("there is no such step");
    return 0;
}

/* They are errors of the first run; every run would read a NULL event or a caller's memory. */
static void test_fake_faults__impossible_programs_are_refused(void **state)
{
    (void)state;
    static const program_place PLACES[] = {PROGRAM_INPUT, PROGRAM_OUTPUT};
    fake_split_model m;
    open_model(&m, "tests/data/surgeon/decoder.onnx");
    fake_split s = fake_split_draw(1);
    s.devices = 1;
    s.share = 60;
    fake_split_build(&s, &m);
    program *p = fake_split_program(&s, &m);
    for (size_t i = 0; i < 2; i++) {
        program_tensor *t = &p->tensors[find_tensor(p, PLACES[i])];
        t->space = 1;
        expect_no_context(&m, &s, "must be on the host");
        t->space = 0;
    }
    program_step *record = &p->steps[find_step(p, PROGRAM_RECORD)];
    record->act = PROGRAM_ACT_END;
    expect_no_context(&m, &s, "no earlier step records the event");
    record->act = PROGRAM_RECORD;
    context *c = NULL;
    assert_int_equal(context_create(&c, s.engine, 1, NULL), PGY_OK);
    assert_null(fake_split_differs(&m, c));
    context_destroy(c);
    program_release(p);
    fake_split_destroy(&s);
    fake_split_close(&m);
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static const char PLAN[] = TEST_BINARY_DIR "/fake_faults.plan";

static void save_and_open(engine **out, const fake_split_model *m, size_t devices, fake_split *s)
{
    pgy_error err = {0};
    *s = fake_split_draw(1);
    s->devices = devices;
    s->share = 60;
    fake_split_build(s, m);
    if (engine_save(s->engine, PLAN, &err)) fail_msg("%s", err.text);
    if (engine_open(out, PLAN, &err)) fail_msg("%s", err.text);
}

static void expect_same(const fake_split_model *m, engine *e)
{
    context *c = NULL;
    assert_int_equal(context_create(&c, e, 1, NULL), PGY_OK);
    const char *differs = fake_split_differs(m, c);
    if (differs) fail_msg("%s", differs);
    context_destroy(c);
}

static void test_fake_faults__plans_run_on_the_devices_that_they_were_built_for(void **state)
{
    (void)state;
    fake_split_model m;
    open_model(&m, "tests/data/surgeon/decoder.onnx");
    for (size_t devices = 1; devices <= FAKE_SPLIT_DEVICES; devices++) {
        fake_split s;
        engine *opened = NULL;
        save_and_open(&opened, &m, devices, &s);
        program *p = NULL, *built = fake_split_program(&s, &m);
        assert_int_equal(engine_program_for(&p, opened, 0, NULL), PGY_OK);
        assert_true(p->mapped);
        assert_int_equal(p->space_count, devices + 1);
        assert_true(fake_split_steps(p) > 0);
        assert_int_equal(fake_split_steps(p), fake_split_steps(built));
        program_release(p);
        program_release(built);
        expect_same(&m, opened);
        engine_release(opened);
        fake_split_destroy(&s);
    }
    remove(PLAN);
    fake_split_close(&m);
}

static void expect_refused(const char *why)
{
    engine *e = NULL;
    pgy_error err = {0};
    assert_int_equal(engine_open(&e, PLAN, &err), PGY_E_UNSUPPORTED);
    if (!strstr(err.text, why)) fail_msg("'%s' is not in '%s'", why, err.text);
    assert_null(strchr(err.text, '\n'));
}

static void test_fake_faults__plans_without_their_device_are_refused(void **state)
{
    (void)state;
    fake_split_model m;
    fake_split s;
    engine *opened = NULL;
    open_model(&m, "tests/data/surgeon/decoder.onnx");
    save_and_open(&opened, &m, 1, &s);
    engine_release(opened);
    fake_device_set_fingerprint(s.made[0], "fake, driver 2");
    expect_refused("the plan was built for device 'fake:0' with fake, driver 1, but this one has "
                   "fake, driver 2: convert the model again");
    fake_split_destroy(&s);
    expect_refused("the plan was built for device 'fake:0' (fake, driver 1), which is not "
                   "available in this process");
    remove(PLAN);
    fake_split_close(&m);
}
