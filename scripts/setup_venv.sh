#!/usr/bin/env bash
# Makes a virtual environment with imp2tf (editable) and everything its tests, examples and benchmarks need.
#
#     scripts/setup_venv.sh [DIRECTORY]      (default: .venv)
#
# PYTHON=/path/to/python chooses the interpreter. Quiet unless something is missing; the whole output of pip is
# in DIRECTORY/install.log. DIRECTORY/.installed is touched when all went well.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly venv=${1:-.venv}
readonly log=$venv/install.log
readonly what='.[dev,examples,bench]'
readonly candidates=${PYTHON:-python3.11 python3.12 python3.13 python3.10 python3 python}

fail() {
    echo "setup_venv: $*" >&2
    exit 1
}

# Asks the interpreter itself: a command may be there and not run, or lack what makes environments.
suits() {
    "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' &>/dev/null
}

can_make_venv() {
    "$1" -c 'import ensurepip, venv' &>/dev/null
}

find_python() {
    local name
    for name in $candidates; do
        if suits "$name" && can_make_venv "$name"; then
            echo "$name"
            return
        fi
    done
    return 1
}

has_pip() {
    "$1" -m pip --version &>/dev/null
}

make_venv() {
    local python
    python=$(find_python) ||
        fail "no Python 3.10 to 3.13 with the modules venv and ensurepip found (tried: $candidates);" \
            "install one, or name it: make test PYTHON=/path/to/python3.11"
    "$python" -m venv "$venv" || fail "'$python -m venv $venv' failed, see the lines above"
}

pip_install() {
    "$venv/bin/python" -m pip --disable-pip-version-check install --no-input "$@" --editable "$what"
}

# Without the network first: enough when everything is there already and only the settings have changed.
install() {
    pip_install --no-index --no-build-isolation --check-build-dependencies &>"$log" && return
    echo "Installing imp2tf and what it needs into $venv (TensorFlow is large: some minutes the first time) ..."
    pip_install &>"$log" && return
    grep --max-count=1 'ERROR:' "$log" >&2 || tail -n 5 "$log" >&2
    fail "pip could not install $what; is the package index within reach? The whole output: $log"
}

if [ ! -e "$venv" ]; then
    make_venv
elif ! { suits "$venv/bin/python" && has_pip "$venv/bin/python"; }; then
    fail "$venv is not a working environment of Python 3.10 to 3.13 with pip;" \
        "remove it, or choose another: make test VENV=DIRECTORY"
fi
install
touch "$venv/.installed"
