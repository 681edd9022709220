//go:build emulator

package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/config"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// emulatorLinked reports whether this build contains the Daytona emulator.
const emulatorLinked = true

// startEmulator starts the Daytona emulator and points the Daytona provider at it. The emulator deletes its sandboxes
// when it stops.
func (d *dev) startEmulator(ctx context.Context) (func() error, error) {
	// the lock of home is held, so the files are from a killed process
	if err := os.RemoveAll(place(d.cfg).PrivateDir("daytona-emulator")); err != nil {
		return nil, fmt.Errorf("clear the folder of the Daytona emulator: %w", err)
	}
	dir, err := place(d.cfg).MakePrivateDir("daytona-emulator")
	if err != nil {
		return nil, err
	}
	s, err := daytonatest.Start(ctx, emulatorOptions(d.cfg, dir, d.opts))
	if err != nil {
		return nil, err
	}
	d.say("the Daytona emulator is ready (" + strings.Join(s.Isolation(), ", ") + ")")
	if d.cfg.Given("daytona.api_key") {
		d.say("daytona.api_key is not used: tasks for Daytona go to the emulator")
	}
	d.cfg.Daytona.APIURL, d.cfg.Daytona.APIKey = s.URL(), config.Secret(s.Key())
	d.info.DaytonaURL, d.info.DaytonaKey = s.URL(), s.Key()
	return s.Close, nil
}

// emulatorOptions returns options with short delays like those of a cloud.
func emulatorOptions(cfg *config.Loaded, dir string, opts Options) daytonatest.Options {
	out := daytonatest.Options{
		Dir: dir, CreateDelay: 500 * time.Millisecond, BuildDelay: 2 * time.Second, StartDelay: 500 * time.Millisecond,
		StopDelay: 500 * time.Millisecond, DestroyDelay: time.Second, ListLag: 2 * time.Second,
		Snapshots: daytonatest.DefaultSnapshots(), Log: opts.log(cfg),
	}
	named := func(s daytonatest.Snapshot) bool { return s.Name == cfg.Sandbox.Snapshot }
	if cfg.Sandbox.Snapshot != "" && !slices.ContainsFunc(out.Snapshots, named) {
		out.Snapshots = append(out.Snapshots, daytonatest.Snapshot{Name: cfg.Sandbox.Snapshot})
	}
	if cfg.Daytona.Target != "" {
		out.Regions = []string{cfg.Daytona.Target}
	}
	return out
}

// startModel starts a scripted model that has an agent run commands, and then repeats the output of the last one.
func startModel(commands []string) (address string, stop func(), err error) {
	var turns []modeltest.Turn
	for _, command := range commands {
		turns = append(turns, modeltest.Turn{Tools: []modeltest.Tool{modeltest.Shell(command)}})
	}
	s, stop := modeltest.Start(append(turns, modeltest.Turn{Text: "The result is {{last_tool_result}}."})...)
	return s.URL, stop, nil
}
