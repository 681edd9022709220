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
	// resumeWait limits the fetch of an earlier transcript. resumeWait is less than the time in which an agent must
	// report its start.
	resumeWait = time.Minute
	// keepWait limits the upload of the transcript before the outcome.
	keepWait = 5 * time.Second

	resumeName, besideName = "resume.jsonl", "resume-beside.jsonl"
)

// resumed fetches the transcript of an earlier attempt. The error is the reason why this attempt starts a new session.
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
			s.deps.Log.DebugContext(ctx, "fetch files next to the transcript failed", slog.Any("error", err))
		}
	}
	s.resume = &Resume{SessionID: from.SessionID, Path: path, Beside: beside}
	return nil
}

// keepTranscript sends the rest of the transcript, for at most [keepWait] and a quarter of the grace time.
// keepTranscript also works after ctx ends.
func (s *session) keepTranscript(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(keepWait, s.cfg.Grace/4))
	defer cancel()
	if err := s.keep.Finish(ctx); err != nil {
		s.deps.Log.WarnContext(ctx, "send end of transcript failed, the stored transcript lacks its end", slog.Any("error", err))
	}
}

// Recall starts the runtime's own transcript at path with the lines of an earlier attempt's, calls see for each of
// them, and keeps the file as the transcript.
func (e Env) Recall(path string, see func(line []byte)) {
	if _, err := os.Stat(path); e.Resume != nil && errors.Is(err, os.ErrNotExist) {
		same := func(line []byte) []byte { see(line); return line }
		if err := transcript.Recall(e.Resume.Path, path, same); err != nil {
			e.Log.Warn("restore earlier transcript failed", slog.Any("error", err))
		}
	}
	e.Keep(path, e.SessionID)
}
