package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// Trajectory is what an agent did, and what a person says of it.
type Trajectory struct {
	Name   string          `json:"name"`
	Label  supervise.Label `json:"label"`
	Reason string          `json:"reason"`         // why it has this label
	Twin   string          `json:"twin,omitempty"` // of a duplicate: the other one's name
	// Apart is true of work that is like that of others in words, and another piece of work.
	Apart bool `json:"apart,omitempty"`

	Agent string `json:"agent"`
	// Speed is by how much slower time is replayed than it was recorded; heartbeats came the same
	// factor more often than in real work.
	Speed float64 `json:"speed,omitempty"`
	Task  Told    `json:"task"`

	Events []Event `json:"-"`
}

// Told is what was known of the task.
type Told struct {
	Title       string          `json:"title"`
	Description string          `json:"description"`
	TaskType    string          `json:"task_type,omitempty"`
	Mode        string          `json:"mode,omitempty"`
	Phase       string          `json:"phase,omitempty"`
	Attempt     int             `json:"attempt"`
	BudgetUSD   float64         `json:"budget_usd,omitempty"`
	Execution   json.RawMessage `json:"execution_config,omitempty"` // without what the agent was to do
}

// Event is one stored event.
type Event struct {
	Sequence int64           `json:"n"`
	MS       int64           `json:"ms"` // since the first event, at the speed of recording
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data,omitempty"`
}

const extension = ".jsonl"

// Load reads all trajectories of a folder, by name.
func Load(dir fs.FS) ([]Trajectory, error) {
	names, err := fs.Glob(dir, "*"+extension)
	if err != nil {
		return nil, fmt.Errorf("list trajectories: %w", err)
	}
	list := make([]Trajectory, 0, len(names))
	for _, name := range names {
		raw, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read trajectory %s: %w", name, err)
		}
		t, err := Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("read trajectory %s: %w", name, err)
		}
		t.Name = strings.TrimSuffix(path.Base(name), extension)
		list = append(list, t)
	}
	return list, nil
}

// Parse reads one file.
func Parse(raw []byte) (Trajectory, error) {
	var t Trajectory
	for n, line := range lines(raw) {
		var err error
		if n == 0 {
			err = json.Unmarshal(line, &t)
		} else {
			t.Events = append(t.Events, Event{})
			err = json.Unmarshal(line, &t.Events[n-1])
		}
		if err != nil {
			return t, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return t, t.check()
}

// lines returns the lines of a file, each of which is a JSON value.
func lines(raw []byte) [][]byte {
	return bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
}

// Labels are those that a trajectory may have.
func Labels() []supervise.Label { return append(supervise.Labels(), supervise.LabelDuplicate) }

func (t *Trajectory) check() error {
	switch {
	case !slices.Contains(Labels(), t.Label):
		return fmt.Errorf("%q is no label", t.Label)
	case strings.TrimSpace(t.Reason) == "":
		return fmt.Errorf("it has no reason")
	case len(t.Events) == 0:
		return fmt.Errorf("it has no events")
	case (t.Label == supervise.LabelDuplicate) != (t.Twin != ""):
		return fmt.Errorf("a duplicate needs a twin, and nothing else has one")
	}
	return nil
}

// Bytes is the file's content.
func (t *Trajectory) Bytes() ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(t); err != nil {
		return nil, fmt.Errorf("write trajectory: %w", err)
	}
	for i := range t.Events {
		if err := out.Encode(&t.Events[i]); err != nil {
			return nil, fmt.Errorf("write event %d: %w", t.Events[i].Sequence, err)
		}
	}
	return b.Bytes(), nil
}

// window is how many events the guardian looks at, by default: of heartbeats only the newest.
const window = 200

func seen(rows []event.Event) []event.Event {
	var list []event.Event
	beat := false
	for _, row := range slices.Backward(rows) {
		isBeat := event.ClassOf(row.Type) == event.ClassHeartbeat
		if isBeat && beat {
			continue
		}
		beat = beat || isBeat
		if list = append(list, row); len(list) > window {
			break
		}
	}
	return list
}

// rows are the events as they would be stored at the speed of real work.
func (t *Trajectory) rows() []event.Event {
	speed := max(t.Speed, 1)
	rows := make([]event.Event, len(t.Events))
	for i, e := range t.Events {
		rows[i] = event.Event{
			Sequence: e.Sequence, Type: e.Type, Data: slowed(e.Data, speed),
			CreatedAt: time.Time{}.Add(time.Duration(float64(e.MS) * speed * float64(time.Millisecond))),
		}
	}
	return rows
}

// slowed stretches the durations that events tell.
func slowed(data json.RawMessage, speed float64) json.RawMessage {
	if speed == 1 || !bytes.Contains(data, []byte(`_ms":`)) {
		return data
	}
	var v map[string]any
	if json.Unmarshal(data, &v) != nil {
		return data
	}
	stretch(v, speed)
	raw, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return raw
}

func stretch(v map[string]any, speed float64) {
	for key, value := range v {
		switch value := value.(type) {
		case float64:
			if key == "tool_age_ms" || key == "duration_ms" {
				v[key] = value * speed
			}
		case map[string]any:
			stretch(value, speed)
		}
	}
}

// said are the messages of people: who recorded the trajectory vouches for them.
func said(rows []event.Event) []supervise.Said {
	var list []supervise.Said
	for _, row := range rows {
		if m := event.Read[event.Delivery](row.Data); row.Type == event.AgentMessageInjected && m.Kind == "user_message" {
			list = append(list, supervise.Said{ID: m.MessageID, Text: m.Content})
		}
	}
	return list
}

// subject is the attempt as the guardian sees it after its first n events.
func (t *Trajectory) subject(rows []event.Event, n int) supervise.Subject {
	var x task.Execution
	_ = json.Unmarshal(t.Task.Execution, &x) // checked when the task was made
	s := supervise.Subject{
		TaskID: t.Name, SandboxID: t.Name, Attempt: t.Task.Attempt, Title: t.Task.Title, Description: t.Task.Description,
		TaskType: t.Task.TaskType, Mode: t.Task.Mode, Phase: t.Task.Phase, TestCommand: x.TestCommand,
		WaitsForMessages: x.Waits(), BudgetUSD: t.Task.BudgetUSD,
		Limits: supervise.LimitsOf(t.Task.Title+"\n"+t.Task.Description, t.Task.Execution),
	}
	s.Said = said(rows[:n])
	now := rows[n-1].CreatedAt
	s.Age = now.Sub(rows[0].CreatedAt)
	s.Read(seen(rows[:n]), now)
	return s
}
