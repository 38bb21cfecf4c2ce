"""OpenShift and OKD: MachineSets of the Machine API."""
