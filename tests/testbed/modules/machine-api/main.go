// The MachineSet, Machine and NodeLink controllers of OpenShift's machine-api-operator over an actuator that has no cloud
// behind it: its instances are Node objects.
package main

import (
	"os"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/openshift/machine-api-operator/pkg/controller/machine"
	"github.com/openshift/machine-api-operator/pkg/controller/machineset"
	"github.com/openshift/machine-api-operator/pkg/controller/nodelink"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	// Registers the flag --kubeconfig with the standard library's flags.
	"flag"
)

// The operator's controllers look again after 30 s; what a test waits for should not take that long.
const resync = 10 * time.Second

func main() {
	klog.InitFlags(nil)
	flag.Parse()
	log.SetLogger(klog.Background())
	if err := run(); err != nil {
		klog.ErrorS(err, "ended")
		os.Exit(1)
	}
}

func run() error {
	rest, err := config.GetConfig()
	if err != nil {
		return err
	}
	rest.QPS, rest.Burst = 200, 400
	period := resync
	options := manager.Options{
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Cache:                  cache.Options{SyncPeriod: &period},
	}
	mgr, err := manager.New(rest, options)
	if err != nil {
		return err
	}
	if err := machinev1.Install(mgr.GetScheme()); err != nil {
		return err
	}
	if err := machineset.Add(mgr, options); err != nil {
		return err
	}
	if err := nodelink.Add(mgr, options); err != nil {
		return err
	}
	if err := machine.AddWithActuator(mgr, newActuator(mgr.GetClient())); err != nil {
		return err
	}
	return mgr.Start(signals.SetupSignalHandler())
}
