from reconciler.scheduling.kernels.improvements import exchange as exchange
from reconciler.scheduling.kernels.improvements import search as search
