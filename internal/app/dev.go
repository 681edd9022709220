package app

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// RunDev runs PostgreSQL, Temporal, API, relay and worker on this machine until ctx ends. RunDev holds the lock of
// home, keeps dev.json there, and calls opts.Ready once all dependencies answer. By default, authentication is disabled
// if the API listens on loopback only. When ctx ends, RunDev freezes the agents of this machine, unless
// opts.LeaveRunning is set, and returns within 10 seconds.
func RunDev(ctx context.Context, cfg *config.Loaded, opts Options) (err error) {
	if opts.DaytonaEmulator && !emulatorLinked {
		return errNoEmulator()
	}
	lock, err := devstack.Acquire(cfg.Home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	shareProcessors()
	d := &dev{cfg: cfg, opts: opts}
	if err := d.settle(ctx); err != nil {
		return err
	}
	stack, err := devstack.Start(ctx, d.stackConfig())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	d.stack = stack
	d.use(stack.Info())
	if opts.DaytonaEmulator {
		end, err := d.startEmulator(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	return d.run(ctx)
}

func errNoEmulator() error {
	return task.Errorf(task.CodeInvalid, "This build of omoi has no Daytona emulator: only development builds do. Next: run make build in omoi's sources")
}

// dev is one execution of omoi dev.
type dev struct {
	cfg  *config.Loaded
	opts Options
	info devstack.Info

	stack *devstack.Stack
}

// settle chooses authentication, port and socket where the configuration leaves them open.
func (d *dev) settle(ctx context.Context) error {
	cfg := d.cfg
	if !cfg.Given("api.auth_disabled") {
		cfg.API.AuthDisabled = cfg.Loopback()
	}
	last := devstack.LastInfo(cfg.Home)
	if err := checkKey(cfg); err != nil {
		return err
	}
	if fresh := last.APIURL == "" && !cfg.Given("database.url"); fresh && !cfg.API.AuthDisabled && cfg.API.Key == "" {
		return errNoKey()
	}
	port, err := devstack.Port{Want: cfg.API.Port, Fixed: cfg.Given("api.port"), Last: devstack.PortOf(last.APIURL)}.Choose(ctx, cfg.API.Host, "api.port")
	if err != nil {
		return err
	}
	d.moved("the API", cfg.API.Port, port)
	cfg.API.Port = port
	return settleDevSocket(cfg)
}

// moved reports that another process holds a port; want 0 means any port.
func (d *dev) moved(who string, want, got int) {
	if want != 0 && got != 0 && got != want {
		d.say("port " + strconv.Itoa(want) + " is in use; " + who + " takes " + strconv.Itoa(got))
	}
}

func (d *dev) say(step string) {
	if d.opts.Progress != nil {
		d.opts.Progress(step)
	}
}

func (d *dev) stackConfig() devstack.Config {
	cfg := d.cfg
	out := place(cfg)
	out.DatabaseURL = cfg.Database.URL.Reveal()
	out.PostgresBin, out.PostgresURL = cfg.Dev.PostgresBin, cfg.Dev.PostgresURL
	if cfg.Given("temporal.address") {
		out.TemporalAddress = cfg.Temporal.Address
	}
	out.TemporalBin = cfg.Dev.TemporalBin
	out.TemporalPort = devstack.Port{Want: cfg.Dev.TemporalPort, Fixed: cfg.Given("dev.temporal_port")}
	out.TemporalUIPort = devstack.Port{Want: cfg.Dev.TemporalUIPort, Fixed: cfg.Given("dev.temporal_ui_port")}
	out.WebHosts = hostOf(cfg.Temporal.UIURL)
	out.Namespace = cfg.Temporal.Namespace
	out.SearchAttributes = []string{contract.AttributeStatus, contract.AttributeProject, contract.AttributeOrg}
	out.Progress, out.Log = d.opts.Progress, d.opts.log(cfg)
	return out
}

// use sets the addresses of the started servers in the configuration.
func (d *dev) use(info devstack.Info) {
	cfg := d.cfg
	d.info = info
	if !cfg.Given("temporal.address") {
		d.moved("Temporal", cfg.Dev.TemporalPort, devstack.PortOf(info.TemporalAddress))
		d.moved("the Web UI", cfg.Dev.TemporalUIPort, devstack.PortOf(info.TemporalUIURL))
	}
	d.info.APIURL, d.info.PID = apiURL(cfg), os.Getpid()
	cfg.Database.URL = config.Secret(info.DatabaseURL)
	cfg.Temporal.Address = info.TemporalAddress
	if cfg.Temporal.UIURL == "" {
		cfg.Temporal.UIURL = info.TemporalUIURL
	}
	d.info.TemporalUIURL = cfg.Temporal.UIURL
	if cfg.API.CallbackURL == "" {
		cfg.API.CallbackURL = d.info.APIURL
	}
}

func (d *dev) run(ctx context.Context) (err error) {
	d.say("migrating the database schema")
	if err := d.migrate(ctx); err != nil {
		return err
	}
	c, err := newCore(ctx, d.cfg, d.opts.log(d.cfg))
	if err != nil {
		return err
	}
	c.stack = d.stack
	c.shutdown = shutdown{api: apiStop, worker: workerStop}
	limit, cancel := wait.Outlast(ctx, servicesTime+lateTime)
	defer cancel()
	defer func() { err = errors.Join(err, within(limit, c.close)) }()
	for _, step := range []func(context.Context) error{c.guarded, c.agree, c.claim} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if open, err := c.store.OpenTasks(ctx, 0); err == nil && len(open) > 0 {
		d.say("continuing " + tasksOpen(len(open)))
	}
	d.say("starting API and worker")
	c.inlet = newInlet(socketAddr())
	w, err := c.newWorker()
	if err != nil {
		return err
	}
	f, err := c.freezer(ctx)
	if err != nil {
		return err
	}
	listeners, err := listen(ctx, d.cfg)
	if err != nil {
		return err
	}
	listeners = append(listeners, c.inlet)
	shown, err := c.metricsServices(ctx)
	if err != nil {
		return errors.Join(err, closeListeners(listeners))
	}
	if err := devstack.WriteInfo(d.cfg.Home, d.info); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, devstack.RetireInfo(d.cfg.Home)) }()
	services := append([]service{{"sandboxes", func(ctx context.Context) error { return d.tend(ctx, c, f) }}}, c.apiServices(listeners, nil)...)
	services = append(services, shown...)
	services = append(services, service{"worker", func(ctx context.Context) error { return c.runWorker(ctx, w) }}, service{"announcement", d.announce})
	return d.serve(ctx, c, f, services...)
}

func tasksOpen(n int) string { return task.Count(n, "open task") }

func (d *dev) migrate(ctx context.Context) error {
	target := d.cfg.Database.URL.Reveal()
	if d.cfg.Given("database.url") {
		if err := notForeign(ctx, target); err != nil {
			return err
		}
	}
	return postgres.Migrate(ctx, target)
}

// announce calls opts.Ready once all dependencies answer.
func (d *dev) announce(ctx context.Context) error {
	d.untilReady(ctx)
	if ctx.Err() == nil {
		d.opts.ready(d.info)
	}
	<-ctx.Done()
	return nil
}

// untilReady waits until the API is ready or ctx ends.
func (d *dev) untilReady(ctx context.Context) {
	for !isReady(ctx, d.info.APIURL) && wait.For(ctx, 20*time.Millisecond) == nil {
	}
}

func isReady(ctx context.Context, base string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ready, err := client.New(base, "").Ready(ctx)
	return err == nil && ready.Ready
}
