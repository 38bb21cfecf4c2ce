"""Auto Scaling groups for one decision: those that policies name, or those that belong to the cluster.

A group belongs to a cluster if one of its instances is a node there. It also does if it has the same cluster tag as such a group,
so an empty group is found as well. Groups of other clusters in the account are not.
"""

import re
from collections.abc import Iterable

import msgspec
from msgspec import Raw

from reconciler.cluster.snapshots.document import Document
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP, MANAGED_RESOURCE, RESERVATION
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asking import Region
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError, Parameters, paged
from reconciler.platforms.aws.writing.wanted_groups import Wanted, wanted
from reconciler.providers.cloud_answers import CloudAnswer, CloudError, CloudQuestion

# `aws:///eu-central-1a/i-0123` and, of a local zone, `aws:///us-west-2-lax-1a/i-0123`; an older form has no zone.
_PROVIDER_ID = re.compile(r"^aws:///(?:(?P<region>[a-z]{2}(?:-[a-z]+)+-[0-9]+)[a-z0-9-]*/)?(?P<instance>i-[0-9a-f]+)$")
# SOURCE: tags by which the Cluster Autoscaler, the cloud's provider and EKS know the groups of a cluster.
_CLUSTER_TAG = re.compile(r"^(?:k8s\.io/cluster-autoscaler|kubernetes\.io/cluster)/(?P<cluster>[^/]+)$")
_EKS_CLUSTER_TAG = "eks:cluster-name"
_NO_CLUSTER = "enabled"
# Asked only for groups with missing instances, and only if a group names one. The last two are read for each region.
_SOMETIMES = ("ScalingActivity", "InstanceType", "LaunchConfiguration", RESERVATION, MANAGED_RESOURCE)


def ask_once(accounts: Accounts, question: CloudQuestion, region: str) -> CloudAnswer:
    """`region` is the process's own (empty: only those of the nodes). Raises `CloudError` for what policies ask for."""
    known: list[Region] = []
    unread: list[str] = []
    for one in dict.fromkeys(one for policy in question.policies for one in wanted(policy)):
        known.append(Region(accounts.of(one.region, one.role), one))
        try:
            known[-1].ask(0)
        except AwsError as error:
            raise CloudError(f"Auto Scaling groups of {one.region}: {error}") from None
    for place in _regions(question.provider_ids, region) if question.own else ():
        try:
            known.extend(_own(accounts.of(place), place, question.provider_ids, known))
        except AwsError as error:
            unread.append(f"Auto Scaling groups of {place} (those of this cluster's nodes): {error}")
    problems = [f"{one.wanted.region}: {text}" for one in known for text in one.problems]
    return CloudAnswer(documents=_documents(known), unread=(*problems, *unread))


def _own(aws: Aws, place: str, provider_ids: tuple[str, ...], known: list[Region]) -> list[Region]:
    """The groups of one region that belong to the cluster and are not known yet. Raises `AwsError`."""
    already = {item["AutoScalingGroupName"] for one in known if one.wanted.region == place for item in _groups(one)}
    names = tuple(name for name in belonging(aws, provider_ids) if name not in already)
    regions = [Region(aws, Wanted(region=place, names=names))] if names else []
    for one in regions:
        one.ask(0)
    return regions


def belonging(aws: Aws, provider_ids: Iterable[str]) -> tuple[str, ...]:
    """The names of the groups of a region that belong to the cluster of these nodes. Raises `AwsError`."""
    instances = {match["instance"] for text in provider_ids if (match := _PROVIDER_ID.match(text))}
    groups, _ = paged(aws, AUTO_SCALING, "DescribeAutoScalingGroups", "AutoScalingGroups", 100)
    joined = {
        item["AutoScalingGroupName"]
        for item in groups
        if any(one["InstanceId"] in instances for one in item.get("Instances") or ())
    }
    clusters = {name for item in groups if item["AutoScalingGroupName"] in joined for name in _clusters(item)}
    return tuple(sorted(joined | {item["AutoScalingGroupName"] for item in groups if clusters & _clusters(item)}))


def _clusters(item: Parameters) -> set[str]:
    """The clusters in the tags of a group."""
    tags = {tag["Key"]: tag.get("Value", "") for tag in item.get("Tags") or ()}
    named = {match["cluster"] for key in tags if (match := _CLUSTER_TAG.match(key))} - {_NO_CLUSTER}
    return named | ({tags[_EKS_CLUSTER_TAG]} if tags.get(_EKS_CLUSTER_TAG) else set())


def _regions(provider_ids: Iterable[str], own: str) -> list[str]:
    regions = {match["region"] for text in provider_ids if (match := _PROVIDER_ID.match(text)) and match["region"]}
    return sorted(regions | ({own} if own else set()))


def _groups(one: Region) -> list[Parameters]:
    return one.items()[AUTO_SCALING_GROUP]


def _documents(known: list[Region]) -> tuple[Document, ...]:
    """One list per kind. A kind that one region could not report counts as not read."""
    answers = [one.items() for one in known]
    kinds = [kind for kind in (answers[0] if answers else ()) if all(kind in answer for answer in answers)]
    kinds += [kind for kind in _SOMETIMES if kind not in kinds and any(kind in answer for answer in answers)]
    return tuple(
        Document(
            file="aws", api_version="", kind=kind, is_list=True,
            items=[Raw(msgspec.json.encode(item)) for answer in answers for item in answer.get(kind, ())],
        )
        for kind in kinds
    )  # fmt: skip
