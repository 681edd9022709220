package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func (r *report) json(w io.Writer, facts []fact) error {
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
		Facts     []fact           `json:"facts"`
		Diff      string           `json:"diff"`
	}{
		r.Task.ID, r.Task.Agent, plain, pretty, text(r.Task.Branch), text(r.Task.PullURL), len(r.Events), r.History,
		r.Sandboxes, r.phases(), facts, r.Diff,
	})
}

// print tells people what happened.
func (d *demo) print(r *report, facts []fact) {
	if plain, pretty := r.printed(); plain != "" {
		d.say("\n%-13s %s   (taken from the program's own output; its second run printed %s)", "Result", d.Style.Bold(plain), pretty)
	} else {
		d.say("\n%-13s %s", "Result", d.Style.Red("none"))
	}
	d.row("Task", r.Task.ID)
	d.row("Status", r.Task.Why)
	d.row("Branch", text(r.Task.Branch))
	d.row("Pull request", text(r.Task.PullURL))
	d.row("Events", r.told())
	for _, a := range r.Task.Attempts {
		words := []string{strconv.Itoa(a.Number), a.Outcome, string(a.FailureClass), a.Reason}
		d.row("Attempt", strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", "))
	}
	for _, b := range r.Sandboxes {
		d.row("Sandbox", sandboxReceipt(b))
	}
	d.row("History", render.Count(r.History, "event")+" in Temporal")
	d.row("Time", times(r.phases()))
	if r.Diff != "" {
		d.say("\n%s", d.Style.Bold("What it changed"))
	}
	for line := range strings.Lines(r.Diff) {
		d.say("  %s", d.Style.DiffLine(render.Clean(strings.TrimRight(line, "\n"))))
	}
	d.verdict(facts)
	d.next(r)
}

// next are the two lines with which a person may go on.
func (d *demo) next(r *report) {
	again := d.again()
	d.say("\n%s", d.Style.Bold("Next"))
	d.say("  %s dev\n      keeps everything running, and shows this very run in the Temporal Web UI: %s", again, r.URL)
	how := "--script " + d.place.script
	if r.Task.Agent == task.AgentClaude {
		how = "--agent claude"
	}
	d.say("  %s run %q %s --repo <path> --wait\n      does the same in your own repository, while omoi dev runs", again, r.Program.text(), how)
}

// told counts the events by what they are.
func (r *report) told() string {
	sequence, whole := r.sequence()
	if whole {
		sequence += " complete"
	}
	return fmt.Sprintf("%s: %d started, %s, %s with diffs, %s, %d completed", sequence, r.count(task.EventAgentStarted),
		render.Count(r.count(task.EventAgentToolUse), "tool use"), render.Count(r.edits(), "file edit"),
		render.Count(r.count(task.EventAgentHeartbeat), "heartbeat"), r.count(task.EventAgentCompleted))
}

func (d *demo) row(name, value string) { d.say("%-13s %s", name, render.Clean(value)) }

// sandboxReceipt is the life of a sandbox in one line.
func sandboxReceipt(b client.Sandbox) string {
	clock := func(t *time.Time) string {
		if t == nil {
			return "never"
		}
		return t.Local().Format("15:04:05.000")
	}
	saved := "none"
	if b.Salvage != nil {
		saved = b.Salvage.Kind
	}
	return fmt.Sprintf("%s in %s [%s]: created %s, deleted %s, verified gone %s, lived %.1fs, uncommitted work: %s", render.Short(b.ID), b.Provider,
		strings.Join(b.Isolation, ", "), clock(&b.CreatedAt), clock(b.DeletedAt), clock(b.VerifiedAt), b.SecondsAlive, saved)
}

func times(phases []phase) string {
	parts := make([]string, 0, len(phases))
	for _, p := range phases {
		parts = append(parts, fmt.Sprintf("%s %.2fs", p.Name, p.Seconds))
	}
	return strings.Join(parts, ", ")
}

func (d *demo) verdict(facts []fact) {
	holds := 0
	d.say("")
	for _, f := range facts {
		if f.Holds {
			holds++
			continue
		}
		d.say("%s %s: %s", d.Style.Red("NOT SO:"), f.Name, render.Clean(f.Value))
	}
	word := d.Style.Green("checked")
	if holds < len(facts) {
		word = d.Style.Red("checked")
	}
	d.say("%s: %d of %d claims hold", word, holds, len(facts))
}
