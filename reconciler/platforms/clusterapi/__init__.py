"""Cluster API: MachineDeployments, MachineSets without owner, and MachinePools."""
