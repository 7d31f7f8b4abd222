"""Render deploy/kubernetes: what stands in docker-compose.yml, and what only Kubernetes has.

An entry of a mapping whose key begins with ``#`` becomes a comment; in a list it is an item by itself.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import yaml

from labelgrove import __version__
from tests.deployment.compose import PARTS, ROOT, Part, part

__all__ = ["ARTIFACTS", "FOLDER", "IMAGE", "SECRET", "SETTINGS", "documents", "files"]

FOLDER = ROOT / "deploy" / "kubernetes"
IMAGE = f"labelgrove:{__version__}"
SETTINGS = "labelgrove"
SECRET = "labelgrove-servers"
ARTIFACTS = "labelgrove-artifacts"
APP = "labelgrove"

_HEAD = """\
# {about}
#
# Rendered from docker-compose.yml: `python -m tests.deployment` writes it again.
# docs/deployment.md is the manual.
"""
_WIDTH = 110
_MIB = 2**20
_PROBED_AS = "localhost"
_FORGOTTEN_S = 5  # endpoints and proxies on other nodes hear a moment later that a pod ends
_OPTIONAL = {"GROVE_CACHE_URL"}  # work and answers go on without it
_OF_ALL = ("GROVE_HOME", "GROVE_ARTIFACTS_URL", "GROVE_LOG_FORMAT", "NUMBA_CACHE_DIR", "GROVE_SERVE_HOSTS")
_REPLICAS = {"web": 2, "worker": 2, "sweeper": 1}
_CPU = {"web": ("500m", "4"), "worker": ("1", "2"), "sweeper": ("50m", "500m"), "migrate": ("50m", "1")}

Mapping = dict[str, Any]


def files() -> dict[str, str]:
    """Return the text of each file by its name."""
    rendered = {name: _text(about, made) for name, (about, made) in _contents().items()}
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": APP,
        "resources": list(rendered),
        "#1": "Where the image is: an overlay of your own may give newName, newTag or digest.",
        "images": [{"name": APP, "newName": APP, "newTag": __version__}],
    }
    about = "What `kubectl apply -k deploy/kubernetes` makes; everything here can be changed by an overlay."
    return {**rendered, "kustomization.yaml": _text(about, [kustomization])}


def documents() -> dict[str, Mapping]:
    """Return every object of the cluster by its kind and name, such as ``Deployment/labelgrove-web``."""
    texts = [text for name, text in files().items() if name != "kustomization.yaml"]
    read = (one for text in texts for one in yaml.safe_load_all(text))
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in read}


def _contents() -> dict[str, tuple[str, list[Mapping]]]:
    web, worker, sweeper = (part(name) for name in PARTS)
    return {
        "namespace.yaml": ("The namespace, in which no pod may have more rights than these.", [_namespace()]),
        "settings.yaml": (
            "The settings that all parts share. Those with passwords are in a Secret.",
            [_settings([web, worker, sweeper])],
        ),
        "artifacts.yaml": ("The folder that all parts share, and who they are.", [_claim(), _account()]),
        "migrate.yaml": (
            "The job that brings the database to the schema of this release.",
            [_migrate(sweeper)],
        ),
        "web.yaml": ("The HTTP service.", [_web(web), _service(), _budget()]),
        "worker.yaml": ("The workers, which run jobs.", [_measured(worker)]),
        "sweeper.yaml": (
            "What fires schedules and finds lost units while no worker runs.",
            [_measured(sweeper)],
        ),
    }


# ---- what all share --------------------------------------------------------------------------------------


def _namespace() -> Mapping:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": APP, "labels": labels}}


def _settings(parts: list[Part]) -> Mapping:
    shared = {key: value for one in parts for key, value in one.settings.items() if key in _OF_ALL}
    del shared["GROVE_SERVE_HOSTS"]
    data = {
        **shared,
        "#1": "The names by which clients call the service: put the public one in its place.",
        "GROVE_SERVE_HOSTS": f"labels.example.org,{_named('web')}",
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(SETTINGS), "data": data}


def _claim() -> Mapping:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _metadata(ARTIFACTS),
        "spec": {
            "#1": "All pods write it, on whatever node. If GROVE_ARTIFACTS_URL names a bucket, it keeps "
            "only the keys of sessions.",
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "20Gi"}},
        },
    }


def _account() -> Mapping:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(APP),
        "#1": "Nothing here asks the API of the cluster.",
        "automountServiceAccountToken": False,
    }


# ---- the parts -------------------------------------------------------------------------------------------


def _migrate(like: Part) -> Mapping:
    """Return the job that migrates, with the limits of a part that computes nothing."""
    container = _container(
        "migrate", like, command=["grove", "db", "upgrade"], secrets=["GROVE_DATABASE_URL"], extra={}, own={}
    )
    pod = _pod("migrate", like, container)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(_named("migrate"), "migrate"),
        "spec": {
            "#1": "A job cannot be changed: it goes by itself, so that the next release can apply its own.",
            "ttlSecondsAfterFinished": 600,
            "backoffLimit": 6,
            "activeDeadlineSeconds": 900,
            "template": {**pod, "spec": {"restartPolicy": "OnFailure", **pod["spec"]}},
        },
    }


def _web(one: Part) -> Mapping:
    port = int(one.settings["GROVE_SERVE_METRICS_PORT"])

    def probe(path: str, **times: int) -> Mapping:
        asked = {"path": path, "port": "http", "httpHeaders": [{"name": "Host", "value": _PROBED_AS}]}
        return {"httpGet": asked, **times}

    extra = {
        "ports": [{"name": "http", "containerPort": one.port}, {"name": "metrics", "containerPort": port}],
        "#1": "A database that is away restarts nothing: only /readyz asks for it. The service answers to "
        "names that it knows, and a probe would call it by the address of the pod.",
        "startupProbe": probe("/healthz", periodSeconds=2, failureThreshold=60, timeoutSeconds=3),
        "readinessProbe": probe("/readyz", periodSeconds=5, failureThreshold=2, timeoutSeconds=5),
        "livenessProbe": probe("/healthz", periodSeconds=10, failureThreshold=6, timeoutSeconds=5),
        "#2": "Requests that are on their way to this pod still find it.",
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", str(_FORGOTTEN_S)]}}},
    }
    container = _container("web", one, command=one.command, secrets=one.secrets, extra=extra, own=_own(one))
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": _labels("web")},
    }
    pod = _pod("web", one, container, grace_s=one.grace_s + _FORGOTTEN_S)
    pod["spec"]["topologySpreadConstraints"] = [spread]
    _scraped(pod, port)
    return _deployment("web", pod, {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})


def _measured(one: Part) -> Mapping:
    """Return the deployment of a part that listens for Prometheus alone."""
    port = int(one.settings["GROVE_METRICS_PORT"])
    extra = {
        "ports": [{"name": "metrics", "containerPort": port}],
        "#1": "It listens once it has found its database and begun, so a rollout waits for that. There is no "
        "liveness probe: it ends by itself when it cannot go on, and one that waits for a database must not "
        "be restarted. A sweep that is late is an alert (docs/operations.md).",
        "readinessProbe": {"tcpSocket": {"port": "metrics"}, "periodSeconds": 5, "failureThreshold": 3},
    }
    own = _own(one)
    if one.name == "worker":
        own |= {
            "#2": "A process for each core that it may use: Python would count those of the node.",
            "PYTHON_CPU_COUNT": {"resourceFieldRef": {"resource": "limits.cpu"}},
        }
    container = _container(one.name, one, command=one.command, secrets=one.secrets, extra=extra, own=own)
    pod = _pod(one.name, one, container, grace_s=one.grace_s)
    _scraped(pod, port)
    return _deployment(one.name, pod, {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})


def _scraped(pod: Mapping, port: int) -> None:
    pod["metadata"]["annotations"] = {"prometheus.io/scrape": "true", "prometheus.io/port": str(port)}


def _service() -> Mapping:
    spec = {"selector": _labels("web"), "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(_named("web"), "web"), "spec": spec}


def _budget() -> Mapping:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": _labels("web")}}
    metadata = _metadata(_named("web"), "web")
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


def _own(one: Part) -> Mapping:
    """Return the settings of one part alone."""
    return {key: value for key, value in one.settings.items() if key not in _OF_ALL}


def _deployment(name: str, pod: Mapping, strategy: Mapping) -> Mapping:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(_named(name), name),
        "spec": {
            "replicas": _REPLICAS[name],
            "selector": {"matchLabels": _labels(name)},
            "strategy": {"type": "RollingUpdate", **strategy},
            "template": pod,
        },
    }


def _pod(name: str, one: Part, container: Mapping, *, grace_s: int | None = None) -> Mapping:
    ending = {} if grace_s is None else {"terminationGracePeriodSeconds": grace_s}
    spec = {
        "serviceAccountName": APP,
        "automountServiceAccountToken": False,
        "#1": "Else the address of a service called grove would be in variables that look like settings.",
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": one.user,
            "runAsGroup": one.group,
            "fsGroup": one.group,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **ending,
        "containers": [container],
        "volumes": [
            {"name": "tmp", "emptyDir": {"sizeLimit": _size(one.tmp_bytes)}},
            {"name": "artifacts", "persistentVolumeClaim": {"claimName": ARTIFACTS}},
        ],
    }
    if name == "web":
        spec["volumes"].insert(1, {"name": "home", "emptyDir": {"sizeLimit": _size(one.tmp_bytes)}})
    if name == "migrate":
        spec["volumes"].pop()
    return {"metadata": {"labels": _labels(name)}, "spec": spec}


def _container(
    name: str, one: Part, *, command: list[str], secrets: list[str], extra: Mapping, own: Mapping
) -> Mapping:
    env: list[Mapping] = []
    for key, value in own.items():
        if key.startswith("#"):
            env.append({key: value})
        else:
            env.append({"name": key, "value" if isinstance(value, str) else "valueFrom": value})
    for key in secrets:
        optional = {"optional": True} if key in _OPTIONAL else {}
        env.append({"name": key, "valueFrom": {"secretKeyRef": {"name": SECRET, "key": key, **optional}}})
    cpu, most_cpu = _CPU[name]
    home = one.settings["GROVE_HOME"]
    folders = 2 if name == "web" else 1
    mounts: list[Mapping] = [{"name": "tmp", "mountPath": "/tmp"}]
    if name == "web":
        mounts += [
            {"name": "home", "mountPath": home},
            {"#1": "The keys of sessions, which all replicas have to know."},
            {"name": "artifacts", "mountPath": f"{home}/service", "subPath": "service"},
        ]
    if name != "migrate":
        artifacts = one.settings["GROVE_ARTIFACTS_URL"]
        mounts.append({"name": "artifacts", "mountPath": artifacts, "subPath": "artifacts"})
    return {
        "name": name,
        "image": IMAGE,
        "command": command,
        "envFrom": [{"configMapRef": {"name": SETTINGS}}],
        "env": env,
        **extra,
        "resources": {
            "requests": {"cpu": cpu, "memory": _size(one.memory_bytes // 4), "ephemeral-storage": "256Mi"},
            "limits": {
                "cpu": most_cpu,
                "memory": _size(one.memory_bytes),
                "ephemeral-storage": _size(folders * one.tmp_bytes + 256 * _MIB),  # the rest for logs
            },
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


# ---- names and text --------------------------------------------------------------------------------------


def _named(name: str) -> str:
    return f"{APP}-{name}"


def _labels(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": APP, "app.kubernetes.io/component": name}


def _metadata(name: str, component: str | None = None) -> Mapping:
    labels = {"app.kubernetes.io/name": APP} if component is None else _labels(component)
    return {"name": name, "labels": labels}


def _size(n_bytes: int) -> str:
    mebibytes = n_bytes // _MIB
    return f"{mebibytes // 1024}Gi" if mebibytes % 1024 == 0 else f"{mebibytes}Mi"


def _text(about: str, made: list[Mapping]) -> str:
    dumped = yaml.safe_dump_all(made, sort_keys=False, allow_unicode=True, width=10_000)
    lines = (_commented(line) for line in dumped.splitlines())
    return _HEAD.format(about=about) + "\n" + "\n".join(lines) + "\n"


def _commented(line: str) -> str:
    """Return a line of YAML, or the comment that an entry whose key begins with ``#`` stands for."""
    found = re.fullmatch(r"( *)(?:- )?'#\d': (.*)", line)
    if found is None:
        return line
    sign = f"{found[1]}# "
    return textwrap.fill(str(yaml.safe_load(found[2])), _WIDTH, initial_indent=sign, subsequent_indent=sign)
