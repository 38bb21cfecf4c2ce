from reconciler.scheduling.kernels.rows import renumber as renumber
from reconciler.scheduling.kernels.rows import rows_on as rows_on
from reconciler.scheduling.kernels.rows import seat as seat
from reconciler.scheduling.kernels.rows import seats as seats
