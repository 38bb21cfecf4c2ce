import time
from collections import Counter

from reconciler.cluster.snapshot import read_snapshot
from reconciler.scheduling.fit import fit
from tests.testbed.capture import captured
from tests.testbed.crowd import node_local_crowd
from tests.testbed.lockstep import lockstep

def test_probe(control_plane):
    t = time.time()
    def say(x):
        nonlocal t
        print(f"{x}: {time.time()-t:.1f}", flush=True); t = time.time()
    crowd = node_local_crowd("crowd", 80, 25)
    cm = lockstep(control_plane, "crowd", crowd)
    together = cm.__enter__()
    say("created")
    steps = []
    for shape, names in together.kinds():
        steps.append(together.step(shape, names))
    say("steps")
    for s in steps:
        if s.predicted != 25 or len(s.bound) != 25: print(s.pods[0], s.predicted, len(s.bound), s.against_us, sorted(s.decisive))
    print(len(steps), sum(s.predicted for s in steps), sum(len(s.bound) for s in steps))
    w = read_snapshot(captured(control_plane.api)); say("capture")
    c = Counter()
    for a in fit(w, messages=False):
        c[any(not n.rejections for n in a.nodes)] += 1
    print(c); say("fit")
    cm.__exit__(None, None, None)
    say("removed")
