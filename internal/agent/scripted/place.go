package scripted

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/uptime"
)

// place is where a run stands; it is kept on disk, so that a restarted agent goes on there.
type place struct {
	Next       int             `json:"next"` // index of the next step
	Turn       int             `json:"turn"`
	LastOutput string          `json:"last_output"`
	LastSaid   string          `json:"last_said"`
	Message    string          `json:"message"`
	Remembered string          `json:"remembered"` // what an earlier attempt said last
	Usage      Usage           `json:"usage"`
	Tools      int             `json:"tools"`
	ToolErrors int             `json:"tool_errors"`
	Files      map[string]bool `json:"files"`
	Committed  bool            `json:"committed"`
	Pushed     bool            `json:"pushed"`
	Iteration  int             `json:"iteration"`
	Passed     int             `json:"passed"` // successful iterations
	Errors     int             `json:"errors"`
	Signals    int             `json:"signals"`
	WorkedMS   int64           `json:"worked_ms"` // by earlier processes
	Ended      bool            `json:"ended"`     // the outcome was reported
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
	return p
}

// worked is how long the run has taken so far, whatever the wall clock says.
func (r *run) worked() time.Duration {
	return time.Duration(r.place.WorkedMS)*time.Millisecond + uptime.Now() - r.began
}

// save keeps the place; a disk that refuses only means that a restart would begin earlier.
func (r *run) save() {
	now := r.place
	now.WorkedMS = r.worked().Milliseconds()
	_ = statefile.Save(filepath.Join(r.env.Config.Dir, placeName), now)
}

// fill puts the last output, the last message and what was said of the attempt before into a step's texts.
func (r *run) fill(s Step) Step {
	put := strings.NewReplacer("{{last_output}}", r.place.LastOutput, "{{message}}", r.place.Message,
		"{{remembered}}", r.place.Remembered, "{{feedback}}", r.env.Config.Feedback)
	for _, text := range []*string{&s.Path, &s.Content, &s.Old, &s.New, &s.Command, &s.Output} {
		*text = put.Replace(*text)
	}
	if s.Kind != "crash" {
		s.Text = put.Replace(s.Text)
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

// neverReturns is true of steps after which a restarted agent must not try them again.
func (s *Step) neverReturns() bool {
	switch s.Kind {
	case "crash", "exit":
		return true
	}
	return false
}
