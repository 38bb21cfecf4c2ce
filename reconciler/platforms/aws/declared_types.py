"""Resources of infrastructure tools that declare the size of an Auto Scaling group.

SOURCE: the schemas of Terraform's and Pulumi's AWS providers, CloudFormation's resource reference, `eksctl.io/v1alpha5`, the
definitions of Crossplane's providers and of AWS Controllers for Kubernetes. EKS calls the Auto Scaling group of a managed node
group `eks-NAME-UUID` and tags it for Cluster Autoscaler. CloudFormation calls what has no name `STACK-LOGICALID-RANDOM`. The
common EKS module ignores later changes of the size, by a `lifecycle` of its own.
"""

from reconciler.policy.platform.declarations import DeclaredType, PlatformDeclarations

_OF_EKS = (
    ("k8s.io/cluster-autoscaler/enabled", "true"),
    ("k8s.io/cluster-autoscaler/{cluster}", "owned"),
    ("kubernetes.io/cluster/{cluster}", "owned"),
    ("eks:cluster-name", "{cluster}"),
    ("eks:nodegroup-name", "{name}"),
)
_EKS_MODULE = ("terraform-aws-modules/eks/", "terraform-aws-eks")
_IGNORED = "the module ignores later changes of it"
_SCALING = "scaling_config", "desired_size"
_SCALING_CAMEL = "scalingConfig", "desiredSize"


def _eks(
    tool: str, kind: str, size: tuple[str, ...], name: tuple[str, ...], cluster: tuple[str, ...], **more: object
) -> DeclaredType:
    return DeclaredType(
        tool=tool, type=kind, size=size, name=name, cluster=cluster, called="eks-{name}-*", unnamed="eks-*", made=_OF_EKS,
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def _module(kind: str, size: str, called: str, unnamed: str, **more: object) -> DeclaredType:
    return DeclaredType(
        tool="Terraform", type=kind, size=(size,), called=called, unnamed=unnamed, tags=(("tags",), ("autoscaling_group_tags",)),
        **{"module": _EKS_MODULE, "kept": _IGNORED, **more},  # type: ignore[arg-type]
    )  # fmt: skip


def _object(kind: str, size: tuple[str, ...], name: str = "name") -> DeclaredType:
    return _eks("Crossplane", kind, ("spec", "forProvider", *size), ("metadata", name), ("spec", "forProvider", "clusterName"))


DECLARATIONS = PlatformDeclarations(
    provider="aws",
    types=(
        DeclaredType(
            tool="Terraform", type="aws_autoscaling_group", size=("desired_capacity",), prefix=("name_prefix",),
            unnamed="terraform-*", tags=(("tag",), ("tags",)),
        ),
        DeclaredType(
            tool="Terraform", type="aws_autoscaling_schedule", size=("desired_capacity",), name=("autoscaling_group_name",)
        ),
        _eks(
            "Terraform", "aws_eks_node_group", _SCALING, ("node_group_name",), ("cluster_name",),
            prefix=("node_group_name_prefix",),
        ),
        _module("eks_managed_node_groups", "desired_size", "eks-{name}-*", "eks-{key}-*", made=_OF_EKS),
        _module("eks_managed_node_group_defaults", "desired_size", "eks-*", "eks-*", made=_OF_EKS),
        _module("self_managed_node_groups", "desired_size", "{name}*", "{key}*"),
        _module("self_managed_node_group_defaults", "desired_size", "*", "*"),
        _module("node_groups", "desired_capacity", "eks-{name}*", "eks-*{key}*", made=_OF_EKS),
        _module("node_groups_defaults", "desired_capacity", "eks-*", "eks-*", made=_OF_EKS),
        _module("worker_groups", "asg_desired_capacity", "*{name}*", "*"),
        _module("worker_groups_launch_template", "asg_desired_capacity", "*{name}*", "*"),
        _module("workers_group_defaults", "asg_desired_capacity", "*", "*"),
        _module("", "desired_size", "eks-{name}-*", "eks-*", made=_OF_EKS, module=("modules/eks-managed-node-group",)),
        _module("", "desired_size", "{name}*", "*", module=("modules/self-managed-node-group",)),
        _module(
            "", "desired_capacity", "{name}*", "*", kept="", keep="ignore_desired_capacity_changes",
            module=("terraform-aws-modules/autoscaling/", "terraform-aws-autoscaling"),
        ),
        DeclaredType(
            tool="CloudFormation", type="AWS::AutoScaling::AutoScalingGroup", size=("DesiredCapacity",),
            name=("AutoScalingGroupName",), unnamed="*-{key}-*", tags=(("Tags",),),
        ),
        DeclaredType(
            tool="CloudFormation", type="AWS::AutoScaling::ScheduledAction", size=("DesiredCapacity",),
            name=("AutoScalingGroupName",),
        ),
        _eks("CloudFormation", "AWS::EKS::Nodegroup", ("ScalingConfig", "DesiredSize"), ("NodegroupName",), ("ClusterName",)),
        _eks(
            "eksctl", "managedNodeGroups.ClusterConfig.eksctl.io", ("desiredCapacity",), ("name",), ("metadata", "name"),
            region=("metadata", "region"), tags=(("tags",),),
        ),
        DeclaredType(
            tool="eksctl", type="nodeGroups.ClusterConfig.eksctl.io", size=("desiredCapacity",),
            called="eksctl-{cluster}-nodegroup-{name}-*", cluster=("metadata", "name"), region=("metadata", "region"),
            tags=(("tags",),),
            made=(("alpha.eksctl.io/cluster-name", "{cluster}"), ("alpha.eksctl.io/nodegroup-name", "{name}")),
        ),
        *(
            DeclaredType(
                tool="Pulumi", type=kind, size=("desiredCapacity",), prefix=("namePrefix",), unnamed="{key}-*",
                tags=(("tags",),),
            )
            for kind in ("aws:autoscaling:Group", "aws:autoscaling/group:Group")
        ),
        *(
            _eks("Pulumi", kind, _SCALING_CAMEL, ("nodeGroupName",), ("clusterName",), prefix=("nodeGroupNamePrefix",))
            for kind in ("aws:eks:NodeGroup", "aws:eks/nodeGroup:NodeGroup", "eks:ManagedNodeGroup", "eks:index:ManagedNodeGroup")
        ),
        *(
            DeclaredType(
                tool="Pulumi", type=kind, size=("desiredCapacity",), unnamed="*{key}*", tags=(("autoScalingGroupTags",),)
            )
            for kind in (
                "eks:NodeGroup", "eks:index:NodeGroup", "eks:NodeGroupV2", "eks:index:NodeGroupV2", "eks:Cluster",
                "eks:index:Cluster",
            )
        ),
        *(
            DeclaredType(
                tool="Crossplane", type=kind, size=("spec", "forProvider", "desiredCapacity"), name=("metadata", "name"),
                region=("spec", "forProvider", "region"),
                tags=(("spec", "forProvider", "tag"), ("spec", "forProvider", "tags")),
            )
            for kind in (
                "AutoscalingGroup.autoscaling.aws.upbound.io", "AutoscalingGroup.autoscaling.aws.m.upbound.io",
                "AutoScalingGroup.autoscaling.aws.crossplane.io",
            )
        ),
        *(
            _object(kind, _SCALING_CAMEL)
            for kind in ("NodeGroup.eks.aws.upbound.io", "NodeGroup.eks.aws.m.upbound.io", "NodeGroup.eks.aws.crossplane.io")
        ),
        _eks("ACK", "Nodegroup.eks.services.k8s.aws", ("spec", *_SCALING_CAMEL), ("spec", "name"), ("spec", "clusterName")),
    ),
)  # fmt: skip
