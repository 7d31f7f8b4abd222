# Write the folder that home_with_definitions.tar.xz holds: bash write_home_with_definitions.sh FOLDER
#
# It ran with the commit 0501347a installed, the last one whose versions had definitions and no other annotations, and
# needs the modules of that commit. The archive is kept as it is.
set -euo pipefail
out=$1; rm -rf "$out"; mkdir -p "$out"
export GROVE_HOME=$out/home
python - <<'P'
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
trees = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")], names={"oak": "Oak"})
before = LabelGraph.from_edges([("oak", "tree"), ("tree", "plant")])
definitions = {"oak": "a tree with acorns", "tree": "a tall plant", "elm": "a tree that is often “ill”"}
with Workspace.open() as workspace:
    register(workspace, "trees", put_snapshot(workspace.artifacts, before, {"oak": "of then"}, "before.csv"))
    register(workspace, "trees", put_snapshot(workspace.artifacts, trees, definitions, "trees.csv"))
    register(workspace, "plain", LabelGraph.from_edges([("a", "b")]))
P
rm -rf "$out/home/labelindex" "$out/home/cache"
