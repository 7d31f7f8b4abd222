"""One set of Pythons everywhere, and an image that builds the same from a base that cannot change."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")


def pythons() -> list[str]:
    """Return the Pythons that the classifiers name."""
    listed = (
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", c)
        for c in PROJECT["project"]["classifiers"]
    )
    return [match[1] for match in listed if match]


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile: name and arguments, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^\s*#.*\n", "", dockerfile))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def stages(dockerfile: str) -> list[list[tuple[str, str]]]:
    """Return the instructions of each stage, ``FROM`` first."""
    found: list[list[tuple[str, str]]] = []
    for name, rest in instructions(dockerfile):
        if name == "FROM":
            found.append([])
        found[-1].append((name, rest))
    return found


def test_classifiers_minimum_types_linter_ci_and_image_name_the_same_pythons():
    assert pythons() == ["3.11", "3.12", "3.13"]
    lowest, highest = pythons()[0], pythons()[-1]
    assert PROJECT["project"]["requires-python"] == f">={lowest}"
    assert PROJECT["tool"]["mypy"]["python_version"] == lowest
    assert PROJECT["tool"]["ruff"]["target-version"] == "py" + lowest.replace(".", "")
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^pythons=\((.*)\)", run, re.M)[1].split() == pythons()
    assert re.search(r"^FROM python:(3\.\d+)\.\d+-slim", DOCKERFILE, re.M)[1] == highest
    assert f"Python {lowest} or later" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_base_of_the_image_is_named_by_digest_or_is_a_stage():
    names: set[str] = set()
    for (_, rest), *_ in stages(DOCKERFILE):
        base, _, name = rest.partition(" AS ")
        assert base in names or re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", base), base
        names.add(name)


def test_what_the_image_needs_is_installed_before_its_sources_are_copied():
    """Else each change of a line would install a hundred packages again."""
    (build,) = (s for s in stages(DOCKERFILE) if s[0][1].endswith(" AS build"))
    needed = next(i for i, (name, rest) in enumerate(build) if name == "RUN" and "-r pyproject.toml" in rest)
    copied = [rest for name, rest in build[:needed] if name == "COPY"]
    assert copied == [".ci/constraints.txt constraints.txt", "pyproject.toml ."]
    assert "-c constraints.txt" in build[needed][1]


def test_the_image_holds_every_package_and_nothing_that_only_builds():
    *_, build, last = stages(DOCKERFILE)
    assert ("COPY", ". .") in build
    _, everything, *kept, caches = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert (everything, caches) == ("*", "**/__pycache__")
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    rooms = {"adapter", "ontology", "workers"}  # what links of labelgrove lead to
    needed = {*wheel["packages"], *rooms, *wheel["force-include"], *PROJECT["project"]["license-files"][:1]}
    assert {line.removeprefix("!") for line in kept} == needed | {
        ".ci/constraints.txt",
        "README.md",
        "pyproject.toml",
    }
    copied = [rest for name, rest in last if name == "COPY"]
    assert copied == ["--from=build /opt/grove /opt/grove"]
    assert not [name for name, _ in last if name in ("RUN", "ADD")]


def test_the_image_runs_as_nobody_in_particular():
    assert [rest for name, rest in stages(DOCKERFILE)[-1] if name == "USER"] == ["1000:1000"]


def test_extras_of_the_image_are_extras():
    known = set(PROJECT["project"]["optional-dependencies"])
    compose = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    asked = [*re.findall(r"ARG EXTRAS=(\S+)", DOCKERFILE), *re.findall(r'EXTRAS: "([^"]+)"', compose)]
    assert len(asked) == 3
    assert {extra for each in asked for extra in each.split(",")} <= known
