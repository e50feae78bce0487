#!/bin/bash
# foretell serve: documents that are the command's, byte for byte; uploads; every kind of error; access.
set -u
. tests/repo/tap.sh
. tests/serve/serve.sh
scripts/make-models resnet50 mobilenet_v2 bert_base >/dev/null || exit 1
models=$build/models
mkdir -p "$scratch/allowed/inside" "$scratch/elsewhere" "$scratch/store"
cp "$models"/{resnet50,mobilenet_v2,bert_base}.onnx "$scratch/allowed"
cp "$models/resnet50.onnx" "$scratch/elsewhere/secret.onnx"
ln -s "$scratch/elsewhere/secret.onnx" "$scratch/allowed/link.onnx"
ln -s "$scratch/elsewhere" "$scratch/allowed/folder"
head -c 2000 "$models/resnet50.onnx" >"$scratch/allowed/cut.onnx"
head -c 300000 /dev/zero >"$scratch/large"

# --- The documents of the command ---

# Compares the answer with what the command prints in the folder of the models.
is_command() { # "command with options", path, options of curl...
    local command=$1
    shift
    # shellcheck disable=SC2086  # a list of options
    (cd "$scratch/allowed" && "$foretell" $command >"$scratch/expected")
    ask "$@" >"$scratch/answer" || return 1
    [ -s "$scratch/expected" ] && cmp "$scratch/expected" "$scratch/answer" || { head -c 1000 "$scratch/answer"; return 1; }
}

start_server --models "$scratch/store" --allow "$scratch/allowed" --workers 2 --max-body 1M || exit 1
point "predict is the document of the command" is_command 'predict resnet50.onnx --device rtx-4090 --batch 1,8 -f json' \
    /v1/predict -d '{"model": "resnet50.onnx", "device": "rtx-4090", "batch": [1, 8]}'
point "again, from the cache" is_command 'predict resnet50.onnx --device rtx-4090 --batch 1,8 -f json' \
    /v1/predict -d '{"model": "resnet50.onnx", "device": "rtx-4090", "batch": [1, 8]}'
point "training with layers" is_command 'predict resnet50.onnx --device rtx-3090 --mode train --optimizer adam --by-layer --top 3 -f json' \
    /v1/predict -d '{"model": "resnet50.onnx", "device": "rtx-3090", "mode": "train", "optimizer": "adam", "by_layer": true, "top": 3}'
point "all devices, as CSV" is_command 'predict mobilenet_v2.onnx -f csv' \
    /v1/predict -d '{"model": "mobilenet_v2.onnx", "format": "csv"}'
point "settings and shapes" is_command \
    'predict bert_base.onnx --device a100 --shape sequence=128 --compile --setting amp=yes -f json' \
    /v1/predict -d '{"model": "bert_base.onnx", "device": "a100", "shape": {"sequence": 128}, "compile": true, "setting": {"amp": "yes"}}'
point "a model as the body" is_command 'predict resnet50.onnx --device rtx-4090 --batch 1..8 -f json' \
    '/v1/predict?device=rtx-4090&batch=1..8&name=resnet50.onnx' --data-binary "@$models/resnet50.onnx"
point "fits" is_command 'fits resnet50.onnx --device rtx-3090,a100 --free 2GiB --batch 64 -f json' \
    /v1/fits -d '{"model": "resnet50.onnx", "device": ["rtx-3090", "a100"], "free": "2GiB", "batch": 64}'
point "max-batch" is_command 'max-batch resnet50.onnx --device rtx-3090 --mode train -f json' \
    /v1/max-batch -d '{"model": "resnet50.onnx", "device": "rtx-3090", "mode": "train"}'
point "inspect" is_command 'inspect mobilenet_v2.onnx --nodes --top 5 --sort flops --batch 4 -f json' \
    /v1/inspect -d '{"model": "mobilenet_v2.onnx", "nodes": true, "top": 5, "sort": "flops", "batch": 4}'
point "kernels" is_command 'inspect mobilenet_v2.onnx --kernels tflite-cpu -f json' \
    /v1/inspect -d '{"model": "mobilenet_v2.onnx", "kernels": "tflite-cpu"}'
point "devices" is_command 'list devices -f json' /v1/devices
point "predictors" is_command 'list predictors -f json' /v1/predictors

# --- Lists of requests ---

list_answers_each() {
    gets 200 '"answers": [' /v1/predict -d '{"device": "rtx-4090", "requests": [{"model": "resnet50.onnx"},
        {"model": "absent.onnx"}, {"model": "mobilenet_v2.onnx", "format": "csv"}, {"model": "cut.onnx"}]}' &&
        [ "$(grep -o '^{"status": [0-9]*' "$scratch/body" | cut -d' ' -f2 | paste -sd,)" = 200,404,200,422 ]
}
point "a list has an answer each, and one that fails does not fail the others" list_answers_each

# --- Uploads ---

upload() { # file, name
    ask "/v1/models${2:+?name=$2}" --data-binary "@$1" | sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p'
}

uploads_are_kept() {
    id=$(upload "$models/resnet50.onnx" first) && [ "$id" = "$(sha256sum <"$models/resnet50.onnx" | cut -d' ' -f1)" ] &&
        [ "$(cat "$scratch/status")" = 201 ] && upload "$models/resnet50.onnx" >/dev/null && [ "$(cat "$scratch/status")" = 200 ]
}
point "an upload has the hash of its bytes as its id" uploads_are_kept
point "by id" is_command 'predict resnet50.onnx --device a100 -f json' \
    /v1/predict -d "{\"model\": \"$(sha256sum <"$models/resnet50.onnx" | cut -d' ' -f1)\", \"name\": \"resnet50.onnx\", \"device\": \"a100\"}"
point "by name" is_command 'predict resnet50.onnx --device a100 -f json' \
    /v1/predict -d '{"model": "first", "name": "resnet50.onnx", "device": "a100"}'
same_bytes() { ask /v1/models/first | cmp - "$models/resnet50.onnx"; }
point "its bytes come back" same_bytes
point "uploads are listed" gets 200 '"names": ["first"]' /v1/models
point "what is no model is not kept" fails 422 'FT_ERR_FORMAT' /v1/models --data-binary "@$scratch/large"
point "a bad name" fails 400 'expected at most' '/v1/models?name=../x' --data-binary "@$models/resnet50.onnx"
point "an empty body" fails 400 'the body is empty' /v1/models -X POST
stop_server
start_server --models "$scratch/store" --allow "$scratch/allowed" --workers 2 --max-body 200K
point "uploads are there after a restart" gets 200 '"names": ["first"]' /v1/models
point "an upload is removed" gets 204 '' /v1/models/first -X DELETE
point "and is gone" fails 404 'no upload' /v1/models/first

# --- Errors ---

point "a path that is not there" fails 404 'no such path' /v1/none
point "a wrong method" fails 405 'there are POST' /v1/predict
point "no JSON" fails 400 'the request is not JSON: line 1' /v1/predict -d '{"model": '
point "JSON that is no object" fails 400 'an object is expected' /v1/predict -H 'Content-Type: application/json' -d '[1]'
point "an unknown key" fails 400 'devices: no such key' /v1/predict -d '{"devices": "a100"}'
point "an unknown parameter" fails 400 'devices: no such key' '/v1/predict?devices=a100' --data-binary "@$models/resnet50.onnx"
point "no model" fails 400 'model: is absent' /v1/predict -d '{"device": "a100"}'
point "an unknown model" fails 404 'no upload of this id or name' /v1/predict -d '{"model": "none"}'
point "a model twice" fails 400 'the body is a model' '/v1/predict?model=a' --data-binary "@$models/resnet50.onnx"
point "an unknown device" fails 400 'FT_ERR_USAGE' /v1/predict -d '{"model": "resnet50.onnx", "device": "h1000"}'
point "a wrong batch" fails 400 'batch: is 0' /v1/predict -d '{"model": "resnet50.onnx", "batch": 0}'
point "an open dimension" fails 422 'FT_ERR_UNBOUND' /v1/predict -d '{"model": "bert_base.onnx", "device": "a100"}'
point "a damaged model" fails 422 'FT_ERR_DAMAGED' /v1/inspect -d '{"model": "cut.onnx"}'
is_message_of_command() {
    ask /v1/predict -d '{"model": "bert_base.onnx", "device": "a100"}' >/dev/null
    local message
    message=$(cd "$scratch/allowed" && "$foretell" predict bert_base.onnx --device a100 2>&1 | sed 's/^foretell: //')
    grep -qF "${message#bert_base.onnx: }" "$scratch/body" || { echo "$message"; cat "$scratch/body"; return 1; }
}
point "the message is that of the command" is_message_of_command
point "too large, as announced" fails 413 '--max-body' /v1/predict --data-binary "@$scratch/large"
point "too large, in chunks" fails 413 'larger than' /v1/predict -H 'Transfer-Encoding: chunked' -H 'Expect:' --data-binary "@$scratch/large"
point "the server goes on" gets 200 '"ok"' /healthz

# --- Paths ---

for path in ../elsewhere/secret.onnx inside/../../elsewhere/secret.onnx "$scratch/elsewhere/secret.onnx" link.onnx folder/secret.onnx \
    /etc/passwd "" "$scratch/allowed/../elsewhere/secret.onnx" /proc/self/root/etc/passwd; do
    point "no file outside of the allowed folders: '${path#"$scratch"}'" fails 404 'no upload' /v1/inspect -d "{\"model\": \"$path\"}"
done
point "the folder itself is no model" fails 422 'is a folder' /v1/inspect -d '{"model": "."}'
point "a bundled model" gets 200 '"params": 61100840' /v1/inspect -d '{"model": "AlexNet"}'
point "a bundled model is no path" fails 404 'no bundled model' /v1/inspect -d '{"model": "../alexnet"}'
point "a whole path in it" gets 200 '"macs' /v1/inspect -d "{\"model\": \"$scratch/allowed/resnet50.onnx\"}"
point "no data sheet of a file" fails 400 'files are not opened' /v1/predict -d '{"model": "resnet50.onnx", "device": "/etc/passwd"}'
changed_model_is_read_again() {
    cp "$models/mobilenet_v2.onnx" "$scratch/allowed/changing.onnx"
    ask /v1/inspect -d '{"model": "changing.onnx"}' >"$scratch/one"
    sleep 0.02
    cp "$models/resnet50.onnx" "$scratch/allowed/changing.onnx"
    ask /v1/inspect -d '{"model": "changing.onnx"}' >"$scratch/two"
    grep -q '"name": "mobilenet' "$scratch/one" && grep -q '"name": "resnet' "$scratch/two"
}
point "a model that changed is read again" changed_model_is_read_again

# --- Metrics ---

metrics_are_sound() { # no series twice; each has a type
    ask /metrics >"$scratch/metrics"
    [ -z "$(grep -v '^#' "$scratch/metrics" | sed 's/ [^ ]*$//' | sort | uniq -d)" ] &&
        [ "$(metric 'foretell_http_requests_total{method="DELETE",route="/v1/models/",code="204"}')" = 1 ] &&
        { ! command -v promtool >/dev/null || promtool check metrics <"$scratch/metrics"; }
}
point "metrics are sound" metrics_are_sound

# --- Access ---

stop_server
printf '# tokens\nfirst-token\n\nsecond-token\n' >"$scratch/tokens"
start_server --token-file "$scratch/tokens" --socket "$scratch/socket" --log json
point "no token" fails 401 'a token is needed' /v1/devices
point "a wrong token" fails 401 'a token is needed' /v1/devices -H 'Authorization: Bearer first-token2'
point "the beginning of one" fails 401 'a token is needed' /v1/devices -H 'Authorization: Bearer first'
point "a right token" gets 200 'rtx-4090' /v1/devices -H 'Authorization: Bearer second-token'
point "health needs none" gets 200 ok /healthz
point "a Unix socket" gets 200 ok /readyz --unix-socket "$scratch/socket"
point "without --models nothing is kept" fails 404 '--models' /v1/models -X POST -H 'Authorization: Bearer first-token'
stop_server
point "the log is JSON" grep -q '"path": "/v1/devices", "status": 401' "$scratch/log"
point "the socket is removed" test ! -e "$scratch/socket"

if command -v openssl >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$scratch/key.pem" -out "$scratch/cert.pem" -days 2 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    start_server --tls-cert "$scratch/cert.pem" --tls-key "$scratch/key.pem"
    point "TLS" gets 200 ok /healthz --cacert "$scratch/cert.pem"
    stop_server
else
    skip "TLS" "openssl is not there"
fi

# --- Starting ---

does_not_start() { # exit status, message, options...
    local expected=$1 message=$2 output status
    shift 2
    # shellcheck disable=SC2086  # two words or none
    output=$(timeout 20 "$foretell" serve --listen 127.0.0.1:0 $unlimited "$@" 2>&1)
    status=$?
    [ "$status" = "$expected" ] && grep -qF -- "$message" <<<"$output" || { echo "status $status: $output"; return 1; }
}
point "a wrong address" does_not_start 2 'expected ADDRESS:PORT' --listen nowhere
point "a predictor that is not there" does_not_start 3 'absent.ftm' --predictor absent.ftm
point "a folder that is not there" does_not_start 3 'cannot open the folder' --allow "$scratch/absent"
point "a certificate without key" does_not_start 2 'belong together' --tls-cert cert.pem
point "no tokens" does_not_start 2 'has no token' --token-file /dev/null
finish
