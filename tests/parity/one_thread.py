# SPDX-License-Identifier: Apache-2.0
"""Runs a script with sessions of ONNX Runtime that have one thread: one_thread.py SCRIPT ARGUMENT...

`run` starts two parts at once, and making and ending the threads of a session takes three quarters of its time."""
import os
import runpy
import sys


def limit():
    import onnxruntime

    start = onnxruntime.InferenceSession.__init__

    def start_with_one(self, model, sess_options=None, *more, **named):
        options = sess_options or onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.intra_op_num_threads or 1
        start(self, model, options, *more, **named)

    onnxruntime.InferenceSession.__init__ = start_with_one


if __name__ == "__main__":
    del sys.argv[0]
    sys.argv[0] = os.path.abspath(sys.argv[0])
    limit()
    runpy.run_path(sys.argv[0], run_name="__main__")
