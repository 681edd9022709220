package activities

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/task"
)

// Caches keep the dependency cache of each project on this worker's machine: an archive that
// is made and unpacked in sandboxes of that project only.
type Caches interface {
	// Open is [task.CodeNotFound] for a project that has none.
	Open(projectID string) (io.ReadCloser, error)
	Keep(projectID string, archive io.Reader) error
}

// caches reports whether a task's sandbox has a dependency cache: its setup step fills it.
func (a *Activities) caches(work task.Work) bool {
	return a.deps.Caches != nil && a.cfg.CacheBytes > 0 && setupOf(work) != ""
}

// putCache gives the sandbox what earlier ones of its project downloaded. It is never the
// reason that a sandbox cannot be started.
func (a *Activities) putCache(ctx context.Context, p place, work task.Work) error {
	if !a.caches(work) {
		return nil
	}
	archive, err := a.deps.Caches.Open(work.ProjectID)
	if err == nil {
		err = p.provider.WriteFile(ctx, p.labels, agentconfig.InCache, 0o600, archive)
		_ = archive.Close()
	}
	if err != nil && task.CodeOf(err) != task.CodeNotFound {
		a.log.WarnContext(ctx, "sandbox begins without the project's cache", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(err.Error())))
	}
	return nil
}

// keepCache takes over what the setup step of a sandbox added. What cannot be had is downloaded again.
func (a *Activities) keepCache(ctx context.Context, p place, work task.Work) {
	if !a.caches(work) {
		return
	}
	err := a.file(ctx, p, agentconfig.OutCache, a.cfg.CacheBytes, func(r io.Reader) error {
		return a.deps.Caches.Keep(work.ProjectID, r)
	})
	if err != nil && task.CodeOf(err) != task.CodeNotFound {
		a.log.WarnContext(ctx, "project's cache is not kept", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(fmt.Sprint(err))))
	}
}
