package bench

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/token"
)

// server is `omoi dev` in a process of its own, with login, in an empty home.
type server struct {
	dir      string
	key      string
	info     devstack.Info
	api      *apiclient.Client
	pool     *pgxpool.Pool
	temporal client.Client
	ring     *token.Ring
	env      map[string]string
	cmd      *exec.Cmd
	done     chan error
}

const (
	startLimit = 3 * time.Minute
	stopLimit  = time.Minute
	tick       = 5 * time.Millisecond // between looks at a fact
)

// startServer starts one and waits until everything answers. settings are environment
// variables on top of free ports and limits that do not bind.
func startServer(ctx context.Context, cfg Config, settings map[string]string) (*server, error) {
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil { //nolint:gosec // other users walk through
		return nil, fmt.Errorf("make the server's folder: %w", err)
	}
	s := &server{dir: cfg.Dir, key: "omoi_" + rand.Text(), done: make(chan error, 1)}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	ring, err := token.NewRing(token.Key{ID: "bench", Secret: secret}, nil)
	if err != nil {
		return nil, err
	}
	s.ring = ring
	env := baseEnvironment(cfg.Dir)
	maps.Copy(env, map[string]string{
		"OMOI_API_AUTH_DISABLED": "false", "OMOI_API_KEY": s.key,
		"OMOI_TOKEN_KEY":                       "bench." + base64.RawURLEncoding.EncodeToString(secret),
		"OMOI_TASK_MAX_CONCURRENT_PER_PROJECT": "1000", "OMOI_WORKER_MAX_SANDBOXES": "1000", "OMOI_LOG_LEVEL": "info",
	})
	maps.Copy(env, settings)
	s.env = env
	if err := s.launch(ctx, filepath.Join(cfg.Bin, "omoi"), "dev"); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// baseEnvironment keeps an installation below dir.
func baseEnvironment(dir string) map[string]string {
	home := filepath.Join(dir, "home")
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": home, "OMOI_HOME": home,
		"OMOI_DEV_POSTGRES_DATA_ROOT": filepath.Join(dir, "data"), "OMOI_SANDBOX_DIR": filepath.Join(dir, "sandboxes"),
		"OMOI_API_PORT": "0", "OMOI_DEV_TEMPORAL_PORT": "0", "OMOI_DEV_TEMPORAL_UI_PORT": "0",
	}
	if path, err := devstack.FindTemporal(""); err == nil {
		env["OMOI_DEV_TEMPORAL_BIN"] = path
	}
	return env
}

func environ(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for key, value := range env {
		out = append(out, key+"="+value)
	}
	slices.Sort(out)
	return out
}

func (s *server) launch(ctx context.Context, program, command string) error {
	if err := os.MkdirAll(filepath.Join(s.dir, "home"), 0o755); err != nil { //nolint:gosec // other users walk through
		return fmt.Errorf("make the server's home: %w", err)
	}
	out, err := os.Create(filepath.Join(s.dir, "server.log"))
	if err != nil {
		return fmt.Errorf("keep the server's log: %w", err)
	}
	defer out.Close()                                                         //nolint:errcheck // the server has its own
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), program, command) //nolint:gosec // our own program
	s.cmd.Env, s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = environ(s.env), s.dir, out, out
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start omoi %s: %w", command, err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	return nil
}

// connect waits until the server says that it is ready, and opens what looks behind it.
func (s *server) connect(ctx context.Context) error {
	err := s.until(ctx, startLimit, "omoi dev is ready", func() bool {
		info, err := devstack.ReadInfo(filepath.Join(s.dir, "home"))
		if err != nil || info.PID != s.cmd.Process.Pid {
			return false
		}
		s.info, s.api = info, apiclient.New(info.APIURL, s.key)
		state, err := s.api.Ready(ctx)
		return err == nil && state.Ready
	})
	if err != nil {
		return err
	}
	if s.pool, err = pgxpool.New(ctx, s.info.DatabaseURL); err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	s.temporal, err = client.NewLazyClient(client.Options{
		HostPort: s.info.TemporalAddress, Namespace: s.info.TemporalNamespace,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	return nil
}

// until waits for a fact, at most for limit. It says what the server last wrote if that ends
// before.
func (s *server) until(ctx context.Context, limit time.Duration, what string, fact func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for !fact() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w%s", what, ctx.Err(), s.lastWords())
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("the server ended: %w%s", err, s.lastWords())
		case <-ticker.C:
		}
	}
	return nil
}

func (s *server) lastWords() string {
	const most = 1500
	text, err := os.ReadFile(filepath.Join(s.dir, "server.log"))
	if err != nil {
		return ""
	}
	return "\n" + string(text[max(0, len(text)-most):])
}

// close ends the server and all that it started.
func (s *server) close() error {
	if s.temporal != nil {
		s.temporal.Close()
	}
	if s.pool != nil {
		s.pool.Close()
	}
	return s.end()
}

// end ends the process.
func (s *server) end() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // one that has ended needs none
	select {
	case err := <-s.done:
		return err
	case <-time.After(stopLimit):
		return errors.Join(errors.New("the server did not stop"), s.cmd.Process.Kill())
	}
}

// repository makes a bare repository with one commit.
func repository(ctx context.Context, dir string) (string, error) {
	work, bare := filepath.Join(dir, "work"), filepath.Join(dir, "remote.git")
	for _, args := range [][]string{
		{"init", "--quiet", "-b", "main", work},
		{
			"-C", work, "-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "--quiet", "--allow-empty",
			"-m", "begin",
		},
		{"clone", "--quiet", "--bare", work, bare},
	} {
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil { //nolint:gosec // our own arguments
			return "", fmt.Errorf("make a repository: %w: %s", err, out)
		}
	}
	return bare, nil
}
