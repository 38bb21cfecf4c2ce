"""What there is to read: rows, from what the orchard's own command prints: `{"TreeRows": [...]}`."""

from reconciler.cluster.platform_reading import Envelope, PlatformReading, WireKind

KIND = "TreeRow"

READING = PlatformReading(
    name="orchard",
    kinds=(WireKind(kind=KIND, target=True, envelope=Envelope(list_key="TreeRows", item_name="row")),),
)
