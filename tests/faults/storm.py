"""Kill (by SIGKILL) and freeze processes at random, from a seed, while there is always work to do."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable

from labelgrove.workers.ledger.states import State
from tests.faults.deployment import Deployment, Node
from tests.services import wait_until

__all__ = ["storm"]

UNITS_A_JOB = 12


def storm(deployment: Deployment, faults: int) -> None:
    """Inflict `faults` faults on a deployment, at most a second apart."""
    rng = random.Random(deployment.seed)
    while deployment.faults < faults:
        _keep_busy(deployment)
        wait_until(lambda: bool(deployment.ready_nodes()), deadline_s=60, what="a node to break")
        (name,) = rng.choices([*_FAULTS], weights=[weight for weight, _ in _FAULTS.values()])
        _FAULTS[name][1](deployment, rng.choice(deployment.ready_nodes()), rng)
        time.sleep(rng.uniform(0.2, 1.2))


def _keep_busy(deployment: Deployment) -> None:
    while deployment.units(State.PENDING) < 2 * deployment.slots:
        deployment.submit(UNITS_A_JOB)


def _kill_child(deployment: Deployment, node: Node, rng: random.Random) -> None:
    children = node.able_children()
    if children:
        child = rng.choice(children)
        deployment.note("child killed", process=child)
        os.kill(child, signal.SIGKILL)


def _freeze_child(deployment: Deployment, node: Node, rng: random.Random) -> None:
    children = node.able_children()
    if children:
        child, seconds = rng.choice(children), _longer_than_a_lease(deployment, rng)
        deployment.note("child frozen", process=child, seconds=seconds)
        deployment.freeze([child], seconds)


def _freeze_node(deployment: Deployment, node: Node, rng: random.Random) -> None:
    seconds = _longer_than_a_lease(deployment, rng)
    deployment.note("node frozen", process=node.pid, seconds=seconds)
    deployment.freeze([node.pid, *node.children()], seconds)


def _kill_node(deployment: Deployment, node: Node, rng: random.Random) -> None:
    del rng
    deployment.note("node killed", process=node.pid)
    node.kill()
    deployment.restart(node)


def _kill_main(deployment: Deployment, node: Node, rng: random.Random) -> None:
    del rng
    deployment.note("main process with the sweeper killed", process=node.pid)
    node.kill_main()
    deployment.restart(node)


def _empty_broker(deployment: Deployment, node: Node, rng: random.Random) -> None:
    del node
    seconds = rng.uniform(0.0, 0.5)
    deployment.note("broker killed and emptied", seconds=seconds)
    deployment.broker.kill()
    time.sleep(seconds)
    deployment.broker.start()


_FAULTS: dict[str, tuple[int, Callable[[Deployment, Node, random.Random], None]]] = {
    "kill child": (8, _kill_child),
    "freeze child": (5, _freeze_child),
    "freeze node": (2, _freeze_node),
    "kill node": (3, _kill_node),
    "kill main": (2, _kill_main),
    "empty broker": (3, _empty_broker),
}
"""The faults with their weights."""


def _longer_than_a_lease(deployment: Deployment, rng: random.Random) -> float:
    return deployment.conditions.lease_s + rng.uniform(0.2, 1.0)
