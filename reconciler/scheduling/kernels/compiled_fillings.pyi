from reconciler.scheduling.kernels.fillings import fill_by_value as fill_by_value
from reconciler.scheduling.kernels.fillings import fill_each as fill_each
from reconciler.scheduling.kernels.fillings import worths_of as worths_of
