package scripted

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/uptime"
)

// place is the state of a run on disk, from which a restarted omoi-agent continues.
type place struct {
	continuous.State

	Next       int             `json:"next"` // index of the next step
	Turn       int             `json:"turn"`
	LastOutput string          `json:"last_output"`
	LastSaid   string          `json:"last_said"`
	Message    string          `json:"message"`
	Remembered string          `json:"remembered"` // last text of an earlier attempt
	Usage      Usage           `json:"usage"`
	Tools      int             `json:"tools"`
	ToolErrors int             `json:"tool_errors"`
	Files      map[string]bool `json:"files"`
	Committed  bool            `json:"committed"`
	Pushed     bool            `json:"pushed"`
	Ended      bool            `json:"ended"` // the outcome was reported
}

const placeName = "scripted.json"

func loadPlace(dir string) place {
	p := place{}
	if !statefile.Load(filepath.Join(dir, placeName), &p) {
		p = place{}
	}
	if p.Files == nil {
		p.Files = map[string]bool{}
	}
	p.Since = uptime.Now()
	return p
}

// save writes the state. After a failed write, a restart repeats some steps.
func (r *run) save() {
	r.place.Count()
	_ = statefile.Save(filepath.Join(r.env.Config.Dir, placeName), r.place)
}

// fill replaces the placeholders in a step's texts: the last output, the last message, the last text of an earlier
// attempt, and the feedback.
func (r *run) fill(s Step) Step {
	put := strings.NewReplacer("{{last_output}}", r.place.LastOutput, "{{message}}", r.place.Message,
		"{{remembered}}", r.place.Remembered, "{{feedback}}", r.env.Config.Feedback)
	for _, text := range []*string{&s.Text, &s.Path, &s.Content, &s.Old, &s.New, &s.Command, &s.Output, &s.Feedback} {
		*text = put.Replace(*text)
	}
	free := make(map[string]any, len(s.Free))
	for key, value := range s.Free {
		if text, ok := value.(string); ok {
			value = put.Replace(text)
		}
		free[key] = value
	}
	s.Free = free
	return s
}

// neverReturns reports whether a restarted omoi-agent must not repeat the step.
func (s *Step) neverReturns() bool { return s.Kind == "crash" || s.Kind == "exit" }

// entry is a line of the transcript.
type entry struct {
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Turn      int       `json:"turn"`
	SessionID string    `json:"session_id"`
	Timestamp time.Time `json:"timestamp"`
}

// recall reads a line of an earlier attempt: it continues the count of turns and keeps the last text.
func (r *run) recall(line []byte) {
	var e entry
	if json.Unmarshal(line, &e) != nil {
		return
	}
	r.place.Turn = max(r.place.Turn, e.Turn)
	if e.Type == "say" {
		r.place.Remembered = e.Text
	}
}

func (r *run) note(kind, text string) {
	r.log.Note(entry{Type: kind, Text: text, Turn: r.place.Turn, SessionID: r.env.SessionID, Timestamp: time.Now().UTC()})
}
