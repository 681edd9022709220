package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// Goals of local sandboxes: milliseconds to the first heartbeat, seconds for all of them at once.
const (
	goalSpawn = 300
	goalCrowd = 10
)

// spawner makes sandboxes as a worker does, without Temporal and store.
type spawner struct {
	provider sandbox.Provider
	agent    []byte
}

// measureSpawn makes sandboxes one after the other, then many at once.
func measureSpawn(ctx context.Context, cfg Config, r *Report) error {
	if runtime.GOOS != "linux" {
		r.add(Row{
			What: "local sandbox, create to first heartbeat, median", Goal: "under 300 ms",
			Measured: "needs Linux", Verdict: NotMeasured,
		})
		return nil
	}
	provider, err := newLocal(cfg) //nolint:contextcheck // its probes have limits of their own
	if err != nil {
		return err
	}
	s, err := newSpawner(cfg, provider)
	if err != nil {
		return err
	}
	alone, err := s.alone(ctx, cfg.Starts)
	if err != nil {
		return err
	}
	each, err := s.crowd(ctx, cfg.Crowd)
	if err != nil {
		return err
	}
	all := slices.Max(each) / 1000 //nolint:mnd // milliseconds
	r.add(
		Row{
			What: "local sandbox, create to first heartbeat, median", Goal: "under 300 ms",
			Measured: ms(median(alone)), Value: median(alone), Verdict: atMost(median(alone), goalSpawn),
		},
		Row{
			What: fmt.Sprintf("%d local sandboxes at once, until all have sent a heartbeat", cfg.Crowd), Goal: "under 10 s",
			Measured: fmt.Sprintf("%.1f s", all), Value: all, Verdict: atMost(all, goalCrowd),
		},
	)
	r.note("Local sandboxes", "The provider alone, as a worker uses it: create the sandbox, copy the agent and its configuration, start it, wait for its first heartbeat at a server in the process of the benchmark. Isolation: %s. Sequential: %s. At once: %s.",
		strings.Join(provider.Isolation(), ", "), spread(alone), spread(each))
	return nil
}

func newLocal(cfg Config) (*local.Provider, error) {
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil { //nolint:gosec // users of sandboxes walk through
		return nil, fmt.Errorf("make a folder for sandboxes: %w", err)
	}
	return local.New(local.Config{
		Root: filepath.Join(cfg.Dir, "sandboxes"), Shim: []string{filepath.Join(cfg.Bin, "omoi"), "shim"},
	}, slog.New(slog.DiscardHandler))
}

func newSpawner(cfg Config, provider sandbox.Provider) (*spawner, error) {
	agent, err := os.ReadFile(filepath.Join(cfg.Bin, "omoi-agent"))
	if err != nil {
		return nil, fmt.Errorf("read omoi-agent: %w", err)
	}
	return &spawner{provider: provider, agent: agent}, nil
}

// spawned is a sandbox that runs, or what became of it.
type spawned struct {
	labels sandbox.Labels
	took   float64   // milliseconds
	heard  time.Time // of the first heartbeat
	err    error
	close  func() error
}

// once makes a sandbox and waits for its agent. It lives until it is closed.
func (s *spawner) once(ctx context.Context) spawned {
	heard := newListener()
	server := httptest.NewServer(heard)
	labels := sandbox.Labels{Installation: "bench", TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
	made := spawned{labels: labels, close: func() error {
		defer server.Close()
		return s.provider.Delete(context.WithoutCancel(ctx), labels)
	}}
	begun := time.Now()
	if made.err = s.start(ctx, labels, server.URL); made.err != nil {
		return made
	}
	select {
	case made.heard = <-heard.beat:
		made.took = milliseconds(made.heard.Sub(begun))
	case <-time.After(taskLimit):
		made.err = errors.New("the agent of a sandbox sent no heartbeat")
	case <-ctx.Done():
		made.err = ctx.Err()
	}
	return made
}

// alone answers the milliseconds of n, each gone before the next, after one that warms
// everything up.
func (s *spawner) alone(ctx context.Context, n int) ([]float64, error) {
	var all []float64
	for range n + 1 {
		made := s.once(ctx)
		if err := errors.Join(made.err, made.close()); err != nil {
			return nil, err
		}
		all = append(all, made.took)
	}
	return all[1:], nil
}

// crowd answers the milliseconds of n that are begun at once.
func (s *spawner) crowd(ctx context.Context, n int) ([]float64, error) {
	var all []float64
	made, err := s.together(ctx, n)
	for _, one := range made {
		all = append(all, one.took)
	}
	return all, err
}

// together makes n at once and ends them; none goes before the last has spoken.
func (s *spawner) together(ctx context.Context, n int) ([]spawned, error) {
	made := make([]spawned, n)
	var group sync.WaitGroup
	for i := range made {
		group.Go(func() { made[i] = s.once(ctx) })
	}
	group.Wait()
	var errs []error
	for _, one := range made {
		errs = append(errs, one.err, one.close())
	}
	return made, errors.Join(errs...)
}

func (s *spawner) start(ctx context.Context, labels sandbox.Labels, url string) error {
	if _, err := s.provider.Ensure(ctx, sandbox.Spec{Labels: labels}); err != nil {
		return err
	}
	paths := s.provider.Paths(labels)
	text, err := json.Marshal(agentconfig.Config{
		Protocol: agentconfig.Protocol, SandboxID: labels.SandboxID, TaskID: labels.TaskID, Attempt: labels.Attempt,
		APIURL: url, Token: "none",
		Runtime: task.AgentScripted, Workspace: paths.Workspace, Dir: paths.Dir, Description: "a benchmark",
		Script: []byte(`{"steps":[{"hang":{}}]}`),
	})
	if err != nil {
		return fmt.Errorf("encode the agent's configuration: %w", err)
	}
	if err := s.provider.WriteFile(ctx, labels, sandbox.AgentPath, 0o755, bytes.NewReader(s.agent)); err != nil {
		return err
	}
	if err := s.provider.WriteFile(ctx, labels, agentconfig.ConfigPath, 0o600, bytes.NewReader(text)); err != nil {
		return err
	}
	return s.provider.Start(ctx, labels, sandbox.Command{
		Args: []string{sandbox.AgentPath, "run", "--config", agentconfig.ConfigPath},
	})
}
