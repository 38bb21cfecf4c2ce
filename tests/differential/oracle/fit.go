package main

import (
	"cmp"
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

const notModelled = "NotModelled"

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
	if len(pod.Spec.ResourceClaims) > 0 {
		for index := range said {
			said[index][notModelled] = "resource claims"
		}
	} else {
		for _, one := range s.filters {
			s.askPlugin(ctx, one, pod, said)
		}
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

// askPlugin runs one plugin's PreFilter and, on every node, its Filter with and without the nominated pods of the node,
// as the scheduling cycle does. An error counts as a no: the real scheduler gives the attempt up.
func (s *scheduler) askPlugin(ctx context.Context, one filter, pod *v1.Pod, said []map[string]string) {
	state := framework.NewCycleState()
	chosen, status, _ := one.framework.RunPreFilterPlugins(ctx, state, pod)
	for index, info := range s.nodes {
		switch {
		case !status.IsSuccess():
			said[index][one.name] = status.Message()
		case !chosen.AllNodes() && !chosen.NodeNames.Has(info.Node().Name):
			said[index][one.name] = "excluded by PreFilter"
		default:
			if verdict := one.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, info); !verdict.IsSuccess() {
				said[index][one.name] = verdict.Message()
			}
		}
	}
}
