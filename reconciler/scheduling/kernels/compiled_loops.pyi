from reconciler.scheduling.kernels.loops import bind_each as bind_each
from reconciler.scheduling.kernels.loops import cells_of as cells_of
from reconciler.scheduling.kernels.loops import first_fit as first_fit
from reconciler.scheduling.kernels.loops import pop_cells as pop_cells
from reconciler.scheduling.kernels.loops import running_pods as running_pods
from reconciler.scheduling.kernels.loops import short_of as short_of
from reconciler.scheduling.kernels.loops import with_room as with_room
