package claude

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
)

// place is the state of a run on disk, from which a restarted agent continues.
type place struct {
	SessionID string `json:"session_id"` // of the program
	Begun     bool   `json:"begun"`      // the program has a transcript of it
	Turn      int    `json:"turn"`
	Spent     spent  `json:"spent"`
	Files     int    `json:"files"` // that were changed
	Errors    int    `json:"errors"`

	TurnsBefore int `json:"turns_before"` // the round that is under way

	continuous.State

	path string
}

const placeName = "claude.json"

// openPlace reads it, or makes one: for the session of an earlier attempt if there is one.
func openPlace(env agent.Env) (*place, error) {
	path := filepath.Join(env.Config.Dir, placeName)
	p := &place{path: path}
	if statefile.Load(path, p) && p.SessionID != "" { // else nobody can read it whole, as what another version has written
		p.Begun = exists(transcriptPath(env, p.SessionID))
		return p, nil
	}
	p = &place{SessionID: sessionID(env.SessionID), path: path}
	if env.Resume == nil {
		p.Begun = exists(transcriptPath(env, p.SessionID)) // of a place that nobody can read any more
		return p, p.save()
	}
	if err := restore(env, env.Resume); err != nil {
		return p, errors.Join(err, p.save())
	}
	p.SessionID, p.Begun = env.Resume.SessionID, true
	return p, p.save()
}

func (p *place) save() error { return statefile.Save(p.path, p) }

// sessionID makes the run's own id the UUID that the program asks for.
func sessionID(run string) string {
	hex := strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789abcdef", r) {
			return r
		}
		return -1
	}, strings.ToLower(run))
	hex = (hex + strings.Repeat("0", 32))[:32]
	return hex[:8] + "-" + hex[8:12] + "-4" + hex[13:16] + "-8" + hex[17:20] + "-" + hex[20:]
}

// restore puts a transcript where the program looks for it from this workspace, with the paths of this workspace.
func restore(env agent.Env, from *agent.Resume) error {
	if from.SessionID == "" || from.SessionID != filepath.Base(from.SessionID) {
		return fmt.Errorf("the earlier session has no usable name")
	}
	target := transcriptPath(env, from.SessionID)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return fmt.Errorf("create transcript folder: %w", err)
	}
	moved := mover{work: workDir(env), project: filepath.Dir(target)}
	if err := transcript.Recall(from.Path, target, moved.edit); err != nil {
		return err
	}
	if err := transcript.Unpack(from.Beside, strings.TrimSuffix(target, ".jsonl"), moved.file); err != nil {
		env.Log.Warn("restore files beside the transcript failed", slog.Any("error", err))
	}
	return nil
}
