"""Key tables and settings."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology import errors
from labelgrove.ontology.errors import InputError, SettingsError, UnknownLabelError
from labelgrove.ontology.keys import Keys, Texts
from labelgrove.ontology.settings import Settings, masked, unknown_variables

STRINGS = st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=30)


@given(STRINGS)
def test_texts_hold_what_they_were_given(strings):
    table = Texts.from_strings(strings)
    assert list(table) == strings
    assert [table[i] for i in range(len(strings))] == strings
    assert table[-2:] == tuple(strings[-2:])
    assert table == Texts(table.blob, table.offsets)


@given(STRINGS | st.lists(st.text("ab")), st.slices(12))
def test_slices_of_texts_are_those_of_a_list(strings, part):
    assert list(Texts.from_strings(strings)[part]) == strings[part]


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=4), unique=True, max_size=40), st.text(max_size=4)
)
def test_find_agrees_with_a_list(strings, other):
    keys = Keys.from_strings(strings)
    for i, key in enumerate(strings):
        assert keys.find(key) == i
        assert keys.index(key) == i
    assert keys.find(other) == (strings.index(other) if other in strings else -1)
    assert (other in keys) == (other in strings)


def test_many_keys_at_once_agree_with_one_by_one():
    strings = [f"k{i * 7919 % 5000}" for i in range(5000)]
    keys = Keys.from_strings(strings)
    rng = np.random.default_rng(3)
    wanted = [strings[i] for i in rng.integers(0, 5000, 4000)]
    assert keys.indices(wanted).tolist() == [strings.index(k) for k in wanted]


def test_absent_keys_are_named_together_with_what_is_close():
    keys = Keys.from_strings(["oak", "elm", "ash"])
    with pytest.raises(UnknownLabelError, match=r"2 of 3 labels .*'oka', 'x'; close to it: 'oak'"):
        keys.indices(["elm", "oka", "x"])
    with pytest.raises(UnknownLabelError, match="label 3 is not"):
        keys.index(3)
    with pytest.raises(UnknownLabelError, match=r"2 of 3 labels .*: 3, None"):
        keys.indices(["elm", 3, None])


def test_bad_tables_are_refused():
    with pytest.raises(InputError, match="twice"):
        Keys.from_strings(["a", "b", "a"])
    with pytest.raises(InputError, match="type int"):
        Texts.from_strings(["a", 1])
    with pytest.raises(InputError, match="offsets"):
        Texts(np.zeros(3, np.uint8), np.array([0, 2], np.int64))
    with pytest.raises(InputError, match="order"):
        Keys(np.zeros(0, np.uint8), np.array([0], np.int64), np.zeros(1, np.int32))
    with pytest.raises(IndexError, match="outside"):
        Texts.from_strings(["a"])[1]


def test_defaults_need_no_server(tmp_path):
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path)})
    assert settings.graph_is_embedded
    assert settings.database_url == f"sqlite:///{tmp_path}/catalog.db"
    assert settings.broker_url is None


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"GROVE_GRAPH_URL": "http://x"}, "GROVE_GRAPH_URL: 'http://x' must start with"),
        ({"GROVE_DATABASE_URL": "mysql://u:pw@h/d"}, "u:\\*\\*\\*@h"),
        ({"GROVE_BROKER_URL": "amqp://x"}, "GROVE_BROKER_URL"),
        ({"GROVE_BROKER_URL": "redis://[half"}, "GROVE_BROKER_URL: 'redis://\\[half' is not a URL"),
        ({"GROVE_GRAPH_URL": "bolt://a", "GROVE_GRAPH_URL_FILE": "b"}, "both set"),
        ({"GROVE_GRAPH_URL_FILE": "/does/not/exist"}, "cannot read"),
    ],
)
def test_malformed_settings_name_variable_and_rule(env, message):
    with pytest.raises(SettingsError, match=message) as caught:
        Settings.from_env({"GROVE_HOME": "/none/x"} | env)
    assert "pw@" not in str(caught.value)


def test_secrets_come_from_files_and_never_show(tmp_path):
    file = tmp_path / "url"
    file.write_text("bolt://neo4j:canary-secret@db:7687\n")
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path), "GROVE_GRAPH_URL_FILE": str(file)})
    assert settings.graph_url == "bolt://neo4j:canary-secret@db:7687"
    assert "canary" not in repr(settings)
    assert "bolt://neo4j:***@db:7687" in repr(settings)
    assert masked("redis://:canary@h:1/0 and bolt://a:canary@b") == "redis://:***@h:1/0 and bolt://a:***@b"
    assert "canary" not in masked("redis://:pa@canary@host:6379/0")
    assert "canary" not in masked("postgresql://u@h/db?password=canary&sslmode=require")


@pytest.mark.parametrize("password", ["pa@canary", "canary/x", "x#canary", "ca?nary", "a@b/canary#?"])
def test_a_password_that_moves_the_host_is_refused_and_never_shows(password):
    for name, scheme in (("GRAPH", "bolt"), ("DATABASE", "postgresql+psycopg"), ("BROKER", "redis")):
        url = f"{scheme}://u:{password}@host:1/x"
        with pytest.raises(SettingsError, match=rf"GROVE_{name}_URL.*%40") as caught:
            Settings.from_env({"GROVE_HOME": "/none/x", f"GROVE_{name}_URL": url})
        assert "nary" not in str(caught.value)


def test_an_at_sign_in_a_path_is_one():
    for url in ("sqlite:////srv/a@b/c.db", "sqlite:///a@b:c@d.db"):
        assert Settings.from_env({"GROVE_DATABASE_URL": url}).database_url == url
    graph = "embedded:/srv/a@b"
    assert Settings.from_env({"GROVE_GRAPH_URL": graph}).graph_url == graph


@pytest.mark.parametrize("content", [b"canary", b"canary\xff"])
def test_a_file_that_holds_no_url_does_not_show_what_it_holds(content, tmp_path):
    (tmp_path / "secret").write_bytes(content)
    with pytest.raises(SettingsError, match="secret") as caught:
        Settings.from_env({"GROVE_GRAPH_URL_FILE": str(tmp_path / "secret")})
    assert "canary" not in str(caught.value)


def test_homes_that_cannot_be_are_refused_and_unknown_users_are_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        Settings.from_env({"GROVE_HOME": "~nobody-of-that-name/x"}).home
        == tmp_path / "~nobody-of-that-name/x"
    )
    with pytest.raises(SettingsError, match=r"GROVE_HOME.*not UTF-8"):
        Settings.from_env({"GROVE_HOME": "/tmp/\udcff"})


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("GROVE_DATABSE_URL", "GROVE_DATABASE_URL"),
        ("GROVE_DB_URL", "GROVE_DATABASE_URL"),
        ("GROVE_BROKER", "GROVE_BROKER_URL"),
        ("grove_home", "GROVE_HOME"),
        ("GROVE_OFFLIN", "GROVE_OFFLINE"),
        ("GROVE_METRIC_PORT", "GROVE_METRICS_PORT"),
        ("GROVE_GRAPH_URL_FIL", "GROVE_GRAPH_URL"),
        ("GROVE_GRAF_URL_FILE", "GROVE_GRAPH_URL_FILE"),
    ],
)
def test_a_misspelled_setting_is_refused_with_the_nearest_one(name, nearest):
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({"GROVE_HOME": "/none/x", name: "canary"})
    assert f"{name}: did you mean {nearest}? rename it, or remove it: unset {name}" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_every_variable_that_is_not_a_setting_is_named_at_once():
    env = {"GROVE_HOME": "/none/x", "GROVE_OFFLIN": "1", "GROVE_XYZZY": "", "GROVER": "x", "HOME": "/root"}
    with pytest.raises(SettingsError, match="2 variables are not known") as caught:
        Settings.from_env(env)
    assert "GROVE_XYZZY: docs/cli.md lists the settings" in str(caught.value)
    assert list(unknown_variables(env)) == ["GROVE_OFFLIN", "GROVE_XYZZY"]


def test_what_stands_beside_the_settings_is_left_alone():
    compose = Path(__file__).parents[3] / "docker-compose.yml"
    asked_for = re.findall(r"\$\{(GROVE_\w+)", compose.read_text(encoding="utf-8"))
    service = {  # what Kubernetes 1.30 sets for the Services `grove` and `grove-metrics`
        "GROVE_SERVICE_HOST": "10.0.0.11",
        "GROVE_SERVICE_PORT": "80",
        "GROVE_SERVICE_PORT_HTTP": "80",
        "GROVE_PORT": "tcp://10.0.0.11:80",
        "GROVE_METRIC_PORT": "tcp://10.0.0.12:80",
        "GROVE_METRIC_PORT_80_TCP": "tcp://10.0.0.12:80",
        "GROVE_METRIC_PORT_80_TCP_PROTO": "tcp",
        "GROVE_METRIC_PORT_80_TCP_PORT": "80",
        "GROVE_METRIC_PORT_80_TCP_ADDR": "10.0.0.12",
    }
    beside = dict.fromkeys(asked_for, "x") | service | {"GROVE_TEST_REDIS_URL": "redis://h"}
    assert len(asked_for) >= 3
    assert unknown_variables(beside) == {}
    set_there = re.findall(r"^ +(GROVE_\w+):", compose.read_text(encoding="utf-8"), flags=re.M)
    assert len(set_there) >= 8
    assert unknown_variables(dict.fromkeys(set_there, "x")) == {}


def test_every_setting_stands_in_the_manual():
    page = (Path(__file__).parents[3] / "docs/cli.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(GROVE_\w+)` \|", page, flags=re.M)
    assert sorted(listed) == sorted(f"GROVE_{field.name.upper()}" for field in fields(Settings))


def test_every_error_is_in_the_tree_and_keeps_its_builtin():
    for name in set(errors.__all__) - {"DEPLOYMENT_FAULTS", "counted", "first_few", "no_such_file", "sized"}:
        assert issubclass(getattr(errors, name), errors.GroveError)
    assert issubclass(errors.UnknownLabelError, LookupError)
    assert issubclass(errors.WeightError, ValueError)
    assert issubclass(errors.ServiceError, ConnectionError)
    assert issubclass(errors.MissingExtraError, ImportError)
