package supervise

import (
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/redact"
)

// Signs tells of the events of a task's attempt in short, newest first, without secrets and heartbeats.
func Signs(taskID string, attempt int, events []event.Event) []explain.Evidence {
	var s Subject
	at := map[int64]event.Event{}
	for _, e := range events {
		at[e.Sequence] = e
	}
	s.Read(events, time.Time{}) // ages do not matter here
	names := map[string]string{}
	out := make([]explain.Evidence, len(s.Events))
	for i := range s.Events {
		e := &s.Events[i]
		if e.Call != "" && e.Tool != "" {
			names[e.Call] = e.Tool
		}
		row := at[e.Sequence]
		out[len(out)-1-i] = explain.Evidence{
			TaskID: taskID, Attempt: attempt, SandboxID: row.SandboxID, Sequence: e.Sequence, Type: e.Type, At: row.CreatedAt,
			Says: signText(e, names[e.Call]), Failure: failure(e),
		}
	}
	return out
}

func failure(e *Event) bool {
	switch e.Type {
	case event.AgentError, event.AgentFailed, event.AgentStreamError, event.IterationFailed:
		return true
	case event.AgentCompleted, event.ContinuousCompleted:
		return !e.Success
	}
	return e.Failed
}

// signText is one line of at most as many characters as a list shows.
func signText(e *Event, tool string) string {
	parts := []string{e.Tool, e.Command, e.Path}
	if text := e.Text; text != "" || e.Error != "" {
		if e.Failed && e.Error != "" {
			text = e.Error
		}
		parts = []string{text}
		if e.Failed && tool != "" {
			parts = []string{tool + ":", text}
		}
	}
	line := strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
	return cut(redact.Scrub(line, nil), shortText)
}
