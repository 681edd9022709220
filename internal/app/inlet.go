package app

import (
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
)

// inlet is an in-process listener. A worker passes through it the requests of sandboxes without network access to the
// API inside its own process: the API handles them like those of its Unix socket, which serves sandboxes only. The tools of
// /mcp use another one, which counts as the loopback interface.
type inlet struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newInlet(addr net.Addr) *inlet {
	return &inlet{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (i *inlet) way() http.RoundTripper {
	const each = 64
	return &http.Transport{DialContext: i.dial, DisableCompression: true, MaxIdleConnsPerHost: each}
}

func (i *inlet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case i.conns <- inletEnd{theirs, i.addr}:
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
func (i *inlet) Addr() net.Addr { return i.addr }

func socketAddr() net.Addr { return &net.UnixAddr{Name: "@omoi-worker", Net: "unix"} }

func loopbackAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// inletEnd is an end of a pipe with the address of its inlet.
type inletEnd struct {
	net.Conn

	addr net.Addr
}

// LocalAddr implements net.Conn.
func (e inletEnd) LocalAddr() net.Addr { return e.addr }

// serveInlet serves the API of a worker process, which has the inlet as its only listener.
func (c *core) serveInlet(ctx context.Context) error {
	intake := c.newIntake(tacit{c.store})
	handler := c.newAPI(intake, nil)
	return runAll(ctx, service{"api", func(ctx context.Context) error {
		return api.Serve(ctx, handler, []net.Listener{c.inlet}, c.shutdown.api)
	}}, service{"intake", intake.Run})
}

// tacit is a store without the heartbeat of ingest. That heartbeat means that agents can push events, and this process
// does not serve agents that push.
type tacit struct{ *postgres.Store }

// Beat does nothing.
func (tacit) Beat(context.Context, string) error { return nil }

func (c *core) newIntake(store ingest.IntakeStore) *ingest.Intake {
	return ingest.NewIntake(ingest.IntakeConfig{
		AllowBare: c.cfg.API.AuthDisabled, Quiet: c.cfg.Relay.DigestInterval, PulsePeriod: c.cfg.Test.ComponentHeartbeat,
		Meter: c.metrics,
	}, store, c.bus, c.log)
}

func (c *core) newAPI(intake *ingest.Intake, mcp http.Handler) *api.API {
	return api.New(c.apiConfig(), api.Deps{
		Ports: ports(c.store), Intake: intake, Bus: c.bus, Repos: repos{c.hosts}, Review: review.New(c.store, c.hosts, c.scratch), Tokens: c.ring, Sessions: c.ring, Logins: c.logins, Probes: c.probes(), Log: c.log, Script: checkScript,
		WriteOff: endedRuns{c.store, c.temporal}.writeOff, Credentials: c.credentials, NoticeRules: c.notices, Runtimes: runtimes{c.store, c.credentials}, Branches: branches{c.hub, branchPause},
		Judge: c.guardian, Finder: c.finder, Schedules: c.temporal,
		MCP:   mcp,
		Meter: c.metrics, Metrics: c.metrics.Handler(), Tracer: c.tracing.Provider(),
	})
}

// ports returns the store as the ports of the API.
func ports(s *postgres.Store) api.Ports {
	return api.Ports{
		Tasks: s, SavedWork: s, Commands: s, FollowUps: s, Dependencies: s, Projects: s, Dispatch: s, Organizations: s,
		Budgets: s, Contracts: s, Questions: s, Figures: s, Tickets: s, Comparisons: s, Sandboxes: s, Identities: s, References: s, Hosts: s, Keys: s, EventLog: s, Readers: s, Outlines: s,
		Messages: s, Feedback: s, Transcripts: s, Checkpoints: s, Bulletin: s, Storage: s, Receipts: s, Visits: s, Logs: s,
		Guardian: s, Actions: s, Monitored: s, Explaining: s, Conducting: s, Notices: s,
	}
}

// endedRuns finds tasks whose workflow was terminated from outside omoi.
type endedRuns struct {
	store interface {
		RunLoaded(ctx context.Context, taskID string) (bool, error)
		Abandon(ctx context.Context, taskID, reason string) error
	}
	runs interface {
		CurrentRun(ctx context.Context, taskID string) (runID string, open bool, err error)
	}
}

// writeOff ends a task whose workflow no longer runs, and reports whether it did. If Temporal does not answer, the task
// stays unchanged.
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
