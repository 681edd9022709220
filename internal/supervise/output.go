package supervise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/redact"
)

// Line is one line of the trajectory that a model is shown.
type Line struct {
	Event int64  `json:"event"`
	AgoS  int64  `json:"ago_s"`
	Kind  string `json:"kind"` // said, thought, did, answer, error, edit, tests, told, stop or end
	Text  string `json:"text"`
}

// Output returns the newest events as lines, oldest first, up to most of them. Events without content for readers,
// such as bills, are skipped.
func Output(s Subject, most int) []Line {
	lines := make([]Line, 0, min(most, len(s.Events)))
	for i := len(s.Events) - 1; i >= 0 && len(lines) < most; i-- {
		if l, ok := lineOf(&s.Events[i]); ok {
			lines = append(lines, l)
		}
	}
	slices.Reverse(lines)
	return lines
}

func lineOf(e *Event) (Line, bool) {
	l := Line{Event: e.Sequence, AgoS: int64(e.Age.Seconds()), Text: strings.TrimSpace(e.Text)}
	switch {
	case e.Type == event.AgentMessage:
		l.Kind = "said"
	case e.Type == event.AgentThinking:
		l.Kind = "thought"
	case e.Tool != "":
		l.Kind, l.Text = "did", strings.TrimSpace(e.Tool+" "+l.Text)
	case e.Edit != nil:
		l.Kind, l.Text = "edit", editLine(e)
	case e.Sender != "":
		l.Kind, l.Text = "told", e.Sender+": "+l.Text
	case event.Is(e.Type, event.Completion):
		l.Kind = "end"
	case e.Failed, reportsFailure(e.Type):
		l.Kind = "error"
	case e.Type == event.AgentToolResult, e.Type == event.AgentUserToolResult:
		l.Kind = "answer"
	case e.Stop != "" && !slices.Contains(usual, e.Stop):
		l.Kind = "stop"
	default:
		return l, false
	}
	if e.Tests != nil && e.Type != event.AgentToolCompleted {
		l.Kind, l.Text = "tests", testLine(e)
	}
	if e.Stop != "" {
		l.Text = strings.TrimSpace(e.Stop + ". " + l.Text)
	}
	return l, l.Text != "" || l.Kind == "end"
}

// usual are the reasons for which a model ends each message.
var usual = []string{"end_turn", "tool_use", "stop_sequence"} //nolint:gochecknoglobals // a table

func editLine(e *Event) string {
	return fmt.Sprintf("%s: %s, +%d -%d", e.Path, e.Edit.Change, e.Edit.Added, e.Edit.Removed)
}

func testLine(e *Event) string {
	if e.Tests.Passed {
		return "passed. " + e.Text
	}
	return fmt.Sprintf("failed (%d). %s", e.Tests.Failing, e.Text)
}

// Signs returns the events of an attempt as evidence, newest first, without secrets and heartbeats.
func Signs(taskID string, attempt int, events []event.Event) []explain.Evidence {
	var s Subject
	at := map[int64]event.Event{}
	for _, e := range events {
		at[e.Sequence] = e
	}
	s.Read(events, time.Time{}) // ages are not used
	names := map[string]string{}
	out := make([]explain.Evidence, len(s.Events))
	for i := range s.Events {
		e := &s.Events[i]
		if e.Call != "" && e.Tool != "" {
			names[e.Call] = e.Tool
		}
		row := at[e.Sequence]
		out[len(out)-1-i] = explain.Evidence{
			TaskID: taskID, Attempt: attempt, SandboxID: row.SandboxID, Sequence: e.Sequence, Type: e.Type, CreatedAt: row.CreatedAt,
			Message: signText(e, names[e.Call]), Failure: failure(e),
		}
	}
	return out
}

func failure(e *Event) bool {
	if event.Is(e.Type, event.Completion) {
		return !e.Success
	}
	return e.Failed || reportsFailure(e.Type)
}

// reportsFailure reports whether events of a type report a failure, of the agent or of a part of its work.
func reportsFailure(eventType string) bool {
	return event.Is(eventType, event.Failure) || eventType == event.AgentStreamError || eventType == event.IterationFailed
}

// signText returns an event as one line of at most shortText bytes, without secrets.
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
