#!/usr/bin/env bash
# Checks the types of imp2tf and imp2tf.converters, and what other projects see of them (tests/typing).
#
#     scripts/typecheck.sh PYTHON [MYPY ARGUMENTS...]
#
# An editable install shows mypy only the folder imp2tf/: the converters would be skipped without a word. So the
# package is installed into build/typed, as a user would get it, and checked there. Paths in the messages are
# turned back to those of the sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly python=$1
shift

# build/lib would bring modules that have been deleted since into the new install.
rm -rf build/lib build/typed
"$python" -m pip --disable-pip-version-check install --quiet --no-index --no-deps --no-build-isolation \
    --target build/typed .
MYPYPATH=build/typed "$python" -m mypy "$@" build/typed/imp2tf tests/typing/*.py |
    sed -e 's|^build/typed/imp2tf/converters/|converters/|' -e 's|^build/typed/||'
