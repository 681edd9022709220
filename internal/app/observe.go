package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/metrics"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/tracing"
)

// openObservers opens metrics and tracing, before the parts that use them.
func (c *core) openObservers(ctx context.Context) (err error) {
	version := ReadBuild().String()
	if c.metrics, err = metrics.New(version, c.log); err != nil {
		return err
	}
	headers, err := traceHeaders(c.cfg.Trace)
	if err != nil {
		return err
	}
	c.tracing, err = tracing.Open(ctx, tracing.Config{
		Endpoint: c.cfg.Trace.Endpoint, Headers: headers, Sample: c.cfg.Trace.SampleRatio, Version: version,
	}, c.log)
	return err
}

func traceHeaders(t config.Trace) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(t.Headers.Reveal(), ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		switch {
		case found && name != "":
			headers[name] = value
		case pair != "":
			return nil, task.Errorf(task.CodeInvalid, "Invalid trace.headers: expected name=value,name=value")
		}
	}
	return headers, nil
}

// showState registers the metrics that are read at scrape time.
func (c *core) showState() {
	c.metrics.Show(func(ctx context.Context) (postgres.State, error) {
		_ = c.store.Writable(ctx) // updates the gauge of a full disk
		return c.store.State(ctx)
	}, c.store.PoolUse, cmp.Or(c.cfg.Test.MetricsTTL, metrics.CacheTTL))
}

// closeObservers flushes metrics and traces. An unreachable collector is logged and is not an error of the process.
func (c *core) closeObservers() {
	const longest = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	err := c.tracing.Close(ctx)
	if c.metrics != nil {
		err = errors.Join(err, c.metrics.Close(ctx))
	}
	if err != nil {
		c.log.WarnContext(ctx, "flush metrics and traces failed, the last ones are lost", slog.String("error", err.Error()))
	}
}

// metricsServices returns the HTTP server for metrics; empty if metrics.address is not set.
func (c *core) metricsServices(ctx context.Context) ([]service, error) {
	address := c.cfg.Metrics.Address
	if address == "" {
		return nil, nil
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, task.Errorf(task.CodeConflict, "The metrics server cannot listen on %s. Next: choose another metrics.address", address).WithCause(err)
	}
	c.log.InfoContext(ctx, "metrics server started", slog.String("address", listener.Addr().String()))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", c.metrics.Handler())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute}
	return []service{{"metrics", func(ctx context.Context) error {
		// scrapes are short, so the server does not wait for them
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve metrics: %w", err)
		}
		return nil
	}}}, nil
}
