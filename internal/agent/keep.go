package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/transcript"
)

const (
	// resumeWait is how long an earlier transcript is waited for: less than the time within
	// which an agent must have said that it started.
	resumeWait = time.Minute
	// keepWait is how long an outcome waits for its transcript, at most.
	keepWait = 5 * time.Second

	resumeName, besideName = "resume.jsonl", "resume-beside.jsonl"
)

// resumed fetches the transcript of an earlier attempt. It never fails the run: the error says why this attempt starts
// a new session.
func (s *session) resumed(ctx context.Context) error {
	from, path, beside := s.cfg.Resume, filepath.Join(s.cfg.Dir, resumeName), filepath.Join(s.cfg.Dir, besideName)
	if from == nil || (s.marks.Began && !s.marks.Resumes) {
		return nil
	}
	if _, err := os.Stat(path); err != nil || !s.marks.Began {
		limit, cancel := context.WithTimeout(ctx, resumeWait)
		defer cancel()
		if err := transcript.Fetch(limit, s.line, from.RunID, path); err != nil {
			return err
		}
		if err := transcript.FetchBeside(limit, s.line, from.RunID, beside); err != nil {
			s.deps.Log.DebugContext(ctx, "fetch files beside the transcript failed", slog.Any("error", err))
		}
	}
	s.resume = &Resume{SessionID: from.SessionID, Path: path, Beside: beside}
	return nil
}

// keepTranscript sends what is left of the transcript, for a bounded time. It also works
// after the program was asked to stop, whose grace time it leaves most of.
func (s *session) keepTranscript(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(keepWait, s.cfg.Grace/4))
	defer cancel()
	if err := s.keep.Finish(ctx); err != nil {
		s.deps.Log.WarnContext(ctx, "send end of transcript failed, the stored transcript lacks its end", slog.Any("error", err))
	}
}

// Recall begins a runtime's own transcript at path, behind that of an earlier attempt, each of whose lines see gets, and keeps it.
func (e Env) Recall(path string, see func(line []byte)) {
	if _, err := os.Stat(path); e.Resume != nil && errors.Is(err, os.ErrNotExist) {
		same := func(line []byte) []byte { see(line); return line }
		if err := transcript.Recall(e.Resume.Path, path, same); err != nil {
			e.Log.Warn("restore earlier transcript failed", slog.Any("error", err))
		}
	}
	e.Keep(path, e.SessionID)
}
