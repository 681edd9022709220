package app

import (
	"context"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/temporal"
)

// checkTemporal asks the server that omoi uses for its namespace: the one of a running omoi dev, else that of
// temporal.address. Without either it looks for the program that omoi dev starts.
func checkTemporal(ctx context.Context, cfg *config.Loaded, info devstack.Info) Finding {
	t := cfg.Temporal
	switch {
	case info.TemporalAddress != "":
		t.Address, t.Namespace = info.TemporalAddress, info.TemporalNamespace
	case !cfg.Given("temporal.address"):
		return checkTemporalProgram(cfg)
	}
	found := Finding{Check: "temporal", Status: FindingOK, Detail: fmt.Sprintf("the server at %s answers, namespace %s", t.Address, t.Namespace)}
	if err := askTemporal(ctx, t); err != nil {
		found.Status, found.Detail = FindingFail, fmt.Sprintf("read namespace %s of the server at %s: %s", t.Namespace, t.Address, firstLine(err))
		found.Next = "start Temporal there and create the namespace, or correct temporal.address and temporal.namespace"
	}
	return found
}

func askTemporal(ctx context.Context, t config.Temporal) error {
	conf, err := temporalTLS(t)
	if err != nil {
		return err
	}
	client, err := temporal.Dial(temporal.Config{
		HostPort: t.Address, Namespace: t.Namespace, TLS: conf, APIKey: t.APIKey.Reveal(), CallTimeout: 5 * time.Second,
	}, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Check(ctx)
}
