"""A receipt file: DSSE envelopes, one a line, each with an in-toto statement.

There is one file for a receipt's content: every line and every payload is the canonical JSON of
RFC 8785, the base64 is the canonical one, and nothing stands beside. Whatever else is read is
refused, so that no two readers see different things. An unsigned receipt is the same with empty
lists of signatures.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, Signature, SSlibKey

from lettafast.errors import EnvelopeError, EnvelopeReason, SigningKeyError, SigningKeyReason

from . import strict_json

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENTS = 2
LONGEST = 64 << 20
"""Bytes of a receipt file."""

_KEY_ID = re.compile(r"[0-9a-f]{64}")
_SIGNATURE_BYTES = 64


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt as it was read: nothing in it is believed yet.

    `key_id` names the key that both envelopes say they were signed with, or is None.
    """

    statements: tuple[dict[str, Any], ...]
    key_id: str | None
    envelopes: tuple[Envelope, ...]


def signing_key(pem: bytes, name: str) -> CryptoSigner:
    """The signer of a private key in PEM that came from `name`. Raises `SigningKeyError`."""
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:  # it asks for a password
        raise SigningKeyError(SigningKeyReason.PROTECTED, name) from None
    except (ValueError, UnsupportedAlgorithm):
        raise SigningKeyError(SigningKeyReason.NOT_PEM, name) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SigningKeyError(SigningKeyReason.NOT_ED25519, name)
    return CryptoSigner(key)


def public_key(pem: bytes, name: str) -> SSlibKey:
    """A public key in PEM that came from `name`. Raises `SigningKeyError`."""
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise SigningKeyError(SigningKeyReason.NOT_PEM, name) from None
    if not isinstance(key, Ed25519PublicKey):
        raise SigningKeyError(SigningKeyReason.NOT_ED25519, name)
    return SSlibKey.from_crypto(key)


def write_receipt(statements: tuple[dict[str, Any], ...], signer: CryptoSigner | None) -> bytes:
    """The file. Raises `ValueError` for a statement that has no canonical form."""
    lines = []
    for statement in statements:
        envelope = Envelope(strict_json.canonical(statement), PAYLOAD_TYPE, {})
        if signer is not None:
            envelope.sign(signer)
        lines.append(strict_json.canonical(envelope.to_dict()) + b"\n")
    return b"".join(lines)


def read_receipt(data: bytes) -> Receipt:
    """What a file says, if it is one that `write_receipt` can write. Raises `EnvelopeError`."""
    if len(data) > LONGEST:
        raise EnvelopeError(EnvelopeReason.TOO_LONG, 0)
    lines = data.split(b"\n")
    if len(lines) != STATEMENTS + 1 or lines.pop():
        raise EnvelopeError(EnvelopeReason.LINES, 0)
    envelopes = tuple(_envelope(line, number) for number, line in enumerate(lines, 1))
    statements = tuple(_statement(one, number) for number, one in enumerate(envelopes, 1))
    key_ids = {next(iter(one.signatures), None) for one in envelopes}
    if len(key_ids) != 1:
        raise EnvelopeError(EnvelopeReason.SIGNATURES, 0)
    return Receipt(statements, key_ids.pop(), envelopes)


def check_signatures(receipt: Receipt, key: SSlibKey) -> None:
    """Holds where `key` has signed both envelopes; raises `EnvelopeError` else."""
    for number, envelope in enumerate(receipt.envelopes, 1):
        try:
            envelope.verify([key], threshold=1)
        except VerificationError:  # noqa: PERF203 - each envelope has its own signature
            raise EnvelopeError(EnvelopeReason.BAD_SIGNATURE, number) from None


def _envelope(line: bytes, number: int) -> Envelope:
    try:
        said = strict_json.parse_object(line.decode("utf-8"))
        canonical = strict_json.canonical(said)
    except ValueError:
        raise EnvelopeError(EnvelopeReason.NOT_CANONICAL, number) from None
    if canonical != line:
        raise EnvelopeError(EnvelopeReason.NOT_CANONICAL, number)
    if set(said) != {"payload", "payloadType", "signatures"}:
        raise EnvelopeError(EnvelopeReason.MEMBERS, number)
    if said["payloadType"] != PAYLOAD_TYPE:
        raise EnvelopeError(EnvelopeReason.PAYLOAD_TYPE, number)
    payload = _base64(said["payload"])
    if payload is None:
        raise EnvelopeError(EnvelopeReason.PAYLOAD, number)
    return Envelope(payload, PAYLOAD_TYPE, _signatures(said["signatures"], number))


def _signatures(said: Any, number: int) -> dict[str, Signature]:
    if said == []:
        return {}
    wrong = EnvelopeError(EnvelopeReason.SIGNATURES, number)
    if not isinstance(said, list) or len(said) != 1 or not isinstance(said[0], dict):
        raise wrong
    (one,) = said
    if set(one) != {"keyid", "sig"} or not isinstance(one["keyid"], str):
        raise wrong
    signature = _base64(one["sig"])
    if signature is None or len(signature) != _SIGNATURE_BYTES:
        raise wrong
    if not _KEY_ID.fullmatch(one["keyid"]):
        raise wrong
    return {one["keyid"]: Signature(one["keyid"], signature.hex())}


def _statement(envelope: Envelope, number: int) -> dict[str, Any]:
    try:
        said = strict_json.parse_object(envelope.payload.decode("utf-8"))
        canonical = strict_json.canonical(said)
    except ValueError:
        raise EnvelopeError(EnvelopeReason.PAYLOAD, number) from None
    if canonical != envelope.payload:
        raise EnvelopeError(EnvelopeReason.PAYLOAD, number)
    return said


def _base64(text: Any) -> bytes | None:
    """The bytes, if the text is the only one that means them."""
    if not isinstance(text, str):
        return None
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (ValueError, binascii.Error):
        return None
    return data if base64.b64encode(data).decode("ascii") == text else None
