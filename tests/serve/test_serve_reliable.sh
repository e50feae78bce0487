#!/bin/bash
# foretell serve under bad clients, slow models, crashes and signals: nothing acknowledged is lost, nothing stops the others.
set -u
. tests/repo/tap.sh
. tests/serve/serve.sh
scripts/make-models resnet50 mobilenet_v2 >/dev/null || exit 1
models=$build/models
mkdir -p "$scratch/store" "$scratch/predictors"
cp predictors/npu.ftm "$scratch/predictors/mine.ftm" 2>/dev/null || cp "$(ls predictors/*.ftm | head -1)" "$scratch/predictors/mine.ftm"
port_of() { sed 's/.*://' <<<"$url"; }

# A thousand predictions for every device and many batches: longer than a second.
slow_body() {
    printf '{"model": "resnet50.onnx", "mode": "train", "by_layer": true, "batch": "1..1048576", "requests": ['
    local i
    for ((i = 0; i < 999; i++)); do printf '{"name": "%d"}, ' "$i"; done
    printf '{}]}'
}
slow_body >"$scratch/slow"

# --- Observations and kill -9 --------------------------------------------------------------------------------------------

observe() { # microseconds
    curl -sS --max-time 20 -o /dev/null -w '%{http_code}' "$url/v1/observations" \
        -d "{\"model\": \"net\", \"device\": \"rtx-4090\", \"batch\": 4, \"time_us\": $1}" 2>/dev/null
}

# Writes acknowledged times to a file until the server is gone.
observe_until_killed() { # first, file
    local i
    for ((i = $1; i < $1 + 2000; i++)); do
        [ "$(observe "$i")" = 201 ] || return 0
        echo "$i" >>"$2"
    done
}

start_server --models "$scratch/store" --workers 2 || exit 1
ask '/v1/models?name=net' --data-binary "@$models/resnet50.onnx" >/dev/null
for round in 1 2 3; do
    : >"$scratch/acknowledged"
    observe_until_killed $((round * 10000)) "$scratch/acknowledged" &
    one=$!
    observe_until_killed $((round * 10000 + 5000)) "$scratch/acknowledged" &
    two=$!
    for ((i = 0; i < 400; i++)); do [ "$(wc -l <"$scratch/acknowledged")" -ge 5 ] && break; sleep 0.05; done
    kill -9 "$server"
    wait "$server" 2>/dev/null
    wait "$one" "$two"
    [ "$round" != 2 ] || printf 'name,resnet,half a row' >>"$scratch/store/observations.csv"
    start_server --models "$scratch/store" --workers 2 || exit 1
    ask /v1/observations >"$scratch/rows"
    all_there() {
        [ -s "$scratch/acknowledged" ] && [ "$(tail -c1 "$scratch/rows" | od -An -c | tr -d ' ')" = '\n' ] &&
            [ -z "$(comm -23 <(sort "$scratch/acknowledged") <(cut -d, -f11 "$scratch/rows" | sort))" ]
    }
    point "kill -9 loses no acknowledged observation, round $round ($(wc -l <"$scratch/acknowledged") of them)" all_there
done
imports() {
    rm -rf "$scratch/jobs"
    "$foretell" import table "$scratch/store/observations.csv" -o "$scratch/jobs" --quiet &&
        "$foretell" data export "$scratch/jobs" | grep -q ',rtx-4090,4,'
}
point "observations are a data set" imports
point "the rolling error is there after a restart" gets 200 'foretell_observation_error_ratio{device="rtx-4090",metric="time"}' /metrics
point "a model that observations name stays" fails 409 'observations name it' /v1/models/net -X DELETE
point "an observation with the model as its body" gets 201 '"device": "a100' '/v1/observations?device=a100&time_ms=7&batch=2' \
    --data-binary "@$models/mobilenet_v2.onnx"
point "an observation without a measurement" fails 400 'at least one is expected' /v1/observations -d '{"model": "net", "device": "a100"}'
stop_server
echo 'not a table' >"$scratch/store/observations.csv"
refuses_foreign() { ! start_server --models "$scratch/store" && grep -q 'not a file of observations' "$scratch/log"; }
point "a file that is no table of observations is left alone" refuses_foreign
rm "$scratch/store/observations.csv"

# --- Limits of uploads -----------------------------------------------------------------------------------------------------

size=$(stat -c %s "$models/resnet50.onnx")
rm -rf "$scratch/store"
start_server --models "$scratch/store" --models-size $((size + 1000)) --workers 1 || exit 1
ask '/v1/models?name=old' --data-binary "@$models/mobilenet_v2.onnx" >/dev/null
ask '/v1/models?name=new' --data-binary "@$models/resnet50.onnx" >/dev/null
point "the least recently used upload makes room" fails 404 'no upload' /v1/models/old
point "for the new one" gets 200 '"names": ["new"]' /v1/models
stop_server

# --- Reloading -------------------------------------------------------------------------------------------------------------

start_server --predictor "$scratch/predictors/mine.ftm" --allow "$models" --workers 2 || exit 1
reloads_under_load() {
    local i failed=0
    for i in 1 2 3 4; do
        (for ((j = 0; j < 25; j++)); do
            curl -sS -o /dev/null -w '%{http_code}\n' "$url/v1/inspect" -d "{\"model\": \"resnet50.onnx\", \"batch\": $((i * 100 + j + 1))}"
        done) >"$scratch/codes.$i" &
    done
    for i in 1 2 3; do gets 200 mine.ftm /v1/predictors:reload -X POST || failed=1; done
    wait $(jobs -p | grep -v "^$server$")
    [ "$failed" = 0 ] && [ "$(cat "$scratch"/codes.* | sort | uniq -c | xargs)" = '100 200' ]
}
point "reloading under load fails no request" reloads_under_load
mv "$scratch/predictors/mine.ftm" "$scratch/predictors/kept.ftm"
head -c 100 "$scratch/predictors/kept.ftm" >"$scratch/predictors/mine.ftm"
point "a damaged predictor is refused" fails 500 'the predictors in use stay' /v1/predictors:reload -X POST
point "and the old ones still answer" gets 200 '"macs' /v1/inspect -d '{"model": "resnet50.onnx"}'
stop_server

# --- Limits of requests ----------------------------------------------------------------------------------------------------

start_server --allow "$models" --workers 2 --timeout 1 || exit 1
point "what takes too long is ended" fails 504 'longer than 1 s' /v1/predict -d "@$scratch/slow"
point "and the next request is answered" gets 200 '"macs' /v1/inspect -d '{"model": "resnet50.onnx"}'
point "it is counted" test "$(metric foretell_worker_timeouts_total)" -ge 1

slow_clients_are_closed() {
    local i fds=() fd
    trap '' PIPE # what is written to a closed connection
    for ((i = 0; i < 400; i++)); do # half of them send the beginning of a request, one of them a byte now and then
        exec {fd}<>"/dev/tcp/127.0.0.1/$(port_of)" || return 1
        [ $((i % 2)) = 0 ] || printf 'POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{' >&"$fd" || return 1
        fds+=("$fd")
    done
    gets 200 ok /healthz || return 1
    [ "$(metric foretell_http_connections)" -gt 10 ] || { echo "connections: $(metric foretell_http_connections)"; return 1; }
    for ((i = 0; i < 60; i++)); do
        sleep 0.25
        printf ' ' 2>/dev/null >&"${fds[1]}" || true
        [ "$(metric foretell_http_connections)" -gt 2 ] || return 0
    done
    echo "still open: $(metric foretell_http_connections)"
    return 1
}
point "400 clients that do not go on are closed, and hold up no one" slow_clients_are_closed
survives_crash() {
    local workers
    workers=$(pgrep -P "$server") && kill -SEGV $workers && sleep 0.2
    ask /v1/inspect -d '{"model": "resnet50.onnx", "batch": 3}' >/dev/null
    ask /v1/inspect -d '{"model": "resnet50.onnx", "batch": 3}' >/dev/null
    gets 200 '"macs' /v1/inspect -d '{"model": "resnet50.onnx", "batch": 3}'
}
point "workers that crash are replaced" survives_crash
stop_server

if [ "$sanitized" = 0 ]; then
    start_server --allow "$models" --workers 1 --worker-memory 400M || exit 1
    point "a worker has its memory" gets 200 '"macs' /v1/inspect -d '{"model": "resnet50.onnx"}'
    stop_server
    too_small() { ! start_server --workers 1 --worker-memory 1M && grep -q 'memory' "$scratch/log"; }
    point "too little is an error at the start" too_small
else
    skip "memory of workers" "sanitizers need address space"
fi

# --- Draining --------------------------------------------------------------------------------------------------------------

start_server --allow "$models" --workers 1 --timeout 60 || exit 1
sed 's/"requests": .*/"requests": [{}, {}]}/' "$scratch/slow" >"$scratch/shorter"
curl -sS -o "$scratch/late" -w '%{http_code}' "$url/v1/predict" -d "@$scratch/shorter" >"$scratch/late.status" &
client=$!
for ((i = 0; i < 100; i++)); do [ "$(metric foretell_workers_busy)" = 1 ] && break; sleep 0.02; done
kill "$server"
sleep 0.1
refused() { ! curl -sS --max-time 2 "$url/healthz" 2>/dev/null; }
point "SIGTERM: nothing new is accepted" refused
status=0
wait "$server" || status=$?
server=
wait "$client"
point "what was under way is answered" test "$(cat "$scratch/late.status")" = 200
point "and the exit status is 0" test "$status" = 0

# --- Many requests -----------------------------------------------------------------------------------------------------------

start_server --allow "$models" --workers 2 || exit 1
soak() { # first batch
    local i
    for ((i = 0; i < 300; i++)); do
        printf 'url = "%s/v1/inspect"\ndata = "{\\"model\\": \\"resnet50.onnx\\", \\"batch\\": %d}"\noutput = /dev/null\n' "$url" $(($1 + i))
        printf 'next\nurl = "%s/v1/predict"\ndata = "{\\"model\\": %d"\noutput = /dev/null\nnext\n' "$url" "$i"
    done >"$scratch/requests"
    printf 'url = "%s/healthz"\noutput = /dev/null\n' "$url" >>"$scratch/requests"
    curl -sS --config "$scratch/requests"
}
no_growth() {
    local before after
    soak 1 && soak 301 && before=$(metric process_resident_memory_bytes) && soak 601 && soak 901 && after=$(metric process_resident_memory_bytes)
    # The cache of answers fills up: some 6 KB each.
    [ "$sanitized" != 0 ] || [ $((${after%.*} - ${before%.*})) -lt 12000000 ] || { echo "$before $after"; return 1; }
    [ "$(metric process_open_fds)" -lt 40 ]
}
point "2,400 requests leave no memory and no descriptors behind" no_growth
stop_server
point "and the server ends" test -z "$(pgrep -P $$ -f 'foretell serve')"
finish
