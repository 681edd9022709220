package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/track"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// lastWait is the maximum time that an outcome waits for the checkpoint of its files.
const lastWait = 15 * time.Second

// chooseSession sets the checkpoint of which the workspace gets the files, and continues its session.
func (s *session) chooseSession() {
	from, m := s.cfg.Restore, s.marks
	if from == nil || m.Began && m.Restores == "" {
		return
	}
	m.Restores = newestOf(from.Segments)
	if from.Session != nil {
		s.cfg.Resume = from.Session
	}
}

// newestOf returns the ID of the newest checkpoint.
func newestOf(segments [][]checkpoint.Checkpoint) string {
	if len(segments) == 0 {
		return ""
	}
	return segments[0][len(segments[0])-1].ID
}

// fetchCheckpoint downloads the checkpoint, which may take longer than an agent may take to report its start.
func (s *session) fetchCheckpoint(ctx context.Context) (err error) {
	if s.restore != nil {
		return nil
	}
	defer s.doing.Tool("restore")()
	if s.restore, err = checkpoints.Fetch(ctx, s.line, s.cfg.Dir, s.cfg.Restore.Segments); err == nil {
		s.restore.Former = s.cfg.Restore.Branches
	}
	return err
}

// restoreCommits checks out the head of the checkpoint. restoreFiles may follow.
func (s *session) restoreCommits(ctx context.Context) error {
	branch := ""
	if s.cfg.Repo != nil {
		branch = s.cfg.Repo.Branch
	}
	err := s.fetchCheckpoint(ctx)
	if err == nil {
		err = s.restore.Commits(ctx, s.cfg.Dir, s.cfg.Workspace, branch)
	}
	if errors.Is(err, checkpoints.ErrUnavailable) { // the next attempt may restore it
		return Failure(task.ClassInfrastructure, err)
	}
	s.notRestored(err)
	return err
}

// restoreFiles restores the files of the checkpoint, and cuts the session at the same position. It reports whether the workspace has
// the files.
func (s *session) restoreFiles(ctx context.Context) bool {
	err := s.restore.Files(ctx, s.cfg.Dir, s.cfg.Workspace)
	if err == nil {
		err = s.cutSession()
	}
	if s.notRestored(errors.Join(s.restore.Older, err)); err != nil {
		return false
	}
	if err := s.leftovers().AfterRestore(ctx); err != nil {
		s.deps.Log.WarnContext(ctx, "note files of the setup command failed, they count as the agent's", slog.Any("error", err))
	}
	from := s.restore.From
	s.report.Emit(event.AgentRestored, map[string]any{
		"checkpoint": from.ID, "sequence": from.Sequence, "files": from.Files, "taken_at": from.TakenAt, "torn": from.Torn, "left_out": from.LeftOut,
	})
	s.marks.Restored = true
	s.marks.save(s.deps.Log)
	return true
}

// cutSession removes the part of the session that is newer than the checkpoint, or notes that it cannot.
func (s *session) cutSession() error {
	from := s.restore.From
	length := from.Transcript - s.cfg.Restore.CutBytes
	if own := s.cfg.Restore.Session; s.resume == nil || own == nil || own.RunID != from.RunID || length <= 0 {
		s.apart = s.resume != nil
		return nil
	}
	info, err := os.Stat(s.resume.Path)
	if err == nil && info.Size() > length {
		err = os.Truncate(s.resume.Path, length)
	}
	if err != nil {
		return fmt.Errorf("cut the session: %w", err)
	}
	return nil
}

// notRestored reports the reason why the newest checkpoint is not restored.
func (s *session) notRestored(why error) {
	if why == nil {
		return
	}
	newest := newestOf(s.cfg.Restore.Segments)
	s.deps.Log.Warn("restore newest checkpoint failed", slog.String("checkpoint", newest), slog.Any("error", why))
	s.report.Emit(event.AgentRestoreFailed, map[string]any{"checkpoint": newest, "error": why.Error()})
}

// follow starts to follow changes of files. closed ends that, before all processes of the agent are ended.
func (s *session) follow(ctx context.Context) (closed func()) {
	var err error
	if s.files, err = checkpoints.Track(ctx, s.cfg.Dir, s.cfg.Workspace, track.Config{Log: s.deps.Log}); err != nil {
		s.deps.Log.WarnContext(ctx, "track file changes failed, reporting none and taking no checkpoints", slog.Any("error", err))
		s.noCheckpoints(ctx, err)
		return func() {}
	}
	return func() {
		if err := s.files.Close(); err != nil {
			s.deps.Log.WarnContext(ctx, "end watches of files failed", slog.Any("error", err))
		}
	}
}

// openCheckpoints starts to take checkpoints.
func (s *session) openCheckpoints(ctx context.Context, wg *sync.WaitGroup) {
	if s.cfg.Checkpoint <= 0 || s.files == nil {
		return
	}
	points, err := checkpoints.Open(ctx, s.checkpointConfig())
	if err != nil {
		s.deps.Log.WarnContext(ctx, "open checkpoints failed, taking none", slog.Any("error", err))
		s.noCheckpoints(ctx, err)
		return
	}
	s.points = points
	wg.Go(func() { points.Run(ctx) })
}

// noCheckpoints reports why none will be taken.
func (s *session) noCheckpoints(ctx context.Context, why error) {
	if s.cfg.Checkpoint > 0 && ctx.Err() == nil {
		s.report.Emit(event.AgentCheckpointFailed, checkpoints.Failure(0, why))
	}
}

func (s *session) checkpointConfig() checkpoints.Config {
	return checkpoints.Config{
		Dir: s.cfg.Dir, Work: s.cfg.Workspace, Every: s.cfg.Checkpoint,
		Tracker: s.files, Line: s.line, Report: s.report, Transcript: s.keep, Through: s.keep.Through, Doing: s.doing, Log: s.deps.Log,
	}
}

// keepCheckpoint takes the last checkpoint, with a timeout.
func (s *session) keepCheckpoint(ctx context.Context, most time.Duration) {
	if s.points == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	if err := s.points.Finish(ctx); err != nil {
		s.deps.Log.WarnContext(ctx, "keep last checkpoint failed, the next attempt begins with an earlier one", slog.Any("error", err))
	}
}

// endCheckpoints takes the checkpoint of an agent that ended without one.
func (s *session) endCheckpoints(ctx context.Context) error {
	if s.cfg.Checkpoint <= 0 {
		return nil
	}
	cfg := s.checkpointConfig()
	cfg.Ended, cfg.Report = true, checkpoints.NoEvents{}
	points, err := checkpoints.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer points.Close()
	return points.Finish(ctx)
}

// restoredNotice returns a notice about the files for the agent; empty if they are those of the branch and the agent remembers no others.
func (s *session) restoredNotice() string {
	const apart = "The files and what you remember are of different moments: later changes may be missing. Look at what is there, and read a file again before you change it."
	switch {
	case s.restore == nil && !s.apart:
		return ""
	case s.restore == nil:
		return "No checkpoint could be restored: the files lack what was not committed. " + apart
	}
	from := s.restore.From
	name := from.ID
	if fork := s.cfg.Restore.Fork; fork != nil && from.Attempt == 0 {
		name = fmt.Sprintf("%s of task %s, of which this task is a fork", fork.Checkpoint, fork.TaskKey)
	}
	parts := []string{fmt.Sprintf("The files are those of checkpoint %s, taken at %s: uncommitted and untracked ones too. Files that Git ignores were not restored.",
		name, from.TakenAt.UTC().Format(time.RFC3339))}
	if s.restore.Renamed != "" {
		parts = append(parts, fmt.Sprintf("The branch %s is now %s, with the same commits.", s.restore.Renamed, s.cfg.Repo.Branch))
	}
	if from.RunningCall != "" {
		parts = append(parts, "A call of "+from.RunningCall+" was in progress; its effects may be in the files.")
	}
	if from.Torn {
		parts = append(parts, "Files changed while the checkpoint was taken, so that they may be of different moments: check them.")
	}
	if from.GitState {
		parts = append(parts, "A Git operation was in progress and still is, for example a merge, a rebase, or the resolution of conflicts.")
	}
	switch {
	case s.apart:
		parts = append(parts, apart)
	case from.FilesOnly && from.Base == 0:
		parts = append(parts, "Files may have changed after what you remember: read a file again before you change it.")
	case len(s.restore.Newer) > 0:
		text := "These files changed after what you remember: " + strings.Join(s.restore.Newer, ", ")
		if s.restore.Others > 0 {
			text += fmt.Sprintf(", and %d more", s.restore.Others)
		}
		parts = append(parts, text+". Read them again before you change them.")
	}
	return strings.Join(append(parts, from.LeftOut...), " ")
}
