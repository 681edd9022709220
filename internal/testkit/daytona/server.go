package daytona

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
)

// Server is a running emulator.
type Server struct {
	opts    Options
	dir     string
	lock    *os.File // says that dir is in use
	sockets *os.File // the folder of the daemons' sockets
	wrapped bool
	closed  bool // to further namespaces
	why     error
	clock   *clock
	faults  *Faults
	limiter *limiter

	api, proxy         net.Listener
	apiServer, gateway *http.Server

	life   context.Context //nolint:containedctx // of what goes on between requests, until Close
	cancel context.CancelFunc
	works  sync.WaitGroup

	mu      sync.Mutex
	boxes   map[string]*box
	changed chan struct{} // closed and made anew when the state of any changes
	news    []event       // not yet in what lists show
	shown   map[string]sandboxBody
	woken   map[string]bool // snapshots that were activated
	born    int
	ending  bool
	trouble []error
}

// Start brings an emulator up. It lives until Close, not only until ctx ends.
func Start(ctx context.Context, opts Options) (*Server, error) {
	s := &Server{
		opts: opts.withDefaults(), clock: newClock(), boxes: map[string]*box{}, changed: make(chan struct{}),
		shown: map[string]sandboxBody{}, woken: map[string]bool{},
	}
	s.limiter = newLimiter(s.clock, s.opts.Limits)
	s.faults = newFaults(s.strike)
	s.life, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close()) //nolint:contextcheck // the end of it waits for no caller
	}
	s.works.Go(s.watch)
	s.works.Go(func() { _ = s.apiServer.Serve(s.api) }) // ends by Close
	s.works.Go(func() { _ = s.gateway.Serve(s.proxy) })
	return s, nil
}

func (s *Server) open(ctx context.Context) (err error) {
	if err = s.makeDir(); err != nil {
		return err
	}
	if s.sockets, err = os.Open(filepath.Join(s.dir, "s")); err != nil {
		return err
	}
	if err := s.choose(ctx); err != nil {
		return err
	}
	var listen net.ListenConfig
	if s.api, err = listen.Listen(ctx, "tcp", s.opts.Listen); err != nil {
		return fmt.Errorf("open the API of the Daytona emulator: %w", err)
	}
	if s.proxy, err = listen.Listen(ctx, "tcp", s.opts.ToolboxListen); err != nil {
		return fmt.Errorf("open the toolbox of the Daytona emulator: %w", err)
	}
	s.apiServer = &http.Server{Handler: s.apiRoutes(), ReadHeaderTimeout: time.Minute}
	s.gateway = &http.Server{Handler: s.toolboxRoutes(), ReadHeaderTimeout: time.Minute}
	return nil
}

// dirPrefix begins the name of every folder of an emulator.
const dirPrefix = "omoi-emulator-"

// makeDir makes the folder, and removes those of emulators that were killed. Users of sandboxes walk through it, nobody
// else looks into it.
func (s *Server) makeDir() (err error) {
	parent := or(s.opts.Dir, os.TempDir())
	tempdir.Sweep(parent, dirPrefix)
	if s.dir, s.lock, err = tempdir.Begin(parent, dirPrefix); err != nil {
		return fmt.Errorf("make the folder of the Daytona emulator: %w", err)
	}
	for name, mode := range map[string]os.FileMode{"": 0o711, "boxes": 0o711, "s": 0o700} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), mode); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(s.dir, name), mode); err != nil {
			return err
		}
	}
	return nil
}

// choose finds out whether bubblewrap works here.
func (s *Server) choose(ctx context.Context) error {
	if s.opts.Isolation == IsolationNone {
		s.why = errors.New("it was not asked for")
		return nil
	}
	for _, closed := range []bool{true, false} {
		c := s.cell("probe", nil, false)
		c.wrapped, c.closed = true, closed
		err := probe(ctx, c)
		if err == nil {
			s.wrapped, s.closed, s.why = true, closed, nil
			return nil
		}
		s.why = errors.Join(s.why, err)
	}
	if s.opts.Isolation == IsolationRequire {
		return task.Errorf(task.CodeUnavailable, "the Daytona emulator cannot isolate its sandboxes").WithCause(s.why)
	}
	return nil
}

func (s *Server) cell(id string, env map[string]string, offline bool) cell {
	c := cell{
		dir: filepath.Join(s.dir, "boxes", id), uid: -1, wrapped: s.wrapped, closed: s.closed, env: env, offline: offline,
	}
	if os.Geteuid() == 0 {
		c.uid = uidBase + rand.IntN(uidCount) //nolint:gosec // G404: only to keep them apart
	}
	return c
}

// Users that root gives to sandboxes; those of local sandboxes are below.
const (
	uidBase  = 65520
	uidCount = 12
)

// URL is the base of the main API.
func (s *Server) URL() string { return "http://" + s.api.Addr().String() + "/api" }

// Key is the API key that the emulator takes.
func (s *Server) Key() string { return s.opts.Key }

// Faults are the switches of what goes wrong.
func (s *Server) Faults() *Faults { return s.faults }

// Advance moves the clock of minutes and lags ahead.
func (s *Server) Advance(d time.Duration) { s.clock.advance(d) }

// Now is the time on that clock.
func (s *Server) Now() time.Time { return s.clock.now() }

// Isolation says what keeps sandboxes apart, and what does not.
func (s *Server) Isolation() []string {
	weak := []string{"no limit of memory, processors and disk", "network of this machine"}
	if !s.wrapped {
		return append([]string{"processes", "no isolation: " + strings.ReplaceAll(s.why.Error(), "\n", "; ")}, weak...)
	}
	parts := []string{"bubblewrap", "own processes", "own files"}
	if os.Geteuid() == 0 {
		parts = append(parts, "unprivileged user")
	}
	return append(parts, weak...)
}

// Confined reports whether bubblewrap keeps sandboxes apart and gives them /home/daytona.
func (s *Server) Confined() bool { return s.wrapped }

// Box is a sandbox that exists, so one that costs money.
type Box struct {
	ID, Name string
	State    State
	Labels   map[string]string
	Running  bool // processes of it live
}

// Boxes are the sandboxes that really exist, whatever a list shows.
func (s *Server) Boxes() []Box {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Box, 0, len(s.boxes))
	for _, b := range s.boxes {
		out = append(out, Box{b.id, b.name, b.state, maps.Clone(b.labels), b.jail != nil && b.jail.alive()})
	}
	slices.SortFunc(out, func(a, b Box) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Close ends every sandbox, removes what they left and waits until all is gone.
func (s *Server) Close() error {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.cancel()
	var errs []error
	for _, server := range []*http.Server{s.apiServer, s.gateway} {
		if server != nil {
			errs = append(errs, server.Close())
		}
	}
	for _, ln := range []net.Listener{s.api, s.proxy} {
		if ln != nil {
			_ = ln.Close() // most likely closed with its server
		}
	}
	s.works.Wait()
	errs = append(errs, s.clear()...)
	if s.sockets != nil {
		errs = append(errs, s.sockets.Close())
	}
	if s.lock != nil {
		errs = append(errs, os.RemoveAll(s.dir), s.lock.Close())
	}
	return errors.Join(append(errs, s.trouble...)...)
}

func (s *Server) clear() []error {
	s.mu.Lock()
	boxes := slices.Collect(maps.Values(s.boxes))
	s.boxes = map[string]*box{}
	s.mu.Unlock()
	errs := make([]error, len(boxes))
	var all sync.WaitGroup
	for i, b := range boxes {
		all.Go(func() {
			if b.jail != nil {
				b.jail.kill()
			}
			errs[i] = b.cell.demolish(context.WithoutCancel(s.life))
		})
	}
	all.Wait()
	return errs
}

// work runs what goes on between requests. After Close nothing begins any more. The caller
// holds the lock.
func (s *Server) work(do func()) {
	if !s.ending {
		s.works.Go(do)
	}
}
