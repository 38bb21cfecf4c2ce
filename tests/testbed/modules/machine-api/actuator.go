package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/openshift/machine-api-operator/pkg/controller/machine"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What providerSpec.value may say besides the instance type. A MachineSet never rolls out: to change it changes only the
// Machines that are made from then on.
type instance struct {
	InstanceType string `json:"instanceType"`
	// Launch is Fail (the cloud refuses the configuration), Stuck (no capacity, tried for ever), Silent (runs and never
	// becomes a node) or empty.
	Launch string `json:"launch"`
	// DelaySeconds is how long the instance takes to come.
	DelaySeconds int `json:"delaySeconds"`
	// DeleteSeconds is how long it takes to go.
	DeleteSeconds int               `json:"deleteSeconds"`
	Capacity      map[string]string `json:"capacity"`
	Labels        map[string]string `json:"labels"`
	Zone          string            `json:"zone"`
}

type actuator struct {
	client     client.Client
	lock       sync.Mutex
	terminated map[types.UID]time.Time
}

func newActuator(c client.Client) *actuator {
	return &actuator{client: c, terminated: map[types.UID]time.Time{}}
}

func wanted(m *machinev1.Machine) (instance, error) {
	found := instance{}
	if m.Spec.ProviderSpec.Value == nil {
		return found, machine.InvalidMachineConfiguration("no providerSpec.value")
	}
	if err := json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, &found); err != nil {
		return found, machine.InvalidMachineConfiguration("providerSpec.value: %v", err)
	}
	return found, nil
}

func (a *actuator) Create(ctx context.Context, m *machinev1.Machine) error {
	spec, err := wanted(m)
	if err != nil {
		return err
	}
	switch spec.Launch {
	case "Fail":
		return machine.InvalidMachineConfiguration("error launching instance: You have requested more vCPU capacity than your limit")
	case "Stuck":
		return &machine.RequeueAfterError{RequeueAfter: 2 * time.Second}
	}
	if wait := time.Duration(spec.DelaySeconds)*time.Second - time.Since(m.CreationTimestamp.Time); wait > 0 {
		return &machine.RequeueAfterError{RequeueAfter: wait}
	}
	id := fmt.Sprintf("testbed:///%s/%s", m.Namespace, m.Name)
	if spec.Launch != "Silent" {
		if err := a.join(ctx, m, spec, id); err != nil {
			return err
		}
	}
	before := m.DeepCopy()
	m.Spec.ProviderID = &id
	if err := a.client.Patch(ctx, m, client.MergeFrom(before)); err != nil {
		return err
	}
	before = m.DeepCopy()
	m.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: m.Name}}
	return a.client.Status().Patch(ctx, m, client.MergeFrom(before))
}

func (a *actuator) join(ctx context.Context, m *machinev1.Machine, spec instance, id string) error {
	labels := map[string]string{
		corev1.LabelHostname: m.Name, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		corev1.LabelInstanceTypeStable: spec.InstanceType,
	}
	if spec.Zone != "" {
		labels[corev1.LabelTopologyZone] = spec.Zone
	}
	for key, value := range spec.Labels {
		labels[key] = value
	}
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	for name, text := range spec.Capacity {
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return machine.InvalidMachineConfiguration("capacity %s: %v", name, err)
		}
		amounts[corev1.ResourceName(name)] = amount
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.Name, Labels: labels,
			// kwok keeps the nodes that carry it ready.
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Spec:   corev1.NodeSpec{ProviderID: id},
		Status: corev1.NodeStatus{Capacity: amounts, Allocatable: amounts},
	}
	if err := a.client.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	node.Status.Capacity, node.Status.Allocatable = amounts, amounts
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	if err := a.client.Status().Update(ctx, node); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

func (a *actuator) Delete(_ context.Context, m *machinev1.Machine) error {
	a.lock.Lock()
	defer a.lock.Unlock()
	if _, asked := a.terminated[m.UID]; !asked {
		a.terminated[m.UID] = time.Now()
	}
	return nil
}

func (a *actuator) Update(_ context.Context, _ *machinev1.Machine) error { return nil }

func (a *actuator) Exists(_ context.Context, m *machinev1.Machine) (bool, error) {
	if m.Spec.ProviderID == nil || *m.Spec.ProviderID == "" {
		return false, nil
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	asked, terminated := a.terminated[m.UID]
	if !terminated {
		return true, nil
	}
	spec, err := wanted(m)
	return err == nil && time.Since(asked) < time.Duration(spec.DeleteSeconds)*time.Second, nil
}
