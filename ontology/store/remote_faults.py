"""Translate faults of object storage into our own errors: recognize the fault, and say what to do about it.

The drivers (botocore, aiohttp and those of other services) raise their own errors, and translate some of them
to `OSError`. Here an error is recognized by the code that the service returned, or by the name of its class,
so that no driver is imported. Texts of these errors are left out of our messages, because they may repeat
what was sent to the service, even secrets.
"""

from __future__ import annotations

from labelgrove.ontology.errors import GroveError, ServiceError, TransientError

__all__ = ["remote_fault"]

_DRIVERS = ("botocore", "aiobotocore", "aiohttp", "s3fs", "gcsfs", "google", "adlfs", "azure", "asyncio")

_BUSY = {
    "SlowDown",
    "ServiceUnavailable",
    "InternalError",
    "RequestTimeout",
    "OperationAborted",
    "TooManyRequests",
    "Throttling",
    "ThrottlingException",
    "RequestLimitExceeded",
}
_ON_THE_WAY = {"BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"}
_NO_BUCKET = {"NoSuchBucket"}
_UNKNOWN_KEY = {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"}
_NOT_PERMITTED = {"AccessDenied", "AllAccessDisabled", "AccountProblem", "Forbidden"}
_CLOCK = {"RequestTimeTooSkewed"}
_NO_CREDENTIALS = {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"}
_NO_ANSWER = {
    "EndpointConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ConnectionClosedError",
    "ConnectionError",
    "ClientConnectorError",
    "ClientPayloadError",
    "ServerDisconnectedError",
    "TimeoutError",
}

_SOURCES = (
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or the role of the machine; "
    "AWS_ENDPOINT_URL if the service is not Amazon's"
)


def remote_fault(error: BaseException, shown: str) -> GroveError | None:
    """Return our error for a fault of object storage; None for any other error, and for an absent object.

    `shown` is the address of the object, for the message.

    Examples
    --------
    >>> remote_fault(KeyError("no driver's"), "s3://bucket/sha256/00") is None
    True
    """
    code, status = _answer(error)
    name = type(error).__name__
    said = f"{shown}: the service answered {code or status}"
    if code in _NO_BUCKET:
        return ServiceError(f"{said}; create the bucket, or correct GROVE_ARTIFACTS_URL")
    if code in _BUSY or status in (429, 500, 502, 503, 504):
        return TransientError(f"{said}, after several attempts; it is busy: try again later")
    if code in _ON_THE_WAY:
        return TransientError(
            f"{said}: the bytes that it received differ from those sent; nothing was published, try again"
        )
    if code in _CLOCK:
        return ServiceError(f"{said}; set the clock of this machine")
    if code in _UNKNOWN_KEY:
        return ServiceError(f"{said}; correct the credentials: {_SOURCES}")
    if code in _NOT_PERMITTED or status in (401, 403):
        return ServiceError(
            f"{said}; the credentials do not permit this: grant s3:GetObject, s3:PutObject, s3:DeleteObject "
            f"and s3:ListBucket, or use other credentials ({_SOURCES})"
        )
    if name in _NO_CREDENTIALS:
        return ServiceError(f"{shown}: there are no credentials; give {_SOURCES}")
    foreign = type(error).__module__.partition(".")[0] not in _DRIVERS and code is None
    if foreign or isinstance(error, FileNotFoundError):
        return None
    if name in _NO_ANSWER:
        return ServiceError(
            f"{shown}: the service does not answer ({name}); check that it runs and can be reached "
            "(GROVE_ARTIFACTS_URL, AWS_ENDPOINT_URL)"
        )
    told = f"{name} {code or status or ''}".strip()
    return ServiceError(f"{shown}: {told}; check GROVE_ARTIFACTS_URL and the settings of its driver")


def _answer(error: BaseException) -> tuple[str | None, int | None]:
    """Return the error code and HTTP status of the service's answer, each None if the driver omits it."""
    seen: BaseException | None = error
    while seen is not None:
        response = getattr(seen, "response", None)
        if isinstance(response, dict):
            code = response.get("Error", {}).get("Code")
            return code, response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        seen = seen.__cause__
    return None, None
