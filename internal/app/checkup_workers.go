package app

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/client"
)

// checkWorkers asks the API that serves here which workers poll which task queues; without an API there is nothing to say.
func checkWorkers(ctx context.Context, cfg *config.Loaded, api string) []Finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ready, err := client.New(cmp.Or(api, apiURL(cfg)), cfg.API.Key.Reveal()).Ready(ctx)
	if err != nil {
		return nil
	}
	for _, d := range ready.Dependencies {
		if d.Name != "workers" {
			continue
		}
		if d.State == client.StateOK {
			return []Finding{{Check: d.Name, Status: FindingOK, Detail: d.Detail}}
		}
		return []Finding{{Check: d.Name, Status: FindingWarn, Detail: d.Detail, Next: d.Next}}
	}
	return nil
}
