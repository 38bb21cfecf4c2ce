from reconciler.scheduling.kernels.domains import count_cells as count_cells
from reconciler.scheduling.kernels.domains import mark_above as mark_above
from reconciler.scheduling.kernels.domains import mark_empty as mark_empty
from reconciler.scheduling.kernels.domains import split as split
from reconciler.scheduling.kernels.domains import turned as turned
