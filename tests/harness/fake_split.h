/* SPDX-License-Identifier: Apache-2.0 */
/* Models whose nodes are divided between the host and fake devices. */
#ifndef HARNESS_FAKE_SPLIT_H
#define HARNESS_FAKE_SPLIT_H

#include "engine/context/context.h"
#include "harness/fake_device.h"

enum { FAKE_SPLIT_DEVICES = 2 };

/* A model with data for it, and what the host alone gives. */
typedef struct fake_split_model {
    pgy_model *model;
    engine *host;
    program *program; /* of the host alone */
    pgy_tensor_map *feed, *wanted;
    pgy_tensor_map *before; /* other data, run first, so that nothing right is left in memory */
} fake_split_model;

/* Unknown sizes become 2 and 3. False: shapes depend on data, so that there is no program. Aborts
 * if the host cannot do it. `model` is kept. */
bool fake_split_open(fake_split_model *out, pgy_model *model);
void fake_split_close(fake_split_model *m);

/* One way to divide a model. */
typedef struct fake_split {
    uint64_t seed;
    uint32_t share; /* of 100 nodes, so many run on fake devices if those have their kernel */
    size_t devices; /* 1 or FAKE_SPLIT_DEVICES */
    fake_schedule schedule;
    device *made[FAKE_SPLIT_DEVICES];
    engine *engine;
} fake_split;

/* Every choice from a number. */
fake_split fake_split_draw(uint64_t seed);
/* Registers devices and kernels, and builds; aborts on failure. */
void fake_split_build(fake_split *s, const fake_split_model *m);
/* As before; what the devices gave has to be back. */
void fake_split_destroy(fake_split *s);
/* Runs the other data. @return what failed; NULL: nothing */
const char *fake_split_run_before(const fake_split_model *m, context *c);
/* Runs the other data, then the data. @return the name of an output that differs from what the host
 * alone gives, or what failed; NULL: all is the same, bit by bit */
const char *fake_split_differs(const fake_split_model *m, context *c);
/* The program for the data; program_release. */
program *fake_split_program(const fake_split *s, const fake_split_model *m);
/* Steps that fake devices compute. */
size_t fake_split_steps(const program *p);

#endif
