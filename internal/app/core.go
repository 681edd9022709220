package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/diagnosis"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/metrics"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/sandboxlog"
	"github.com/omoi-dev/omoi/internal/sandboxwatch"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/github"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/temporal"
	"github.com/omoi-dev/omoi/internal/token"
	"github.com/omoi-dev/omoi/internal/tracing"
)

// organization is the name of the organization that a new installation starts with.
const organization = "default"

// Options holds what a command passes in addition to the configuration.
type Options struct {
	Stderr   io.Writer                // receives the log; nil discards the log
	Progress func(step string)        // receives one sentence per step of omoi dev; nil: silent
	Ready    func(info devstack.Info) // called once all dependencies answer; nil: not called

	LeaveRunning    bool // omoi dev does not freeze the agents of this machine at shutdown
	DaytonaEmulator bool // omoi dev starts a Daytona emulator and uses it
}

func (o Options) log(cfg *config.Loaded) *slog.Logger {
	if o.Stderr == nil {
		return slog.New(slog.DiscardHandler)
	}
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Log.Level)) // config has validated the level
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: logAttr(cfg.Secrets())}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(o.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(o.Stderr, options))
}

// logAttr returns the ReplaceAttr function of the log: durations get a unit, and secrets are removed from texts.
func logAttr(secrets []string) func([]string, slog.Attr) slog.Attr {
	return func(_ []string, attr slog.Attr) slog.Attr {
		_, level := attr.Value.Any().(slog.Level)
		switch kind := attr.Value.Kind(); {
		case kind == slog.KindDuration:
			attr.Value = slog.StringValue(attr.Value.String())
		case attr.Value.Any() == nil: // the handler leaves out an empty attribute
		case kind == slog.KindString, kind == slog.KindAny && !level: // an error, a list, a result of an activity
			attr.Value = slog.StringValue(redact.Scrub(attr.Value.String(), secrets))
		}
		return attr
	}
}

func (o Options) ready(info devstack.Info) {
	if o.Ready != nil {
		o.Ready(info)
	}
}

// core holds what API and worker share.
type core struct {
	cfg          *config.Loaded
	log          *slog.Logger
	store        *postgres.Store
	bus          live.Bus
	redis        *redis.Client // nil: notifications stay inside this process
	temporal     *temporal.Client
	stack        *devstack.Stack // set by omoi dev only
	ring         *token.Ring
	sealing      *credential.Ring // encrypts credentials
	logins       api.Logins       // nil: JWTs are rejected
	hosts        scm.Hosts
	hub          *github.Hub
	scratch      *tempdir.Dir
	metrics      *metrics.Metrics
	tracing      *tracing.Tracing // nil: off
	inlet        *inlet           // set in a worker only
	found        providers        // set in a worker only
	organization string
	owner        string // user of all requests while authentication is disabled
	credentials  *credential.Service
	shutdown     shutdown
	logs         *sandboxlog.Watcher     // set in a worker only
	watcher      *sandboxwatch.Watcher   // set in a worker only
	finder       func() supervise.Finder // finds duplicates; nil: no model
	guardian     *guardian.Guardian
	conductor    *conductor.Conductor
	diagnosis    *diagnosis.Service
	notices      *notice.Service
}

// newCore connects to the database. Temporal and Redis may be unreachable.
func newCore(ctx context.Context, cfg *config.Loaded, log *slog.Logger) (*core, error) {
	c := &core{cfg: cfg, log: log, scratch: tempdir.Open(""), shutdown: shutdown{api: shutdownTimeout, worker: shutdownTimeout}}
	c.hosts.Local = localgit.New(localgit.Config{Scratch: c.scratch, History: history(c.cfg)})
	for _, open := range []func(context.Context) error{
		c.openKeys, c.openObservers, c.openStore, c.openCredentials, c.openHosts, c.openBus, c.openSupervision, c.dialTemporal,
	} {
		if err := open(ctx); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// openKeys reads the keys of sandbox tokens, JWTs and credentials.
func (c *core) openKeys(context.Context) (err error) {
	if err := checkKey(c.cfg); err != nil {
		return err
	}
	if c.ring, err = tokenRing(c.cfg); err != nil {
		return err
	}
	if c.logins, err = logins(c.cfg); err != nil {
		return err
	}
	c.sealing, err = credentialRing(c.cfg)
	return err
}

func (c *core) openStore(ctx context.Context) error {
	if c.cfg.Database.URL == "" {
		return task.Errorf(task.CodeInvalid, "No database configured. Next: set DATABASE_URL, or run omoi dev, which starts one")
	}
	steps, err := postgres.Status(ctx, c.cfg.Database.URL.Reveal())
	if err != nil {
		return err
	}
	if outdated(steps) {
		return task.Errorf(task.CodeUnavailable, "The schema of the database is older than this binary. Next: omoi migrate up")
	}
	packs, err := openPacks(c.cfg)
	if err != nil {
		return err
	}
	machine, _ := os.Hostname() // without a name, hosts are listed by their IDs
	store, err := postgres.Open(ctx, pooled(c.cfg.Database), postgres.Config{
		Machine: machine, Version: ReadBuild().String(), Settings: taskSettings(c.cfg), MaxUnverified: c.cfg.Task.MaxUnverifiedSandboxes,
		HostFresh: max(3*hostHeartbeat(c.cfg), time.Second), PulsePeriod: c.cfg.Test.ComponentHeartbeat, Log: c.log, Counter: c.metrics,
		Ring: c.sealing, Prices: prices(c.cfg.Price), LimitApart: c.cfg.Test.RateLimitStagger,
		SecondLook: c.cfg.Daytona.MaxCreateDelay, MaxCheckpoints: c.cfg.Checkpoint.MaxBytes, Packs: packs, QuestionExpiry: c.cfg.Task.QuestionExpiry,
	})
	if err != nil {
		return err
	}
	c.store = store
	c.organization, err = store.EnsureOrganization(ctx, organization)
	if err == nil {
		c.owner, err = store.EnsureOwner(ctx, c.organization)
	}
	if err == nil && c.cfg.API.Key != "" {
		err = store.EnsureKey(ctx, c.organization, "OMOI_API_KEY", c.cfg.API.Key.Reveal())
	}
	c.showState()
	return err
}

// pooled returns the database URL with the configured maximum of connections, unless the URL sets pool_max_conns.
func pooled(db config.Database) string {
	u, err := url.Parse(db.URL.Reveal())
	if err != nil || u.Query().Has("pool_max_conns") {
		return db.URL.Reveal()
	}
	query := u.Query()
	query.Set("pool_max_conns", strconv.Itoa(db.MaxConns))
	u.RawQuery = query.Encode()
	return u.String()
}

func (c *core) openBus(context.Context) error {
	if c.cfg.Redis.URL == "" {
		c.bus = live.New()
		return nil
	}
	options, err := redis.ParseURL(c.cfg.Redis.URL.Reveal())
	if err != nil {
		return task.Errorf(task.CodeInvalid, "Invalid redis.url. Next: set it to redis://host:port/db").WithCause(err)
	}
	redis.SetLogger(redisLog{c.log})
	c.redis = redis.NewClient(options)
	c.bus = live.NewRedis(live.Config{}, c.redis, c.log)
	return nil
}

// redisLog logs messages of the Redis client at level debug. The bus logs the consequences.
type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "redis client message", slog.String("text", fmt.Sprintf(format, v...)))
}

func (c *core) close() error {
	errs := []error{c.scratch.Close()}
	if c.temporal != nil {
		c.temporal.Close()
	}
	if c.bus != nil {
		errs = append(errs, c.bus.Close())
	}
	if c.redis != nil {
		errs = append(errs, c.redis.Close())
	}
	if c.store != nil {
		c.store.Close()
	}
	c.closeObservers()
	return errors.Join(errs...)
}
