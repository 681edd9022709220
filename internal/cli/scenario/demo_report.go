package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// report is all that the demo saw.
type report struct {
	Program   program
	Begun     time.Time // of the command
	Ready     time.Time // services are up
	URL       string    // of the task's workflow in the Temporal Web UI
	Task      client.Task
	Events    history
	Sandboxes []client.Sandbox
	Diff      string
	Source    string // the program, as the branch of the remote holds it
	Pull      bool   // there is a pull request record
	History   int64
}

func check(name, detail string, holds bool) Step {
	if holds {
		return Step{Name: name, Verdict: Pass, Detail: detail}
	}
	return Step{Name: name, Verdict: Fail, Detail: detail}
}

// failures are the names of steps that failed.
func failures(steps []Step) (names []string) {
	for _, s := range steps {
		if s.Verdict == Fail {
			names = append(names, s.Name)
		}
	}
	return names
}

// checks holds everything that the demo tells to the facts. Where a model works, what it does on the way is its own affair.
func (r *report) checks() []Step {
	free := r.Task.Agent == task.AgentClaude
	plain, pretty := r.printed()
	started, tools, beats, completed := r.Events.count(event.AgentStarted), r.Events.count(event.AgentToolUse),
		r.Events.count(event.AgentHeartbeat), r.Events.count(event.AgentCompleted)
	edits := r.Events.edits()
	events, whole := r.sequence()
	steps := []Step{
		check("the task is completed", string(r.Task.Status), r.Task.Status == task.StatusCompleted),
		check("the program printed C(50,25)", plain, plain == expected()),
		check("and again with thousands separators", pretty, pretty == grouped(expected())),
		check("the branch of the remote holds the program", text(r.Task.Branch), r.Source != "" && (free || strings.Contains(r.Source, r.Program.pretty))),
		check("the diff shows it", fmt.Sprintf("%d lines", strings.Count(r.Diff, "\n")), r.Diff != "" && (free && strings.Contains(r.Diff, r.Program.file) || strings.Contains(r.Diff, "+"+r.Program.pretty))),
		check("there is a pull request record", text(r.Task.PullURL), r.Pull),
		check("event sequence", events, whole),
		check("3 or more tool uses", strconv.Itoa(tools), tools >= 3 || free && tools > 0),
		check("2 file edits with diffs", strconv.Itoa(edits), edits == 2 || free && edits > 0),
		check("1 completed", strconv.Itoa(completed), completed == 1),
		check("every sandbox verified deleted", r.receipt(), len(r.Sandboxes) > 0 && allVerified(r.Sandboxes) && (free || len(r.Sandboxes) == 1)),
		check("a history in Temporal", render.Count(r.History, "event"), r.History > 0),
	}
	if free {
		return steps
	}
	return append(steps, check("1 started", strconv.Itoa(started), started == 1), check("heartbeats", strconv.Itoa(beats), beats > 0),
		check("1 attempt", strconv.Itoa(len(r.Task.Attempts)), len(r.Task.Attempts) == 1))
}

func allVerified(boxes []client.Sandbox) bool {
	there, unverified := standing(boxes)
	return there+unverified == 0
}

// printed are the numbers that the program printed in its two runs. A model runs it as it likes.
func (r *report) printed() (plain, pretty string) {
	if r.Task.Agent == task.AgentClaude {
		for _, result := range r.Events.printed(func(string) bool { return true }) {
			if strings.Contains(result, expected()) {
				plain = expected()
			}
			if strings.Contains(result, grouped(expected())) {
				pretty = grouped(expected())
			}
		}
		return plain, pretty
	}
	results := r.Events.printed(func(command string) bool { return command == r.Program.run })
	if len(results) != 2 {
		return "", ""
	}
	return lastLine(results[0]), lastLine(results[1])
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndex(s, "\n")+1:])
}

// sequence says whether the events are 1..n without a gap in every attempt, and all that the server knows of.
func (r *report) sequence() (text string, whole bool) {
	next := map[int]int64{}
	for _, e := range r.Events {
		next[e.Attempt]++
		if e.Sequence != next[e.Attempt] {
			return fmt.Sprintf("expected %d, got %d in attempt %d", next[e.Attempt], e.Sequence, e.Attempt), false
		}
	}
	whole = len(r.Events) > 0
	for _, a := range r.Task.Attempts {
		whole = whole && next[a.Number] == a.Events
		text = fmt.Sprintf("expected 1..%d, got 1..%d", a.Events, next[a.Number])
	}
	return text, whole
}

func (r *report) receipt() string {
	var parts []string
	for _, b := range r.Sandboxes {
		parts = append(parts, fmt.Sprintf("%s in %s, %s, lifetime %.1fs", render.Short(b.ID), b.Provider, b.State, b.SecondsAlive))
	}
	return strings.Join(parts, "; ")
}

// phase is a part of the demo's time.
type phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// phases tell where the time went, by the times of database and events.
func (r *report) phases() []phase {
	var started, ended, gone, verified time.Time
	for _, e := range r.Events {
		switch e.Type {
		case event.AgentStarted:
			started = e.CreatedAt
		case event.AgentCompleted:
			ended = e.CreatedAt
		}
	}
	for _, b := range r.Sandboxes {
		gone, verified = at(b.GoneAt), at(b.VerifiedAt)
	}
	var phases []phase
	last := r.Begun
	for _, mark := range []struct {
		name string
		at   time.Time
	}{
		{"startup", r.Ready},
		{"accept", r.Task.CreatedAt},
		{"queue, branch and sandbox", started},
		{"agent", ended},
		{"publish", at(r.Task.CompletedAt)},
		{"delete", gone},
		{"verify", verified},
	} {
		if !mark.at.IsZero() && !last.IsZero() {
			phases = append(phases, phase{mark.name, max(mark.at.Sub(last).Seconds(), 0)})
		}
		last = mark.at
	}
	return phases
}

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func (r *report) json(w io.Writer, checks []Step) error {
	plain, pretty := r.printed()
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		TaskID    string           `json:"task_id"`
		Agent     string           `json:"agent"`
		Result    string           `json:"result"`
		Pretty    string           `json:"result_with_separators"`
		Branch    string           `json:"branch_name"`
		Pull      string           `json:"pull_request_url"`
		Events    int              `json:"events"`
		History   int64            `json:"history_events"`
		Sandboxes []client.Sandbox `json:"sandboxes"`
		Phases    []phase          `json:"phases"`
		Checks    []Step           `json:"checks"`
		Diff      string           `json:"diff"`
	}{
		r.Task.ID, r.Task.Agent, plain, pretty, text(r.Task.Branch), text(r.Task.PullURL), len(r.Events), r.History,
		r.Sandboxes, r.phases(), checks, r.Diff,
	})
}
