"""What is read from the JSON of MachineSets, Machines and MachineAutoscalers, offline and live alike."""
