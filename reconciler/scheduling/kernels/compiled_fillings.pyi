from reconciler.scheduling.kernels.fillings import exchange as exchange
from reconciler.scheduling.kernels.fillings import fill_by_value as fill_by_value
from reconciler.scheduling.kernels.fillings import fill_in_order as fill_in_order
from reconciler.scheduling.kernels.fillings import search as search
