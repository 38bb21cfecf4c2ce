package main

import (
	"context"
	"errors"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
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

// isModelled says whether reconciler models claims for the release: all gates of 1.36 are on.
func (m *deviceManager) isModelled() bool { return m.resolver != nil }

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

// podGroups has none. Only claims that belong to a pod group would ask for one, and their gate is off here.
type podGroups struct{ fwk.PodGroupLister }

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

// eachResult passes over what claims have. Devices with admin access do not count as allocated.
func (t claimTracker) eachResult(visit func(structured.DeviceID, *resourceapi.DeviceRequestAllocationResult)) {
	for _, claim := range t {
		if claim.Status.Allocation == nil {
			continue
		}
		for index := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[index]
			if result.AdminAccess == nil || !*result.AdminAccess {
				visit(structured.MakeDeviceID(result.Driver, result.Pool, result.Device), result)
			}
		}
	}
}

func (t claimTracker) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	found := sets.New[structured.DeviceID]()
	t.eachResult(func(id structured.DeviceID, _ *resourceapi.DeviceRequestAllocationResult) { found.Insert(id) })
	return found, nil
}

// GatherAllocatedState does what claimTracker of the plugin does with the events of informers.
func (t claimTracker) GatherAllocatedState() (*structured.AllocatedState, error) {
	state := &structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	t.eachResult(func(id structured.DeviceID, result *resourceapi.DeviceRequestAllocationResult) {
		if result.ShareID == nil {
			state.AllocatedDevices.Insert(id)
			return
		}
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
		if result.ConsumedCapacity != nil {
			state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	})
	return state, nil
}

func (claimTracker) SignalClaimPendingAllocation(types.UID, *resourceapi.ResourceClaim) error {
	return errNoBinding
}

func (claimTracker) GetPendingAllocation(types.UID) *resourceapi.AllocationResult { return nil }

func (claimTracker) MaybeRemoveClaimPendingAllocation(types.UID, bool) bool { return false }

func (claimTracker) AssumeClaimAfterAPICall(*resourceapi.ResourceClaim) error { return errNoBinding }

func (claimTracker) AssumedClaimRestore(string, string) {}
