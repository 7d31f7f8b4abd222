"""Manifests of Kubernetes: valid, with as few rights as can be, and with commands and settings of Compose."""

from __future__ import annotations

import copy
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.deployment import kubernetes
from tests.deployment.compose import PARTS, ROOT, SERVICES, part, words
from tests.deployment.kubernetes import ARTIFACTS, IMAGE, SECRET, SETTINGS

DOCUMENTS = kubernetes.documents()
PODS = {name: one["spec"]["template"] for name, one in DOCUMENTS.items() if "template" in one.get("spec", {})}
PAGE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
OLDEST, NEWEST = "1.30", kubernetes_validate.latest_version()

each_pod = pytest.mark.parametrize("name", PODS)


def container(name: str) -> dict[str, Any]:
    (found,) = PODS[name]["spec"]["containers"]
    return found


def secrets(name: str) -> dict[str, dict[str, Any]]:
    """Return the references to the Secret by their variable."""
    given = container(name)["env"]
    return {
        one["name"]: one["valueFrom"]["secretKeyRef"]
        for one in given
        if "secretKeyRef" in one.get("valueFrom", {})
    }


# ---- schema ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_object_is_valid(name, version):
    kubernetes_validate.validate(DOCUMENTS[name], version, strict=True)


def _paths(one: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every mapping whose entries a schema names."""
    free = {"labels", "annotations", "matchLabels", "data", "selector", "requests", "limits"}
    if isinstance(one, dict):
        yield path
        for key, value in one.items():
            if key not in free or (key == "selector" and "matchLabels" in value):
                yield from _paths(value, (*path, key))
    elif isinstance(one, list):
        for i, value in enumerate(one):
            yield from _paths(value, (*path, i))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_misspelt_field_is_found_wherever_it_stands(name):
    for path in _paths(DOCUMENTS[name]):
        broken = copy.deepcopy(DOCUMENTS[name])
        at = broken
        for step in path:
            at = at[step]
        at["misspelt"] = 1
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(broken, NEWEST, strict=True)


def test_the_kustomization_has_every_file():
    files = kubernetes.files()
    made = yaml.safe_load(files.pop("kustomization.yaml"))
    assert sorted(made["resources"]) == sorted(files)
    assert [image["name"] for image in made["images"]] == [IMAGE.partition(":")[0]]
    assert made["namespace"] in DOCUMENTS["Namespace/labelgrove"]["metadata"]["name"]


# ---- rights ----------------------------------------------------------------------------------------------


def faults(pod: dict[str, Any]) -> set[str]:
    """Return what of a pod breaks the standard *restricted*, or our own rules beyond it."""
    spec, found = pod["spec"], set()
    context = spec.get("securityContext", {})
    if not context.get("runAsNonRoot") or not context.get("runAsUser", 0) > 0:
        found.add("user")
    if context.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        found.add("seccomp")
    if spec.get("automountServiceAccountToken", True):
        found.add("token")
    if any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")):
        found.add("host")
    for volume in spec.get("volumes", []):
        if not {"emptyDir", "persistentVolumeClaim"} & volume.keys():
            found.add("volume")
        if "emptyDir" in volume and not volume["emptyDir"].get("sizeLimit"):
            found.add("size")
    for one in [*spec["containers"], *spec.get("initContainers", [])]:
        own = one.get("securityContext", {})
        if own.get("privileged") or own.get("allowPrivilegeEscalation", True):
            found.add("privileges")
        if not own.get("readOnlyRootFilesystem"):
            found.add("root file system")
        if own.get("capabilities") != {"drop": ["ALL"]}:
            found.add("capabilities")
        if {"runAsUser", "runAsNonRoot", "seccompProfile"} & own.keys():
            found.add("exception")
        for bound in ("requests", "limits"):
            if one.get("resources", {}).get(bound, {}).keys() != {"cpu", "memory", "ephemeral-storage"}:
                found.add(bound)
    return found


@each_pod
def test_every_pod_has_few_rights_and_bounds(name):
    assert faults(PODS[name]) == set()


def _context(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda pod: pod["spec"]["securityContext"].update({key: value})


def _own(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda pod: pod["spec"]["containers"][0]["securityContext"].update({key: value})


@pytest.mark.parametrize(
    ("breaks", "fault"),
    [
        (_context("runAsNonRoot", False), "user"),
        (_context("runAsUser", 0), "user"),
        (_context("seccompProfile", {"type": "Unconfined"}), "seccomp"),
        (lambda pod: pod["spec"].pop("automountServiceAccountToken"), "token"),
        (lambda pod: pod["spec"].update(hostNetwork=True), "host"),
        (lambda pod: pod["spec"]["volumes"].append({"name": "x", "hostPath": {"path": "/"}}), "volume"),
        (lambda pod: pod["spec"]["volumes"][0].update(emptyDir={}), "size"),
        (_own("privileged", True), "privileges"),
        (_own("allowPrivilegeEscalation", True), "privileges"),
        (_own("readOnlyRootFilesystem", False), "root file system"),
        (_own("capabilities", {"drop": ["ALL"], "add": ["NET_ADMIN"]}), "capabilities"),
        (_own("runAsUser", 0), "exception"),
        (lambda pod: pod["spec"]["containers"][0]["resources"]["limits"].pop("memory"), "limits"),
        (lambda pod: pod["spec"]["containers"][0]["resources"]["requests"].pop("cpu"), "requests"),
    ],
)
def test_each_rule_about_rights_is_looked_at(breaks, fault):
    pod = copy.deepcopy(PODS["Deployment/labelgrove-web"])
    breaks(pod)
    assert faults(pod) == {fault}


def test_the_namespace_admits_no_pod_with_more_rights():
    labels = DOCUMENTS["Namespace/labelgrove"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


# ---- what Compose says -----------------------------------------------------------------------------------


@each_pod
def test_each_command_is_one_of_compose(name):
    commands = [words(one, "command") for one in PARTS]
    (entry,) = {tuple(words(one, "entrypoint")) for one in PARTS}
    shell, option, script, zeroth = entry
    assert (shell, option, zeroth) == ("sh", "-c", "sh")
    migrating, rest = script.split(" && ")
    assert rest == 'exec "$@"'
    assert container(name)["command"] in [*commands, migrating.split()]
    assert "args" not in container(name)
    assert container(name)["image"] == IMAGE


@pytest.mark.parametrize("name", PARTS)
def test_limits_and_times_are_those_of_compose(name):
    one, pod = part(name), PODS[f"Deployment/labelgrove-{name}"]
    (made,) = pod["spec"]["containers"]
    assert _bytes(made["resources"]["limits"]["memory"]) == one.memory_bytes
    assert pod["spec"]["securityContext"]["runAsUser"] == one.user
    before = int(
        made.get("lifecycle", {}).get("preStop", {"exec": {"command": ["0"]}})["exec"]["command"][-1]
    )
    assert pod["spec"]["terminationGracePeriodSeconds"] == one.grace_s + before
    (tmp,) = (volume for volume in pod["spec"]["volumes"] if volume["name"] == "tmp")
    assert _bytes(tmp["emptyDir"]["sizeLimit"]) == one.tmp_bytes
    folders = [v["emptyDir"]["sizeLimit"] for v in pod["spec"]["volumes"] if "emptyDir" in v]
    assert _bytes(made["resources"]["limits"]["ephemeral-storage"]) > sum(map(_bytes, folders))


@pytest.mark.parametrize("name", PARTS)
def test_the_environment_is_that_of_compose(name):
    made = container(f"Deployment/labelgrove-{name}")
    plain = {one["name"]: one["value"] for one in made["env"] if "value" in one}
    shared = DOCUMENTS[f"ConfigMap/{SETTINGS}"]["data"]
    given = SERVICES[name]["environment"]
    for key, text in given.items():
        if "_PASSWORD" in str(text):
            assert key in secrets(f"Deployment/labelgrove-{name}")
            assert key not in plain | shared
        elif key != "GROVE_SERVE_HOSTS":
            assert (plain | shared)[key] == str(text)
    assert plain.keys() <= given.keys()


def _bytes(size: str) -> int:
    return int(size[:-2]) * {"Mi": 2**20, "Gi": 2**30}[size[-2:]]


# ---- references ------------------------------------------------------------------------------------------


@each_pod
def test_what_a_pod_refers_to_is_there_or_the_manual_makes_it(name):
    assert container(name)["envFrom"] == [{"configMapRef": {"name": SETTINGS}}]
    assert f"ConfigMap/{SETTINGS}" in DOCUMENTS
    made = re.search(rf"create secret generic {SECRET} (.*?)\n```", PAGE, re.DOTALL)
    keys = re.findall(r"--from-literal=(\w+)=", made[1])
    for key, reference in secrets(name).items():
        assert reference["name"] == SECRET
        assert reference["key"] == key
        assert key in keys
    claims = {
        v["persistentVolumeClaim"]["claimName"] for v in PODS[name]["spec"]["volumes"] if "emptyDir" not in v
    }
    assert claims <= {ARTIFACTS}
    assert f"PersistentVolumeClaim/{ARTIFACTS}" in DOCUMENTS
    assert f"ServiceAccount/{PODS[name]['spec']['serviceAccountName']}" in DOCUMENTS
    mounted = {mount["name"] for mount in container(name)["volumeMounts"]}
    assert mounted == {volume["name"] for volume in PODS[name]["spec"]["volumes"]}


def test_no_object_is_a_secret():
    assert not [name for name in DOCUMENTS if name.startswith("Secret/")]
    assert not re.search("password", "".join(kubernetes.files().values()).replace("passwords are", ""), re.I)


@each_pod
def test_who_selects_pods_selects_these(name):
    labels = PODS[name]["metadata"]["labels"]
    if name.startswith("Deployment/"):
        assert DOCUMENTS[name]["spec"]["selector"]["matchLabels"] == labels
    selected = [
        one
        for one, document in DOCUMENTS.items()
        if (document["kind"] == "Service" and document["spec"]["selector"] == labels)
        or (
            document["kind"] == "PodDisruptionBudget"
            and document["spec"]["selector"]["matchLabels"] == labels
        )
    ]
    assert len(selected) == (2 if name == "Deployment/labelgrove-web" else 0)


# ---- probes and roll-outs --------------------------------------------------------------------------------


def test_only_readiness_of_the_service_depends_on_its_servers():
    made = container("Deployment/labelgrove-web")
    paths = {kind: made[kind]["httpGet"]["path"] for kind in made if kind.endswith("Probe")}
    assert paths == {"startupProbe": "/healthz", "readinessProbe": "/readyz", "livenessProbe": "/healthz"}
    for kind in paths:
        asked = made[kind]["httpGet"]
        assert asked["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
        assert asked["port"] in [port["name"] for port in made["ports"]]
    for name in ("worker", "sweeper"):
        assert "livenessProbe" not in container(f"Deployment/labelgrove-{name}")


def test_a_rollout_of_the_service_takes_none_away_before_its_successor_is_ready():
    spec = DOCUMENTS["Deployment/labelgrove-web"]["spec"]
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    budget = DOCUMENTS["PodDisruptionBudget/labelgrove-web"]["spec"]
    assert (
        budget["maxUnavailable"] < spec["replicas"]
    )  # else nodes could not be drained, or nobody would answer


def test_replicas_know_the_same_sessions():
    mounts = {one["mountPath"]: one for one in container("Deployment/labelgrove-web")["volumeMounts"]}
    home = DOCUMENTS[f"ConfigMap/{SETTINGS}"]["data"]["GROVE_HOME"]
    assert mounts[f"{home}/service"]["name"] == "artifacts"


def test_workers_count_the_cores_that_they_may_use():
    """PYTHON_CPU_COUNT is read by Python 3.13 and later, and the image has such a one."""
    (count,) = (
        one for one in container("Deployment/labelgrove-worker")["env"] if one["name"] == "PYTHON_CPU_COUNT"
    )
    assert count["valueFrom"] == {"resourceFieldRef": {"resource": "limits.cpu"}}
    image = (ROOT / SERVICES["worker"]["build"]["dockerfile"]).read_text(encoding="utf-8")
    assert int(re.search(r"^FROM python:3\.(\d+)\.", image, re.M)[1]) >= 13


# ---- the manual ------------------------------------------------------------------------------------------


def test_objects_of_the_manual_are_valid():
    blocks = [textwrap.dedent(one) for one in re.findall(r"^ *```yaml\n(.*?)^ *```", PAGE, re.DOTALL | re.M)]
    overlay, ingress = map(yaml.safe_load, blocks)
    kubernetes_validate.validate(ingress, NEWEST, strict=True)
    (rule,) = ingress["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    service = DOCUMENTS[f"Service/{path['backend']['service']['name']}"]
    assert path["backend"]["service"]["port"] == {"name": service["spec"]["ports"][0]["name"]}
    (patch,) = [yaml.safe_load(one["patch"]) for one in overlay["patches"]]
    patched = DOCUMENTS[f"{patch['kind']}/{patch['metadata']['name']}"]
    assert patch["data"].keys() <= patched["data"].keys()
    assert rule["host"] in patch["data"]["GROVE_SERVE_HOSTS"]
    assert f"registry.example.org/{IMAGE}" in PAGE
