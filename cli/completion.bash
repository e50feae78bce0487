# Bash completion for foretell; `make install` puts it where bash-completion looks.

_foretell_words() { # words to choose from
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

_foretell_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

# Names of the first column of `foretell COMMAND`.
_foretell_names() {
    "${words[0]}" "$1" --format csv 2>/dev/null | tail -n +2 | cut -d, -f1
}

# The value of an option, when the word before asks for one.
_foretell_value() { # option, command
    case $2:$1 in
    train:-f | tune:-f | ablate:-f) _foretell_words "$(_foretell_names families)" && return ;;
    train:-c | tune:-c | ablate:-c) _foretell_files && return ;;
    eval:-d | compare:-d) _foretell_files; return ;; # the data set; elsewhere it is a type
    adapt:-d) _foretell_files; return ;;
    sample:-k | sample:--count) return ;;
    adapt:--discrepancy) _foretell_words 'cmd mmd none' && return ;;
    adapt:--method) _foretell_words 'auto scale refit tune-last tune-all' && return ;;
    sample:--method) _foretell_words 'variance kmeans cmd uncertainty random' && return ;;
    eval:--family | compare:--family | adapt:--family | sample:--family) return ;; # of models; train has families of predictors
    esac
    case $2:$1 in
    predict:-D | fits:-D | max-batch:-D | replay:-D | predict:--device | fits:--device | max-batch:--device | replay:--device)
        _foretell_words "all $(_foretell_names devices)"
        [ "${#COMPREPLY[@]}" -gt 0 ] || _foretell_files
        return
        ;;
    esac
    case $1 in
    -f | --format)
        if [ "$2" = ops ]; then
            _foretell_words "table json csv $(_foretell_names formats)"
        else
            _foretell_words 'table json csv'
        fi
        ;;
    -k | --kernels) _foretell_words "$(_foretell_names runtimes)"; [ "${#COMPREPLY[@]}" -gt 0 ] || _foretell_files ;;
    -s | --sort) _foretell_words 'graph macs flops params bytes count' ;;
    -d | --dtype) _foretell_words 'float32 float16 bfloat16 float64 float8 int8' ;;
    --mode) _foretell_words 'infer train' ;;
    --layout) _foretell_words 'nchw nhwc' ;;
    --order) _foretell_words 'program critical ready' ;;
    --backward) _foretell_words 'predictor work' ;;
    --engines) _foretell_words 'compute:1 compute:2 compute:1,copy:1' ;;
    --runtime) _foretell_words "$(_foretell_names runtimes)" ;;
    --setting | --samples | --free | --most | --gap | --workers | --bandwidth | --latency | --bucket) ;;
    --optimizer) _foretell_words 'sgd momentum adam adamw' ;;
    --part) _foretell_words 'train valid test' ;;
    --mode) _foretell_words 'infer train' ;;
    -c | --color) _foretell_words 'auto always never' ;;
    -o | --output | --data | --config | --space | -p | --predictor | --from | --pool | --models | --plot | --plot-extrapolation | --trained-on | --trace) _foretell_files ;;
    --family) _foretell_words "$(_foretell_names families)" ;;
    --split) _foretell_words 'random name family: device: order fewshot: all' ;;
    --metric) _foretell_words 'time_us' ;;
    --objective) _foretell_words 'mape rmspe acc5 acc10 rmse spearman kendall' ;;
    --workers | --time | --trials | --generation | --rungs | --factor | --effort | --off | --seeds) ;;
    -t | --top | --pick | -b | --batch | -w | --width | --shape | --workspace | --seed | --threads | --worst | --device | --setting | --graph | --limit | --networks | --noise | --budget | --steps) ;;
    *) return 1 ;;
    esac
}

_foretell() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=("${COMP_WORDS[@]}")
    local command=${COMP_WORDS[1]} shared='--format --output --width --color --help'
    local commands='predict fits max-batch replay inspect import generate data train tune ablate eval adapt sample compare bundle program devices predictors formats ops runtimes families'
    local asking='--device --batch --mode --dtype --runtime --layout --compile --optimizer --setting --shape --predictor'
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        _foretell_words "$commands help --help --version"
        return
    fi
    # bash splits --option=value into three words.
    if [ "$current" = = ]; then
        current=
        _foretell_value "$previous" "$command"
        return
    fi
    [ "$previous" != = ] || previous=${COMP_WORDS[COMP_CWORD - 2]}
    _foretell_value "$previous" "$command" && return
    case $command in
    help) _foretell_words "$commands" ;;
    predict | fits | max-batch | replay)
        if [[ $current != -* ]]; then
            _foretell_files
        elif [ "$command" = predict ]; then
            _foretell_words "$asking --by-layer --samples --top --trace --plot --quiet $shared"
        elif [ "$command" = replay ]; then
            _foretell_words "$asking --times --predict --backward --strict --engines --gap --order --workers --bandwidth --latency \
                --bucket --no-overlap --by-kernel --top --trace --plot --quiet $shared"
        else
            _foretell_words "$asking --free --most $shared"
        fi
        ;;
    devices)
        if [[ $current == -* ]]; then
            _foretell_words "--predictor $shared"
        else
            _foretell_words "$(_foretell_names devices)"
            [ "${#COMPREPLY[@]}" -gt 0 ] || _foretell_files
        fi
        ;;
    predictors)
        [[ $current == -* ]] && _foretell_words "$shared" || _foretell_files
        ;;
    inspect)
        if [[ $current == -* ]]; then
            _foretell_words "--nodes --kernels --top --sort --full --batch --shape --dtype --optimizer --mixed \
                --no-inplace --workspace --quiet $shared"
        else
            _foretell_files
        fi
        ;;
    import)
        if [[ $current == -* ]]; then
            _foretell_words '--output --strict --max-noise --min-time --max-time --networks --verbose --quiet --help'
        elif [ "$COMP_CWORD" = 2 ]; then
            _foretell_words 'ansor cg npu perfseer table timm'
        else
            _foretell_files
        fi
        ;;
    generate)
        if [[ $current == -* ]]; then
            _foretell_words '--networks --output --seed --noise --threads --stats --format --quiet --help'
        else
            _foretell_words perfseer
        fi
        ;;
    data)
        if [[ $current == -* ]]; then
            _foretell_words "--device --family --graph --limit --verbose --quiet $shared"
        elif [ "$COMP_CWORD" = 2 ]; then
            _foretell_words 'info show export merge check rehash'
        else
            _foretell_files
        fi
        ;;
    train)
        _foretell_words '--data --output --family --split --max-noise --min-time --max-time --seed --metric --config --threads --resume --force --quiet --help'
        ;;
    tune | ablate)
        local trying='--data --metric --split --seed --family --config --objective --output --workers --threads --time --resume --keep --format --quiet --help'
        if [ "$command" = tune ]; then
            _foretell_words "$trying --space --trials --generation --rungs --factor --effort --top --plot"
        else
            _foretell_words "$trying --off --seeds --part"
        fi
        ;;
    program)
        if [[ $current == -* ]]; then
            _foretell_words "--features --emit-c --small --every --seed --predictor --device --rank --top --pick --strict --quiet $shared"
        elif [ "$COMP_CWORD" = 2 ]; then
            _foretell_words 'show predict'
        else
            _foretell_files
        fi
        ;;
    bundle)
        [[ $current == -* ]] && _foretell_words '--output --help' || _foretell_files
        ;;
    eval | compare)
        if [[ $current != -* ]]; then
            _foretell_files
        elif [ "$command" = eval ]; then
            _foretell_words "--predictor --data --metric --split --seed --part --device --family --setting --mode --max-noise --min-time --max-time --worst --plot --plot-extrapolation --trained-on --threads \
                --quiet $shared"
        else
            _foretell_words "--data --metric --split --seed --part --device --family --setting --mode --max-noise --min-time --max-time --by-family --threads --quiet $shared"
        fi
        ;;
    adapt)
        _foretell_words "--from --data --predictor --budget --models --method --discrepancy --steps --device --family --split --metric --seed --threads --quiet $shared"
        ;;
    sample)
        _foretell_words "--from --pool --count --method --device --family --split --seed --threads --quiet $shared"
        ;;
    *) _foretell_words "$shared" ;;
    esac
}

complete -F _foretell foretell
