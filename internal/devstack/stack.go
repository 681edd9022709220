package devstack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/hostfault"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// postgresVersion is the downloaded version: one with builds for all platforms.
const postgresVersion = "16.9.0"

// Config configures a [Stack].
type Config struct {
	Home     string // OMOI_HOME; the caller holds its lock
	DataRoot string // parent of data directories of another user, if omoi runs as root

	DatabaseURL     string // existing PostgreSQL; empty: start a private one
	PostgresBin     string // directory of initdb and postgres, or [Download]; empty: search, else download
	PostgresVersion string // version to download; empty: [postgresVersion]
	PostgresURL     string // base URL of the download; empty: Maven Central

	TemporalAddress  string // existing server; empty: start a development server
	TemporalBin      string // path of the program; empty: search
	TemporalPort     Port
	TemporalUIPort   Port
	WebHosts         []string // host names of the Temporal Web UI besides loopback names
	Namespace        string
	SearchAttributes []string // Keyword attributes to create in the namespace
	Throwaway        bool     // kill Temporal instead of waiting seconds for its clean end; its data is not used again

	StartTimeout time.Duration     // for each component; zero: 2 min
	Wedged       time.Duration     // how long Temporal may not answer before its restart; zero: 30 s
	startGrace   time.Duration     // grace period for a component interrupted during its start; zero: 1 s
	LogLimit     int64             // for the log of each component, in bytes; zero: 16 MiB
	Progress     func(step string) // receives one sentence for each step; nil: ignored
	Log          *slog.Logger
}

func (c Config) say(step string) {
	if c.Progress != nil {
		c.Progress(step)
	}
}

// PrivateDir returns a directory for data that another user must reach. It is below Home, or, as root, below DataRoot,
// since other users cannot enter root's home.
func (c Config) PrivateDir(name string) string {
	if os.Geteuid() != 0 {
		return filepath.Join(c.Home, name)
	}
	return filepath.Join(c.DataRoot, hash(c.Home), name)
}

// MakePrivateDir creates a private directory. As root, the directory belongs to root and other users may enter it.
func (c Config) MakePrivateDir(name string) (string, error) {
	dir := c.PrivateDir(name)
	if os.Geteuid() != 0 {
		return dir, os.MkdirAll(dir, 0o700)
	}
	if err := c.openParents(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // other users enter it
		return "", fmt.Errorf("create %s: %w", dir, err)
	}
	return dir, allowEntry(dir)
}

// openParents lets other users enter the parent directories of a private directory. As an ordinary user openWay does
// nothing.
func (c Config) openParents() error {
	if os.Geteuid() != 0 {
		return nil
	}
	way := filepath.Join(c.DataRoot, hash(c.Home))
	if err := os.MkdirAll(way, 0o755); err != nil { //nolint:gosec // holds folders of mode 0700
		return fmt.Errorf("create %s: %w", way, err)
	}
	for _, dir := range []string{c.DataRoot, way} {
		if err := allowEntry(dir); err != nil {
			return err
		}
	}
	return nil
}

// allowEntry adds execute permission for group and others, which a strict umask removes.
func allowEntry(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.Mode()&0o011 != 0o011 {
		err = os.Chmod(dir, info.Mode().Perm()|0o011)
	}
	if err != nil {
		return fmt.Errorf("allow other users to enter %s: %w", dir, err)
	}
	return nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// Stack is the running PostgreSQL and Temporal.
type Stack struct {
	info   Info
	cancel context.CancelFunc
	keep   sync.WaitGroup

	mu       sync.Mutex
	children []*child // in the order of their start
	fault    error    // result of the last health check of Temporal; nil: healthy
	web      *web     // nil: no Web UI
}

// CheckTemporal returns the result of the last health check of Temporal, which reads and writes. A store that refuses
// writes may still answer reads.
func (s *Stack) CheckTemporal(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// noteTemporal records the result of a health check, and reports whether the disk became full or writable again.
func (s *Stack) noteTemporal(fault error) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = hostfault.Is(fault) != hostfault.Is(s.fault)
	s.fault = fault
	return changed
}

// Start starts both components in parallel and returns when both are ready. The caller holds the lock of Home and must
// close the stack.
func Start(ctx context.Context, cfg Config) (*Stack, error) {
	cfg = withDefaults(cfg)
	last := LastInfo(cfg.Home)
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Stack{cancel: cancel}
	parts := []func() error{
		func() error { return s.startPostgres(ctx, life, cfg) },
		func() error { return s.startTemporal(ctx, life, cfg, last) },
	}
	if err := together(parts); err != nil {
		return nil, errors.Join(err, s.Close()) //nolint:contextcheck // components have a grace period after ctx has ended
	}
	return s, nil
}

func withDefaults(c Config) Config {
	c.PostgresURL = cmp.Or(c.PostgresURL, "https://repo1.maven.org/maven2")
	c.PostgresVersion = cmp.Or(c.PostgresVersion, postgresVersion)
	c.StartTimeout = cmp.Or(c.StartTimeout, 2*time.Minute)
	c.Wedged = cmp.Or(c.Wedged, 30*time.Second)
	c.startGrace = cmp.Or(c.startGrace, time.Second)
	c.LogLimit = cmp.Or(c.LogLimit, 16<<20)
	return c
}

func together(parts []func() error) error {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() { errs[i] = part() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Info returns the addresses of the components. The caller sets APIURL and PID.
func (s *Stack) Info() Info { return s.info }

// StopGrace is the time that all components together have for a clean end. A component that is killed recovers at its
// next start.
const StopGrace = 4 * time.Second

// Close stops all components in parallel and waits for their end.
func (s *Stack) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), StopGrace)
	defer cancel()
	s.cancel()
	s.keep.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	stops := make([]func() error, 0, len(s.children))
	for _, c := range s.children {
		stops = append(stops, func() error { return c.stop(ctx, StopGrace) })
	}
	s.children = nil
	if s.web != nil {
		stops = append(stops, s.web.close)
	}
	return together(stops)
}

func (s *Stack) startPostgres(ctx, life context.Context, cfg Config) error {
	if cfg.DatabaseURL != "" {
		s.info.DatabaseURL = cfg.DatabaseURL
		return nil
	}
	p, err := preparePostgres(ctx, cfg)
	if err != nil {
		return err
	}
	s.info.DatabaseURL = p.url(pgName)
	return s.start(ctx, life, part{cfg: cfg, program: p.program(), clear: p.clear, ready: p.ready})
}

func (s *Stack) startTemporal(ctx, life context.Context, cfg Config, last Info) error {
	s.info.TemporalNamespace = cfg.Namespace
	if cfg.TemporalAddress != "" {
		s.info.TemporalAddress = cfg.TemporalAddress
		return nil
	}
	nothing := func(context.Context) error { return nil }
	for try := range portTries {
		if try > 0 {
			cfg.say("another program took a port of Temporal; choosing another")
		}
		t, err := prepareTemporal(ctx, cfg, last)
		if err != nil {
			return err
		}
		s.info.TemporalAddress, s.info.TemporalUIURL = t.address(), t.web.url()
		err = s.start(ctx, life, part{cfg: cfg, program: t.program(), clear: nothing, ready: t.ready, answers: t.answers, note: s.noteTemporal})
		if err == nil {
			s.web = t.web
			return nil
		}
		if err = errors.Join(err, t.web.close()); !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
	}
	return task.Errorf(task.CodeConflict, "Cannot start Temporal: other programs took its ports %d times. Next: "+
		"run the same command again, or set dev.temporal_port and dev.temporal_ui_port. Log: %s", portTries, filepath.Join(cfg.Home, temporalLog))
}

// portTries is the number of attempts to start Temporal. Another program may take a chosen port before Temporal listens
// on it.
const portTries = 3

// part is one component of the stack: a program with its checks. clear removes what an earlier start left.
type part struct {
	program

	cfg   Config
	clear func(ctx context.Context) error
	ready func(ctx context.Context) error
	// answers is the health check of a running component; nil: none.
	answers func(ctx context.Context) error
	// note receives the result of a health check and reports whether it is new; nil: every result is new.
	note func(fault error) (changed bool)
}

// start starts a component and keeps it running until the stack is closed.
func (s *Stack) start(ctx, life context.Context, p part) error {
	p.cfg.say("starting " + p.name)
	c, err := p.up(ctx)
	if err != nil {
		return err
	}
	p.cfg.say(p.name + " is ready")
	s.mu.Lock()
	s.children = append(s.children, c)
	s.mu.Unlock()
	s.keep.Go(func() { s.watch(life, p, c) })
	return nil
}

// up starts the program and waits until it is ready. The error tells why it is not.
func (p part) up(ctx context.Context) (*child, error) {
	if err := p.clear(ctx); err != nil {
		return nil, err
	}
	c, err := p.spawn(ctx)
	if err != nil {
		return nil, err
	}
	var last error
	err = await(ctx, p.cfg.StartTimeout, func() bool {
		if ended(c.done) {
			return true
		}
		last = askOnce(ctx, p.ready)
		return last == nil
	})
	if ended(c.done) {
		return nil, c.exitError()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not answer: %w", p.name, last), c.stop(context.WithoutCancel(ctx), p.cfg.startGrace))
	}
	return c, nil
}

// askLimit is the timeout of one check.
const askLimit = 5 * time.Second

// askOnce runs one check with the timeout [askLimit].
func askOnce(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return ask(ctx)
}

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// watch restarts a component that has ended, so that tasks survive a crash of the database.
func (s *Stack) watch(life context.Context, p part, c *child) {
	for {
		reason := p.attend(life, c)
		if life.Err() != nil {
			return
		}
		p.cfg.Log.WarnContext(life, "component exited, restarting", slog.String("component", p.name), slog.String("reason", reason))
		next := p.again(life)
		if next == nil {
			return
		}
		s.mu.Lock()
		s.children[slices.Index(s.children, c)] = next
		s.mu.Unlock()
		c = next
	}
}

// again tries to start a component every second until it is ready or the stack is closed.
func (p part) again(life context.Context) *child {
	for {
		c, err := p.up(life)
		if err == nil {
			return c
		}
		p.cfg.Log.ErrorContext(life, "start component failed, retrying", slog.String("component", p.name), slog.String("error", err.Error()))
		if wait.For(life, time.Second) != nil {
			return nil
		}
	}
}
