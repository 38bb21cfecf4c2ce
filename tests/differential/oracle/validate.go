package main

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/resource"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	resourcevalidation "k8s.io/kubernetes/pkg/apis/resource/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
)

// refusals is what the validation of a real API server says of each object, after its defaults are filled in, as
// "Kind namespace/name: what". Only creation is judged: status that no validation reads is taken as it is.
func refusals(cluster *snapshot) []string {
	found := []string{}
	say := func(kind, name string, err error, list field.ErrorList) {
		if err != nil {
			found = append(found, fmt.Sprintf("%s %s: %v", kind, name, err))
		}
		for _, one := range list {
			found = append(found, fmt.Sprintf("%s %s: %v", kind, name, one))
		}
	}
	for _, item := range cluster.nodes {
		node, err := internal[core.Node](item)
		say("Node", item.Name, err, corevalidation.ValidateNode(node))
	}
	for _, item := range cluster.namespaces {
		namespace, err := internal[core.Namespace](item)
		say("Namespace", item.Name, err, corevalidation.ValidateNamespace(namespace))
	}
	for _, item := range cluster.pods {
		pod, err := internal[core.Pod](item)
		say("Pod", item.Namespace+"/"+item.Name, err, podRefusals(item, pod))
	}
	for _, item := range cluster.volumes {
		volume, err := internal[core.PersistentVolume](item)
		say("PersistentVolume", item.Name, err, corevalidation.ValidatePersistentVolume(
			volume, corevalidation.ValidationOptionsForPersistentVolume(volume, nil)))
	}
	for _, item := range cluster.claims {
		claim, err := internal[core.PersistentVolumeClaim](item)
		say("PersistentVolumeClaim", item.Namespace+"/"+item.Name, err, corevalidation.ValidatePersistentVolumeClaim(
			claim, corevalidation.ValidationOptionsForPersistentVolumeClaimCreate()))
	}
	for _, item := range cluster.classes {
		class, err := internal[storage.StorageClass](item)
		say("StorageClass", item.Name, err, storagevalidation.ValidateStorageClass(class))
	}
	for _, item := range cluster.csiNodes {
		node, err := internal[storage.CSINode](item)
		say("CSINode", item.Name, err, storagevalidation.ValidateCSINode(node))
	}
	for _, item := range cluster.csiDrivers {
		driver, err := internal[storage.CSIDriver](item)
		say("CSIDriver", item.Name, err, storagevalidation.ValidateCSIDriver(driver))
	}
	for _, item := range cluster.capacities {
		capacity, err := internal[storage.CSIStorageCapacity](item)
		say("CSIStorageCapacity", item.Namespace+"/"+item.Name, err, storagevalidation.ValidateCSIStorageCapacity(
			capacity, storagevalidation.CSIStorageCapacityValidateOptions{}))
	}
	for _, item := range cluster.attachments {
		attachment, err := internal[storage.VolumeAttachment](item)
		say("VolumeAttachment", item.Name, err, storagevalidation.ValidateVolumeAttachment(attachment))
	}
	for _, item := range cluster.deviceClasses {
		class, err := internal[resource.DeviceClass](item)
		say("DeviceClass", item.Name, err, resourcevalidation.ValidateDeviceClass(class))
	}
	for _, item := range cluster.slices {
		slice, err := internal[resource.ResourceSlice](item)
		say("ResourceSlice", item.Name, err, resourcevalidation.ValidateResourceSlice(slice))
	}
	for _, item := range cluster.resourceClaims {
		claim, err := internal[resource.ResourceClaim](item)
		say("ResourceClaim", item.Namespace+"/"+item.Name, err, resourcevalidation.ValidateResourceClaim(claim))
	}
	slices.Sort(found)
	return found
}

func podRefusals(item *v1.Pod, pod *core.Pod) field.ErrorList {
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
	options.ResourceIsPod = true
	// Names that the API server gives, or states that come later than creation.
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		seconds := int64(30)
		pod.Spec.TerminationGracePeriodSeconds = &seconds
	}
	return corevalidation.ValidatePodCreate(pod, options)
}

// internal fills in the API server's defaults and turns an object into the form that validation reads.
func internal[T any](item runtime.Object) (*T, error) {
	defaulted := item.DeepCopyObject()
	legacyscheme.Scheme.Default(defaulted)
	result := new(T)
	return result, legacyscheme.Scheme.Convert(defaulted, result, nil)
}
