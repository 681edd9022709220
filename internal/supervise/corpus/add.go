package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// Note is the label that a user gives to a trajectory.
type Note struct {
	Name, Reason, Twin string
	Label              supervise.Label
	Apart              bool
	Attempt            int   // 0: the newest attempt with events
	Until              int64 // last sequence; 0: all events
	Speed              float64
	Contract           *taskcontract.InForce // nil: only what the execution config holds
}

// Of returns the trajectory of a task's stored events. An error is returned if no events match, or if the label is
// incomplete.
func Of(t *task.Task, events []event.Event, note Note) (Trajectory, error) {
	events = attempt(events, &note)
	if len(events) == 0 {
		return Trajectory{}, errors.New("the attempt has no such events. Next: list them with omoi logs")
	}
	out := Trajectory{
		Name: note.Name, Label: note.Label, Reason: note.Reason, Twin: note.Twin, Apart: note.Apart, Agent: t.Agent, Speed: note.Speed,
		Task: Told{
			Title: t.Title, Description: t.Description, TaskType: t.TaskType, Mode: t.Mode, Phase: t.PhaseID,
			Attempt: note.Attempt, BudgetUSD: t.Budget.USD, Execution: limitsOnly(t.Execution), Contract: note.Contract,
		},
	}
	clean := cleaner(t, events)
	for i := range events {
		e := &events[i]
		data, err := slim(e.Data)
		if err != nil {
			return out, fmt.Errorf("read event %d: %w", e.Sequence, err)
		}
		out.Events = append(out.Events, Event{
			Sequence: e.Sequence, MS: e.CreatedAt.Sub(events[0].CreatedAt).Milliseconds(), Type: e.Type, Data: clean(data),
		})
	}
	return out, out.check()
}

// attempt returns the events of one attempt.
func attempt(events []event.Event, note *Note) []event.Event {
	if note.Attempt == 0 {
		for _, e := range events {
			note.Attempt = max(note.Attempt, e.Attempt)
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool {
		return e.Attempt != note.Attempt || note.Until > 0 && e.Sequence > note.Until
	})
}

// limitsOnly returns execution_config without the keys that no analysis reads.
func limitsOnly(execution json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(execution, &all) != nil {
		return nil
	}
	for _, name := range []string{"script", "command", "setup", "env", "credentials", "force_execute"} {
		delete(all, name)
	}
	raw, err := json.Marshal(all)
	if err != nil || len(all) == 0 {
		return nil
	}
	return raw
}

// longest is the maximum bytes of a string in the data of an event.
const longest = 6000

var dropped = []string{ //nolint:gochecknoglobals // a table
	"transcript_b64", "transcript_path", "session_id", "message_id", "timestamp", "metadata", "task_id", "sandbox_id", "ticket_id", "agent_id",
	"tool_input", "original_event_type", "spec_id",
}

// slim removes fields that no analysis reads, and cuts long strings.
func slim(data json.RawMessage) (json.RawMessage, error) {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	for _, name := range dropped {
		delete(v, name)
	}
	if v["full_diff"] != nil {
		delete(v, "diff_preview")
	}
	shorten(v)
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func shorten(v map[string]any) {
	for key, value := range v {
		switch value := value.(type) {
		case nil:
			delete(v, key)
		case string:
			if len(value) > longest {
				v[key] = strings.ToValidUTF8(value[:longest], "")
			}
		case map[string]any:
			shorten(value)
		}
	}
}

var folder = regexp.MustCompile(`/[A-Za-z0-9_./-]*?/(?:workspace|work)(/|\b)`)

// cleaner returns a function that replaces IDs and folders of the recording installation.
func cleaner(t *task.Task, events []event.Event) func(json.RawMessage) json.RawMessage {
	pairs := []string{t.ID, "task"}
	for i := range events {
		if id := events[i].SandboxID; id != "" && !slices.Contains(pairs, id) {
			pairs = append(pairs, id, "sandbox")
		}
	}
	ids := strings.NewReplacer(pairs...)
	return func(data json.RawMessage) json.RawMessage {
		return json.RawMessage(folder.ReplaceAllString(ids.Replace(string(data)), "/workspace$1"))
	}
}

var fileName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{2,60}$`)

// Save writes a trajectory into a new file of dir and returns its path. Save returns an error if the file exists.
func Save(dir string, t *Trajectory) (string, error) {
	if !fileName.MatchString(t.Name) {
		return "", fmt.Errorf("invalid name %q of a trajectory: use 3 to 61 lowercase letters, digits and hyphens", t.Name)
	}
	raw, err := t.Bytes()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, t.Name+extension)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // it is to be read
	if err != nil {
		return "", fmt.Errorf("write trajectory: %w", err)
	}
	_, err = f.Write(raw)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", fmt.Errorf("write trajectory: %w", err)
	}
	return path, nil
}
