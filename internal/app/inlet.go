package app

import (
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// inlet is the way by which a worker puts the requests of sandboxes that reach nothing to the
// API inside of its own process. The API takes it for its Unix socket: behind both stand
// sandboxes, and nobody else.
type inlet struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newInlet() *inlet {
	return &inlet{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (i *inlet) way() http.RoundTripper {
	const each = 64
	return &http.Transport{DialContext: i.dial, DisableCompression: true, MaxIdleConnsPerHost: each}
}

func (i *inlet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case i.conns <- socketEnd{theirs}:
		return ours, nil
	case <-i.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (i *inlet) Accept() (net.Conn, error) {
	select {
	case conn := <-i.conns:
		return conn, nil
	case <-i.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (i *inlet) Close() error {
	i.once.Do(func() { close(i.done) })
	return nil
}

// Addr implements net.Listener.
func (i *inlet) Addr() net.Addr { return inletAddr() }

func inletAddr() net.Addr { return &net.UnixAddr{Name: "@omoi-worker", Net: "unix"} }

// socketEnd is the end of a pipe that looks like a socket's.
type socketEnd struct{ net.Conn }

// LocalAddr implements net.Conn.
func (socketEnd) LocalAddr() net.Addr { return inletAddr() }

// serveInlet serves the API behind the inlet of a worker that has no other.
func (c *core) serveInlet(ctx context.Context) error {
	intake := c.newIntake(tacit{c.store})
	handler := c.newAPI(intake)
	return runAll(ctx, service{"api", func(ctx context.Context) error {
		return api.Serve(ctx, handler, []net.Listener{c.inlet}, c.shutdown.api)
	}}, service{"intake", intake.Run})
}

// tacit is a store without the heartbeat of ingest, which stands for agents that push their events. This process does not
// serve them.
type tacit struct{ *postgres.Store }

// Beat does nothing.
func (tacit) Beat(context.Context, string) error { return nil }

func (c *core) newIntake(store ingest.IntakeStore) *ingest.Intake {
	return ingest.NewIntake(ingest.IntakeConfig{
		AllowBare: c.cfg.API.AuthDisabled, Quiet: c.cfg.Relay.DigestInterval, PulsePeriod: c.cfg.Test.ComponentHeartbeat,
		Meter: c.metrics,
	}, store, c.bus, c.log)
}

func (c *core) newAPI(intake *ingest.Intake) *api.API {
	return api.New(c.apiConfig(), api.Deps{
		Ports: ports(c.store), Intake: intake, Bus: c.bus, Repos: repos{c.hosts}, Tokens: c.ring, Logins: c.logins, Probes: c.probes(), Log: c.log, Script: checkScript,
		WriteOff: endedRuns{c.store, c.temporal}.writeOff, Credentials: c.credentials, Runtimes: runtimes{c.store, c.credentials}, Branches: branches{c.hub, branchPause},
		Judge: c.guardian, Schedules: c.temporal,
		Meter: c.metrics, Metrics: c.metrics.Handler(), Tracer: c.tracing.Provider(),
	})
}

// ports returns the parts of the store that the API works with.
func ports(s *postgres.Store) api.Ports {
	return api.Ports{
		Tasks: s, SavedWork: s, Commands: s, Dependencies: s, Projects: s, Dispatch: s, Organizations: s,
		Budgets: s, Tickets: s, Sandboxes: s, Identities: s, References: s, Hosts: s, Keys: s, EventLog: s, Readers: s,
		Messages: s, Feedback: s, Transcripts: s, Bulletin: s, Storage: s, Receipts: s, Visits: s, Logs: s,
		Guardian: s, Actions: s, Monitored: s, Explaining: s, Conducting: s,
	}
}

// endedRuns finds tasks whose workflow was ended from outside.
type endedRuns struct {
	store interface {
		RunLoaded(ctx context.Context, taskID string) (bool, error)
		Abandon(ctx context.Context, taskID, reason string) error
	}
	runs interface {
		CurrentRun(ctx context.Context, taskID string) (runID string, open bool, err error)
	}
}

// writeOff writes the task off if nobody will end it, and reports whether. What Temporal
// cannot tell stays as it is.
func (e endedRuns) writeOff(ctx context.Context, taskID string) (bool, error) {
	loaded, err := e.store.RunLoaded(ctx, taskID)
	if err != nil || !loaded {
		return false, err
	}
	_, open, err := e.runs.CurrentRun(ctx, taskID)
	if open || (err != nil && task.CodeOf(err) != task.CodeNotFound) {
		return false, err
	}
	return true, e.store.Abandon(ctx, taskID, "The workflow was terminated.")
}
