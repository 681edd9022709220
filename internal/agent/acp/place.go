package acp

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/claudesession"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
)

// place is the state of a run on disk, from which a restarted omoi-agent continues.
type place struct {
	continuous.State

	SessionID string    `json:"session_id"` // session of the agent; empty: none yet
	Created   time.Time `json:"created"`    // when the agent created the session
	Summary   string    `json:"summary"`    // of an earlier session that cannot be continued
	Turn      int       `json:"turn"`
	Before    int       `json:"turns_before"` // turns before the current iteration
	Files     int       `json:"files"`        // number of changed files
	Errors    int       `json:"errors"`       // number of failed tool calls
	Model     string    `json:"model"`
	Spent     spent     `json:"spent"`

	path string
}

func (p *place) save() error { return statefile.Save(p.path, p) }

// openPlace loads the state, or creates it for the session of an earlier attempt or for a new one. An error means that
// the earlier session cannot be continued; the state is usable. takes gives the restored file to the program.
func openPlace(env agent.Env, d Dialect, where Place, takes func(path string) error) (*place, error) {
	path := filepath.Join(env.Config.Dir, "acp.json")
	p := &place{path: path}
	if statefile.Load(path, p) || env.Resume == nil {
		return p, nil
	}
	p.SessionID = env.Resume.SessionID // it was created in another minute
	if err := restore(d, where, env.Resume, takes); err != nil {
		p.lose(env.Resume.Path)
		return p, err
	}
	return p, nil
}

// lose forgets a session that cannot be continued, and keeps a summary of it.
func (p *place) lose(path string) {
	p.SessionID, p.Summary = "", summaryOf(path)
	p.Spent.newSession()
}

// restore writes the session of an earlier attempt to where the agent looks for it.
func restore(d Dialect, where Place, from *agent.Resume, takes func(path string) error) error {
	if d.Session == nil {
		return fmt.Errorf("%s cannot continue a session in another sandbox", d.Title)
	}
	if from.SessionID == "" || from.SessionID != filepath.Base(from.SessionID) {
		return fmt.Errorf("the earlier session has an invalid ID")
	}
	_, path := d.Session(where, from.SessionID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create folder of the session: %w", err)
	}
	if err := transcript.Recall(from.Path, path, edited(d, where.Work)); err != nil {
		return err
	}
	return takes(path)
}

// edited returns a function that adapts the lines of a session to another sandbox.
func edited(d Dialect, work string) func(line []byte) []byte {
	move := moved(d, work)
	if d.Correct == nil {
		return move
	}
	correct := d.Correct()
	return func(line []byte) []byte { return correct(move(line)) }
}

// cwd matches the workspace in the sessions of most agents.
var cwd = regexp.MustCompile(`"cwd":"([^"\\]+)"`)

// moved returns a function that replaces the workspace of an earlier attempt, which the first lines of its session name,
// in all lines: some agents continue a session only in the folder that it names, and the model would look for files there.
func moved(d Dialect, work string) func(line []byte) []byte {
	old, lines := "", 0
	return func(line []byte) []byte {
		if lines++; lines <= headLines && old == "" {
			if found := cmp.Or(d.Folder, cwd).FindSubmatch(line); found != nil {
				old = string(found[1])
			}
		}
		if old == "/" || old == work || !filepath.IsAbs(old) {
			return line
		}
		return claudesession.MovePaths(line, old, work)
	}
}

// headLines are the lines of a session that may name its workspace. Later ones may name other folders.
const headLines = 2

// sessionFile returns the file with the agent's session; empty: there is none, or it cannot be moved.
func sessionFile(d Dialect, where Place, id string) string {
	if d.Session == nil || id == "" {
		return ""
	}
	pattern, _ := d.Session(where, id)
	found, _ := filepath.Glob(pattern)
	if len(found) == 0 {
		return ""
	}
	return found[0] // Gemini CLI begins a further file, with the same ID and without what was said, when it loads a session
}

// spent are the tokens and the cost that the agent reports.
type spent struct {
	Input      float64 `json:"input_tokens"`
	Output     float64 `json:"output_tokens"`
	CacheRead  float64 `json:"cache_read_tokens"`
	CacheWrite float64 `json:"cache_write_tokens"`
	Earlier    float64 `json:"earlier_usd"` // cost of earlier sessions
	Session    float64 `json:"session_usd"` // cost of the session, which agents report as a sum
	Priced     bool    `json:"priced"`      // the agent reports costs
}

func (s *spent) use(u usage) {
	s.Input, s.Output = s.Input+max(u.Input, 0), s.Output+max(u.Output, 0)
	s.CacheRead, s.CacheWrite = s.CacheRead+max(u.CacheRead, 0), s.CacheWrite+max(u.CacheWrite, 0)
}

func (s *spent) newSession() { s.Earlier, s.Session = s.Earlier+s.Session, 0 }

func (s *spent) usd() float64 { return s.Earlier + s.Session }

// data returns tokens and cost as the data of an event. A cost that no agent reported is unknown, not zero.
func (s *spent) data() map[string]any {
	data := s.tokens()
	data["cost_usd"] = any(s.usd())
	if !s.Priced {
		data["cost_usd"], data["cost_unknown"] = nil, true
	}
	return data
}

func (s *spent) tokens() map[string]any {
	return usage{s.Input, s.Output, s.CacheRead, s.CacheWrite}.data()
}

// since returns the tokens after an earlier sum.
func (u usage) since(sum usage) usage {
	return usage{u.Input - sum.Input, u.Output - sum.Output, u.CacheRead - sum.CacheRead, u.CacheWrite - sum.CacheWrite}
}

// data returns tokens as the data of an event.
func (u usage) data() map[string]any {
	return map[string]any{
		"input_tokens": int64(u.Input), "output_tokens": int64(u.Output), "cache_read_tokens": int64(u.CacheRead), "cache_write_tokens": int64(u.CacheWrite),
	}
}
