"""JSON web tokens: only those of the issuer, for this service, with its signature and in time, count."""

from __future__ import annotations

import base64
import hmac
import http.server
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

from labelgrove.ontology.errors import MissingExtraError, ServiceError, SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.service.access.webtokens import RefusedError, WebTokens
from tests.unit.service.service_cases import client_of

KEYS = {
    "ES256": ECKey.generate_key("P-256", {"kid": "ec"}),
    "RS256": RSAKey.generate_key(2048, {"kid": "rsa"}),
    "Ed25519": OKPKey.generate_key("Ed25519", {"kid": "ed"}),
}
OTHER = ECKey.generate_key("P-256", {"kid": "ec"})
CLAIMS = {
    "iss": "https://id.example",
    "aud": "grove",
    "sub": "alice",
    "scope": "openid grove:read grove:admin",
}


def variables(keys: str) -> dict[str, str]:
    return {
        "GROVE_SERVE_JWT_ISSUER": "https://id.example",
        "GROVE_SERVE_JWT_AUDIENCE": "grove",
        "GROVE_SERVE_JWT_KEYS": keys,
    }


def signed(
    algorithm: str = "ES256", key: Any = None, header: dict[str, Any] | None = None, **claims: Any
) -> str:
    """Return a token that is right but for `claims`; those that are None are left out."""
    made = {"exp": int(time.time()) + 600} | CLAIMS | claims
    kept = {name: value for name, value in made.items() if value is not None}
    key = key or KEYS[algorithm]
    return jwt.encode({"alg": algorithm, "kid": key.kid} | (header or {}), kept, key, algorithms=[algorithm])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with the public keys of the issuer."""
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(KeySet([*KEYS.values()]).as_dict(private=False)))
    return path


def reader(keys: str, **more: str) -> WebTokens:
    read = WebTokens.of(Settings.from_env({"GROVE_HOME": "/nowhere", **variables(keys), **more}))
    assert read is not None
    return read


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_token_of_the_issuer_says_who_and_what(file, algorithm):
    tokens = reader(str(file))
    assert tokens.read(signed(algorithm)) == ("alice", {"read", "admin"})
    assert tokens.read(signed(algorithm, aud=["other", "grove"]))[0] == "alice"
    assert tokens.read(signed(algorithm, scope=["grove:score"]))[1] == {"score"}
    assert tokens.read(signed(algorithm, scope="read admin"))[1] == set()
    for nothing in (None, 7, {"grove:read": 1}, [["grove:read"]]):
        assert tokens.read(signed(algorithm, scope=nothing))[1] == set()


def test_values_of_a_claim_can_be_mapped(file):
    tokens = reader(
        str(file),
        GROVE_SERVE_JWT_CLAIM="groups",
        GROVE_SERVE_JWT_SCOPES="staff=read+score,ops=admin,a=b=work",
    )
    assert tokens.read(signed(groups=["ops", "staff"]))[1] == {"read", "score", "admin"}
    assert tokens.read(signed(groups="a=b"))[1] == {"work"}
    assert tokens.read(signed(groups=["grove:read"]))[1] == set()


def unsigned(**header: str) -> str:
    parts = [header, CLAIMS | {"exp": int(time.time()) + 600}]
    told = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*told, ""])


def confused() -> str:
    """Return a token that is signed with the public key as if it were a shared secret."""
    begin = unsigned(alg="HS256", kid="ec").removesuffix(".")
    mark = hmac.digest(KEYS["ES256"].as_pem(private=False), begin.encode(), "sha256")
    return f"{begin}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


WRONG: dict[str, Any] = {
    "another issuer": lambda: signed(iss="https://evil.example"),
    "no issuer": lambda: signed(iss=None),
    "another audience": lambda: signed(aud="other"),
    "no audience": lambda: signed(aud=None),
    "expired": lambda: signed(exp=int(time.time()) - 60),
    "without an end": lambda: signed(exp=None),
    "an end that is text": lambda: signed(exp="tomorrow"),
    "not yet": lambda: signed(nbf=int(time.time()) + 600),
    "no subject": lambda: signed(sub=None),
    "an empty subject": lambda: signed(sub=""),
    "a subject with a line end": lambda: signed(sub="a\nb"),
    "a long subject": lambda: signed(sub="x" * 201),
    "a subject that is no text": lambda: signed(sub=7),
    "another key": lambda: signed(key=OTHER),
    "a key that nobody knows": lambda: signed(key=ECKey.generate_key("P-256", {"kid": "new"})),
    "no signature": lambda: unsigned(alg="none"),
    "no signature, capitals": lambda: unsigned(alg="None", kid="ec"),
    "a shared secret": confused,
    "a changed end": lambda: signed()[:-4] + "AAAA",
    "no algorithm": lambda: unsigned(typ="JWT"),
    "text": lambda: "a.b.c",
    "odd text": lambda: "é.\x00.",
    "long text": lambda: "a." + "b" * 20_000 + ".c",
    "five parts": lambda: "a.b.c.d.e",
    "a critical header": lambda: signed(header={"crit": ["b64"], "b64": False}),
}


@pytest.mark.parametrize("name", WRONG)
def test_anything_else_is_refused_and_told_without_it(file, name):
    token = WRONG[name]()
    with pytest.raises(RefusedError, match=r"the (web )?token is (refused|unknown)") as refused:
        reader(str(file)).read(token)
    assert token not in str(refused.value)


def test_a_service_accepts_them_in_place_of_tokens(tmp_path, file):
    with client_of(tmp_path / "home", local=False, **variables(str(file))) as client:
        right = {"Authorization": f"Bearer {signed(sub='bob')}"}
        assert client.get("/v1/ontologies", headers=right).status_code == 200
        assert "jwt:bob" in client.get("/sign-in", headers=right).text
        answer = client.post("/v1/cypher", json={"statement": "RETURN 1"}, headers=right)
        assert (answer.status_code, answer.json()["type"]) == (403, "/reference#problem-scope")
        wrong = {"Authorization": f"Bearer {signed(key=OTHER)}"}
        answer = client.get("/v1/ontologies", headers=wrong)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    with client_of(tmp_path / "home", local=False) as client:
        assert client.get("/v1/ontologies", headers=right).status_code == 401


class Issuer:
    """A server of keys, which counts how often it is asked."""

    def __init__(self) -> None:
        self.keys: list[Any] = [KEYS["ES256"]]
        self.asked = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                body = json.dumps(KeySet(outer.keys).as_dict(private=False)).encode()
                self.send_response(200 if outer.keys else 500)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_keys_are_asked_for_seldom_and_again_for_a_new_one(issuer, monkeypatch):
    tokens = reader(issuer.url)
    for _ in range(5):
        tokens.read(signed())
    assert issuer.asked == 1
    new = ECKey.generate_key("P-256", {"kid": "new"})
    issuer.keys = [KEYS["ES256"], new]
    for _ in range(5):  # whoever names keys that there are not cannot make the service ask all the time
        with pytest.raises(RefusedError):
            tokens.read(signed(key=new))
    assert issuer.asked == 1
    start = time.monotonic()
    monkeypatch.setattr("labelgrove.service.access.webtokens.time.monotonic", lambda: start + 31)
    assert tokens.read(signed(key=new))[0] == "alice"
    assert issuer.asked == 2
    monkeypatch.setattr("labelgrove.service.access.webtokens.time.monotonic", lambda: start + 700)
    issuer.keys = []
    assert tokens.read(signed())[0] == "alice"  # the issuer is out of order: its last keys stay
    assert issuer.asked == 3


def test_keys_that_cannot_be_read_are_an_error_of_the_service(tmp_path, issuer):
    (tmp_path / "wrong.json").write_text('{"keys": 7}')
    with pytest.raises(ServiceError, match="GROVE_SERVE_JWT_KEYS: cannot read"):
        reader(str(tmp_path / "none.json")).read(signed())
    with pytest.raises(ServiceError, match="has no keys"):
        reader(str(tmp_path / "wrong.json")).read(signed())
    issuer.keys = []
    tokens = reader(issuer.url)
    with pytest.raises(ServiceError):
        tokens.read(signed())
    issuer.keys = [KEYS["ES256"]]
    assert tokens.read(signed())[0] == "alice"


@pytest.mark.parametrize(
    ("env", "told"),
    [
        (
            {"GROVE_SERVE_JWT_ISSUER": "x"},
            "GROVE_SERVE_JWT_AUDIENCE: is not set, but GROVE_SERVE_JWT_ISSUER is",
        ),
        (variables("http://id.example/keys"), "begins with https://"),
        ({"GROVE_SERVE_PROXY_HEADER": "X-User"}, "GROVE_SERVE_PROXY_PEERS: is not set"),
        ({"GROVE_SERVE_PROXY_PEERS": "10.0.0.1"}, "GROVE_SERVE_PROXY_HEADER: is not set"),
        ({"GROVE_SERVE_PROXY_PEERS": "10.0.0.1/8"}, "GROVE_SERVE_PROXY_PEERS: .*host bits set"),
        ({"GROVE_SERVE_PROXY_PEERS": "proxy"}, "give addresses or networks such as 10.0.0.0/8"),
        ({"GROVE_SERVE_HOSTS": "a.example:80"}, "a name or address, without a port"),
        ({"GROVE_SERVE_HOSTS": "*"}, "a name or address, without a port"),
        ({"GROVE_SERVE_PROXY_SCOPES": "read,all"}, "give one or more of read"),
        ({"GROVE_SERVE_JWT_SCOPES": "staff"}, "VALUE=SCOPE"),
        ({"GROVE_SERVE_JWT_SCOPES": "staff=all"}, "give one or more of read"),
        (
            {"GROVE_SERVE_PROXY_HEADER": "Cookie", "GROVE_SERVE_PROXY_PEERS": "10.0.0.1"},
            "is not the name of a header",
        ),
        (
            {"GROVE_SERVE_PROXY_HEADER": "X User", "GROVE_SERVE_PROXY_PEERS": "10.0.0.1"},
            "is not the name of a header",
        ),
    ],
)
def test_settings_that_could_let_strangers_in_are_refused(env, told):
    with pytest.raises(SettingsError, match=told):
        Settings.from_env({"GROVE_HOME": "/nowhere", **env})


def test_the_package_that_is_missing_is_named(file, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "joserfc", None)
    with pytest.raises(MissingExtraError, match="oidc"):
        reader(str(file))
