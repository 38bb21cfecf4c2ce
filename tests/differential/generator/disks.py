"""In-tree disks that two pods on one node may not share, or only read-only."""

from tests.differential.generator.draft import Draft, Object, add_volume


def add(draft: Draft) -> None:
    """Mount the same few disks into many pods."""
    for pod in draft.some(draft.pods, 50):
        for _ in range(draft.random.randint(1, 2)):
            add_volume(pod, draft.random.choice(_DISKS)(draft))
    for pod in draft.some(draft.pods, 30):
        add_volume(
            pod, draft.random.choice(({"emptyDir": {}}, {"hostPath": {"path": "/x", "type": ""}}, {"configMap": {"name": "c"}}))
        )


def _google(draft: Draft) -> Object:
    return {"gcePersistentDisk": {"pdName": draft.random.choice(("one", "two")), "readOnly": draft.chance(60)}}


def _amazon(draft: Draft) -> Object:
    return {"awsElasticBlockStore": {"volumeID": draft.random.choice(("vol-1", "vol-2", "vol-3")), "readOnly": draft.chance(60)}}


def _ceph(draft: Draft) -> Object:
    return {
        "rbd": {
            "monitors": draft.subset(("m1", "m2", "m3"), 1, 2),
            "pool": draft.random.choice(("rbd", "fast")),
            "image": draft.random.choice(("i1", "i2")),
            "readOnly": draft.chance(50),
            "user": "admin",
            "keyring": "/etc/ceph/keyring",
        }
    }


def _iscsi(draft: Draft) -> Object:
    return {
        "iscsi": {
            "targetPortal": draft.random.choice(("10.0.0.1:3260", "10.0.0.2:3260")),
            "iqn": draft.random.choice(("iqn.2001-04.com.example:one", "iqn.2001-04.com.example:two")),
            "lun": draft.random.choice((0, 1)),
            "readOnly": draft.chance(50),
            "iscsiInterface": "default",
        }
    }


_DISKS = (_google, _amazon, _ceph, _iscsi)
