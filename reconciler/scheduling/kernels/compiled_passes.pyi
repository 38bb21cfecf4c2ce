from reconciler.scheduling.kernels.passes import bind_list as bind_list
from reconciler.scheduling.kernels.passes import fill_new as fill_new
from reconciler.scheduling.kernels.passes import fit_each as fit_each
