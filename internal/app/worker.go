package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/worker"
)

// RunWorker runs a worker until ctx ends.
func RunWorker(ctx context.Context, cfg *config.Loaded, opts Options) (err error) {
	if err := settleSocket(cfg); err != nil {
		return err
	}
	c, err := newCore(ctx, cfg, opts.log(cfg))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.agree(ctx); err != nil {
		return err
	}
	c.settleCallback(ctx)
	c.inlet = newInlet(socketAddr()) // always needed: a sandbox keeps the transport with which it was created
	w, err := c.newWorker()
	if err != nil {
		return err
	}
	shown, err := c.metricsServices(ctx)
	if err != nil {
		return err
	}
	return runAll(ctx, append([]service{{"worker", func(ctx context.Context) error {
		if err := c.claim(ctx); err != nil {
			return err
		}
		c.note(ctx, c.store.NoteThawed) // an omoi dev that was killed on this database left time stopped
		return c.runWorker(ctx, w)
	}}, {"inlet", c.serveInlet}}, shown...)...)
}

// settleCallback sets the callback URL, if unset, to the API of this machine. If no API answers there, settleCallback
// logs a warning, because the API probably runs on another machine.
func (c *core) settleCallback(ctx context.Context) {
	if c.cfg.API.CallbackURL != "" {
		return
	}
	c.cfg.API.CallbackURL = apiURL(c.cfg)
	address := slog.String("callback_url", c.cfg.API.CallbackURL)
	// sandboxes without network use the socket
	if c.cfg.Sandbox.Network == "none" || isReady(ctx, c.cfg.API.CallbackURL) {
		c.log.DebugContext(ctx, "default callback url used", address)
		return
	}
	c.log.WarnContext(ctx, "default callback url does not answer", address, slog.String("next", "if the API runs on another machine, set CALLBACK_URL"))
}

// runWorker runs the worker. An error of a startup that a shutdown interrupted is logged and dropped.
func (c *core) runWorker(ctx context.Context, w *worker.Worker) error {
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { c.logs.Run(watching) })
	watcher.Go(func() { c.watcher.Run(watching) })
	err := w.Run(ctx)
	stop()
	watcher.Wait()
	if err != nil && ctx.Err() != nil {
		c.log.DebugContext(ctx, "start worker interrupted", slog.String("error", err.Error()))
		err = nil
	}
	return err
}

// newWorker returns the worker of this machine with all providers that the machine offers.
func (c *core) newWorker() (*worker.Worker, error) {
	host, err := hostID(c.cfg)
	if err != nil {
		return nil, err
	}
	found, err := openProviders(c.cfg, c.log)
	if err != nil {
		return nil, err
	}
	c.found = found
	c.logs, c.watcher = c.newLogs(host, found), c.newSandboxWatch(host, found)
	acts := activities.New(c.activityConfig(host), activities.Deps{
		Tasks: c.store, Tests: c.store, Ledger: c.store, Texts: c.store, Fleet: c.store, Reconciler: c.store, Runs: c.temporal, Providers: found, Git: c.hosts,
		Tokens: c.ring, Credentials: c.credentials, API: c.inlet.way(), Agents: agents{c.cfg.Agent.Binary}.open, Logs: c.logs, Guardian: c.guardian, Conductor: c.conductor, Retention: c.store,
		Wake: func(taskID string) { c.bus.Wake(live.Task(taskID)) }, CutOff: c.metrics.ActivityCutOff, Log: c.log,
	})
	return worker.New(worker.Config{
		HostID: host, Version: ReadBuild().String(), Providers: found.hostBound(), Agents: c.runnableAgents(), Capacity: c.cfg.Worker.MaxSandboxes, StopTimeout: c.shutdown.worker, HostBeat: c.cfg.Test.HostHeartbeat,
		StickyCache: c.cfg.Worker.StickyCacheSize,
	}, worker.Deps{Client: c.temporal.SDK(), Activities: acts, Hosts: c.store, Schedules: c.temporal, Log: c.log}), nil
}

func (c *core) activityConfig(host string) activities.Config {
	cfg := c.cfg
	return activities.Config{
		HostID: host, APIURL: strings.TrimSuffix(cfg.API.CallbackURL, "/"), Open: cfg.API.AuthDisabled,
		IdleTimeout: cfg.Task.IdleTimeout, ToolTimeout: cfg.Task.ToolTimeout, Limits: limits(cfg.Sandbox), Network: sandbox.Network(cfg.Sandbox.Network),
		Lifetime:       cfg.Task.AttemptTimeout + lastNet,
		AgentHeartbeat: agentHeartbeat(cfg), CheckpointInterval: cfg.Checkpoint.Interval, StopGrace: cfg.Agent.ShutdownGracePeriod,
		AuthorName: cfg.Agent.AuthorName, AuthorEmail: cfg.Agent.AuthorEmail, ModelPrices: cfg.Agent.ModelPrices, PricesDate: cfg.Agent.PricesDate, Programs: programs(cfg),
		Pull: pulls(cfg), PullInterval: cfg.Transport.PullInterval,
		UIURL: cfg.Temporal.UIURL, Namespace: cfg.Temporal.Namespace,
		Grace:     cfg.Reaper.GracePeriod,
		Retention: retentionRules(cfg),
		Phases:    phases(cfg.Phases),
		Overdue:   cfg.Reaper.UnverifiedAlertAfter, Shared: sharedProviders(cfg), Secrets: cfg.Secrets(),
	}
}

// phases returns the configured phases for the activities.
func phases(p config.Phases) map[string]activities.Phase {
	table := map[string]activities.Phase{}
	for id, row := range p.Table() {
		table[id] = activities.Phase(row)
	}
	return table
}
