"""Run many processes that all want the same units: `python -m` this module, with settings as variables.

It prints one JSON object with the number of times of each outcome, over all processes.
"""

from __future__ import annotations

import collections
import json
import os
import random
import sys
import traceback

from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.kinds import register
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.running.execute import Outcome, execute_unit
from tests.integration.workers_support import PARTS, plan_parts


def _one(seed: int, plan: PlannedJob) -> list[str]:
    """Submit the job, sweep, and try every unit in a random order."""
    with Workspace.open() as workspace:
        ledger = Ledger(workspace.engine)
        ledger.submit(plan)
        ledger.expire()
        ledger.due(4)
        keys = [unit.key for unit in plan.units if unit.stage == 0]
        random.Random(seed).shuffle(keys)
        outcomes = [execute_unit(key, ledger, workspace) for key in keys]
        ledger.settle()
    return outcomes


def main(processes: int, units: int, log: str) -> None:
    register(PARTS)
    plan = plan_parts(list(range(units)), log)
    with Workspace.open() as workspace:
        Ledger(workspace.engine).submit(plan)
    start, go = os.pipe()
    pipes = []
    for seed in range(processes):
        reader, writer = os.pipe()
        if os.fork() == 0:
            status = 1
            try:
                os.close(go)
                os.read(start, 1)  # returns in all processes at once, when the parent closes its end
                os.write(writer, json.dumps(_one(seed, plan)).encode())
                status = 0
            except Exception:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        os.close(writer)
        pipes.append(reader)
    os.close(go)
    count: collections.Counter[str] = collections.Counter()
    for reader in pipes:
        with os.fdopen(reader) as answers:
            count.update(json.load(answers))
    for _ in range(processes):
        os.wait()
    with Workspace.open() as workspace:
        last = plan.units[-1].key
        assert execute_unit(last, Ledger(workspace.engine), workspace) is Outcome.DONE
    print(json.dumps(count))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
