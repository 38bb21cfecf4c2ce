"""Why a pod does not run on a node: every filter plugin that says no, in kube-scheduler's names."""

import msgspec


class Rejection(msgspec.Struct, frozen=True, order=True):
    """One filter plugin's no. `plugin` is its registered name (`NodeResourcesFit`), `message` one phrase with numbers."""

    plugin: str
    message: str
