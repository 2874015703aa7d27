/* SPDX-License-Identifier: Apache-2.0 */
/* Models whose nodes are divided between the host and fake devices. */
#ifndef HARNESS_FAKE_SPLIT_H
#define HARNESS_FAKE_SPLIT_H

#include "engine/context/context.h"
#include "harness/fake_device.h"

enum { FAKE_SPLIT_DEVICES = 2 };

/* A model, its input data, and the outputs that the host alone computes. */
typedef struct fake_split_model {
    pgy_model *model;
    engine *host;
    program *program; /* built for the host alone */
    pgy_tensor_map *feed, *wanted;
    pgy_tensor_map *before; /* other input data, run first, so that memory holds no correct results
                               of an earlier run */
} fake_split_model;

/* Unknown dimensions become 2 and 3. False: shapes depend on data, so there is no program. Aborts
 * if the host cannot run the model. Takes ownership of `model`. */
bool fake_split_open(fake_split_model *out, pgy_model *model);
void fake_split_close(fake_split_model *m);

/* One way to divide a model. */
typedef struct fake_split {
    uint64_t seed;
    uint32_t share; /* percentage of the nodes with a fake kernel that run on fake devices */
    size_t devices; /* 1 or FAKE_SPLIT_DEVICES */
    fake_schedule schedule;
    device *made[FAKE_SPLIT_DEVICES];
    engine *engine;
} fake_split;

/* Draws all choices from a seed. */
fake_split fake_split_draw(uint64_t seed);
/* Writes a line with the choices and, once the engine is built, one line per step that runs a
 * kernel: node, kernel and device. Cut off if `size` is too small. */
void fake_split_describe(char *out, size_t size, const fake_split *s, const fake_split_model *m);
/* Registers devices and kernels, and builds the engine. Aborts on failure. */
void fake_split_build(fake_split *s, const fake_split_model *m);
/* Undoes fake_split_build. Aborts if memory or streams of the devices were not given back. */
void fake_split_destroy(fake_split *s);
/* Runs the model on m->before. @return the error; NULL: none */
const char *fake_split_run_before(const fake_split_model *m, context *c);
/* Runs the model on m->before, then on m->feed. @return the name of an output that differs from the
 * host's, or an error; NULL: all outputs have the same bits */
const char *fake_split_differs(const fake_split_model *m, context *c);
/* The program for the shapes of m->feed. Free with program_release. */
program *fake_split_program(const fake_split *s, const fake_split_model *m);
/* Number of steps whose kernel runs on a fake device. */
size_t fake_split_steps(const program *p);

#endif
