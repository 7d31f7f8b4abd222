#!/usr/bin/env bash
# Usage: base_install_smoke.sh VENV
# VENV holds a plain `pip install labelgrove`: numpy comes with it and nothing else, scoring imports, and the command
# says which extra it needs.
set -euo pipefail
bin=$(cd "$1/bin" && pwd)
away=$(mktemp -d) # outside the checkout, so that only what was installed can be imported
trap 'rm -rf "$away"' EXIT
cd "$away"

fail() {
    echo "base install: $*" >&2
    exit 1
}

installed=$("$bin/python" -m pip list --format=freeze | sed 's/==.*//' | grep -vE '^(pip|setuptools|wheel)$' | sort | xargs)
[ "$installed" = "labelgrove numpy" ] || fail "expected labelgrove and numpy alone, found: $installed"

"$bin/python" -W error -c 'import adapter; adapter.Adapter' || fail "the adapter does not import with numpy alone"

status=0
said=$("$bin/grove" --version 2>&1) || status=$?
[ "$status" = 1 ] || fail "grove --version exited with $status, not 1, and said: $said"
case $said in
*"pip install 'labelgrove[service]'"*) ;;
*) fail "grove --version does not name the extra to install; it said: $said" ;;
esac
echo "base install: ok ($installed)"
