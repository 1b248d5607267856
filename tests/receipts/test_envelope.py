"""The receipt file: one form, one reading, and a signature over all of it."""

from __future__ import annotations

import base64
import json
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
)

from lettafast.errors import EnvelopeError, EnvelopeReason, SigningKeyError, SigningKeyReason
from lettafast.receipts.envelope import (
    PAYLOAD_TYPE,
    check_signatures,
    public_key,
    read_receipt,
    signing_key,
    write_receipt,
)
from lettafast.receipts.strict_json import canonical
from made import keys

STATEMENTS = ({"_type": "one", "n": 1}, {"_type": "two", "text": "\u00e4 \u2028"})


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A signer and its public key, from files that openssl made."""
    private, public = keys(tmp_path_factory.mktemp("keys"))
    return signing_key(private.read_bytes(), "x"), public_key(public.read_bytes(), "x")


def refused(data: bytes, key=None) -> EnvelopeReason:
    """Why it is refused; a receipt that can be read is checked with the key."""
    with pytest.raises(EnvelopeError) as caught:
        check_signatures(read_receipt(data), key)
    assert caught.value.exit_code == 10
    return caught.value.reason


def changed(data: bytes, change, line: int = 0) -> bytes:
    """The file with one envelope's members changed, in canonical form."""
    lines = data.split(b"\n")
    members = json.loads(lines[line])
    change(members)
    lines[line] = canonical(members)
    return b"\n".join(lines)


def test_a_signed_receipt(pair) -> None:
    signer, key = pair
    data = write_receipt(STATEMENTS, signer)
    receipt = read_receipt(data)
    assert receipt.statements == STATEMENTS
    assert receipt.key_id == key.keyid == signer.public_key.keyid
    check_signatures(receipt, key)
    # Ed25519 needs no randomness: the same statements give the same file.
    assert write_receipt(STATEMENTS, signer) == data


def test_an_unsigned_receipt(pair) -> None:
    data = write_receipt(STATEMENTS, None)
    receipt = read_receipt(data)
    assert receipt.statements == STATEMENTS
    assert receipt.key_id is None
    assert refused(data, pair[1]) is EnvelopeReason.BAD_SIGNATURE


def test_openssl_finds_the_signature_good_too(tmp_path) -> None:
    """Another implementation, over the bytes that DSSE says are signed."""
    private, public = keys(tmp_path)
    data = write_receipt(STATEMENTS, signing_key(private.read_bytes(), "x"))
    for line in data.splitlines():
        members = json.loads(line)
        payload = base64.b64decode(members["payload"])
        signed = b"DSSEv1 %d %b %d %b" % (
            len(PAYLOAD_TYPE),
            PAYLOAD_TYPE.encode(),
            len(payload),
            payload,
        )
        (tmp_path / "signed").write_bytes(signed)
        (tmp_path / "sig").write_bytes(base64.b64decode(members["signatures"][0]["sig"]))
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(public), "-rawin"]
        command += ["-in", str(tmp_path / "signed"), "-sigfile", str(tmp_path / "sig")]
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr


def test_every_flipped_bit_is_found(pair) -> None:
    signer, key = pair
    data = write_receipt(STATEMENTS, signer)
    check_signatures(read_receipt(data), key)
    for at in range(len(data)):
        for bit in range(8):
            altered = bytearray(data)
            altered[at] ^= 1 << bit
            refused(bytes(altered), key)


def test_every_byte_that_is_lost_or_added_is_found(pair) -> None:
    signer, key = pair
    data = write_receipt(STATEMENTS, signer)
    for at in range(len(data)):
        refused(data[:at] + data[at + 1 :], key)
        for more in (b" ", b"\n", b"0", b"\0"):
            refused(data[:at] + more + data[at:], key)
    for end in range(len(data)):
        refused(data[:end], key)
    for more in (b" ", b"\n", b"{}", b"{}\n", data):
        refused(data + more, key)


def test_another_key(pair, tmp_path) -> None:
    other, _ = keys(tmp_path)
    data = write_receipt(STATEMENTS, signing_key(other.read_bytes(), "x"))
    assert refused(data, pair[1]) is EnvelopeReason.BAD_SIGNATURE
    # Also where it says that it is the right one.
    lied = data.replace(read_receipt(data).key_id.encode(), pair[1].keyid.encode())
    assert read_receipt(lied).key_id == pair[1].keyid
    assert refused(lied, pair[1]) is EnvelopeReason.BAD_SIGNATURE


def test_envelopes_that_were_exchanged_or_mixed(pair, tmp_path) -> None:
    signer, key = pair
    data = write_receipt(STATEMENTS, signer)
    one, two = data.splitlines(keepends=True)
    assert (
        read_receipt(two + one).statements == STATEMENTS[::-1]
    )  # signed, and not what is expected
    unsigned = write_receipt(STATEMENTS, None).splitlines(keepends=True)
    assert refused(one + unsigned[1], key) is EnvelopeReason.SIGNATURES
    assert refused(unsigned[0] + two, key) is EnvelopeReason.SIGNATURES
    other, _ = keys(tmp_path)
    theirs = write_receipt(STATEMENTS, signing_key(other.read_bytes(), "x")).splitlines(True)
    assert refused(one + theirs[1], key) is EnvelopeReason.SIGNATURES
    assert refused(one, key) is EnvelopeReason.LINES
    assert refused(one * 3, key) is EnvelopeReason.LINES
    assert refused(b"", key) is EnvelopeReason.LINES


def test_a_signature_is_not_moved_to_another_payload(pair) -> None:
    signer, key = pair
    data = write_receipt(STATEMENTS, signer)
    other = write_receipt(({**STATEMENTS[0], "n": 2}, STATEMENTS[1]), None)
    payload = json.loads(other.splitlines()[0])["payload"]
    altered = changed(data, lambda members: members.update(payload=payload))
    assert refused(altered, key) is EnvelopeReason.BAD_SIGNATURE


def two_signatures(members) -> None:
    members["signatures"] *= 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda members: members.update(payloadType="application/json"), "payload_type"),
        (lambda members: members.update(payloadType=1), "payload_type"),
        (lambda members: members.update(more=1), "members"),
        (lambda members: members.pop("signatures"), "members"),
        (lambda members: members.pop("payload"), "members"),
        (lambda members: members.update(payload="!"), "payload"),
        (lambda members: members.update(payload=None), "payload"),
        (lambda members: members.update(payload="e30"), "payload"),
        (lambda members: members.update(payload="e31="), "payload"),
        (lambda members: members.update(payload="\u00e4"), "payload"),
        (lambda members: members.update(payload="W10="), "payload"),
        (lambda members: members.update(payload=base64.b64encode(b'{ "a":1}').decode()), "payload"),
        (
            lambda members: members.update(payload=base64.b64encode(b'{"a":1,"a":1}').decode()),
            "payload",
        ),
        (lambda members: members.update(payload=base64.b64encode(b"\xff").decode()), "payload"),
        (lambda members: members.update(signatures={}), "signatures"),
        (lambda members: members.update(signatures=None), "signatures"),
        (lambda members: members.update(signatures=["x"]), "signatures"),
        (two_signatures, "signatures"),
        (lambda members: members["signatures"][0].update(more=1), "signatures"),
        (lambda members: members["signatures"][0].pop("keyid"), "signatures"),
        (lambda members: members["signatures"][0].update(keyid=1), "signatures"),
        (lambda members: members["signatures"][0].update(keyid="A" * 64), "signatures"),
        (lambda members: members["signatures"][0].update(sig="AAAA"), "signatures"),
        (lambda members: members["signatures"][0].update(sig=None), "signatures"),
    ],
)
@pytest.mark.parametrize("line", [0, 1])
def test_other_forms_are_refused(pair, change, reason, line) -> None:
    data = write_receipt(STATEMENTS, pair[0])
    assert refused(changed(data, change, line), pair[1]) == reason


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda line: line.replace(b'":"', b'": "', 1),
        lambda line: json.dumps(json.loads(line), indent=1).replace("\n", "").encode(),
        lambda line: line.replace(b"payloadType", b"p\\u0061yloadType"),
        lambda line: line.replace(b"{", b'{"payload":"e30=",', 1),
        lambda line: line.replace(b'"signatures"', b'"payload":"e30=","signatures"'),
        lambda line: b"\xef\xbb\xbf" + line,
        lambda line: line + b"\r",
        lambda line: b"[" + line + b"]",
        lambda _: b"null",
        lambda _: b"",
        lambda _: b"[" * 100_000,
    ],
)
def test_json_that_is_not_canonical(pair, rewrite) -> None:
    one, two = write_receipt(STATEMENTS, pair[0]).split(b"\n")[:2]
    assert refused(rewrite(one) + b"\n" + two + b"\n", pair[1]) is EnvelopeReason.NOT_CANONICAL
    assert refused(one + b"\n" + rewrite(two) + b"\n", pair[1]) is EnvelopeReason.NOT_CANONICAL


def test_a_file_that_is_too_long(monkeypatch, pair) -> None:
    data = write_receipt(STATEMENTS, pair[0])
    monkeypatch.setattr("lettafast.receipts.envelope.LONGEST", len(data) - 1)
    assert refused(data, pair[1]) is EnvelopeReason.TOO_LONG


def key_reason(call, pem: bytes) -> SigningKeyReason:
    with pytest.raises(SigningKeyError) as caught:
        call(pem, "ci.pem")
    error = caught.value
    assert error.exit_code == 2
    assert str(error).startswith("ci.pem: ")
    return error.reason


def test_keys_of_another_kind(tmp_path) -> None:
    private, public = (path.read_bytes() for path in keys(tmp_path))
    rsa = tmp_path / "rsa.pem"
    command = ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
    subprocess.run([*command, "-out", rsa], check=True, timeout=60, capture_output=True)
    assert key_reason(signing_key, rsa.read_bytes()) is SigningKeyReason.NOT_ED25519
    assert key_reason(signing_key, public) is SigningKeyReason.NOT_PEM
    assert key_reason(signing_key, b"") is SigningKeyReason.NOT_PEM
    assert key_reason(signing_key, b"sk-let-key") is SigningKeyReason.NOT_PEM
    # Who verifies is not asked for what only the signer may have.
    assert key_reason(public_key, private) is SigningKeyReason.NOT_PEM
    assert key_reason(public_key, b"\xff") is SigningKeyReason.NOT_PEM


def test_a_key_under_a_password() -> None:
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"password"))
    assert key_reason(signing_key, pem) is SigningKeyReason.PROTECTED
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert public_key(public, "x").keyid
