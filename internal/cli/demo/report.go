package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// report is all that the demo saw.
type report struct {
	Program   program
	Begun     time.Time // of the command
	Ready     time.Time // services are up
	URL       string    // of the task's workflow in the Temporal Web UI
	Task      client.Task
	Events    []client.Event
	Sandboxes []client.Sandbox
	Diff      string
	Source    string // the program, as the branch of the remote holds it
	Pull      bool   // there is a pull request record
	History   int64
}

// fact is something that the demo claims, and whether it is so.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Holds bool   `json:"holds"`
}

// facts checks everything that the demo tells.
func (r *report) facts() []fact {
	if r.Task.Agent == task.AgentClaude {
		return r.claudesFacts()
	}
	plain, pretty := r.outputs()
	started, tools, edits, beats, completed := r.count(task.EventAgentStarted), r.count(task.EventAgentToolUse),
		r.edits(), r.count(task.EventAgentHeartbeat), r.count(task.EventAgentCompleted)
	events, whole := r.sequence()
	return []fact{
		{"the task is completed", string(r.Task.Status), r.Task.Status == task.StatusCompleted},
		{"the program printed C(50,25)", plain, plain == expected()},
		{"and again with thousands separators", pretty, pretty == grouped(expected())},
		{"the branch of the remote holds the program", text(r.Task.Branch), strings.Contains(r.Source, r.Program.pretty)},
		{"the diff shows it", fmt.Sprintf("%d lines", strings.Count(r.Diff, "\n")), strings.Contains(r.Diff, "+"+r.Program.pretty)},
		{"there is a pull request record", text(r.Task.PullURL), r.Pull},
		{"events are complete", events, whole},
		{"1 started", strconv.Itoa(started), started == 1},
		{"3 or more tool uses", strconv.Itoa(tools), tools >= 3},
		{"2 file edits with diffs", strconv.Itoa(edits), edits == 2},
		{"heartbeats", strconv.Itoa(beats), beats > 0},
		{"1 completed", strconv.Itoa(completed), completed == 1},
		{"1 attempt", strconv.Itoa(len(r.Task.Attempts)), len(r.Task.Attempts) == 1},
		{"1 sandbox, verified gone", r.receipt(), len(r.Sandboxes) == 1 && allVerified(r.Sandboxes)},
		{"a history in Temporal", render.Count(r.History, "event"), r.History > 0},
	}
}

// outputs are the last lines that the program printed in its two runs.
func (r *report) outputs() (plain, pretty string) {
	runs := map[string]bool{}
	var printed []string
	for _, e := range r.Events {
		var d struct {
			ID    string `json:"tool_use_id"`
			Input struct {
				Command string `json:"command"`
			} `json:"input"`
			Result string `json:"result"`
		}
		if json.Unmarshal(e.Data, &d) != nil {
			continue
		}
		switch e.Type {
		case task.EventAgentToolUse:
			runs[d.ID] = d.Input.Command == r.Program.run
		case "agent.tool_result":
			if runs[d.ID] {
				printed = append(printed, lastLine(d.Result))
			}
		}
	}
	if len(printed) != 2 {
		return "", ""
	}
	return printed[0], printed[1]
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func (r *report) count(kind string) (n int) {
	for _, e := range r.Events {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// edits counts changes of files that came with a diff.
func (r *report) edits() (n int) {
	for _, e := range r.Events {
		var d struct {
			Diff string `json:"diff_preview"`
		}
		if e.Type == task.EventAgentFileEdited && json.Unmarshal(e.Data, &d) == nil && strings.Contains(d.Diff, "\n+") {
			n++
		}
	}
	return n
}

// sequence says whether the events are 1..n without a gap in every attempt, and all that
// the ledger knows of.
func (r *report) sequence() (text string, whole bool) {
	next := map[int]int64{}
	for _, e := range r.Events {
		next[e.Attempt]++
		if e.Sequence != next[e.Attempt] {
			return fmt.Sprintf("%d follows %d in attempt %d", e.Sequence, next[e.Attempt]-1, e.Attempt), false
		}
	}
	whole = len(r.Events) > 0
	for _, a := range r.Task.Attempts {
		whole = whole && next[a.Number] == a.Events
		text = fmt.Sprintf("1..%d of %d", next[a.Number], a.Events)
	}
	return text, whole
}

func (r *report) receipt() string {
	var parts []string
	for _, b := range r.Sandboxes {
		parts = append(parts, fmt.Sprintf("%s in %s, %s, lived %.1fs", render.Short(b.ID), b.Provider, b.State, b.SecondsAlive))
	}
	return strings.Join(parts, "; ")
}

// phase is a stretch of the demo's time.
type phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// phases tell where the time went, by the stamps of database and events.
func (r *report) phases() []phase {
	var started, ended, gone, verified time.Time
	for _, e := range r.Events {
		switch e.Type {
		case task.EventAgentStarted:
			started = e.CreatedAt
		case task.EventAgentCompleted:
			ended = e.CreatedAt
		}
	}
	for _, b := range r.Sandboxes {
		gone, verified = at(b.GoneAt), at(b.VerifiedAt)
	}
	marks := []struct {
		name string
		at   time.Time
	}{
		{"", r.Begun},
		{"services", r.Ready},
		{"accept", r.Task.CreatedAt},
		{"queue, branch and sandbox", started},
		{"agent at work", ended},
		{"publish", at(r.Task.CompletedAt)},
		{"sandbox gone", gone},
		{"gone again", verified},
	}
	var phases []phase
	for i := 1; i < len(marks); i++ {
		if !marks[i].at.IsZero() && !marks[i-1].at.IsZero() {
			phases = append(phases, phase{marks[i].name, max(marks[i].at.Sub(marks[i-1].at).Seconds(), 0)})
		}
	}
	return phases
}

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func text(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

// hasPull looks for the record of the pull request in the remote itself.
func (p place) hasPull(t client.Task) bool {
	if t.PullURL == nil || t.PullNumber == nil {
		return false
	}
	_, err := os.Stat(filepath.Join(p.remote, "omoi", "pulls", fmt.Sprintf("%d.json", *t.PullNumber)))
	return err == nil
}
