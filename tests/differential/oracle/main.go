// Command oracle answers, with kube-scheduler's own filter plugins, what `reconciler fit -o json` answers.
//
// Every line of standard input is one snapshot: a JSON List of Nodes, Pods, Namespaces, PersistentVolumes,
// PersistentVolumeClaims, StorageClasses, CSINodes, CSIDrivers, CSIStorageCapacities, VolumeAttachments, DeviceClasses,
// ResourceSlices and ResourceClaims, Services, ReplicaSets, StatefulSets and ReplicationControllers (other kinds are
// ignored). A KubeSchedulerConfiguration among them is what kube-scheduler is started with. Every line of standard output
// answers one. With -validate a line says instead what a real API server would refuse in that snapshot. With -selectors every
// line is a device with CEL selectors instead, and is answered with what cel-go says of each. With -bind the whole scheduler runs
// until it has no more to do, and the answer is the node of each pod (empty: none).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

func main() {
	messages := flag.Bool("messages", false, "add each plugin's own message to every rejection")
	validate := flag.Bool("validate", false, "list what an API server would refuse instead of scheduling")
	ofDevice := flag.Bool("selectors", false, "evaluate selectors on devices instead of scheduling")
	whole := flag.Bool("bind", false, "run the whole scheduler and print where each pod is bound")
	gates := flag.String("gates", "", "feature gates as kube-scheduler takes them, such as GenericWorkload=true")
	plugins := flag.Bool("plugins", false, "print the names of the filter plugins of the default profile and stop")
	flag.Parse()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	metrics.Register()
	stop(utilfeature.DefaultMutableFeatureGate.Set(*gates))
	if *plugins {
		names, err := filterPluginNames(context.Background())
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(names)
		}
		stop(err)
		return
	}
	stop(answerLines(os.Stdin, os.Stdout, func(line []byte) (any, error) {
		if *ofDevice {
			return selectors(context.Background(), line)
		}
		if *whole {
			return bind(context.Background(), line, *messages)
		}
		cluster, err := decode(line)
		if err != nil {
			return nil, err
		}
		if *validate {
			return refusals(cluster), nil
		}
		return fit(context.Background(), cluster, *messages)
	}))
}

func stop(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// answerLines calls answer for every line and flushes after each, so that a reader may ask one snapshot at a time.
func answerLines(in io.Reader, out io.Writer, answer func([]byte) (any, error)) error {
	reader, writer := bufio.NewReaderSize(in, 1<<20), bufio.NewWriter(out)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if len(line) > 1 {
			result, failure := answer(line)
			if failure != nil {
				return fmt.Errorf("snapshot %d: %w", number, failure)
			}
			if failure := json.NewEncoder(writer).Encode(result); failure != nil {
				return failure
			}
			if failure := writer.Flush(); failure != nil {
				return failure
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
