package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox/daytona"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// goalReady is how many milliseconds omoi may go on waiting for what is ready.
const goalReady = 2000

// measureReadiness makes sandboxes at the Daytona emulator that are ready at different times, and
// looks how long omoi goes on waiting for each that is.
func measureReadiness(ctx context.Context, cfg Config, r *Report) (err error) {
	watch := &readiness{started: map[string]start{}, entered: map[string]time.Time{}}
	cloud, err := daytonatest.Start(ctx, daytonatest.Options{Observe: watch.see})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cloud.Close()) }() //nolint:contextcheck // its end waits for nobody
	row := Row{
		What: "Daytona emulator, sandbox ready to the next call of omoi, longest", Goal: "at most 2 s",
		Measured: "needs bubblewrap", Verdict: NotMeasured,
	}
	if !cloud.Confined() {
		r.add(row)
		return nil
	}
	s, err := spawnAt(cloud, cfg)
	if err != nil {
		return err
	}
	for n := range cfg.Clouds {
		cloud.Faults().Set(daytonatest.Fault{
			Switch: daytonatest.SlowCreate, Delay: cfg.Slow * time.Duration(n+1) / time.Duration(cfg.Clouds), Times: 1,
		})
	}
	made, err := s.together(ctx, cfg.Clouds)
	if err != nil {
		return err
	}
	waits, beats, err := watch.judge(made)
	if err != nil {
		return err
	}
	row.Value, row.Measured, row.Verdict = slices.Max(waits), ms(slices.Max(waits)), atMost(slices.Max(waits), goalReady)
	r.add(row)
	r.note("Daytona emulator", "The provider alone, as for local sandboxes, with its own poll intervals: %d sandboxes, created at once, that need up to %s to start. A sandbox is ready when the emulator reports it as started; the next call of omoi is the first one to its toolbox. From ready to that call: %s. To the first heartbeat: %s.",
		len(made), cfg.Slow, spread(waits), spread(beats))
	return nil
}

// spawnAt makes sandboxes of an image: for those Daytona's create waits for nothing.
func spawnAt(cloud *daytonatest.Server, cfg Config) (*spawner, error) {
	provider, err := daytona.New(daytona.Config{APIURL: cloud.URL(), APIKey: cloud.Key()}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return newSpawner(cfg, provider)
}

// readiness notes when sandboxes are started, and when they are first entered.
type readiness struct {
	mu      sync.Mutex
	started map[string]start     // by name; guarded by mu
	entered map[string]time.Time // by Daytona's id; guarded by mu
}

// start is what Daytona first tells of a sandbox that is started.
type start struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	State     daytonatest.State `json:"state"`
	UpdatedAt time.Time         `json:"updatedAt"` //nolint:tagliatelle // as Daytona names it
}

// see notes the first look at each sandbox that finds it started, and the first call to its toolbox.
func (w *readiness) see(e daytonatest.Exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !e.Toolbox {
		var s start
		if err := json.Unmarshal(e.ResponseBody, &s); err == nil && s.State == daytonatest.StateStarted && w.started[s.Name].ID == "" {
			w.started[s.Name] = s
		}
		return
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(e.Request.URL.Path, "/toolbox/"), "/")
	if w.entered[id].IsZero() {
		w.entered[id] = time.Now()
	}
}

// judge answers the milliseconds from the readiness of each to its first call, and to its first
// heartbeat.
func (w *readiness) judge(made []spawned) (waits, beats []float64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range made {
		name := task.SandboxName(one.labels.SandboxID)
		ready := w.started[name]
		entered := w.entered[ready.ID]
		if ready.ID == "" || entered.IsZero() {
			return nil, nil, fmt.Errorf("sandbox %s was not seen to start", name)
		}
		waits = append(waits, milliseconds(entered.Sub(ready.UpdatedAt)))
		beats = append(beats, milliseconds(one.heard.Sub(ready.UpdatedAt)))
	}
	return waits, beats, nil
}
