#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the files of results here, with the program: make.sh PYTHON POLYGRAPHY TRTEXEC. Times differ at each call, so tests of times use
# timelines that make_traces.py writes.
set -e
cd "$(dirname "$0")"
python=$1 polygraphy=$2 trtexec=$3
"$python" make_models.py
"$python" make_traces.py
# Names of runners have the time in them.
clean() { sed -i -E 's/-runner-N([0-9]+)-[0-9\/]+-[0-9:.]+-[0-9]+/-runner-N\1/g; s/"duration_s": [0-9.e-]+/"duration_s": 0.001/; s/"runtime": [0-9.e-]+/"runtime": 0.001/; s/"model": ".*\//"model": "/; s# /[^ "]*/([^ /"]*\.onnx)# \1#g' "$@"; }
"$polygraphy" run net.onnx --opref --onnx-outputs mark all --seed 1 --save-inputs inputs.json --save-outputs outputs_good.json
"$polygraphy" run net_wrong.onnx --opref --onnx-outputs mark all --load-inputs inputs.json --save-outputs outputs_wrong.json
"$polygraphy" run --load-outputs outputs_good.json outputs_wrong.json --compare simple cosine_similarity snr --save-accuracy-results accuracy.json --report report.json || true
"$polygraphy" run states.onnx --opref --load-inputs states_inputs.json --save-outputs outputs_states.json --validate || true
"$polygraphy" where net.onnx --a opref --b opref --b-model net_wrong.onnx --load-inputs inputs.json --json where.json || true
"$polygraphy" where states.onnx --load-inputs states_inputs.json --nan --json where_nan.json || true
"$polygraphy" where net.onnx --load-inputs inputs.json --headroom --json where_headroom.json
"$polygraphy" where net.onnx --load-inputs inputs.json --floor --json where_floor.json
"$polygraphy" inspect diff net.onnx net_wrong.onnx --json diff.json || true
"$trtexec" --onnx=net.onnx --exportProfile=trtexec_profile.json --exportLayerInfo=trtexec_layers.json --profilingVerbosity=detailed \
    --iterations=5 --duration=0 --warmUp=0 --separateProfileRun
"$polygraphy" run net.onnx --trt --iterations 3 --export-trace trace.json
"$python" - <<END
import glob, os, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.enable_profiling = True
session = onnxruntime.InferenceSession("net.onnx", options)
for _ in range(3):
    session.run(None, {"x": numpy.ones((2, 8), numpy.float32)})
os.replace(session.end_profiling(), "onnxruntime_profile.json")
END
clean trace.json accuracy.json report.json outputs_*.json where*.json
"$polygraphy" inspect memory net.onnx --json memory.json
"$polygraphy" check lint ../cli/lint.onnx -o lint.json || true
"$polygraphy" inspect capability ../cli/custom.onnx -o parts --json capability.json
rm -rf parts
"$polygraphy" debug reduce net_wrong.onnx -o reduced.onnx --save-debug-replay replay_reduce.json --check "! grep -q /layer.2/matmul polygraphy_debug.onnx"
"$polygraphy" debug repeat --until 4 --save-debug-replay replay_repeat.json --check "mkdir tried || { rmdir tried; false; }" || true
"$polygraphy" run net.onnx --opref --load-inputs inputs.json --save-outputs plain.json
"$polygraphy" debug reduce net_wrong.onnx -o reduced.onnx --load-inputs inputs.json --on mismatch --check-with plain.json \
    --save-debug-replay replay_minimise.json
rm -rf reduced.onnx replay_*_skip_current.json tried polygraphy_artifacts polygraphy_debug.onnx
block=../../../examples/models/transformer_block.onnx
"$polygraphy" run $block --trt --passes=none --save-outputs plain.json
"$polygraphy" where $block --a plain.json --b trt --bisect-passes --atol 0 --rtol 0 --json passes.json || true
rm plain.json
models=../../../examples/models
echo 3 1 4 1 > prompt
"$polygraphy" run $models/llama.onnx --opref --decode 5 --prompt-ids prompt --save-outputs plain.json
"$polygraphy" run $models/llama_late.onnx --opref --decode 5 --prompt-ids prompt --load-outputs plain.json --report decode.json || true
rm plain.json prompt
clean memory.json passes.json decode.json
