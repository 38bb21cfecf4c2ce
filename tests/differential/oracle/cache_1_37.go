//go:build kubernetes_1_37

package main

import (
	"context"

	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
)

func newCache(ctx context.Context) schedulercache.Cache {
	return schedulercache.New(ctx, nil, false, false)
}
