"""Volumes as filter plugins see them: claims and volumes by name, disks that CSI drivers have taken over."""
