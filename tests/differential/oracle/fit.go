package main

import (
	"cmp"
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

const (
	notModelled = "NotModelled"
	// What must never be among the reasons: plugins alone and the whole profile contradict each other.
	onlyWhole, onlyAlone = "(only the whole profile says no)", "(only single plugins say no)"
)

type answer struct {
	FormatVersion string      `json:"formatVersion"`
	Pods          []podAnswer `json:"pods"`
}

type podAnswer struct {
	Pod   string       `json:"pod"`
	Nodes []nodeAnswer `json:"nodes"`
}

type nodeAnswer struct {
	Node     string            `json:"node"`
	Fits     bool              `json:"fits"`
	Reasons  []string          `json:"reasons"`
	Messages map[string]string `json:"messages,omitempty"`
}

// fit asks every filter plugin about every waiting pod and every node, each pod alone against the cluster as it stands.
func fit(ctx context.Context, cluster *snapshot, messages bool) (*answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	built, err := newScheduler(ctx, cluster)
	if err != nil {
		return nil, err
	}
	defer built.queue.Close()
	slices.SortFunc(built.nodes, func(a, b fwk.NodeInfo) int { return cmp.Compare(a.Node().Name, b.Node().Name) })
	result := &answer{FormatVersion: "1.0", Pods: []podAnswer{}}
	for _, pod := range cluster.pods {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && !finished(pod) {
			result.Pods = append(result.Pods, podAnswer{pod.Namespace + "/" + pod.Name, built.ask(ctx, pod, messages)})
		}
	}
	slices.SortFunc(result.Pods, func(a, b podAnswer) int { return cmp.Compare(a.Pod, b.Pod) })
	return result, nil
}

func (s *scheduler) ask(ctx context.Context, pod *v1.Pod, messages bool) []nodeAnswer {
	said := make([]map[string]string, len(s.nodes))
	for index := range said {
		said[index] = map[string]string{}
	}
	if len(pod.Spec.ResourceClaims) > 0 && !s.devices.isModelled() {
		for index := range said {
			said[index][notModelled] = "resource claims"
		}
	} else {
		failed := map[int]string{}
		for _, one := range s.filters {
			s.askPlugin(ctx, one, pod, said, failed)
		}
		s.askWhole(ctx, pod, said)
		giveUp(said, failed)
	}
	nodes := make([]nodeAnswer, len(s.nodes))
	for index, info := range s.nodes {
		reasons := []string{}
		for name := range said[index] {
			reasons = append(reasons, name)
		}
		slices.Sort(reasons)
		nodes[index] = nodeAnswer{Node: info.Node().Name, Fits: len(reasons) == 0, Reasons: reasons}
		if messages {
			nodes[index].Messages = said[index]
		}
	}
	return nodes
}

// giveUp says no on all nodes where DynamicResources fails, instead of saying no, on a node that every other plugin takes:
// the scheduling cycle ends with the first error of a filter (findNodesThatPassFilters).
func giveUp(said []map[string]string, failed map[int]string) {
	for index, failure := range failed {
		if len(said[index]) > 1 {
			continue
		}
		for _, reasons := range said {
			if reasons[names.DynamicResources] == "" {
				reasons[names.DynamicResources] = "given up: " + failure
			}
		}
	}
}

// askPlugin runs one plugin's PreFilter and, on every node, its Filter with and without the nominated pods of the node,
// as the scheduling cycle does. An error counts as a no: the real scheduler gives the attempt up.
func (s *scheduler) askPlugin(ctx context.Context, one filter, pod *v1.Pod, said []map[string]string, failed map[int]string) {
	state := framework.NewCycleState()
	chosen, status, _ := one.framework.RunPreFilterPlugins(ctx, state, pod)
	for index, info := range s.nodes {
		if objection, failure := verdict(ctx, one.framework, state, status, chosen, pod, info); objection != "" {
			said[index][one.name] = objection
			if failure && one.name == names.DynamicResources {
				failed[index] = objection
			}
		}
	}
}

// askWhole asks the framework of the default profile, which stops at the first no, and notes where it and the single
// plugins disagree.
func (s *scheduler) askWhole(ctx context.Context, pod *v1.Pod, said []map[string]string) {
	state := framework.NewCycleState()
	chosen, status, _ := s.whole.RunPreFilterPlugins(ctx, state, pod)
	for index, info := range s.nodes {
		objection, _ := verdict(ctx, s.whole, state, status, chosen, pod, info)
		switch {
		case objection != "" && len(said[index]) == 0:
			said[index][onlyWhole] = objection
		case objection == "" && len(said[index]) > 0:
			said[index][onlyAlone] = ""
		}
	}
}

// verdict is empty where a framework lets the pod on the node, else why not, and whether its Filter failed.
func verdict(
	ctx context.Context, asked framework.Framework, state fwk.CycleState, status *fwk.Status, chosen *fwk.PreFilterResult,
	pod *v1.Pod, info fwk.NodeInfo,
) (string, bool) {
	if !status.IsSuccess() {
		return "PreFilter: " + status.Message(), false
	}
	if !chosen.AllNodes() && !chosen.NodeNames.Has(info.Node().Name) {
		return "excluded by PreFilter", false
	}
	if said := asked.RunFilterPluginsWithNominatedPods(ctx, state, pod, info); !said.IsSuccess() {
		return "Filter: " + said.Message(), said.Code() == fwk.Error
	}
	return "", false
}
