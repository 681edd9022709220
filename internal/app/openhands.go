package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/proctable"
	places "github.com/omoi-dev/omoi/internal/sandbox/openhands"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// OpenHandsServer is the server that omoi openhands start has started.
type OpenHandsServer struct {
	URL       string    `json:"url"`
	Version   string    `json:"version"`
	PID       int       `json:"pid"`
	Dir       string    `json:"dir"`
	StartedAt time.Time `json:"started_at"`
	Running   bool      `json:"running"`
	Fault     string    `json:"fault,omitempty"` // why omoi cannot use it
}

// openHandsRecord is what omoi keeps of that server. Its keys stay after a stop, since the server needs them for what it has stored.
type openHandsRecord struct {
	OpenHandsServer

	Start uint64         `json:"start_ticks"` // of the process
	Keys  openhands.Keys `json:"keys"`
}

func openHandsDir(cfg *config.Loaded) string { return filepath.Join(cfg.Home, "openhands") }

func openHandsFile(cfg *config.Loaded) string {
	return filepath.Join(openHandsDir(cfg), "server.json")
}

// openHandsFound returns the record of the server; false: omoi openhands start has started none.
func openHandsFound(cfg *config.Loaded) (r openHandsRecord, ok bool) {
	ok = statefile.Load(openHandsFile(cfg), &r) && r.URL != ""
	now, alive := proctable.Read(r.PID)
	r.Running = ok && alive && !now.HasEnded() && now.Start == r.Start
	return r, ok
}

// openHandsAccess returns address and key of the server for sandboxes: the configured one, else the one of omoi openhands start.
func openHandsAccess(cfg *config.Loaded) (address, key string) {
	if cfg.OpenHands.URL != "" {
		return cfg.OpenHands.URL, cfg.OpenHands.APIKey.Reveal()
	}
	r, _ := openHandsFound(cfg)
	return r.URL, r.Keys.Session
}

func newOpenHands(cfg *config.Loaded, log *slog.Logger) (*places.Provider, error) {
	address, key := openHandsAccess(cfg)
	return places.New(places.Config{
		URL: address, Key: key, Dir: cfg.OpenHands.Dir, Wrapped: cfg.OpenHands.Isolation == "require", Limits: limits(cfg.Sandbox),
		Program: agents{configured: cfg.Agent.Binary}.open,
	}, log)
}

// openHandsReports reports whether an agent beside the server can reach the API.
func openHandsReports(cfg *config.Loaded) bool {
	address, _ := openHandsAccess(cfg)
	return remotelyReached(callback(cfg)) || !remotelyReached(address)
}

// checkOpenHands checks the server. Without one, checkOpenHands sends no request.
func checkOpenHands(ctx context.Context, cfg *config.Loaded) Finding {
	found := Finding{Check: "openhands", Status: FindingOK}
	p, err := newOpenHands(cfg, slog.New(slog.DiscardHandler))
	if err == nil && p.Ready() != nil {
		found.Detail, found.Next = "not configured: no OpenHands server", "omoi openhands start, or set WORKSPACE_REMOTE_HOST; see docs/OPENHANDS.md"
		return found
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		found.Detail, err = p.Check(ctx)
	}
	if err != nil {
		found.Status, found.Detail, found.Next = FindingWarn, task.MessageOf(err), "see docs/OPENHANDS.md"
	}
	return found
}

// StartOpenHands starts a server on this machine, which outlives this process. A running one is a success.
func StartOpenHands(ctx context.Context, cfg *config.Loaded) (OpenHandsServer, error) {
	r, _ := openHandsFound(cfg)
	if r.Running {
		return openHandsAsked(ctx, r), nil
	}
	path := onPath(openhands.Program)
	if path == "" {
		return r.OpenHandsServer, task.Errorf(task.CodeNotFound, "Cannot start an OpenHands server: %s is not on PATH. Next: %s", openhands.Program, openhands.Install)
	}
	dir := openHandsDir(cfg)
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return r.OpenHandsServer, fmt.Errorf("create folder of the OpenHands server: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, "server.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return r.OpenHandsServer, fmt.Errorf("create log of the OpenHands server: %w", err)
	}
	defer func() { _ = log.Close() }()
	if r.Keys.Secret == "" {
		r.Keys = openhands.NewKeys()
	}
	r.Keys.Session = cmp.Or(cfg.OpenHands.ServerKey.Reveal(), r.Keys.Session)
	server, err := openhands.Start(ctx, openhands.Setup{
		Program: path, Dir: filepath.Join(dir, "data"), Keys: r.Keys, Port: cfg.OpenHands.ServerPort, Output: log, Detached: true,
		// A user's shell files would disturb the first command of a conversation.
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8")},
	})
	if err != nil {
		return r.OpenHandsServer, fmt.Errorf("%w Log: %s", err, log.Name())
	}
	now, _ := proctable.Read(server.PID)
	r.URL, r.PID, r.Start, r.Dir, r.StartedAt, r.Version = server.Address(), server.PID, now.Start, dir, time.Now().UTC(), openhands.Tested
	if err := statefile.Save(openHandsFile(cfg), r); err != nil {
		server.Stop(0)
		return r.OpenHandsServer, err
	}
	r.Running = true
	return openHandsAsked(ctx, r), nil
}

// openHandsAsked asks the server for its version.
func openHandsAsked(ctx context.Context, r openHandsRecord) OpenHandsServer {
	to, err := openhands.New(r.URL, r.Keys.Session)
	var info openhands.Info
	if err == nil {
		info, err = to.Check(ctx)
	}
	if r.Version = cmp.Or(info.Version, r.Version); err != nil {
		r.Fault = task.MessageOf(err)
	}
	return r.OpenHandsServer
}

// OpenHandsStatus returns the state of the server; [task.CodeNotFound]: omoi openhands start has started none.
func OpenHandsStatus(ctx context.Context, cfg *config.Loaded) (OpenHandsServer, error) {
	r, ok := openHandsFound(cfg)
	switch {
	case !ok:
		return r.OpenHandsServer, task.Errorf(task.CodeNotFound, "No OpenHands server was started. Next: omoi openhands start")
	case !r.Running:
		return r.OpenHandsServer, nil
	}
	return openHandsAsked(ctx, r), nil
}

// stopWait is the time for a server to end by itself: it waits for tools that run.
const stopWait = 40 * time.Second

// StopOpenHands ends the server, with its terminals. Sandboxes on its machine go on. One that does not run is a success.
func StopOpenHands(ctx context.Context, cfg *config.Loaded) (OpenHandsServer, error) {
	r, ok := openHandsFound(cfg)
	if !ok {
		return r.OpenHandsServer, nil
	}
	if r.Running {
		if err := syscall.Kill(r.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
			return r.OpenHandsServer, fmt.Errorf("end the OpenHands server: %w", err)
		}
	}
	for begun := time.Now(); r.Running && time.Since(begun) < stopWait && wait.For(ctx, 100*time.Millisecond) == nil; {
		r, _ = openHandsFound(cfg)
	}
	openhands.EndProcesses(filepath.Join(r.Dir, "data"))
	r, _ = openHandsFound(cfg)
	ended := r.OpenHandsServer
	if ended.Running || sandboxesIn(cfg.OpenHands.Dir) {
		return ended, nil
	}
	r.URL = "" // nothing is left to look after
	return ended, statefile.Save(openHandsFile(cfg), r)
}

// sandboxesIn reports whether sandboxes of the provider are on this machine.
func sandboxesIn(dir string) bool {
	entries, _ := os.ReadDir(filepath.Join(dir, "sandboxes"))
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), task.SandboxNamePrefix) })
}
