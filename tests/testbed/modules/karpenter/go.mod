module reconciler.dev/testbed/karpenter

go 1.26.0

require sigs.k8s.io/karpenter v1.14.1
