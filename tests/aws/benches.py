"""Two services that answer as AWS does: moto, which knows the shapes of the calls, and our own, which behaves."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol

import boto3
from moto.server import ThreadedMotoServer

from reconciler.platforms.aws.writing.calls import Answer, Aws
from tests.aws.documents import REGION
from tests.aws.service.server import Service
from tests.aws.service.state import Group

_IMAGE = "ami-12c6146b"


class Bench(Protocol):
    """One account. `url` is where it answers; `name` is what the list of faults calls it; `missing` are actions that the product
    needs and that are not there: what AWS answers where there is nothing to tell stands in for them."""

    name: str
    url: str
    missing: frozenset[str]

    def add(self, name: str, *, least: int, most: int, desired: int, zones: int, kind: str, tags: Mapping[str, str]) -> None:
        """A group with its own launch template and as many instances in service as desired."""

    def group(self, name: str) -> dict[str, Any]:
        """What the account says of a group, asked without the product."""

    def suspend(self, name: str, process: str) -> None:
        """One of the group's processes runs no more."""

    def later(self, seconds: float) -> None:
        """Time passes, where it does so only when told."""


class Complemented:
    """An `Aws` that answers for what a bench lacks."""

    def __init__(self, aws: Aws, missing: frozenset[str]) -> None:
        self._aws = aws
        self._missing = missing

    def call(self, service: str, action: str, **parameters: Any) -> Answer:
        return Answer({}) if action in self._missing else self._aws.call(service, action, **parameters)


class Moto:
    """The server of moto, emptied for each test."""

    name = "moto"
    missing = frozenset({"DescribeInstanceRefreshes"})

    def __init__(self) -> None:
        # Half of the time of a reset goes into images that no test asks for.
        os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.url = f"http://{host}:{port}"

    def stop(self) -> None:
        self._server.stop()

    def reset(self) -> None:
        from moto.moto_api._internal import moto_api_backend

        moto_api_backend.reset()

    def add(self, name: str, *, least: int, most: int, desired: int, zones: int, kind: str, tags: Mapping[str, str]) -> None:
        template = _client("ec2", self.url).create_launch_template(
            LaunchTemplateName=name, LaunchTemplateData={"ImageId": _IMAGE, "InstanceType": kind}
        )["LaunchTemplate"]
        _client("autoscaling", self.url).create_auto_scaling_group(
            AutoScalingGroupName=name,
            LaunchTemplate={"LaunchTemplateId": template["LaunchTemplateId"], "Version": "$Default"},
            MinSize=least,
            MaxSize=most,
            DesiredCapacity=desired,
            AvailabilityZones=_zones(zones),
            Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": False} for key, value in tags.items()],
        )

    def group(self, name: str) -> dict[str, Any]:
        return _group(self.url, name)

    def suspend(self, name: str, process: str) -> None:
        _client("autoscaling", self.url).suspend_processes(AutoScalingGroupName=name, ScalingProcesses=[process])

    def later(self, seconds: float) -> None:
        return


class Own:
    """Our own service."""

    name = "own"
    missing = frozenset[str]()

    def __init__(self) -> None:
        self._service = Service()
        self.url = self._service.url

    def stop(self) -> None:
        self._service.stop()

    def reset(self) -> None:
        # Beside a service that always answers at once, and with what is.
        self._service.reset()
        self._service.at_once()

    def add(self, name: str, *, least: int, most: int, desired: int, zones: int, kind: str, tags: Mapping[str, str]) -> None:
        made = Group(
            name=name, region=REGION, min_size=least, max_size=most, desired=desired, zones=_zones(zones), instance_type=kind,
            tags=dict(tags),
        )  # fmt: skip
        self._service.account.add(made)

    def group(self, name: str) -> dict[str, Any]:
        return _group(self.url, name)

    def suspend(self, name: str, process: str) -> None:
        self._service.account.groups[REGION, name].suspended.add(process)

    def later(self, seconds: float) -> None:
        self._service.advance(seconds)


def _zones(count: int) -> list[str]:
    return [f"{REGION}{letter}" for letter in "abc"[:count]]


def _group(url: str, name: str) -> dict[str, Any]:
    (found,) = _client("autoscaling", url).describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
    return dict(found)


@cache
def _client(service: str, url: str) -> Any:
    return boto3.client(
        service, region_name=REGION, endpoint_url=url, aws_access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
    )  # fmt: skip
