package bench

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/sandbox/docker"
)

// goalDocker is how many milliseconds a container may take to its agent's first heartbeat.
const goalDocker = 2000

// errNoEngine is the reason why nothing is measured in containers.
var errNoEngine = errors.New("no docker engine can be started here")

// measureDocker makes containers one after the other, at an engine of its own. They share the
// network of this machine: an engine for tests has no bridge.
func measureDocker(ctx context.Context, cfg Config, r *Report) (err error) {
	row := Row{
		What: "Docker sandbox, create to first heartbeat, median", Goal: "under 2 s",
		Measured: "needs root and dockerd on Linux", Verdict: NotMeasured,
	}
	e, err := startEngine(ctx)
	if errors.Is(err, errNoEngine) {
		r.add(row)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	provider, err := docker.New(docker.Config{
		Host: e.host, Image: e.image, NoPull: true, Network: docker.NetworkHost, StateDir: filepath.Join(cfg.Dir, "fences"),
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, provider.Close()) }()
	s, err := newSpawner(cfg, provider)
	if err != nil {
		return err
	}
	took, err := s.alone(ctx, cfg.Starts)
	if err != nil {
		return err
	}
	row.Value, row.Measured, row.Verdict = median(took), ms(median(took)), atMost(median(took), goalDocker)
	r.add(row)
	r.note("Docker",
		"The provider alone, as for local sandboxes, with an engine of its own. Its containers use the "+
			"host network. Sequential: %s.",
		spread(took))
	return nil
}

// engine is one that was started for the benchmark.
type engine struct {
	host, image string
	close       func() error
}
