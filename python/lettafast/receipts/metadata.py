"""What started a run: the variables of a Tangled pipeline, strictly read.

The variables are those of Tangled's spindle (`spindle/models/pipeline_env.go`). A variable that is
empty counts as not set. No refusal shows a value: one may be a secret in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lettafast.errors import MetadataError, MetadataReason

KIND = "TANGLED_PIPELINE_KIND"
PIPELINE = "TANGLED_PIPELINE_ID"
REPOSITORY = "TANGLED_REPO_URL"
COMMIT = "TANGLED_SHA"
COMMIT_TOO = "TANGLED_COMMIT_SHA"
AGENT = "LETTA_AGENT_ID"
MODEL = "LETTA_MODEL"
LOCAL_URL = "--url"

_SCHEME = "https://"
_AUTHORITY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?")
_PATH = re.compile(r"/[A-Za-z0-9._~:/@-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_AGENT = re.compile(r"agent-[A-Za-z0-9_-]{1,128}")
_FORM = re.compile(r"[!-~]{1,512}")


@dataclass(frozen=True, slots=True)
class Trigger:
    """Who is asked about which repository, and why. `kind` is push, manual or local."""

    kind: str
    url: str
    sha: str | None
    pipeline_id: str | None
    agent_id: str
    model: str | None


def trigger_of(environ: Mapping[str, str], *, local_url: str | None = None) -> Trigger:
    """The trigger that the variables describe. Raises `MetadataError`.

    Without a pipeline the kind is `local`, and `local_url` may name the repository.
    """
    kind, url = source_of(environ, local_url=local_url)
    return Trigger(
        kind=kind,
        url=url,
        sha=_sha(environ),
        pipeline_id=_plain(environ, PIPELINE),
        agent_id=check_agent(environ.get(AGENT), AGENT),
        model=_plain(environ, MODEL),
    )


def source_of(environ: Mapping[str, str], *, local_url: str | None = None) -> tuple[str, str]:
    """The kind and the repository's address alone. Raises `MetadataError`."""
    kind = _kind(environ)
    if local_url is None:
        url, named_by = environ.get(REPOSITORY), REPOSITORY
    elif kind == "local":
        url, named_by = local_url, LOCAL_URL
    else:
        raise MetadataError(LOCAL_URL, MetadataReason.LOCAL_ONLY)
    if not url:
        either = f"{REPOSITORY} or {LOCAL_URL}" if kind == "local" else named_by
        raise MetadataError(either, MetadataReason.MISSING)
    check_url(url, named_by)
    return kind, url


def check_trigger(trigger: Trigger, head: str) -> None:
    """Refuses a checkout of another commit than that of the trigger. Raises `MetadataError`."""
    if trigger.sha not in (None, head):
        raise MetadataError(COMMIT, MetadataReason.OTHER_COMMIT)


def check_url(url: str, named_by: str) -> None:
    """Refuses an address that is not plain HTTPS. Raises `MetadataError`."""
    if not url.startswith(_SCHEME):
        raise MetadataError(named_by, MetadataReason.NOT_HTTPS)
    rest = url[len(_SCHEME) :]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path = rest[len(authority) :]
    wrong = (
        ("@" in authority, MetadataReason.CREDENTIALS),
        ("?" in rest, MetadataReason.QUERY),
        ("#" in rest, MetadataReason.FRAGMENT),
        (not _AUTHORITY.fullmatch(authority), MetadataReason.HOST),
        (not _PATH.fullmatch(path), MetadataReason.PATH),
        (not {".", ".."}.isdisjoint(path.split("/")), MetadataReason.PATH),
    )
    for is_wrong, reason in wrong:
        if is_wrong:
            raise MetadataError(named_by, reason)


def check_agent(agent_id: str | None, named_by: str) -> str:
    """The id, if it is one of an agent. Raises `MetadataError`."""
    if not agent_id:
        raise MetadataError(named_by, MetadataReason.MISSING)
    if not _AGENT.fullmatch(agent_id):
        raise MetadataError(named_by, MetadataReason.AGENT_FORM)
    return agent_id


def _kind(environ: Mapping[str, str]) -> str:
    kind = environ.get(KIND)
    if not kind:
        if environ.get(PIPELINE):  # a pipeline that does not say which
            raise MetadataError(KIND, MetadataReason.MISSING)
        return "local"
    if kind == "pull_request":
        raise MetadataError(KIND, MetadataReason.PULL_REQUEST)
    if kind not in ("push", "manual", "local"):
        raise MetadataError(KIND, MetadataReason.KIND)
    return kind


def _sha(environ: Mapping[str, str]) -> str | None:
    """The trigger's commit: Tangled gives it under two names, and for a manual run perhaps none."""
    found = None
    for name in (COMMIT, COMMIT_TOO):
        said = environ.get(name)
        if said and not _COMMIT.fullmatch(said):
            raise MetadataError(name, MetadataReason.COMMIT_FORM)
        if said and found not in (None, said):
            raise MetadataError(name, MetadataReason.TWO_COMMITS)
        found = said or found
    return found


def _plain(environ: Mapping[str, str], name: str) -> str | None:
    said = environ.get(name)
    if said and not _FORM.fullmatch(said):
        raise MetadataError(name, MetadataReason.FORM)
    return said or None
