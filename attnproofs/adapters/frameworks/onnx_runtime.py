"""``onnxruntime``: the operator Attention, opset 24, on the CPU provider of ONNX Runtime."""

import onnxruntime

from attnproofs.adapters.frameworks.onnx_reference import adapter, make


def session(model):
    """A session on one thread that stays quiet about what it optimises."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


RUNS = "onnxruntime.InferenceSession, opset 24"
ADAPTER = adapter("onnxruntime", RUNS, "onnxruntime", make(24, session), ("onnxruntime", "onnx"))
