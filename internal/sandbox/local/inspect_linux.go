package local

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Inspect returns unknown only if the folder of sandboxes cannot be read. A sandbox of this name with other labels
// means that the sandbox is gone, with the reason "name_taken". A sandbox whose files are still being removed is alive.
func (p *Provider) Inspect(_ context.Context, labels sandbox.Labels) (sandbox.Inspection, error) {
	f, m, err := p.find(labels)
	switch {
	case task.CodeOf(err) == task.CodeNotFound:
		return p.inspectRest(labels), nil
	case err != nil:
		return sandbox.Unseen(err)
	}
	seen := p.inspectAgent(f, m)
	seen.ProviderID, seen.CreatedAt = task.SandboxName(m.Labels.SandboxID), m.CreatedAt
	return seen, nil
}

// inspectRest inspects a folder without labels: half created or half deleted.
func (p *Provider) inspectRest(labels sandbox.Labels) sandbox.Inspection {
	for _, f := range []folder{p.folder(labels), p.trash(labels)} {
		there, err := f.exists()
		if err != nil {
			return sandbox.Unknown(err)
		}
		if there {
			return sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateGone, ExitCode: -1, Reason: "partially created or deleted"}
		}
	}
	return sandbox.Gone("")
}

// inspectAgent checks the lock first and reads the files then, because a shim writes exit.json before it releases the
// lock. A second iteration finds a shim that started in between.
func (p *Provider) inspectAgent(f folder, m meta) sandbox.Inspection {
	seen := sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateUnknown, ExitCode: -1, OOM: oomKilled(m.Cgroups)}
	for range 2 {
		pid, err := holder(f.at(fileLife), spanAgent)
		if err != nil {
			seen.Reason = err.Error()
			return seen
		}
		if pid != 0 {
			seen.Agent, seen.Started = sandbox.StateAlive, true
			return seen
		}
		if lost := f.readEnding(&seen); !lost {
			return seen
		}
	}
	return seen
}

// readEnding fills in the end of a command from the files. readEnding returns true if no file says how the command
// ended, because its shim was killed.
func (f folder) readEnding(seen *sandbox.Inspection) (lost bool) {
	var st state
	var end ending
	started, err := f.load(fileState, &st)
	ended, endErr := f.load(fileExit, &end)
	if err = cmp.Or(err, endErr); err != nil {
		seen.Reason = err.Error()
		return false
	}
	seen.Agent, seen.Started = sandbox.StateGone, started
	switch {
	case !started:
		seen.Reason = "never started"
	case ended:
		seen.ExitCode, seen.Reason, seen.OOM = end.Code, end.Reason, seen.OOM || end.OOM
		seen.DiskFull = end.DiskFull
	case st.BootID != bootID():
		seen.Reason = "the machine was restarted"
	default:
		lost, seen.Reason = true, "the shim of the command was killed"
	}
	return lost
}

// List returns the sandboxes of an installation, including those whose files are still being removed.
func (p *Provider) List(ctx context.Context, installation string) ([]sandbox.Sandbox, error) {
	found, err := p.Survey(ctx)
	return slices.DeleteFunc(found, func(one sandbox.Sandbox) bool { return one.Labels.Installation != installation }), err
}

// Survey returns the sandboxes of all installations with this folder, including those whose files are still being
// removed. A sandbox with unreadable labels is logged and skipped, so that it stays and does not hide the others.
func (p *Provider) Survey(ctx context.Context) ([]sandbox.Sandbox, error) {
	var found []sandbox.Sandbox
	for _, dir := range []string{p.cfg.Root, filepath.Join(p.cfg.Root, ".trash")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, unavailable("list sandboxes", err)
		}
		for _, entry := range entries {
			if !strings.HasPrefix(entry.Name(), task.SandboxNamePrefix) {
				continue
			}
			var m meta
			ok, err := folder(filepath.Join(dir, entry.Name())).load(fileLabels, &m)
			if err != nil {
				p.log.ErrorContext(ctx, "read sandbox labels failed, sandbox skipped and never deleted",
					slog.String("folder", filepath.Join(dir, entry.Name())), slog.Any("error", errors.Unwrap(err)))
			} else if ok {
				found = append(found, m.sandbox())
			}
		}
	}
	return found, nil
}
