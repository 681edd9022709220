package taskcmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/agent/claudesession"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// sessionForm is what the ID of a session may be: it comes from a sandbox, names a file, and is part of a command to copy.
var sessionForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$`)

// takeSession stores the session of the checkpoint where Claude Code looks for sessions of the worktree, or sets the reason why
// there is none.
func (w *worktree) takeSession(ctx context.Context, api *client.Client) error {
	if w.t.Agent != task.AgentClaude {
		w.without = "only sessions of the agent claude can be taken, and the agent is " + w.t.Agent + "."
		return nil
	}
	known, err := api.Transcripts(ctx, w.t.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(known, func(one client.TranscriptInfo) bool { return one.RunID == w.from.RunID })
	switch {
	case i < 0 || known[i].RemovedAt != nil || known[i].SessionID == "":
		w.without = "its transcript is not stored."
		return nil
	case !sessionForm.MatchString(known[i].SessionID):
		w.without = "its ID is not that of a session of Claude Code."
		return nil
	}
	text, beside := filepath.Join(w.dir, "session.jsonl"), filepath.Join(w.dir, "beside.jsonl")
	if err := w.download(ctx, api, w.from.RunID, text); err != nil {
		return err
	}
	if err := w.download(ctx, api, w.from.RunID+transcript.Beside, beside); err != nil && task.CodeOf(err) != task.CodeNotFound {
		return err
	}
	defer func() { _, _ = os.Remove(text), os.Remove(beside) }()
	if err := cut(text, w.from.Transcript-known[i].CutBytes); err != nil {
		return err
	}
	w.Session = known[i].SessionID
	restored, err := claudesession.Restore(text, beside, w.sessionPath(), w.folder)
	if err != nil {
		return err
	}
	if restored.Lost != nil {
		w.note("Outputs and sub-agents of the session are missing: %s", render.OneLine(restored.Lost.Error(), 300))
	}
	if restored.Old == "" {
		w.note("The beginning of the session is not stored, so that the session names files by their paths in the sandbox.")
	}
	w.Sum, err = sumOf(w.sessionPath())
	return err
}

// sessionPath returns the file in which Claude Code on this machine continues the session.
func (w *worktree) sessionPath() string {
	config := cmp.Or(w.Env("CLAUDE_CONFIG_DIR"), filepath.Join(w.Env("HOME"), ".claude"))
	return claudesession.Path(config, w.folder, w.Session)
}

// download writes a transcript to a file; after an error the file does not exist.
func (w *worktree) download(ctx context.Context, api *client.Client, runID, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("store the session: %w", err)
	}
	err = api.WriteTranscript(ctx, w.t.ID, runID, f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

// cut removes what follows the position of a checkpoint; 0 or less: unknown.
func cut(path string, length int64) error {
	info, err := os.Stat(path)
	if err == nil && length > 0 && info.Size() > length {
		err = os.Truncate(path, length)
	}
	if err != nil {
		return fmt.Errorf("cut the session: %w", err)
	}
	return nil
}

// sumOf returns a hash of a file; empty if the file does not exist.
func sumOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	switch {
	case os.IsNotExist(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the session: %w", err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}
