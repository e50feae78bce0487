#!/bin/bash
# answers.sh FOLDER - asks a server for one answer to each operation of serve/openapi.json, for test_openapi.c: the file is named after
# the operation. Exits with an error when the server does not answer.
set -u
folder=$1
. tests/serve/serve.sh
scripts/make-models resnet50 >/dev/null || exit 1
model=$build/models/resnet50.onnx
start_server --models "$scratch/store" --allow "$build/models" --workers 1 || exit 1
keep() { # operation, as ask
    local name=$1
    shift
    ask "$@" >"$folder/$name"
}
keep predict /v1/predict -d '{"model": "resnet50.onnx", "device": ["rtx-4090", "cortex-a76"]}'
keep fits /v1/fits -d '{"model": "resnet50.onnx", "device": "rtx-3090"}'
keep maxBatch /v1/max-batch -d '{"model": "resnet50.onnx", "device": "rtx-3090"}'
keep inspect /v1/inspect -d '{"model": "resnet50.onnx"}'
keep answers /v1/fits -d '{"device": "rtx-3090", "requests": [{"model": "resnet50.onnx"}, {"model": "absent"}, {"model": "resnet50.onnx", "format": "csv"}]}'
keep upload '/v1/models?name=net' --data-binary "@$model"
keep models /v1/models
keep observe /v1/observations -d '{"model": "net", "device": "rtx-3090", "time_ms": 5, "peak_bytes": "2GiB", "util_ratio": 0.9}'
keep devices /v1/devices
keep predictors /v1/predictors
keep reload /v1/predictors:reload -X POST
keep health /healthz
keep ready /readyz
keep openapi /openapi.json
keep problem /v1/fits -d '{"device": 7}'
stop_server
