#!/usr/bin/env bash
# What is to be known of a GPU that is there for ten minutes: whether the CUDA code is
# right, what each part of a token costs, and where llama.cpp stands on the same machine.
#
#   device_kit.sh build          on the machine that compiles: makes build/kit/kit.tar.xz
#   device_kit.sh pack DIR       packs the programs of DIR (build does it; tests do)
#   device_kit.sh run [OUT]      in the unpacked kit, on the machine with the GPU
#   device_kit.sh plan           the parts of a run, and what of them is here
#
# run takes KIT_SECONDS (560) at most, and writes OUT/result.json and OUT/logs.tar.gz. It
# needs bash, coreutils and the driver. With python3 and numpy it writes models in real
# shapes for both programs; without them Offstage is measured with synthetic weights alone.
#
# build takes KIT_PEER, a folder with llama.cpp's llama-bench and its libraries, built for
# the same GPU (llama.cpp lies in the source archive of the package llama-cpp-python):
#   cmake -S vendor/llama.cpp -B peer -DCMAKE_BUILD_TYPE=Release -DGGML_CUDA=ON -DLLAMA_CURL=OFF
#     -DCMAKE_CUDA_ARCHITECTURES=90-real -DGGML_NATIVE=OFF -DLLAMA_BUILD_TESTS=OFF
#   cmake --build peer --target llama-bench
# and KIT_ARCH (90), KIT_BUILD (build/kit), KIT_MOST_MIB (64), KIT_XZ_LEVEL (9).
set -u -o pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

fail() {
    printf 'device_kit: %s\n' "$1" >&2
    exit 1
}

# ---------------------------------------------------------------- build
build() {
    local source=$here/../.. build=${KIT_BUILD:-$here/../../build/kit} targets=(offstage-cli decode_layers prompt_experts graph_gaps)
    local options=(-DCMAKE_BUILD_TYPE=Release -DOFFSTAGE_GUI=OFF -DOFFSTAGE_NODES_BUILD=OFF -DOFFSTAGE_CUDA=ON
        -DOFFSTAGE_BENCH=ON "-DCMAKE_CUDA_ARCHITECTURES=${KIT_ARCH:-90}-real")
    # Without Qt here there is no test of the contract, nor bench_cuda.
    cmake -S "$source" -B "$build" -G Ninja "${options[@]}" -DOFFSTAGE_TESTS=ON ||
        cmake -S "$source" -B "$build" -G Ninja "${options[@]}" -DOFFSTAGE_TESTS=OFF || exit
    if grep -q 'OFFSTAGE_TESTS:BOOL=ON' "$build/CMakeCache.txt"; then targets+=(bench_cuda engine_cuda_backend); fi
    cmake --build "$build" --target "${targets[@]}" || exit
    rm -rf "$build/programs" && mkdir "$build/programs" || exit
    local target
    for target in "${targets[@]}"; do
        cp "$build/bin/$target" "$build/programs/" 2>/dev/null || cp "$build/tests/$target" "$build/programs/" || exit
    done
    cp "$build/lib/offstage/offstage-cuda.so" "$build/programs/" || exit
    git -C "$source" rev-parse HEAD >"$build/programs/commit"
    if [ -n "${KIT_PEER:-}" ]; then
        [ -x "$KIT_PEER/llama-bench" ] || fail "$KIT_PEER has no llama-bench"
        cp "$KIT_PEER/llama-bench" "$KIT_PEER"/*.so* "$build/programs/"
    fi
    pack "$build/programs" "$build"
}

# The programs of a folder with the libraries that they load, of the system's only those
# that a bare machine lacks.
pack() {
    local programs=$1 to=${2:-$1/..} most=${KIT_MOST_MIB:-64} file
    rm -rf "$to/kit" && mkdir -p "$to/kit/lib" || exit
    for file in "$programs"/*; do
        case $file in
            *.so | *.so.*) cp -P "$file" "$to/kit/lib/" ;;
            *) cp "$file" "$to/kit/" ;;
        esac || exit
    done
    for file in "$to"/kit/* "$to"/kit/lib/*; do
        [ -f "$file" ] || continue
        strip --strip-unneeded "$file" 2>/dev/null  # the ones that are no programs stay as they are
        LD_LIBRARY_PATH=$programs ldd "$file" 2>/dev/null | awk '$3 ~ /^\// { print $3 }'
    done | sort -u | grep -Ev '/(ld-linux[^/]*|lib(c|m|dl|pthread|rt|resolv|cuda|nvidia[^/]*))\.so' |
        while read -r file; do [ -e "$to/kit/lib/${file##*/}" ] || cp -L "$file" "$to/kit/lib/"; done
    cp "$here/device_kit.sh" "$here/make_gguf.py" "$to/kit/" || exit
    tar -C "$to" -c kit | xz -T0 "-${KIT_XZ_LEVEL:-9}" >"$to/kit.tar.xz" || exit
    local bytes
    bytes=$(stat -c %s "$to/kit.tar.xz")
    printf 'device_kit: %s, %d.%d MiB\n' "$to/kit.tar.xz" $((bytes >> 20)) $(((bytes & 1048575) * 10 >> 20))
    if ((bytes > most << 20)); then fail "the packed kit is larger than $most MiB"; fi
}

# ---------------------------------------------------------------- the parts of a run
# part RANK EXPECTED LIMIT NAME COMMAND...: seconds; in the order in which they run.
# 1 is the most important rank. A part is left out if what is left of the time would not
# suffice for it and for the more important ones that follow.
ranks=() expected=() limits=() names=() commands=()
part() {
    ranks+=("$1") expected+=("$2") limits+=("$3") names+=("$4")
    shift 4
    commands+=("$(printf '%q ' "$@")")
}

real_parts() {
    local models=${TMPDIR:-/tmp} model file synthetic
    part 1 2 10 card nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit --format=csv,noheader
    part 1 45 120 contract ./engine_cuda_backend
    part 1 3 20 gaps ./graph_gaps
    part 1 45 90 layers ./decode_layers
    part 1 10 40 prompts ./prompt_experts
    part 1 60 150 models wait_for_models
    for model in mx qw; do
        file=$models/offstage-kit-$model.gguf
        synthetic='synthetic:mixtral-8x7b?type=q4_0&layers=8'
        if [ $model = qw ]; then synthetic='synthetic:qwen3-30b-a3b?type=q4_k&layers=12'; fi
        part 1 20 60 "$model" bench_model "$file" "$synthetic" --compute auto --repeat 3
        part 1 20 60 "$model-peer" ./llama-bench -m "$file" -ngl 99 -fa 1 -p 512 -n 64 -r 3 -o json
        part 2 15 40 "$model-int8" bench_model "$file" "$synthetic" --compute int8 --repeat 2
        part 2 15 40 "$model-f32" bench_model "$file" "$synthetic" --compute f32 --repeat 2
    done
    part 2 30 60 hqq4 bench_model '' 'synthetic:mixtral-8x7b?layers=4' --quant experts=hqq4,dense=4 --repeat 2
    part 2 45 60 kernels ./bench_cuda --benchmark_filter='2 experts|decode of|attention decode|route|norm' --benchmark_min_time=0.02 --benchmark_format=json
    part 2 30 60 mx-shared bench_model "$models/offstage-kit-mx.gguf" 'synthetic:mixtral-8x7b?type=q4_0&layers=8' --vram 5GiB --repeat 2
    part 2 20 60 mx-shared-peer ./llama-bench -m "$models/offstage-kit-mx.gguf" -ngl 99 -fa 1 -ncmoe 2 -p 512 -n 64 -r 2 -o json
    part 2 15 60 prompt-rows ./prompt_experts --groups always --tokens 128,256,512,1024,2048 --rounds 10
    part 2 10 40 prompt-most-rows ./prompt_experts --groups always --choice one --tokens 128,256,512,1024 --rounds 10
    part 3 60 90 races compute-sanitizer --tool racecheck ./engine_cuda_backend keeps_the_contract
    part 3 60 90 memcheck compute-sanitizer --tool memcheck ./engine_cuda_backend keeps_the_contract
    for model in mx qw; do
        synthetic='synthetic:mixtral-8x7b?type=q4_0&layers=8'
        if [ $model = qw ]; then synthetic='synthetic:qwen3-30b-a3b?type=q4_k&layers=12'; fi
        part 3 15 40 "$model-no-graphs" bench_model "$models/offstage-kit-$model.gguf" "$synthetic" --no-cuda-graphs --repeat 2
    done
}

# Models for the peer, written while the GPU is asked what needs no file.
write_models() {
    local models=${TMPDIR:-/tmp}
    python3 make_gguf.py mixtral-q4_0 "$models/offstage-kit-mx.part" --layers 8 &&
        mv "$models/offstage-kit-mx.part" "$models/offstage-kit-mx.gguf" &
    python3 make_gguf.py qwen3-q4_k "$models/offstage-kit-qw.part" --layers 12 &&
        mv "$models/offstage-kit-qw.part" "$models/offstage-kit-qw.gguf" &
    wait
}
wait_for_models() {
    while kill -0 "$writer" 2>/dev/null; do sleep 0.2; done
    ls -l "${TMPDIR:-/tmp}"/offstage-kit-*.gguf
}
# bench_model FILE SYNTHETIC OPTIONS...: the synthetic model where there is no such file.
bench_model() {
    local model=$1
    [ -f "$model" ] || model=$2
    shift 2
    ./offstage-cli bench --model "$model" --device cuda --prompt 512 --decode 64 --json "$@"
}
export -f wait_for_models bench_model

# KIT_PARTS: a file with other parts, for tests.
list_parts() {
    if [ -n "${KIT_PARTS:-}" ]; then
        # shellcheck disable=SC1090
        . "$KIT_PARTS"
    else
        real_parts
    fi
}

# Whether the program of a part is here.
is_here() {
    local words
    eval "words=($1)"
    if [ "${words[0]}" = bench_model ]; then words[0]=./offstage-cli; fi
    command -v "${words[0]}" >/dev/null
}

plan() {
    cd "$here" || exit
    list_parts
    local i total=0
    for i in "${!names[@]}"; do
        local note=
        if is_here "${commands[i]}"; then ((total += expected[i])); else note='  absent'; fi
        printf '%d %4d s of %4d  %-16s%s\n' "${ranks[i]}" "${expected[i]}" "${limits[i]}" "${names[i]}" "$note"
    done
    printf 'about %d s of %d\n' "$total" "${KIT_SECONDS:-560}"
}

# ---------------------------------------------------------------- run
run() {
    local out=${1:-$here/out}
    mkdir -p "$out" && out=$(cd -- "$out" && pwd) && cd "$here" || exit
    local logs=$out/logs end=$((SECONDS + ${KIT_SECONDS:-560})) began=$SECONDS i later
    rm -rf "$logs" && mkdir "$logs" || exit
    export HOME=$logs OFFSTAGE_DISK_RESERVE=0 writer=
    list_parts
    if [ -z "${KIT_PARTS:-}" ]; then
        write_models >"$logs/write_models.log" 2>&1 &
        writer=$!
    fi
    local states=() exits=() seconds=()
    for i in "${!names[@]}"; do
        local left=$((end - SECONDS)) reserved=0 begin=$SECONDS status=0
        for ((later = i + 1; later < ${#names[@]}; ++later)); do
            if ((ranks[later] < ranks[i])) && is_here "${commands[later]}"; then ((reserved += expected[later])); fi
        done
        local most=$((left - reserved))
        if ((most > limits[i])); then most=${limits[i]}; fi
        exits[i]=0 seconds[i]=0
        if ! is_here "${commands[i]}"; then
            states[i]=absent
        elif ((most < expected[i])); then
            states[i]=left_out
        else
            # The libraries of the kit are for its own programs: others have theirs.
            local libraries=
            case ${commands[i]} in ./* | bench_model* | compute-sanitizer*) libraries=$here/lib ;; esac
            timeout --kill-after=2 "$most" env ${libraries:+LD_LIBRARY_PATH="$libraries"} \
                bash -c "${commands[i]}" >"$logs/${names[i]}.log" 2>"$logs/${names[i]}.err" </dev/null
            status=$?
            exits[i]=$status seconds[i]=$((SECONDS - begin))
            case $status in
                0) states[i]=ok ;;
                124 | 137) states[i]=timed_out ;;
                *) states[i]=failed ;;
            esac
        fi
        printf '%-16s %s, %d s\n' "${names[i]}" "${states[i]}" "${seconds[i]}"
        write_result "$out/result.json" "$logs" $((SECONDS - began))
    done
    if [ -n "$writer" ]; then kill "$writer" 2>/dev/null; fi
    rm -f "${TMPDIR:-/tmp}"/offstage-kit-*
    tar -C "$out" -czf "$out/logs.tar.gz" logs && rm -rf "$logs"
}

# A JSON string of the last 4,000 letters of a file.
as_text() {
    printf '"'
    tail -c 4000 "$1" 2>/dev/null | LC_ALL=C tr -cd '\11\12\40-\176' |
        sed -e 's/[\\"]/\\&/g' -e 's/\t/\\t/g' -e '$!s/$/\\n/' | tr -d '\n'
    printf '"'
}

# What a part printed: a JSON document, JSON objects of one line each, or text.
as_json() {
    if [ "$2" = ok ] && [ -s "$1" ]; then
        if ! grep -qv '^{.*}$' "$1"; then
            awk 'BEGIN { printf "[" } { printf "%s%s", (NR > 1 ? ", " : ""), $0 } END { printf "]" }' "$1"
            return
        fi
        case $(head -c 1 "$1")$(tail -c 2 "$1" | tr -d '\n') in
            '{'*'}' | '['*']') cat "$1" && return ;;
        esac
    fi
    as_text "$1"
}

write_result() {
    local to=$1 logs=$2 taken=$3 i before=
    {
        printf '{"commit": "%s", "seconds": %d, "parts": {' "$(cat commit 2>/dev/null)" "$taken"
        for i in "${!states[@]}"; do
            printf '%s\n"%s": {"state": "%s", "exit": %d, "seconds": %d' "$before" "${names[i]}" "${states[i]}" \
                "${exits[i]}" "${seconds[i]}"
            if [ -e "$logs/${names[i]}.log" ]; then
                printf ', "result": '
                as_json "$logs/${names[i]}.log" "${states[i]}"
            fi
            if [ "${states[i]}" != ok ] && [ -s "$logs/${names[i]}.err" ]; then
                printf ', "error": '
                as_text "$logs/${names[i]}.err"
            fi
            printf '}'
            before=,
        done
        printf '\n}}\n'
    } >"$to.new" && mv "$to.new" "$to"
}

case ${1:-} in
    build) build ;;
    pack) pack "${2:?the folder of the programs}" "${3:-$2/..}" ;;
    run) run "${2:-}" ;;
    plan) plan ;;
    *) sed -n '2,25p' "${BASH_SOURCE[0]}" | cut -c3- && exit 2 ;;
esac
