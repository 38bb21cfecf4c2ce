"""Whether the certificates and tokens with which clusters are reached end soon.

SOURCE of 30 days: Cluster API renews the client certificates of its kubeconfig Secrets at half of their life, which is a year by
default. One that ends within 30 days was not renewed.
"""

from collections.abc import Iterator, Sequence

import msgspec

from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.connection.connection_choice import ConnectionConfigError
from reconciler.kube.connection.workload_connection import found_kubeconfig
from reconciler.providers.findings import Check, State
from reconciler.values.clauses import clauses
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.credential_end import CertificateTextError, certificate_ends, token_times
from reconciler.values.instant import instant_text
from reconciler.values.plural import count_text

DAY_SECONDS = 86_400
WARNING_SECONDS = 30 * DAY_SECONDS
MOST_SECRETS = 1_000
_SHOWN = 3
_NOT_THERE = (403, 404)


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """How a cluster is reached. `where` names the place for messages. Certificates are PEM, empty if there is none. `problems`
    are why some could not be read. `renewed`: somebody replaces a token that lives no longer than a day."""

    where: str
    certificate: bytes = b""
    authority: bytes = b""
    token: str = ""
    problems: tuple[str, ...] = ()
    renewed: bool = False


class End(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A credential that ends at an instant (Unix time). `expected`: somebody renews it in time, so it is reported only once it
    has ended."""

    end_seconds: int
    what: str
    where: str
    expected: bool = False

    def words(self, now_seconds: int) -> str:
        """`the client certificate of kubeconfig f ends on 2027-01-15T08:00:00Z, in 12 days`."""
        left = self.end_seconds - now_seconds
        when = f"ended on {instant_text(self.end_seconds)}"
        if left > 0:
            days, hours = left // DAY_SECONDS, left // 3600
            span = count_text(days, "day") if days else count_text(hours, "hour") if hours else "less than an hour"
            when = f"ends on {instant_text(self.end_seconds)}, in {span}"
        return f"the {self.what} of {self.where} {when}"


def ends_of(held: Credentials) -> tuple[tuple[End, ...], tuple[str, ...]]:
    """When the parts end, and what cannot be read."""
    ends: list[End] = []
    problems = [f"{held.where}: {problem}" for problem in held.problems]
    # The server needs each certificate of our chain. Of several authorities, it may be any that vouches for the server.
    for what, text, one in (("client certificate", held.certificate, min), ("certificate authority", held.authority, max)):
        if text:
            try:
                ends.append(End(end_seconds=one(certificate_ends(text)), what=what, where=held.where))
            except CertificateTextError as error:
                problems.append(f"the {what} of {held.where}: {error}")
    if held.token and (times := token_times(held.token)) is not None:
        short = times.issued_seconds > 0 and times.end_seconds - times.issued_seconds <= DAY_SECONDS
        ends.append(End(end_seconds=times.end_seconds, what="token", where=held.where, expected=held.renewed and short))
    return tuple(ends), tuple(problems)


def credentials_check(held: Sequence[Credentials], now_seconds: int) -> tuple[Check, ...]:
    """Of the kubeconfigs in use; none in a pod, whose token is renewed for it."""
    if not held:
        return ()
    ends, problems = _all(held)
    nothing = f"nothing in {', '.join(one.where for one in held)} ends"
    advice = "renew the kubeconfig before then: without it the loop cannot reach the cluster"
    return (_check("Credentials", ends, problems, now_seconds, nothing, advice),)


def secrets_check(management: Api, clusters: Sequence[ClusterIdentity], now_seconds: int) -> tuple[Check, ...]:
    """Of the kubeconfig Secrets of the Cluster objects, as far as they may be read. Each is read by its name; nothing is listed.
    Raises `UnreachableError`."""
    named = [one for one in clusters if one.namespace]
    if not named:
        return ()
    held: list[Credentials] = []
    unusable: list[str] = []
    missing = 0
    for cluster in named[:MOST_SECRETS]:
        try:
            found = found_kubeconfig(management, cluster)
        except ApiError as error:
            if error.status in _NOT_THERE:
                missing += 1
            else:
                unusable.append(f"the kubeconfig Secret of {cluster.title}: {error.message}")
        except ConnectionConfigError as error:
            unusable.append(str(error))
        else:
            held.append(
                Credentials(
                    where=f"Secret {found.secret}",
                    certificate=found.kubeconfig.certificate,
                    authority=found.kubeconfig.endpoint.authority,
                    token=found.kubeconfig.token,
                    renewed=True,
                )
            )
    ends, problems = _all(held)
    left = missing + len(named[MOST_SECRETS:])
    nothing = f"nothing in {count_text(len(held), 'kubeconfig Secret')} ends" if held else "no kubeconfig Secret can be read here"
    advice = "the owner of the Secret should have renewed it: without it, nobody reaches the cluster"
    check = _check("KubeconfigSecrets", ends, (*unusable, *problems), now_seconds, nothing, advice)
    if left and held:
        check = msgspec.structs.replace(
            check, message=f"{check.message}, and {left} more {'was' if left == 1 else 'were'} not read"
        )
    return (check,)


def _all(held: Sequence[Credentials]) -> tuple[tuple[End, ...], tuple[str, ...]]:
    found = [ends_of(one) for one in held]
    return tuple(sorted(end for ends, _ in found for end in ends)), tuple(
        problem for _, problems in found for problem in problems
    )


def _check(code: str, ends: Sequence[End], problems: Sequence[str], now_seconds: int, nothing: str, advice: str) -> Check:
    """The first ones to end. Failed: one has ended."""
    over = [one for one in ends if one.end_seconds <= now_seconds]
    soon = [one for one in ends if now_seconds < one.end_seconds < now_seconds + WARNING_SECONDS and not one.expected]
    told = [one.words(now_seconds) for one in (*over, *soon)]
    if told or problems:
        return Check(
            code=code, state=State.FAIL if over else State.WARN, message=clauses(_first([*told, *problems])),
            advice=advice if told else "correct the objects that cannot be read",
        )  # fmt: skip
    later = [one for one in ends if not one.expected]
    return Check(code=code, state=State.PASS, message=later[0].words(now_seconds) if later else nothing)


def _first(sentences: Sequence[str]) -> Iterator[str]:
    yield from sentences[:_SHOWN]
    if len(sentences) > _SHOWN:
        yield f"and {len(sentences) - _SHOWN} more"
