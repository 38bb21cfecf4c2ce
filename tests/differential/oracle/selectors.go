package main

import (
	"context"
	"encoding/json"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// asked is a device of a driver, and selectors to evaluate on it.
type asked struct {
	Driver      string             `json:"driver"`
	Device      resourceapi.Device `json:"device"`
	Expressions []string           `json:"expressions"`
}

// said is what cel-go says of one selector: that it does not compile, that it fails on the device, or its value.
type said struct {
	Refused string `json:"refused,omitempty"`
	Failed  string `json:"failed,omitempty"`
	Selects bool   `json:"selects"`
}

// selectors evaluates each expression as kube-scheduler does, with the feature gates of the newest release.
func selectors(ctx context.Context, line []byte) (any, error) {
	var question asked
	if err := json.Unmarshal(line, &question); err != nil {
		return nil, fmt.Errorf("not a device with selectors: %w", err)
	}
	device := cel.Device{
		Driver:                   question.Driver,
		AllowMultipleAllocations: question.Device.AllowMultipleAllocations,
		Attributes:               question.Device.Attributes,
		Capacity:                 question.Device.Capacity,
	}
	compiler := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true})
	answers := make([]said, 0, len(question.Expressions))
	for _, expression := range question.Expressions {
		compiled := compiler.CompileCELExpression(expression, cel.Options{DisableCostEstimation: true})
		if compiled.Error != nil {
			answers = append(answers, said{Refused: compiled.Error.Detail})
			continue
		}
		selects, _, err := compiled.DeviceMatches(ctx, device)
		if err != nil {
			answers = append(answers, said{Failed: err.Error()})
			continue
		}
		answers = append(answers, said{Selects: selects})
	}
	return answers, nil
}
