# shellcheck shell=bash
# Packages, configuration and builds for installer/run, installer/test and .ci/run, which
# source this file. All messages go to stderr: stdout belongs to the program that is
# started.

unset CDPATH
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
log=$root/build/installer.log
# Tests set a folder here that contains the /proc and /dev of an invented computer.
system=${OFFSTAGE_SYSTEM_ROOT:-}
# If one of these files is newer than the programs, they must be built again. Tests are
# not listed: installer/test always runs ninja.
program_sources=(CMakeLists.txt CMakePresets.json app engine kernels ui resources tests/CMakeLists.txt)

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# ---------------------------------------------------------------- running commands with a log
# Shows one line that is rewritten on a terminal; elsewhere a line for each tenth of the
# work.
show_progress() {  # LABEL < output of apt-get, cmake or ninja
    local label=$1 line place total tenth last_tenth=0
    while IFS= read -r line; do
        place=${line#\[}
        place=${place%%\]*}
        total=${place#*/}
        place=${place%/*}
        if [[ $line == \[*/*\]* && $place =~ ^[0-9]+$ && $total =~ ^[1-9][0-9]*$ ]]; then
            if [ -t 2 ]; then
                printf '\r\033[K%s: %s of %s' "$label" "$place" "$total" >&2
            else
                tenth=$((10 * place / total))
                if ((tenth > last_tenth)); then
                    say "  $label: $place of $total"
                    last_tenth=$tenth
                fi
            fi
        elif [ -t 2 ]; then
            case $line in
                Get:* | Unpacking* | 'Setting up'*) printf '\r\033[K%s: %.60s' "$label" "$line" >&2 ;;
            esac
        fi
    done
    if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

# Runs the command with its output in the log only, and returns its status.
logged() {  # LABEL COMMAND...
    local label=$1 started=$SECONDS status
    shift
    say "$label ..."
    printf '\n===== %s: %s\n' "$label" "$*" >>"$log"
    "$@" </dev/null 2>&1 | tee -a "$log" | show_progress "$label"
    status=${PIPESTATUS[0]}
    if ((status == 0)); then say "$label: done in $((SECONDS - started)) s."; fi
    return "$status"
}

fail_with_log() {  # MESSAGE
    say ""
    say "The last lines of $log:"
    tail -n 40 -- "$log" | sed 's/^/  | /' >&2
    say ""
    fail "$1 The whole log: $log"
}

# ---------------------------------------------------------------- packages
wanted_packages() { sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' -- "$root/installer/packages.txt"; }

# Prints the lines of packages.txt of which no package is installed. Takes about 20
# milliseconds.
missing_packages() {
    local installed line name names found
    # shellcheck disable=SC2046  # one word per package name is wanted here
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(wanted_packages | tr -d '|') 2>/dev/null)
    wanted_packages | while IFS= read -r line; do
        found=
        IFS=' |' read -r -a names <<<"$line"
        for name in "${names[@]}"; do
            if [[ $'\n'$installed$'\n' == *$'\n'"installed $name"$'\n'* ]]; then found=yes; fi
        done
        if [ -z "$found" ]; then printf '%s\n' "$line"; fi
    done
}

in_archive() { apt-cache show --no-all-versions "$1" 2>/dev/null | grep -q '^Filename:'; }

# Prints one name for each missing line: the first that the archive offers, or else the
# first.
choose_packages() {  # < lines of missing_packages
    local line name names chosen
    while IFS= read -r line; do
        IFS=' |' read -r -a names <<<"$line"
        chosen=${names[0]}
        for name in "${names[@]}"; do
            if in_archive "$name"; then
                chosen=$name
                break
            fi
        done
        printf '%s\n' "$chosen"
    done
}

# apt-get must not inherit a strict umask: all users must be able to read the files that
# the packages' scripts create.
apt_get() {
    (
        umask 022
        exec "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -o DPkg::Lock::Timeout=300 "$@"
    )
}

system_name() {
    # shellcheck disable=SC1091  # the system's own file
    (. /etc/os-release 2>/dev/null && printf '%s' "${PRETTY_NAME:-}") || true
}

install_packages() {
    local missing names name command
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        install_by_hand
        return
    fi
    missing=$(missing_packages)
    if [ -z "$missing" ]; then return; fi

    as_root=()
    names=$(choose_packages <<<"$missing" | tr '\n' ' ')
    command="apt-get install --no-install-recommends ${names% }"
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            say "Offstage needs packages that are not installed, and installing them takes administrator rights."
            say "You are not root, and there is no sudo here. Please have this run as root, then start again:"
            say ""
            say "  apt-get update && $command"
            say ""
            exit 1
        fi
        if ! sudo -n true 2>/dev/null; then
            if [ ! -t 0 ]; then
                say "Offstage needs packages that are not installed. sudo asks for a password, and there is no terminal"
                say "to type it on. Please run this once, then start again:"
                say ""
                say "  sudo apt-get update && sudo $command"
                say ""
                exit 1
            fi
            say "Offstage needs these packages of $(system_name), and installs them with apt-get:"
            say "  ${names% }"
            say "That takes administrator rights, so sudo now asks for your password. Nothing else is done with them."
            sudo -v || fail "Without administrator rights the packages have to be installed by hand: $command"
        fi
        as_root=(sudo)
    fi
    say "Installing $(wc -w <<<"$names") packages and what they need: ${names% }"

    # Fetch package lists only if they are absent or do not list a package.
    for name in $names; do
        if ! in_archive "$name"; then
            logged "Fetching the package lists" apt_get update ||
                fail_with_log "The package lists could not be fetched (is there a network?)."
            names=$(choose_packages <<<"$missing" | tr '\n' ' ')
            break
        fi
    done
    # shellcheck disable=SC2086  # one word per package name is wanted here
    if ! logged "Installing packages" apt_get install -y --no-install-recommends $names; then
        # Lists that are too old name removed files: fetch new lists and try once more.
        if ! logged "Fetching the package lists" apt_get update ||
            ! logged "Installing packages" apt_get install -y --no-install-recommends $names; then
            fail_with_log "The packages could not be installed."
        fi
    fi
}

# For systems without apt: lists what is needed, and goes on if the tools are there.
install_by_hand() {
    local tool lacking=()
    for tool in cmake ninja c++ pkg-config; do
        if ! command -v "$tool" >/dev/null; then lacking+=("$tool"); fi
    done
    if [ ! -e "$root/build/release/CMakeCache.txt" ] || ((${#lacking[@]} > 0)); then
        say "This system has no apt-get, so packages cannot be installed from here. Offstage is built from (Debian's names):"
        wanted_packages | sed 's/^/  /' >&2
    fi
    if ((${#lacking[@]} > 0)); then fail "Not found: ${lacking[*]}. Please install what is missing, then start again."; fi
    say "The tools are there: going on."
}

# ---------------------------------------------------------------- building
# group_room FOLDER LIMIT_FILE USAGE_FILE PREFIX: prints the free bytes of a control
# group's memory, or nothing if it has no limit. PREFIX begins the names in memory.stat.
group_room() {
    local limit used
    limit=$(cat "$1/$2" 2>/dev/null)
    if ! [[ $limit =~ ^[0-9]+$ ]] || ((limit >= 1 << 60)); then return; fi
    # Cached pages of files count as used, but the kernel frees them when memory is
    # needed.
    used=$(awk -v prefix="$4" '$1 == prefix "active_file" || $1 == prefix "inactive_file" { cache += $2 }
        NF == 1 { used = $1 } END { printf "%d", used - cache }' "$1/$3" "$1/memory.stat" 2>/dev/null)
    echo $((limit - ${used:-0}))
}

# Prints the least free memory of this process's control groups and their parents, of both
# versions. Like engine/device/memory_size.cpp, but only for mounts at the usual places.
groups_room() {  # FOLDER: the prefix of /proc and /sys; tests pass one
    local system=$1 line controllers path folder top room least=
    while IFS= read -r line; do
        path=${line#*:*:}
        controllers=${line#*:}
        controllers=${controllers%%:*}
        if [[ $line == 0::* ]]; then
            top=$system/sys/fs/cgroup
            set -- memory.max memory.current ""
        elif [[ ,$controllers, == *,memory,* ]]; then
            top=$system/sys/fs/cgroup/memory
            set -- memory.limit_in_bytes memory.usage_in_bytes total_
        else
            continue
        fi
        if [[ $path == */..* ]]; then path=/; fi  # inside a container
        folder=$top${path%/}
        while :; do
            room=$(group_room "$folder" "$@")
            if [ -n "$room" ] && { [ -z "$least" ] || ((room < least)); }; then least=$room; fi
            if [[ $folder == "$top" || $folder != "$top"/* ]]; then break; fi
            folder=${folder%/*}
        done
    done < <(cat "$system/proc/self/cgroup" 2>/dev/null)
    if [ -n "$least" ]; then echo "$least"; fi
}

# Prints one job per core, but at most one per GB of free memory: large C++ files take
# that much.
build_jobs() {
    local cores limit available
    cores=$(nproc 2>/dev/null || echo 1)
    available=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null)
    limit=$(groups_room "$system")
    if [ -n "$limit" ]; then
        limit=$((limit / 1073741824))
        if [ -z "$available" ] || ((limit < available)); then available=$limit; fi
    fi
    if [ -n "$available" ] && ((available < cores)); then cores=$available; fi
    if ((cores < 1)); then cores=1; fi
    echo "$cores"
}

# Returns true if this computer has an NVIDIA GPU. As installer/cuda.cmake.
has_gpu() {
    local device
    for device in "$system"/dev/nvidia[0-9]*; do
        if [ -e "$device" ]; then return 0; fi
    done
    [ -e "$system/dev/dxg" ] && [ -e "$system/usr/lib/wsl/lib/libcuda.so.1" ]  # WSL
}

# Prints what the build for this computer depends on: the instruction sets of its
# processor (kernels/CMakeLists.txt) and whether it has a GPU.
this_computer() {
    local flag flags=() found=
    if [ -r "$system/proc/cpuinfo" ]; then
        IFS=' ' read -r -a flags < <(grep -m 1 '^flags' "$system/proc/cpuinfo")
    fi
    for flag in "${flags[@]}"; do
        case $flag in avx* | fma | f16c) found+="$flag " ;; esac
    done
    if has_gpu; then found+=gpu; fi
    echo "$found"
}

# configure_and_build PRESET [TARGET...]: builds all targets if none is named. CMake gets
# configure_options.
configure_options=()
configure_and_build() {
    local preset=$1 cache=$root/build/$1/CMakeCache.txt fresh=() targets=() jobs
    shift
    if (($# > 0)); then targets=(--target "$@"); fi
    # CMake refuses the old cache of a tree that was moved or copied with its build
    # folder.
    if [ -e "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then fresh=(--fresh); fi
    # ccache cannot work in a home folder that is not writable.
    if [ -z "${CCACHE_DIR:-}" ] && [ ! -w "${HOME:-/nonexistent}" ]; then export CCACHE_DISABLE=1; fi
    jobs=$(build_jobs)
    (cd "$root" && logged "Configuring ($preset)" cmake --preset "$preset" "${fresh[@]}" "${configure_options[@]}") ||
        fail_with_log "Configuring did not succeed."
    logged "Building ($preset, $jobs at a time)" cmake --build "$root/build/$preset" --parallel "$jobs" "${targets[@]}" ||
        fail_with_log "The build did not succeed."
}

# A program's stamp is as old as the start of its last build. It contains the folder of
# that build, and what this_computer printed.
stamp_of() { printf '%s' "$root/build/release/$1.stamp"; }

# Returns true if the programs exist, were built for this computer, and none of their
# sources is newer: one `find`, without CMake or ninja.
programs_are_current() {  # PROGRAM...
    local program stamp lines computer newer
    computer=$(this_computer)
    for program in "$@"; do
        stamp=$(stamp_of "$program")
        [ -x "$root/build/release/bin/$program" ] && [ -r "$stamp" ] || return 1
        mapfile -t lines <"$stamp"
        [ "${lines[0]:-}" = "$root" ] && [ "${lines[1]:-}" = "$computer" ] || return 1
        newer=$(cd "$root" && find "${program_sources[@]}" -newer "$stamp" -print -quit 2>/dev/null)
        [ -z "$newer" ] || return 1
    done
}

# Installs packages, configures and builds the preset "release". It builds the named
# programs unless they are current, with the best kernels that this processor runs, and
# with CUDA if there is a GPU. Without names it builds everything, for tests: with all
# kernels that the processor runs, and with CUDA if nvcc is found. Programs that are built
# after that are built alike, because most objects exist already. A second start waits for
# the first one's build.
build_release() {  # [PROGRAM...]
    local program programs=("$@") sets=native cuda=OFF
    if (($# > 0)) && programs_are_current "$@"; then return; fi
    mkdir -p "$root/build/release" 2>/dev/null
    if [ ! -w "$root/build/release" ]; then
        fail "Offstage is built in \"$root/build\", and that folder cannot be written to."
    fi
    if command -v flock >/dev/null; then
        exec 9>"$root/build/installer.lock"
        if ! flock -n 9; then
            say "Another start is building here; waiting for it."
            flock 9
        fi
    fi
    if (($# == 0)) || ! programs_are_current "$@"; then
        : >"$log"
        install_packages
        if has_gpu; then cuda=AUTO; fi
        if (($# == 0)) || [ -e "$root/build/release/tests.stamp" ]; then sets=usable cuda=AUTO; fi
        configure_options=("-DOFFSTAGE_INSTRUCTION_SETS=$sets" "-DOFFSTAGE_CUDA=$cuda")
        # An earlier build without a GPU may have left other values.
        if has_gpu; then configure_options+=(-DCMAKE_CUDA_ARCHITECTURES=native -DCMAKE_CUDA_FLAGS=); fi
        if (($# == 0)); then programs=(offstage offstage-cli offstage-node tests); fi
        for program in "${programs[@]}"; do
            printf '%s\n%s\n' "$root" "$(this_computer)" >"$(stamp_of "$program").new"
        done
        configure_and_build release "$@"
        configure_options=()
        for program in "${programs[@]}"; do mv -- "$(stamp_of "$program").new" "$(stamp_of "$program")"; done
    fi
    exec 9>&-
}
