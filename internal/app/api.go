package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/scripted"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/mcpserver"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// lastNet is the time after task.attempt_timeout after which a provider deletes a sandbox by itself.
const lastNet = time.Hour

// RunAPI runs the API until ctx ends. Without an API key RunAPI returns an error, unless authentication is disabled.
func RunAPI(ctx context.Context, cfg *config.Loaded, opts Options) (err error) {
	if err := settleSocket(cfg); err != nil {
		return err
	}
	c, err := newCore(ctx, cfg, opts.log(cfg))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.guarded(ctx); err != nil {
		return err
	}
	if err := c.agree(ctx); err != nil {
		return err
	}
	listeners, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	shown, err := c.metricsServices(ctx)
	if err != nil {
		return errors.Join(err, closeListeners(listeners))
	}
	opts.ready(devstack.Info{APIURL: apiURL(cfg), PID: os.Getpid()})
	claimed := make(chan struct{})
	services := append(c.apiServices(listeners, claimed), shown...)
	services = append(services, service{"temporal", func(ctx context.Context) error {
		if err := c.claim(ctx); err != nil {
			return err
		}
		close(claimed)
		<-ctx.Done()
		return nil
	}})
	return runAll(ctx, services...)
}

// guarded applies orchestrator.enabled and credential.allow_several_subscriptions, and returns an error if authentication is enabled and no API key exists.
func (c *core) guarded(ctx context.Context) error {
	if err := c.store.SetPaused(ctx, !c.cfg.Orchestrator.Enabled); err != nil {
		return err
	}
	if err := c.store.AllowSubscriptions(ctx, c.cfg.Credential.AllowSeveralSubscriptions); err != nil {
		return err
	}
	if !c.cfg.Orchestrator.Enabled {
		c.log.WarnContext(ctx, "admission paused by orchestrator.enabled")
	}
	if c.cfg.API.AuthDisabled {
		c.log.InfoContext(ctx, "authentication disabled, serving loopback only")
		return nil
	}
	keys, err := c.store.CountKeys(ctx)
	if err == nil && keys == 0 {
		err = errNoKey()
	}
	return err
}

// leastKey is the minimum length in bytes of an API key that an operator chooses.
const leastKey = 16

func errNoKey() error {
	return task.Errorf(task.CodeUnauthorized, "Cannot start the API: authentication is enabled and no API key exists. Next: set OMOI_API_KEY (%d characters or more), which creates the first one", leastKey)
}

func checkKey(cfg *config.Loaded) error {
	if n := len(cfg.API.Key.Reveal()); n > 0 && n < leastKey {
		return task.Invalid("api.key", "Invalid OMOI_API_KEY: %d characters, expected %d or more", n, leastKey)
	}
	return nil
}

// apiURL returns the address of the API for clients on this machine.
func apiURL(cfg *config.Loaded) string {
	host := cfg.API.Host
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(cfg.API.Port))
}

// listen opens the TCP port and the Unix socket of the API. For port 0 the system chooses a free port.
func listen(ctx context.Context, cfg *config.Loaded) ([]net.Listener, error) {
	var lc net.ListenConfig
	tcp, err := lc.Listen(ctx, "tcp", net.JoinHostPort(cfg.API.Host, strconv.Itoa(cfg.API.Port)))
	if err != nil {
		return nil, task.Errorf(task.CodeConflict, "The API cannot listen on %s port %d. Next: choose another api.port, or 0 for a free one",
			cfg.API.Host, cfg.API.Port).WithCause(err)
	}
	if addr, ok := tcp.Addr().(*net.TCPAddr); ok {
		cfg.API.Port = addr.Port
	}
	if cfg.API.Socket == "" {
		return []net.Listener{tcp}, nil
	}
	socket, err := listenSocket(ctx, cfg.API.Socket)
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	return []net.Listener{tcp, socket}, nil
}

func closeListeners(listeners []net.Listener) error {
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// apiServices returns the HTTP server, ingest, the relay and the periodic services, in the order in which they stop. The relay
// sends nothing before claimed is closed, because the namespace could be of another installation; nil: it is claimed already.
func (c *core) apiServices(listeners []net.Listener, claimed <-chan struct{}) []service {
	limitMemory()
	intake := c.newIntake(c.store)
	c.metrics.Queue(intake.Waiting)
	sending := c.relayConfig()
	sending.Claimed = claimed
	relay := ingest.NewRelay(sending, c.store, c.temporal, c.bus, c.log)
	inside := newInlet(loopbackAddr())
	handler := c.newAPI(intake, mcpserver.Handler(inside.way(), ReadBuild().Version))
	listeners = append(listeners, inside)
	return []service{
		{"api", func(ctx context.Context) error { return api.Serve(ctx, handler, listeners, c.shutdown.api) }},
		{"intake", intake.Run},
		{"relay", relay.Run},
		{"time", c.attend},
		{"workers", c.watchWorkers},
		{"feedback", c.tellFeedback},
		{"diagnosis", c.diagnosis.Run},
		{"notices", c.notices.Run}, // a separate service, so that a slow receiver does not delay diagnoses
	}
}

// checkScript returns an error for a script that the scripted agent cannot run.
func checkScript(script []byte) error {
	_, err := scripted.Parse(script)
	return err
}

func (c *core) apiConfig() api.Config {
	cfg := c.cfg
	return api.Config{
		Open: cfg.API.AuthDisabled, Organization: c.organization, User: c.owner, AllowedHosts: hostOf(cfg.API.CallbackURL),
		Version: ReadBuild().String(), Protocol: agentconfig.Protocol, TemporalUIURL: cfg.Temporal.UIURL, Namespace: cfg.Temporal.Namespace,
		Agent:            cfg.Task.Agent,
		Provider:         cfg.Task.Provider,
		Shared:           sharedProviders(cfg),
		ValidationRounds: cfg.Validation.MaxRounds, ValidatedTypes: words(cfg.Validation.TaskTypes),
		ProjectSlots: cfg.Task.MaxConcurrentPerProject,
		Retention:    retentionRules(cfg),
		Monitoring:   monitoring(cfg), Silent: cfg.Task.HeartbeatTimeout, NoWork: cfg.Task.NoWorkTimeout, Idle: cfg.Task.IdleTimeout,
		Lease:          cfg.Test.MessageLease,
		WebhookSecrets: webhookSecrets(cfg.GitHub), WebhookSettle: cmp.Or(cfg.Test.WebhookDebounce, api.WebhookDebounce),
	}
}

// words splits a list at commas and spaces.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// hostOf returns the host name of a URL as a list of one; nil without a host.
func hostOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return []string{u.Hostname()}
}

// attendPeriod is the interval of attend.
const attendPeriod = time.Second

// attend resumes tasks whose rate limit has reset, enforces the budgets of running tasks, and expires questions. Several processes may run
// attend.
func (c *core) attend(ctx context.Context) error {
	for failed := false; wait.For(ctx, attendPeriod) == nil; {
		told, err := c.store.EnforceBudgets(ctx)
		for _, sandboxID := range told {
			c.bus.Wake(live.Messages(sandboxID))
		}
		err = errors.Join(err, c.store.CheckCooldowns(ctx), c.store.ExpireQuestions(ctx))
		if err != nil && !failed && ctx.Err() == nil { // log an outage once
			c.log.WarnContext(ctx, "enforce budgets, cooldowns and the expiry of questions failed, retrying", slog.Any("error", err))
		}
		failed = err != nil
	}
	return nil
}
