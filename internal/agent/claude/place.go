package claude

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/claudesession"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
)

// place is the state of a run on disk, from which a restarted omoi-agent continues.
type place struct {
	SessionID string `json:"session_id"` // session ID of the program
	Begun     bool   `json:"begun"`      // the program has a transcript of the session
	Turn      int    `json:"turn"`
	Spent     spent  `json:"spent"`
	Files     int    `json:"files"` // number of changed files
	Errors    int    `json:"errors"`

	TurnsBefore int `json:"turns_before"` // turns before the current iteration

	continuous.State

	path string
}

const placeName = "claude.json"

// openPlace loads the state, or creates it for the session of an earlier attempt or for a new one. An error means that
// the earlier session cannot be resumed; the state is usable.
func openPlace(env agent.Env) (*place, error) {
	path := filepath.Join(env.Config.Dir, placeName)
	p := &place{path: path}
	if statefile.Load(path, p) && p.SessionID != "" { // otherwise unreadable, for example written by another version
		p.Begun = exists(transcriptPath(env, p.SessionID))
		return p, nil
	}
	p = &place{SessionID: sessionID(env.SessionID), path: path}
	if env.Resume == nil {
		p.Begun = exists(transcriptPath(env, p.SessionID)) // true if the state file was unreadable
		return p, p.save()
	}
	if err := restore(env, env.Resume); err != nil {
		return p, errors.Join(err, p.save())
	}
	p.SessionID, p.Begun = env.Resume.SessionID, true
	return p, p.save()
}

func (p *place) save() error { return statefile.Save(p.path, p) }

// sessionID returns the run's ID as a UUID, which the program requires.
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

// restore writes a transcript to the program's path for this workspace, with the paths of this workspace.
func restore(env agent.Env, from *agent.Resume) error {
	if from.SessionID == "" || from.SessionID != filepath.Base(from.SessionID) {
		return fmt.Errorf("the earlier session has an invalid ID")
	}
	session, err := claudesession.Restore(from.Path, from.Beside, transcriptPath(env, from.SessionID), env.Config.Workspace)
	if session.Lost != nil {
		env.Log.Warn("restore files next to the transcript failed", slog.Any("error", session.Lost))
	}
	return err
}
