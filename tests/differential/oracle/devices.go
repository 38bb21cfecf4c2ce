package main

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingapi "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

var errNoBinding = errors.New("nothing is bound here")

// deviceManager is what the DynamicResources plugin asks about devices: the objects of the snapshot, none in flight.
type deviceManager struct {
	claims   claimTracker
	slices   sliceLister
	classes  classLister
	resolver *extendedresourcecache.ExtendedResourceCache
}

func newDeviceManager(ctx context.Context, cluster *snapshot) *deviceManager {
	manager := &deviceManager{claims: cluster.resourceClaims, slices: cluster.slices, classes: cluster.deviceClasses}
	if utilfeature.DefaultFeatureGate.Enabled(features.DRAExtendedResource) {
		manager.resolver = extendedresourcecache.NewExtendedResourceCache(klog.FromContext(ctx))
		for _, class := range cluster.deviceClasses {
			manager.resolver.OnAdd(class, true)
		}
	}
	return manager
}

// leavesOut says why a snapshot's answer leaves DynamicResources out for a pod on a node: a device class serves one of the
// extended resources that the pod asks for, and the node itself does not list one of them.
func (m *deviceManager) leavesOut(pod *v1.Pod, node fwk.NodeInfo) string {
	served, unlisted := false, ""
	for name, amount := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		if amount.IsZero() || !schedutil.IsDRAExtendedResourceName(name) {
			continue
		}
		served = served || m.resolver.GetDeviceClass(name) != nil
		if node.GetAllocatable().GetScalarResources()[name] == 0 {
			unlisted = string(name)
		}
	}
	if served && unlisted != "" {
		return "extended resource " + unlisted
	}
	return ""
}

func (m *deviceManager) ResourceClaims() fwk.ResourceClaimTracker { return m.claims }
func (m *deviceManager) ResourceSlices() fwk.ResourceSliceLister  { return m.slices }
func (m *deviceManager) DeviceClasses() fwk.DeviceClassLister     { return m.classes }
func (m *deviceManager) PodGroups() fwk.PodGroupLister            { return podGroups{} }

func (m *deviceManager) DeviceClassResolver() fwk.DeviceClassResolver { return m.resolver }

type sliceLister []*resourceapi.ResourceSlice

func (l sliceLister) ListWithDeviceTaintRules() ([]*resourceapi.ResourceSlice, error) { return l, nil }

type classLister []*resourceapi.DeviceClass

func (l classLister) List() ([]*resourceapi.DeviceClass, error) { return l, nil }

func (l classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range l {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
}

type podGroups struct{}

func (podGroups) Get(string, string) (*schedulingapi.PodGroup, error) {
	return nil, apierrors.NewBadRequest("no pod groups")
}

type claimTracker []*resourceapi.ResourceClaim

func (t claimTracker) List() ([]*resourceapi.ResourceClaim, error) { return t, nil }

func (t claimTracker) Get(namespace, name string) (*resourceapi.ResourceClaim, error) {
	for _, claim := range t {
		if claim.Namespace == namespace && claim.Name == name {
			return claim, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), fmt.Sprintf("%s/%s", namespace, name))
}

func (t claimTracker) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	found := sets.New[structured.DeviceID]()
	for _, claim := range t {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			found.Insert(structured.MakeDeviceID(result.Driver, result.Pool, result.Device))
		}
	}
	return found, nil
}

func (t claimTracker) GatherAllocatedState() (*structured.AllocatedState, error) {
	allocated, err := t.ListAllAllocatedDevices()
	return &structured.AllocatedState{
		AllocatedDevices:         allocated,
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}, err
}

func (claimTracker) SignalClaimPendingAllocation(types.UID, *resourceapi.ResourceClaim) error {
	return errNoBinding
}

func (claimTracker) GetPendingAllocation(types.UID) *resourceapi.AllocationResult { return nil }

func (claimTracker) MaybeRemoveClaimPendingAllocation(types.UID, bool) bool { return false }

func (claimTracker) AssumeClaimAfterAPICall(*resourceapi.ResourceClaim) error { return errNoBinding }

func (claimTracker) AssumedClaimRestore(string, string) {}
