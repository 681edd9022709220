package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/temporal"
	"github.com/omoi-dev/omoi/internal/wait"
)

func (c *core) dialTemporal(context.Context) error {
	cfg := c.cfg
	conf, err := temporalTLS(cfg.Temporal)
	if err != nil {
		return err
	}
	c.temporal, err = temporal.Dial(temporal.Config{
		HostPort: cfg.Temporal.Address, Namespace: cfg.Temporal.Namespace, TLS: conf,
		APIKey: cfg.Temporal.APIKey.Reveal(), ReaperPeriod: cfg.Reaper.Interval,
		GuardianPeriod: cfg.Monitoring.GuardianInterval, GuardianOff: !cfg.Monitoring.Enabled, ConductorPeriod: cfg.Monitoring.ConductorInterval,
		RetentionPeriod: cfg.Retention.Interval,
		Metrics:         c.metrics.SDK(), Interceptors: c.tracing.Interceptors(),
	}, c.log)
	return err
}

// temporalTLS returns the TLS configuration; nil for a plain connection.
func temporalTLS(t config.Temporal) (*tls.Config, error) {
	if !t.TLS && t.TLSCert == "" && t.TLSCA == "" && t.APIKey == "" {
		return nil, nil //nolint:nilnil // nil is a plain connection
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(t.TLSCert, t.TLSKey)
		if err != nil {
			return nil, task.Errorf(task.CodeInvalid, "Cannot read temporal.tls_cert and temporal.tls_key. Next: set both to readable PEM files of one key pair").WithCause(err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	if t.TLSCA != "" {
		content, err := os.ReadFile(t.TLSCA)
		conf.RootCAs = x509.NewCertPool()
		if err != nil || !conf.RootCAs.AppendCertsFromPEM(content) {
			return nil, task.Errorf(task.CodeInvalid, "Cannot read temporal.tls_ca. Next: set it to a readable PEM file with CA certificates").WithCause(err)
		}
	}
	return conf, nil
}

// claim waits for Temporal, marks the namespace as owned by this installation and registers the search attributes.
// claim returns an error if another installation owns the namespace, or if ctx ends.
func (c *core) claim(ctx context.Context) error {
	installation, err := c.store.Installation(ctx)
	if err != nil {
		return err
	}
	said := false
	for {
		err := c.temporal.ClaimNamespace(ctx, installation)
		if err == nil {
			c.temporal.EnsureSearchAttributes(ctx)
			return nil
		}
		if task.CodeOf(err) == task.CodeConflict {
			return err
		}
		if !said {
			c.log.WarnContext(ctx, "connect to temporal failed, retrying", slog.String("address", c.cfg.Temporal.Address), slog.String("error", err.Error()))
			said = true
		}
		if err := wait.For(ctx, time.Second); err != nil {
			return fmt.Errorf("wait for Temporal: %w", err)
		}
	}
}

// checkTemporal checks the Temporal server and its namespace: those of a running omoi dev, else of temporal.address.
// Without either, checkTemporal looks for the program that omoi dev starts.
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
		return found
	}
	if info.APIURL == "" {
		return found
	}
	// omoi dev also checks the store of its server
	if d, asked := dependency(ctx, cfg, info.APIURL, "temporal"); asked && isDown(d) {
		found.Status, found.Detail, found.Next = FindingFail, d.Detail, d.Next
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

// HistoryLength returns the number of history events of a task's newest run, on the Temporal server of omoi dev.
func HistoryLength(ctx context.Context, info devstack.Info, taskID string) (int64, error) {
	client, err := temporal.Dial(temporal.Config{HostPort: info.TemporalAddress, Namespace: info.TemporalNamespace}, nil)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	run, err := client.Describe(ctx, contract.TaskWorkflowID(taskID))
	return run.HistoryLength, err
}
