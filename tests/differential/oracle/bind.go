package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"
)

const (
	pollPause = time.Millisecond
	// So many looks in a row that find nothing to do are the end: an event may be between two queues.
	quietLooks = 40
	mostLooks  = 10_000
	patience   = 30 * time.Second
)

// bind runs the whole scheduler, its queue and its cycles for pod groups included, on an API server in memory until nothing
// is left to do, and says on which node each pod is then (empty: none), or with messages why it is on none.
func bind(ctx context.Context, line []byte, messages bool) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	objects, err := decodeAll(line)
	if err != nil {
		return nil, err
	}
	client := fake.NewSimpleClientset(objects...)
	pods := v1.SchemeGroupVersion.WithResource("pods")
	client.PrependReactor("create", "pods", func(action testing.Action) (bool, runtime.Object, error) {
		create, ok := action.(testing.CreateAction)
		if !ok || create.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := create.GetObject().(*v1.Binding)
		found, err := client.Tracker().Get(pods, binding.Namespace, binding.Name)
		if err != nil {
			return true, nil, err
		}
		bound := found.(*v1.Pod).DeepCopy()
		bound.Spec.NodeName = binding.Target.Name
		return true, binding, client.Tracker().Update(pods, bound, bound.Namespace)
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	recorder := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	scheduler, err := kubescheduler.New(ctx, client, factory, nil, recorder)
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("the informer of %v does not begin", kind)
		}
	}
	if err := scheduler.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	go scheduler.Run(ctx)
	if err := untilQuiet(scheduler); err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, pod := range list.Items {
		found[pod.Namespace+"/"+pod.Name] = pod.Spec.NodeName
		for _, condition := range pod.Status.Conditions {
			if messages && pod.Spec.NodeName == "" {
				found[pod.Namespace+"/"+pod.Name] = condition.Message
			}
		}
	}
	return found, nil
}

// untilQuiet waits until no pod waits for its first try or is on a node without the word of the API server, and no cycle begins.
// What failed with an error is tried again for ever, a second later and in vain.
func untilQuiet(scheduler *kubescheduler.Scheduler) error {
	quiet, before := 0, int64(-1)
	for range mostLooks {
		queue := scheduler.SchedulingQueue
		cycle := queue.SchedulingCycle()
		if cycle != before || len(queue.PodsInActiveQ())+len(scheduler.Cache.Dump().AssumedPods) > 0 {
			quiet, before = 0, cycle
		} else if quiet++; quiet > quietLooks {
			return nil
		}
		time.Sleep(pollPause)
	}
	_, pending := scheduler.SchedulingQueue.PendingPods()
	return fmt.Errorf("still at work: %s; %d assumed", pending, len(scheduler.Cache.Dump().AssumedPods))
}

// decodeAll reads objects of every kind that the client knows. What scheduling needs and an API server adds is added here.
func decodeAll(line []byte) ([]runtime.Object, error) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(line, &list); err != nil {
		return nil, fmt.Errorf("no JSON List: %w", err)
	}
	objects := []runtime.Object{}
	for index, raw := range list.Items {
		object, _, err := clientscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", index, err)
		}
		if pod, ok := object.(*v1.Pod); ok {
			complete(pod)
			if finished(pod) {
				continue
			}
		}
		objects = append(objects, object)
	}
	return objects, nil
}
