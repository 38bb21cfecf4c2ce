"""Devices as dynamic resource allocation knows them: classes, slices and claims."""
