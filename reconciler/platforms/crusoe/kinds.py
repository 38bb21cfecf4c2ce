"""The kind of target on Crusoe, kinds of what belongs to it, and labels and taints of its nodes."""

NODE_POOL = "NodePool"
INSTANCE, CLUSTER, CAPACITY, RESERVATION = "CrusoeInstance", "CrusoeCluster", "CrusoeCapacity", "CrusoeReservation"
MACHINE_TYPE, OPERATION, REMEDIATION = "CrusoeMachineType", "CrusoePoolOperation", "CrusoeClusterOperation"
BEHAVIOUR = "CrusoeBehaviour"
READ_LAG_SECONDS = 60
"""Crusoe does not publish how soon a read shows a written count. The time is that of Auto Scaling groups."""
REMEDIATION_KEYS = "crusoe.ai/remediation."
# SOURCE: crusoecloud/crusoe-csi-driver: its two plugins, and the topology that each reports of a node.
SSD_DRIVER, FS_DRIVER = "ssd.csi.crusoe.ai", "fs.csi.crusoe.ai"
SHARED_DISKS = f"{FS_DRIVER}/supports-shared-disks"
DRIVER_LABELS = (f"{SSD_DRIVER}/location", f"{FS_DRIVER}/location", SHARED_DISKS)
