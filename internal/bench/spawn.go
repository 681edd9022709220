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

	"github.com/omoi-dev/omoi/internal/agent/spec"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// Goals of local sandboxes: milliseconds to the first heartbeat, seconds for all of them at once.
const (
	goalSpawn = 300
	goalCrowd = 10
)

// spawner makes local sandboxes as a worker does, without Temporal and store.
type spawner struct {
	provider *local.Provider
	agent    []byte
}

// measureSpawn makes sandboxes one after the other, then many at once.
func measureSpawn(ctx context.Context, cfg Config, r *Report) error {
	if runtime.GOOS != "linux" {
		r.add(Row{What: "local sandbox, from create to its agent's first heartbeat, median", Goal: "under 300 ms", Measured: "needs Linux", Verdict: NotMeasured})
		return nil
	}
	s, err := newSpawner(cfg) //nolint:contextcheck // its probes have limits of their own
	if err != nil {
		return err
	}
	alone, err := s.alone(ctx, cfg.Starts+1)
	if err != nil {
		return err
	}
	alone = alone[1:] // the first one warms everything up
	each, err := s.crowd(ctx, cfg.Crowd)
	if err != nil {
		return err
	}
	all := slices.Max(each) / 1000 //nolint:mnd // milliseconds
	r.add(
		Row{What: "local sandbox, from create to its agent's first heartbeat, median", Goal: "under 300 ms", Measured: ms(median(alone)), Value: median(alone), Verdict: atMost(median(alone), goalSpawn)},
		Row{What: fmt.Sprintf("%d local sandboxes at once, to the last first heartbeat", cfg.Crowd), Goal: "under 10 s", Measured: fmt.Sprintf("%.1f s", all), Value: all, Verdict: atMost(all, goalCrowd)},
	)
	r.note("Local sandboxes", "The provider alone, as a worker uses it: create, put the agent and its configuration in, start it, wait for its first heartbeat at a server in this process; with %s. One after the other: %s. At once, each: %s.",
		strings.Join(s.provider.Isolation(), ", "), spread(alone), spread(each))
	return nil
}

func newSpawner(cfg Config) (*spawner, error) {
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil { //nolint:gosec // users of sandboxes walk through
		return nil, fmt.Errorf("make a folder for sandboxes: %w", err)
	}
	provider, err := local.New(local.Config{
		Root: filepath.Join(cfg.Dir, "sandboxes"), Shim: []string{filepath.Join(cfg.Bin, "omoi"), "shim"},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	agent, err := os.ReadFile(filepath.Join(cfg.Bin, "omoi-agent"))
	if err != nil {
		return nil, fmt.Errorf("read omoi-agent: %w", err)
	}
	return &spawner{provider: provider, agent: agent}, nil
}

// spawned is a sandbox that runs, or what became of it.
type spawned struct {
	took  float64 // milliseconds
	err   error
	close func() error
}

// once makes a sandbox and waits for its agent. It lives until it is closed.
func (s *spawner) once(ctx context.Context) spawned {
	heard := newListener()
	server := httptest.NewServer(heard)
	labels := sandbox.Labels{Installation: "bench", TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
	made := spawned{close: func() error {
		defer server.Close()
		return s.provider.Delete(context.WithoutCancel(ctx), labels)
	}}
	begun := time.Now()
	if made.err = s.start(ctx, labels, server.URL); made.err != nil {
		return made
	}
	select {
	case at := <-heard.beat:
		made.took = milliseconds(at.Sub(begun))
	case <-time.After(taskLimit):
		made.err = errors.New("the agent of a sandbox sent no heartbeat")
	case <-ctx.Done():
		made.err = ctx.Err()
	}
	return made
}

// alone answers the milliseconds of n, each gone before the next.
func (s *spawner) alone(ctx context.Context, n int) ([]float64, error) {
	var all []float64
	for range n {
		made := s.once(ctx)
		if err := errors.Join(made.err, made.close()); err != nil {
			return nil, err
		}
		all = append(all, made.took)
	}
	return all, nil
}

// crowd answers the milliseconds of n that are begun at once; none goes before the last has spoken.
func (s *spawner) crowd(ctx context.Context, n int) ([]float64, error) {
	made := make([]spawned, n)
	var group sync.WaitGroup
	for i := range made {
		group.Go(func() { made[i] = s.once(ctx) })
	}
	group.Wait()
	var all []float64
	var errs []error
	for _, one := range made {
		all, errs = append(all, one.took), append(errs, one.err, one.close())
	}
	return all, errors.Join(errs...)
}

func (s *spawner) start(ctx context.Context, labels sandbox.Labels, url string) error {
	if _, err := s.provider.Ensure(ctx, sandbox.Spec{Labels: labels}); err != nil {
		return err
	}
	paths := s.provider.Paths(labels)
	text, err := json.Marshal(spec.Config{
		Protocol: spec.Protocol, SandboxID: labels.SandboxID, TaskID: labels.TaskID, Attempt: labels.Attempt, APIURL: url, Token: "none",
		Runtime: task.AgentScripted, Workspace: paths.Workspace, Dir: paths.Dir, Description: "a benchmark",
		Script: []byte(`{"steps":[{"hang":{}}]}`),
	})
	if err != nil {
		return fmt.Errorf("encode the agent's configuration: %w", err)
	}
	if err := s.provider.WriteFile(ctx, labels, sandbox.AgentPath, 0o755, bytes.NewReader(s.agent)); err != nil {
		return err
	}
	if err := s.provider.WriteFile(ctx, labels, spec.ConfigPath, 0o600, bytes.NewReader(text)); err != nil {
		return err
	}
	return s.provider.Start(ctx, labels, sandbox.Command{Args: []string{sandbox.AgentPath, "run", "--config", spec.ConfigPath}})
}
