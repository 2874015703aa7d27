/* SPDX-License-Identifier: Apache-2.0 */
/** The whole of libpolygraphy's API. Each header below can be included alone and is the manual of
 * its part. */
#ifndef POLYGRAPHY_POLYGRAPHY_H
#define POLYGRAPHY_POLYGRAPHY_H

#include <polygraphy/backend.h>
#include <polygraphy/base.h>
#include <polygraphy/bench.h>
#include <polygraphy/bench_budget.h>
#include <polygraphy/bench_sweep.h>
#include <polygraphy/bisect_rewrites.h>
#include <polygraphy/capability.h>
#include <polygraphy/communicator.h>
#include <polygraphy/compare.h>
#include <polygraphy/cut.h>
#include <polygraphy/data.h>
#include <polygraphy/debug.h>
#include <polygraphy/debug_minimise.h>
#include <polygraphy/decode.h>
#include <polygraphy/describe.h>
#include <polygraphy/diff.h>
#include <polygraphy/engine.h>
#include <polygraphy/engine_runner.h>
#include <polygraphy/graph.h>
#include <polygraphy/gs.h>
#include <polygraphy/gs_script.h>
#include <polygraphy/lint.h>
#include <polygraphy/loader.h>
#include <polygraphy/machine.h>
#include <polygraphy/memory.h>
#include <polygraphy/network.h>
#include <polygraphy/noise.h>
#include <polygraphy/onnx.h>
#include <polygraphy/operator.h>
#include <polygraphy/option.h>
#include <polygraphy/page.h>
#include <polygraphy/perf.h>
#include <polygraphy/plugin.h>
#include <polygraphy/plugin_tune.h>
#include <polygraphy/precision.h>
#include <polygraphy/record.h>
#include <polygraphy/refit.h>
#include <polygraphy/route.h>
#include <polygraphy/runner.h>
#include <polygraphy/runtime.h>
#include <polygraphy/saved.h>
#include <polygraphy/shard.h>
#include <polygraphy/simplify.h>
#include <polygraphy/tactics.h>
#include <polygraphy/tensor.h>
#include <polygraphy/timing_cache.h>
#include <polygraphy/trace.h>
#include <polygraphy/trace_summary.h>
#include <polygraphy/transform.h>
#include <polygraphy/vote.h>
#include <polygraphy/weights.h>
#include <polygraphy/where.h>

#endif
