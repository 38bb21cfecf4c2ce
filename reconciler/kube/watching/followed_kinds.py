"""The streams of targets, and of the kinds of templates that targets refer to."""

from collections.abc import Callable, Iterable

from reconciler.kube.watching.collection import Collection
from reconciler.kube.watching.reflector import Reflector


class FollowedKinds:
    """`reflector` makes the stream of one collection. `namespaces` are those in which templates are followed."""

    def __init__(
        self, reflector: Callable[[Collection], Reflector], collections: Iterable[Collection], namespaces: Iterable[str]
    ) -> None:
        self._reflector = reflector
        self._namespaces = tuple(namespaces) or ("",)
        self.targets = [reflector(item) for item in collections]
        self.templates: dict[tuple[str, str], list[Reflector]] = {}

    def start(self) -> None:
        """Begin to follow the targets; returns at once.

        A page that reads the view meanwhile may find templates to follow. It starts their streams itself.
        """
        for reflector in self.targets:
            reflector.start()

    def stop(self) -> None:
        """Ask every stream to end."""
        for reflector in self.reflectors():
            reflector.stop()

    def join(self, left_seconds: Callable[[], float]) -> bool:
        """Wait for the streams to end; whether all have."""
        ended = [reflector.join(left_seconds()) for reflector in self.reflectors()]
        return all(ended)

    def follow(self, referred: Iterable[tuple[str, str]]) -> None:
        """Begin to follow those of these kinds (API group, kind) that are not followed yet."""
        for group, kind in sorted(set(referred) - self.templates.keys()):
            reflectors = [
                self._reflector(Collection(group=group, kind=kind, namespace=namespace)) for namespace in self._namespaces
            ]
            self.templates[group, kind] = reflectors
            for reflector in reflectors:
                reflector.start()

    def of_templates(self) -> list[Reflector]:
        """The streams of templates."""
        return [one for reflectors in tuple(self.templates.values()) for one in reflectors]

    def reflectors(self) -> list[Reflector]:
        """Everything that is followed."""
        return [*self.targets, *self.of_templates()]
