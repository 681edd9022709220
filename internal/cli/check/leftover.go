package check

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/sandbox/lockfile"
	"github.com/omoi-dev/omoi/internal/task"
)

// mark is what each task of a check carries, so that a later check knows what one that was killed has left.
type mark struct {
	Run   string    `json:"run"`   // of omoi check: while it lives it holds the lock of a file of that name
	Until time.Time `json:"until"` // when it is over, whatever became of it
}

// mostOpen is how many open tasks of a status are looked at.
const mostOpen = 500

// hold takes the lock that tells other checks that this run lives. Without it what the run leaves counts by its time
// alone.
func (c Config) hold(run string) (release func()) {
	path := c.held(run)
	if c.Home == "" || os.MkdirAll(filepath.Dir(path), 0o750) != nil {
		return func() {}
	}
	file, err := lockfile.Try(path)
	if err != nil || file == nil {
		return func() {}
	}
	return func() {
		_ = os.Remove(path)
		_ = file.Close()
	}
}

func (c Config) held(run string) string { return filepath.Join(c.Home, "checks", "runs", run) }

// leftovers cancels the open tasks of checks that were killed, and says which they are.
func (c Config) leftovers(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var ended []string
	for _, status := range []task.Status{task.StatusPending, task.StatusAssigned, task.StatusRunning} {
		page, err := c.API.Tasks(ctx, client.TaskFilter{Status: string(status), Limit: mostOpen})
		if err != nil {
			return "" // the steps of the check say what is wrong
		}
		for _, t := range page.Items {
			if c.isLeft(t) && c.cancelLeft(ctx, t.ID) {
				ended = append(ended, render.Short(t.ID))
			}
		}
	}
	if ended == nil {
		return ""
	}
	return " Cancelled too, left by a check that was killed: " + strings.Join(ended, ", ") + "."
}

func (c Config) cancelLeft(ctx context.Context, id string) bool {
	_, _, err := c.API.Cancel(ctx, id, "the check that made it was killed")
	return err == nil
}

// isLeft reports whether nobody ends a task of a check any more.
func (c Config) isLeft(t client.Task) bool {
	var said struct {
		Check mark `json:"omoi_check"`
	}
	if !client.IsCheck(t) || json.Unmarshal(t.Execution, &said) != nil || said.Check.Run == "" {
		return false
	}
	return time.Now().After(said.Check.Until) || c.killed(said.Check.Run)
}

// killed reports whether a run of this installation ended without a word. Of others nothing is known.
func (c Config) killed(run string) bool {
	path := c.held(filepath.Base(run))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	file, err := lockfile.Try(path)
	if err != nil || file == nil {
		return false
	}
	_ = file.Close()
	return true
}
