# Write the folder that older_home.tar.xz holds: bash write_older_home.sh FOLDER
#
# It ran with the commit a967f77 installed, the last one before the rooms moved, and needs the modules of that commit.
# The archive is kept as it is: test_older_home.py shows that what was written then is still used, unchanged.
# When the kind of a job that waits in it gets another version, another job is submitted here, with the same commit.
set -euo pipefail
out=$1; rm -rf "$out"; mkdir -p "$out"; cd "$out"
export GROVE_HOME=$out/home
python - <<'P'
import json, random, numpy as np
rng = random.Random(7)
keys = [f"n{i:03d}" for i in range(60)]
with open("animals.csv", "w") as f:
    f.write("child,parent,name\n")
    for i in range(1, 60):
        f.write(f"{keys[i]},{keys[(i - 1) // 3 if i < 40 else rng.randrange(i)]},animal {i}\n")
with open("web.csv", "w") as f:  # a graph with several parents
    f.write("child,parent\n")
    for i in range(1, 30):
        f.write(f"w{i:02d},w{rng.randrange(i):02d}\n")
        if i > 5 and rng.random() < 0.3:
            f.write(f"w{i:02d},w{rng.randrange(i):02d}\n")
observed = ["n005", "n012", "n021", "n033", "n047", "n058"]
open("observed.txt", "w").write("\n".join(observed) + "\n")
P = np.random.default_rng(3).dirichlet(np.ones(6), 40)
np.save("probabilities.npy", P)
truth = np.random.default_rng(4).choice(keys, 40)
open("truth.txt", "w").write("\n".join(truth) + "\n")
P
sort -u web.csv -o web2.csv; (echo child,parent; grep -v child web2.csv) > web.csv; rm web2.csv
grove ingest animals animals.csv
grove ingest web web.csv
head -50 animals.csv > fewer.csv
grove ingest animals fewer.csv
grove ingest animals animals.csv
grove bundle build animals mine --observed observed.txt
submit() { name=$1; shift; id=$(grove jobs submit "$@" --json 2>>log | python -c 'import json,sys; print(json.load(sys.stdin)["id"])'); grove jobs result "$id" --json > "result-$name.json" 2>>log || { echo "no result $name"; cat log; exit 1; }; echo "$name $id" >> jobs.txt; }
submit cover cover --param ontology=animals
submit distances distances --param ontology=web --param block=8
submit evaluation evaluation --param ontology=animals --param bundle=mine --param model=m1 --param outputs="$out/probabilities.npy" --param truth="$out/truth.txt"
submit locus locus --param ontology=web --param observed=w03,w11,w20
submit locus_tree locus --param ontology=animals --param observed=@observed.txt
submit selection selection --param ontology=animals --param n=5 --param observed=n005,n012
submit summary summary --param ontology=web --param target=8
submit experiment experiment --param experiment=complete-graph --param quick=true
submit rebuild rebuild-graph --param request=once
grove jobs submit cover --param ontology=web --detach --json > waiting.json
grove jobs submit locus --param ontology=animals --param observed=n001,n030,n059 --detach --json > waiting_for_older_kind.json
grove jobs submit distances --param ontology=animals --param block=15 --detach --json > halfway.json
python - <<'P'  # a worker ended two units of this job and died with a third in its hands
import json
from ontology.workspace import Workspace
from workers.execute import execute_unit
from workers.ledger import Ledger
workspace = Workspace.open()
ledger = Ledger(workspace.engine)
keys = ledger.units(json.load(open("halfway.json"))["id"])
n_done = 0
for key in keys:
    if n_done < 2:
        n_done += execute_unit(key, ledger, workspace).value == "done"
    elif ledger.claim(key, lease_s=1.0) is not None:
        break
assert n_done == 2
workspace.close()
P
grove jobs schedule add leap-day --cron "30 2 29 2 *" cover --param ontology=animals
grove cypher --ontology animals 'MATCH (l:Label {version: $version}) RETURN l.key, l.name, l.depth ORDER BY l.idx' --json > cypher.json
grove score animals/mine probabilities.npy --columns observed.txt --top 3 --json > score.json || grove score animals/mine probabilities.npy --top 3 > score.txt
python - <<'P'
import numpy as np, json
from labelgrove import Adapter, LabelGraph
a = Adapter.load("animals/mine")
a.save_pretrained("saved")
P = np.load("probabilities.npy")
json.dump({"predict": list(a.predict(P)), "top_k": [list(r) for r in a.top_k(P, 3).keys], "uri": str(a)}, open("adapter.json", "w"))
P
grove jobs list --json > jobs.json
rm -rf home/cache log
