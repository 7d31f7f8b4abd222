#!/usr/bin/env bash
# Usage: base_install_smoke.sh VENV
# VENV holds a plain install: numpy comes with it and nothing else, scoring and reading a file work, and the command
# says what to install.
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

printf 'parent,child\nplant,tree\ntree,oak\ntree,elm\n' >plants.csv
answer=$("$bin/python" -W error -c '
from labelgrove import Adapter, read
print(*Adapter.from_graph(read("plants.csv").graph, ["oak", "elm"]).predict([[0.5, 0.5]]))') ||
    fail "a hierarchy is not read and scored with numpy alone"
[ "$answer" = tree ] || fail "expected the answer tree, found: $answer"

status=0
said=$("$bin/grove" --version 2>&1) || status=$?
[ "$status" = 1 ] || fail "grove --version exited with $status, not 1, and said: $said"
case $said in
*"install it with: pip install '"*"[service]'") ;;
*) fail "grove --version does not name the extra to install; it said: $said" ;;
esac
echo "base install: ok ($installed)"
