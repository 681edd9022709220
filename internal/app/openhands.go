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
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
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
	Port  int            `json:"port"`        // which the next server has too, because running workers know it
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

// openHandsLock keeps other commands from starting or ending the server.
func openHandsLock(ctx context.Context, cfg *config.Loaded) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Join(openHandsDir(cfg), "home"), 0o700); err != nil {
		return nil, fmt.Errorf("create folder of the OpenHands server: %w", err)
	}
	lock, err := fence.Lock(ctx, filepath.Join(openHandsDir(cfg), "lock"))
	return func() { _ = lock.Close() }, err
}

// openHandsData returns the folder of what the server stores.
func openHandsData(cfg *config.Loaded) string { return filepath.Join(openHandsDir(cfg), "data") }

// StartOpenHands starts a server on this machine, which outlives this process. A running one is a success.
func StartOpenHands(ctx context.Context, cfg *config.Loaded) (OpenHandsServer, error) {
	unlock, err := openHandsLock(ctx, cfg)
	if err != nil {
		return OpenHandsServer{}, err
	}
	defer unlock()
	r, _ := openHandsFound(cfg)
	if r.Running {
		return openHandsAsked(ctx, r), nil
	}
	path := onPath(openhands.Program)
	if path == "" {
		return r.OpenHandsServer, task.Errorf(task.CodeNotFound, "Cannot start an OpenHands server: %s is not on PATH. Next: %s", openhands.Program, openhands.Install)
	}
	dir := openHandsDir(cfg)
	log, err := os.OpenFile(filepath.Join(dir, "server.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return r.OpenHandsServer, fmt.Errorf("create log of the OpenHands server: %w", err)
	}
	defer func() { _ = log.Close() }()
	if r.Keys.Secret == "" {
		r.Keys = openhands.NewKeys()
	}
	r.Keys.Session = cmp.Or(cfg.OpenHands.ServerKey.Reveal(), r.Keys.Session)
	openhands.EndProcesses(openHandsData(cfg)) // of a server whose start was killed
	_, err = openhands.Start(ctx, openhands.Setup{
		Program: path, Dir: openHandsData(cfg), Keys: r.Keys, Port: cmp.Or(cfg.OpenHands.ServerPort, r.Port), Output: log, Detached: true,
		// A user's shell files would disturb the first command of a conversation.
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8")},
		Begun: func(pid int, address string, port int) error {
			now, _ := proctable.Read(pid)
			r.URL, r.Port, r.PID, r.Start, r.Dir, r.StartedAt, r.Version = address, port, pid, now.Start, dir, time.Now().UTC(), openhands.Tested
			return statefile.Save(openHandsFile(cfg), r)
		},
	})
	if err != nil {
		return r.OpenHandsServer, fmt.Errorf("%w Log: %s", err, log.Name())
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

// StopOpenHands ends the server, with its terminals. Sandboxes on its machine keep running. If no server runs, there is nothing to do.
func StopOpenHands(ctx context.Context, cfg *config.Loaded) (OpenHandsServer, error) {
	unlock, err := openHandsLock(ctx, cfg)
	if err != nil {
		return OpenHandsServer{}, err
	}
	defer unlock()
	r, ok := openHandsFound(cfg)
	if !ok {
		openhands.EndProcesses(openHandsData(cfg)) // of a server whose start was killed before it was recorded
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
	openhands.EndProcesses(openHandsData(cfg))
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
