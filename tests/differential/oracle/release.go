package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	baseversion "k8s.io/component-base/version"
)

// followRelease sets the feature gates to the defaults of the newest kubelet that the snapshot's nodes tell of.
func followRelease(cluster *snapshot) error {
	var found *version.Version
	for _, node := range cluster.nodes {
		text := strings.TrimPrefix(node.Status.NodeInfo.KubeletVersion, "v")
		if text == "" {
			continue
		}
		told, err := version.ParseSemantic(text)
		if err != nil {
			return err
		}
		if found == nil || found.LessThan(told) {
			found = told
		}
	}
	// The release that this program is made of; another one gives the feature gates of its minor version.
	emulated := version.MustParse(baseversion.DefaultKubeBinaryVersion)
	if found != nil {
		emulated = version.MajorMinor(found.Major(), found.Minor())
	}
	return utilfeature.DefaultMutableFeatureGate.SetEmulationVersion(emulated)
}
