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
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// Trajectory is a recorded attempt with its label.
type Trajectory struct {
	Name   string          `json:"name"`
	Label  supervise.Label `json:"label"`
	Reason string          `json:"reason"`         // why the label is correct
	Twin   string          `json:"twin,omitempty"` // of a duplicate: name of the other trajectory
	// Apart is true if the work is similar in words to other work, and different.
	Apart bool `json:"apart,omitempty"`
	// Mutator is the name of the mutator that added the fault. Empty: the run was recorded as it is.
	Mutator string `json:"mutator,omitempty"`

	Agent string `json:"agent"`
	// Speed is the factor by which a replay is slower than the recording; 0 and 1: the same. Agents were recorded with
	// heartbeats as many times as frequent as in real work.
	Speed float64 `json:"speed,omitempty"`
	Task  Told    `json:"task"`

	Events []Event `json:"-"`
	// Raw is the content of the file. Nil: the trajectory was not read from one.
	Raw []byte `json:"-"`
}

// Told is the task as the guardian knows it.
type Told struct {
	Title       string          `json:"title"`
	Description string          `json:"description"`
	TaskType    string          `json:"task_type,omitempty"`
	Mode        string          `json:"mode,omitempty"`
	Phase       string          `json:"phase,omitempty"`
	Attempt     int             `json:"attempt"`
	BudgetUSD   float64         `json:"budget_usd,omitempty"`
	Execution   json.RawMessage `json:"execution_config,omitempty"` // without the agent's instructions
	// Contract replaces that of Execution; nil: none was stored.
	Contract *taskcontract.InForce `json:"contract,omitempty"`
}

func (t *Told) contract() taskcontract.InForce {
	if t.Contract != nil {
		return *t.Contract
	}
	return taskcontract.Of(nil, t.Execution, nil)
}

// Event is one stored event.
type Event struct {
	Sequence int64           `json:"n"`
	MS       int64           `json:"ms"` // milliseconds since the first event, at recording speed
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data,omitempty"`
}

const extension = ".jsonl"

// Load reads all trajectories of a folder, in order of their names.
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
	t := Trajectory{Raw: raw}
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

// lines returns the lines of a file; each is a JSON value.
func lines(raw []byte) [][]byte {
	return bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
}

// Kind returns the label of a recorded trajectory. All trajectories of one mutator are one kind, because a rule that knows
// the mutator finds all of them.
func (t *Trajectory) Kind() string {
	if t.Mutator != "" {
		return "mutator " + t.Mutator
	}
	return string(t.Label)
}

// Labels returns the labels that a trajectory can have.
func Labels() []supervise.Label { return append(supervise.Labels(), supervise.LabelDuplicate) }

func (t *Trajectory) check() error {
	switch {
	case !slices.Contains(Labels(), t.Label):
		return fmt.Errorf("unknown label %q", t.Label)
	case strings.TrimSpace(t.Reason) == "":
		return fmt.Errorf("the trajectory has no reason")
	case len(t.Events) == 0:
		return fmt.Errorf("the trajectory has no events")
	case (t.Label == supervise.LabelDuplicate) != (t.Twin != ""):
		return fmt.Errorf("a twin is required for the label duplicate, and for no other label")
	}
	return nil
}

// Bytes returns the content of the file.
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

// window is the number of events other than heartbeats that the guardian reads by default.
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

// rows returns the events with times and durations at real speed.
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

// slowed multiplies the durations in the data of an event.
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

// allowance is the part of an allowed call that names its refusal.
type allowance struct {
	Refusal string `json:"refusal"`
}

// said returns the messages of users. Recorded messages and allowances count as confirmed.
func said(rows []event.Event) []supervise.Said {
	var list []supervise.Said
	for _, row := range rows {
		if m := event.Read[event.Delivery](row.Data); row.Type == event.AgentMessageInjected && m.Kind == "user_message" {
			list = append(list, supervise.Said{ID: m.MessageID, Text: m.Content})
		}
		if row.Type == event.AgentToolAllowed {
			id := event.Read[allowance](row.Data).Refusal
			list = append(list, supervise.Said{ID: id, Allows: id})
		}
	}
	return list
}

// subject returns the attempt as the guardian reads it after its first n events.
func (t *Trajectory) subject(rows []event.Event, n int) supervise.Subject {
	var x task.Execution
	_ = json.Unmarshal(t.Task.Execution, &x) // Of has checked the value
	s := supervise.Subject{
		TaskID: t.Name, SandboxID: t.Name, Attempt: t.Task.Attempt, Title: t.Task.Title, Description: t.Task.Description,
		TaskType: t.Task.TaskType, Mode: t.Task.Mode, Phase: t.Task.Phase, TestCommand: x.TestCommand,
		WaitsForMessages: x.Waits(), BudgetUSD: t.Task.BudgetUSD,
		Contract: t.Task.contract(),
	}
	s.Said = said(rows[:n])
	now := rows[n-1].CreatedAt
	s.Age = now.Sub(rows[0].CreatedAt)
	s.Read(seen(rows[:n]), now)
	return s
}
