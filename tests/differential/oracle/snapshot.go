package main

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// snapshot holds the objects that filter plugins read, as they came.
type snapshot struct {
	nodes       []*v1.Node
	pods        []*v1.Pod
	namespaces  []*v1.Namespace
	volumes     []*v1.PersistentVolume
	claims      []*v1.PersistentVolumeClaim
	classes     []*storagev1.StorageClass
	csiNodes    []*storagev1.CSINode
	csiDrivers  []*storagev1.CSIDriver
	capacities  []*storagev1.CSIStorageCapacity
	attachments []*storagev1.VolumeAttachment

	services     []*v1.Service
	controllers  []*v1.ReplicationController
	replicaSets  []*appsv1.ReplicaSet
	statefulSets []*appsv1.StatefulSet

	// The configuration of kube-scheduler, as its file has it; empty: none.
	configuration []byte

	deviceClasses  []*resourceapi.DeviceClass
	slices         []*resourceapi.ResourceSlice
	resourceClaims []*resourceapi.ResourceClaim
}

func decode(line []byte) (*snapshot, error) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(line, &list); err != nil {
		return nil, fmt.Errorf("no JSON List: %w", err)
	}
	cluster := &snapshot{}
	for index, raw := range list.Items {
		var head metav1.TypeMeta
		err := json.Unmarshal(raw, &head)
		if err == nil {
			err = cluster.add(head.Kind, raw)
		}
		if err != nil {
			return nil, fmt.Errorf("item %d (%s): %w", index, head.Kind, err)
		}
	}
	for _, pod := range cluster.pods {
		complete(pod)
	}
	return cluster, nil
}

// complete adds what hand-written snapshots may leave out: plugins and the nominator tell pods apart by UID, and the queue
// takes pods of its own scheduler only.
func complete(pod *v1.Pod) {
	if pod.UID == "" {
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	}
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = v1.DefaultSchedulerName
	}
}

func (s *snapshot) add(kind string, raw json.RawMessage) error {
	switch kind {
	case "Node":
		return appendObject(&s.nodes, raw)
	case "Pod":
		return appendObject(&s.pods, raw)
	case "Namespace":
		return appendObject(&s.namespaces, raw)
	case "PersistentVolume":
		return appendObject(&s.volumes, raw)
	case "PersistentVolumeClaim":
		return appendObject(&s.claims, raw)
	case "StorageClass":
		return appendObject(&s.classes, raw)
	case "CSINode":
		return appendObject(&s.csiNodes, raw)
	case "CSIDriver":
		return appendObject(&s.csiDrivers, raw)
	case "CSIStorageCapacity":
		return appendObject(&s.capacities, raw)
	case "VolumeAttachment":
		return appendObject(&s.attachments, raw)
	case "Service":
		return appendObject(&s.services, raw)
	case "ReplicationController":
		return appendObject(&s.controllers, raw)
	case "ReplicaSet":
		return appendObject(&s.replicaSets, raw)
	case "StatefulSet":
		return appendObject(&s.statefulSets, raw)
	case "KubeSchedulerConfiguration":
		s.configuration = raw
	case "DeviceClass":
		return appendObject(&s.deviceClasses, raw)
	case "ResourceSlice":
		return appendObject(&s.slices, raw)
	case "ResourceClaim":
		return appendObject(&s.resourceClaims, raw)
	}
	return nil
}

func appendObject[T any](list *[]*T, raw json.RawMessage) error {
	object := new(T)
	if err := json.Unmarshal(raw, object); err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}

func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}
