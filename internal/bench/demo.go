package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/scenario"
)

// Goals of the demo, in seconds.
const (
	goalDemo = 30
	goalTask = 5
)

// measureDemo runs the demo as a person does once everything is built: in an empty home, then
// in the same home again.
func measureDemo(ctx context.Context, cfg Config, r *Report) error {
	if err := os.MkdirAll(filepath.Join(cfg.Dir, "home"), 0o755); err != nil { //nolint:gosec // other users walk through
		return fmt.Errorf("make the demo's home: %w", err)
	}
	var text strings.Builder
	var total, itself float64
	for n := range cfg.Demos {
		build, err := timeBuild(ctx, cfg.Root)
		if err != nil {
			return err
		}
		d, err := runDemo(ctx, cfg)
		if err != nil {
			return err
		}
		took := build + d.took
		if n == 0 {
			total, itself = took, d.task()
		}
		fmt.Fprintf(&text, "Run %d: %.1f s, of which `make` without changes took %.1f s. %s\n\n",
			n+1, took, build, d.steps())
	}
	r.add(
		Row{
			What: "`make demo` after the first build, with an empty home", Goal: "under 30 s", Measured: seconds(total),
			Value: total, Verdict: atMost(total, goalDemo),
		},
		Row{
			What: "its task, from the request to the verified deletion of the sandbox", Goal: "under 5 s",
			Measured: seconds(itself), Value: itself, Verdict: atMost(itself, goalTask),
		},
	)
	r.note("Demo", "%s", text.String())
	return nil
}

func seconds(v float64) string { return fmt.Sprintf("%.1f s", v) }

// timeBuild is how long make takes when everything is built.
func timeBuild(ctx context.Context, root string) (float64, error) {
	if root == "" {
		return 0, nil
	}
	begun := time.Now()
	cmd := exec.CommandContext(ctx, "make", "--no-print-directory", "-C", root, "-j2", "build", "temporal")                                  //nolint:gosec // our own tree
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "MAKE") || strings.HasPrefix(e, "MFLAGS") }) // of the make above
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("make build: %w: %s", err, out)
	}
	return time.Since(begun).Seconds(), nil
}

// demoRun is what the demo says of itself.
type demoRun struct {
	took   float64           // of the whole command, in seconds
	Checks []scenario.Result `json:"checks"`
}

func runDemo(ctx context.Context, cfg Config) (demoRun, error) {
	var d demoRun
	env := baseEnvironment(cfg.Dir)
	maps.DeleteFunc(env, func(key, _ string) bool { return key == "OMOI_SANDBOX_DIR" })
	cmd := exec.CommandContext(ctx, filepath.Join(cfg.Bin, "omoi"), "demo", "--json") //nolint:gosec // our own program
	var out, errs bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environ(env), cfg.Dir, &out, &errs
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return d, fmt.Errorf("run the demo: %w: %s%s", err, errs.String(), out.String())
	}
	d.took = time.Since(begun).Seconds()
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		return d, fmt.Errorf("read the demo's report: %w", err)
	}
	return d, nil
}

// task is what is not the services: from the request to the verified deletion of the sandbox.
func (d demoRun) task() float64 {
	sum := 0.0
	for _, c := range d.Checks {
		sum += c.Seconds
	}
	return sum
}

func (d demoRun) steps() string {
	var parts []string
	for _, c := range d.Checks {
		for _, s := range c.Steps {
			parts = append(parts, fmt.Sprintf("%s %.2f s", s.Name, s.Seconds))
		}
	}
	return "By its own report: " + strings.Join(parts, ", ") + "; the rest is the start and the stop of the services."
}
