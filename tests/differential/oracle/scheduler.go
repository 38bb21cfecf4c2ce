package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// scheduler is what kube-scheduler holds of one cluster: the framework of the default profile, whose word counts, and one
// framework a filter plugin, so that no plugin's rejection hides another's.
type scheduler struct {
	whole   framework.Framework
	filters []filter
	nodes   []fwk.NodeInfo
	queue   *queue.PriorityQueue
	devices *deviceManager
}

type filter struct {
	name      string
	framework framework.Framework
}

// defaultProfile is the profile of the default scheduler: of a kube-scheduler started with this configuration file, or
// without one. What kube-scheduler would refuse to start with is an error.
func defaultProfile(file []byte) (config.KubeSchedulerProfile, error) {
	internal := &config.KubeSchedulerConfiguration{}
	if len(file) == 0 {
		var versioned configv1.KubeSchedulerConfiguration
		scheme.Scheme.Default(&versioned)
		if err := scheme.Scheme.Convert(&versioned, internal, nil); err != nil {
			return config.KubeSchedulerProfile{}, err
		}
	} else {
		decoded, _, err := scheme.Codecs.UniversalDecoder().Decode(file, nil, nil)
		if err != nil {
			return config.KubeSchedulerProfile{}, err
		}
		internal = decoded.(*config.KubeSchedulerConfiguration)
		// The process fills it in from its flags before it validates the file.
		internal.ClientConnection.QPS, internal.ClientConnection.Burst = 50, 100
		if err := validation.ValidateKubeSchedulerConfiguration(internal); err != nil {
			return config.KubeSchedulerProfile{}, err
		}
	}
	for _, profile := range internal.Profiles {
		if profile.SchedulerName == v1.DefaultSchedulerName {
			return profile, nil
		}
	}
	return config.KubeSchedulerProfile{}, fmt.Errorf("no profile of %s", v1.DefaultSchedulerName)
}

// alone is the profile with one plugin and the two that every profile must have.
func alone(profile config.KubeSchedulerProfile, plugin string) *config.KubeSchedulerProfile {
	enabled := []config.Plugin{}
	for _, candidate := range profile.Plugins.MultiPoint.Enabled {
		if slices.Contains([]string{names.PrioritySort, names.DefaultBinder, plugin}, candidate.Name) {
			enabled = append(enabled, candidate)
		}
	}
	return &config.KubeSchedulerProfile{
		SchedulerName: profile.SchedulerName,
		Plugins:       &config.Plugins{MultiPoint: config.PluginSet{Enabled: enabled}},
		PluginConfig:  profile.PluginConfig,
	}
}

func newScheduler(ctx context.Context, cluster *snapshot) (*scheduler, error) {
	if err := followRelease(cluster); err != nil {
		return nil, err
	}
	profile, err := defaultProfile(cluster.configuration)
	if err != nil {
		return nil, err
	}
	client := fake.NewSimpleClientset()
	// The informers are never started: their stores are filled here, so that nothing runs behind our back. Each framework has its
	// own, since plugins of 1.37 add indexers to them.
	filled := func() (informers.SharedInformerFactory, error) {
		factory := informers.NewSharedInformerFactory(client, 0)
		return factory, fill(factory, cluster)
	}
	factory, err := filled()
	if err != nil {
		return nil, err
	}
	nodes := schedulercache.NewEmptySnapshot()
	podCache := newCache(ctx)
	devices := newDeviceManager(ctx, cluster)
	options := []runtime.Option{
		runtime.WithClientSet(client),
		runtime.WithInformerFactory(factory),
		runtime.WithSnapshotSharedLister(nodes),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		runtime.WithSharedDRAManager(devices),
		runtime.WithPodGroupManager(podCache),
		runtime.WithPodNominator(nil),
	}
	registry := plugins.NewInTreeRegistry()
	result := &scheduler{devices: devices}
	var gates []fwk.PreEnqueuePlugin
	var less fwk.LessFunc
	for _, plugin := range profile.Plugins.MultiPoint.Enabled {
		if plugin.Name == names.DefaultPreemption {
			continue // no filter, and not to be had without those whose rejections it works on
		}
		own, err := filled()
		if err != nil {
			return nil, err
		}
		single, err := runtime.NewFramework(
			ctx, registry, alone(profile, plugin.Name), append(slices.Clone(options), runtime.WithInformerFactory(own))...)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: %w", plugin.Name, err)
		}
		less = single.QueueSortFunc()
		gates = append(gates, single.PreEnqueuePlugins()...)
		if single.HasFilterPlugins() {
			result.filters = append(result.filters, filter{plugin.Name, single})
		}
	}
	if result.whole, err = runtime.NewFramework(ctx, registry, &profile, options...); err != nil {
		return nil, fmt.Errorf("default profile: %w", err)
	}
	result.queue = newQueue(factory, less, profile.SchedulerName, gates)
	result.whole.SetPodNominator(result.queue)
	for _, one := range result.filters {
		one.framework.SetPodNominator(result.queue)
	}
	return result, result.load(ctx, podCache, nodes, cluster, profile.SchedulerName)
}

func newQueue(factory informers.SharedInformerFactory, less fwk.LessFunc, name string, gates []fwk.PreEnqueuePlugin) *queue.PriorityQueue {
	byName := map[string]fwk.PreEnqueuePlugin{}
	for _, gate := range gates {
		byName[gate.Name()] = gate
	}
	return queue.NewPriorityQueue(less, factory,
		queue.WithPodLister(factory.Core().V1().Pods().Lister()),
		queue.WithPreEnqueuePluginMap(map[string]map[string]fwk.PreEnqueuePlugin{name: byName}))
}

// load tells cache and queue about the cluster as the scheduler's event handlers would: finished pods are not watched,
// pods with a node go to the cache, pods without one to the queue when they name this scheduler.
func (s *scheduler) load(
	ctx context.Context, podCache schedulercache.Cache, nodes *schedulercache.Snapshot, cluster *snapshot, name string,
) error {
	logger := klog.FromContext(ctx)
	for _, node := range cluster.nodes {
		podCache.AddNode(logger, node)
	}
	for _, pod := range cluster.pods {
		switch {
		case finished(pod):
		case pod.Spec.NodeName != "":
			if err := podCache.AddPod(logger, pod); err != nil {
				return err
			}
		case pod.Spec.SchedulerName == name:
			s.queue.Add(ctx, pod)
		}
	}
	if err := podCache.UpdateSnapshot(logger, nodes); err != nil {
		return err
	}
	var err error
	s.nodes, err = nodes.NodeInfos().List()
	return err
}

func fill(factory informers.SharedInformerFactory, cluster *snapshot) error {
	core, storage, apps := factory.Core().V1(), factory.Storage().V1(), factory.Apps().V1()
	watched := slices.DeleteFunc(slices.Clone(cluster.pods), finished)
	for _, err := range []error{
		store(core.Nodes().Informer(), cluster.nodes),
		store[*v1.Pod](core.Pods().Informer(), watched),
		store(core.Namespaces().Informer(), cluster.namespaces),
		store(core.Services().Informer(), cluster.services),
		store(core.ReplicationControllers().Informer(), cluster.controllers),
		store(apps.ReplicaSets().Informer(), cluster.replicaSets),
		store(apps.StatefulSets().Informer(), cluster.statefulSets),
		store(core.PersistentVolumes().Informer(), cluster.volumes),
		store(core.PersistentVolumeClaims().Informer(), cluster.claims),
		store(storage.StorageClasses().Informer(), cluster.classes),
		store(storage.CSINodes().Informer(), cluster.csiNodes),
		store(storage.CSIDrivers().Informer(), cluster.csiDrivers),
		store(storage.CSIStorageCapacities().Informer(), cluster.capacities),
		store(storage.VolumeAttachments().Informer(), cluster.attachments),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func store[T any](informer cache.SharedIndexInformer, objects []T) error {
	for _, object := range objects {
		if err := informer.GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}

func filterPluginNames(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	built, err := newScheduler(ctx, &snapshot{})
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, one := range built.filters {
		found = append(found, one.name)
	}
	slices.Sort(found)
	return found, nil
}
