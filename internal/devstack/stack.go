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

// postgresVersion is downloaded where no PostgreSQL is found: a version of which there are programs for all platforms.
const postgresVersion = "16.9.0"

// Config says what is started, and where.
type Config struct {
	Home     string // OMOI_HOME; its lock is held by the caller
	DataRoot string // where another user's data goes when we are root

	DatabaseURL     string // used instead of a private PostgreSQL; empty: none
	PostgresBin     string // directory of initdb and postgres, or [Download]; empty: found, else downloaded
	PostgresVersion string // of the download; empty: [postgresVersion]
	PostgresURL     string // of the download; empty: the Maven repository

	TemporalAddress  string // used instead of a development server; empty: none
	TemporalBin      string // empty: found
	TemporalPort     Port
	TemporalUIPort   Port
	WebHosts         []string // names of the Temporal Web UI besides those of loopback
	Namespace        string
	SearchAttributes []string // Keyword attributes that the namespace has
	Throwaway        bool     // nobody reads the data afterwards: Temporal, which takes seconds to end well, is killed

	StartTimeout time.Duration     // of each part; zero is 2 min
	Wedged       time.Duration     // how long Temporal may run without an answer before it is restarted; zero is 30 s
	startGrace   time.Duration     // how long a part that is stopped while it starts may take to end; zero is 1 s
	LogLimit     int64             // of each part's log, in bytes; zero is 16 MiB
	Progress     func(step string) // one sentence a step; nil: silent
	Log          *slog.Logger
}

func (c Config) say(step string) {
	if c.Progress != nil {
		c.Progress(step)
	}
}

// PrivateDir is a directory for data that another user of the machine must reach: below
// home, or below DataRoot if we are root, since nobody else can enter root's home.
func (c Config) PrivateDir(name string) string {
	if os.Geteuid() != 0 {
		return filepath.Join(c.Home, name)
	}
	return filepath.Join(c.DataRoot, hash(c.Home), name)
}

// MakePrivateDir makes a private directory and lets other users walk to it; as root it
// belongs to us and everybody may enter it.
func (c Config) MakePrivateDir(name string) (string, error) {
	dir := c.PrivateDir(name)
	if os.Geteuid() != 0 {
		return dir, os.MkdirAll(dir, 0o700)
	}
	if err := c.openWay(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // other users enter it
		return "", fmt.Errorf("create %s: %w", dir, err)
	}
	return dir, letThrough(dir)
}

// openWay lets other users walk through the folders above a private directory, which
// are ours and hold nothing else. Only root needs it.
func (c Config) openWay() error {
	if os.Geteuid() != 0 {
		return nil
	}
	way := filepath.Join(c.DataRoot, hash(c.Home))
	if err := os.MkdirAll(way, 0o755); err != nil { //nolint:gosec // holds folders of mode 0700
		return fmt.Errorf("create %s: %w", way, err)
	}
	for _, dir := range []string{c.DataRoot, way} {
		if err := letThrough(dir); err != nil {
			return err
		}
	}
	return nil
}

// letThrough opens a folder that was made by somebody with a strict umask.
func letThrough(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.Mode()&0o011 != 0o011 {
		err = os.Chmod(dir, info.Mode().Perm()|0o011)
	}
	if err != nil {
		return fmt.Errorf("open the way through %s: %w", dir, err)
	}
	return nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// Stack is a running PostgreSQL and Temporal.
type Stack struct {
	info   Info
	cancel context.CancelFunc
	keep   sync.WaitGroup

	mu       sync.Mutex
	children []*child // in the order of their start
	fault    error    // what the newest look at Temporal found; nil: it reads and writes
	web      *web     // nil: none
}

// CheckTemporal returns why the Temporal server of this stack is of no use, as found within the last seconds: a store that
// takes no writes still reads, so that a caller who only reads learns nothing of it.
func (s *Stack) CheckTemporal(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// noteTemporal records the result of a check of Temporal, and reports whether the disk became full or writable again since the
// previous one.
func (s *Stack) noteTemporal(fault error) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = hostfault.Is(fault) != hostfault.Is(s.fault)
	s.fault = fault
	return changed
}

// Start brings both up, at the same time, and returns when both answer. The caller holds
// the lock of Home and closes the stack.
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
		return nil, errors.Join(err, s.Close()) //nolint:contextcheck // parts get their grace though ctx has ended
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

// Info tells where the parts are. APIURL and PID are the caller's to fill.
func (s *Stack) Info() Info { return s.info }

// StopGrace is how long all parts may take to end, those that are being started again too. One that is killed then recovers at its next start.
const StopGrace = 4 * time.Second

// Close ends what was started, side by side, and waits for it.
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

// portTries is how often ports are chosen that others take before Temporal, which opens them itself, does.
const portTries = 3

// part is a program with how to clear its way and how to know that it answers.
type part struct {
	program

	cfg   Config
	clear func(ctx context.Context) error
	ready func(ctx context.Context) error
	// answers tells whether a part that runs is of use; nil: a part that runs is.
	answers func(ctx context.Context) error
	// note takes what a look found, and reports whether that is news; nil: nobody asks.
	note func(fault error) (changed bool)
}

// start brings a part up and keeps it up until the stack is closed.
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

// up starts the program and waits until it answers, or says why it does not.
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
		last = patiently(ctx, p.ready)
		return last == nil
	})
	if ended(c.done) {
		return nil, c.obituary()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not answer: %w", p.name, last), c.stop(context.WithoutCancel(ctx), p.cfg.startGrace))
	}
	return c, nil
}

// askLimit is how long a part may take to answer.
const askLimit = 5 * time.Second

// patiently asks once, with an end to its patience.
func patiently(ctx context.Context, ask func(context.Context) error) error {
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

// watch starts a part again that ended by itself: a crash of the database must not end
// the tasks that wait for it.
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

// again tries until it works or the stack is closed.
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
