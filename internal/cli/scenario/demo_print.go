package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// say writes a line for people.
func (d *demo) say(format string, args ...any) {
	if d.cfg.JSON {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = fmt.Fprintf(d.cfg.Stdout, format+"\n", args...)
}

// line is one step with its elapsed time.
func (d *demo) line(what, text string) {
	d.say("%s", d.lines.Line(time.Now(), d.cfg.Style.Dim(what), text))
}

func (d *demo) row(name, value string) { d.say("%-13s %s", name, render.Clean(value)) }

// print tells people what happened.
func (d *demo) print(checks []Step) {
	r, style := &d.report, d.cfg.Style
	if plain, pretty := r.printed(); plain != "" {
		d.say("\n%-13s %s   (taken from the program's own output; its second run printed %s)", "Result", style.Bold(plain), pretty)
	} else {
		d.say("\n%-13s %s", "Result", style.Red("none"))
	}
	d.row("Task", r.Task.ID)
	d.row("Status", r.Task.Why)
	d.row("Branch", text(r.Task.Branch))
	d.row("Pull request", text(r.Task.PullURL))
	d.row("Events", r.summary())
	for _, a := range r.Task.Attempts {
		words := []string{strconv.Itoa(a.Number), a.Outcome, string(a.FailureClass), a.Reason}
		d.row("Attempt", strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", "))
	}
	for _, b := range r.Sandboxes {
		d.row("Sandbox", deletionReceipt(b))
	}
	d.row("History", render.Count(r.History, "event")+" in Temporal")
	var times []string
	for _, p := range r.phases() {
		times = append(times, fmt.Sprintf("%s %.2fs", p.Name, p.Seconds))
	}
	d.row("Time", strings.Join(times, ", "))
	if r.Diff != "" {
		d.say("\n%s", style.Bold("Changes"))
	}
	for line := range strings.Lines(r.Diff) {
		d.say("  %s", style.DiffLine(render.Clean(strings.TrimRight(line, "\n"))))
	}
	d.verdict(checks)
	d.next()
}

// summary counts the events by type.
func (r *report) summary() string {
	return fmt.Sprintf("%d: %d started, %s, %s with diffs, %s, %d completed", len(r.Events), r.Events.count(event.AgentStarted),
		render.Count(r.Events.count(event.AgentToolUse), "tool use"), render.Count(r.Events.edits(), "file edit"),
		render.Count(r.Events.count(event.AgentHeartbeat), "heartbeat"), r.Events.count(event.AgentCompleted))
}

// deletionReceipt is the life of a sandbox in one line.
func deletionReceipt(b client.Sandbox) string {
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
	return fmt.Sprintf("%s in %s [%s]: created %s, deleted %s, verified %s, lifetime %.1fs, uncommitted work: %s", render.Short(b.ID), b.Provider,
		strings.Join(b.Isolation, ", "), clock(&b.CreatedAt), clock(b.DeletedAt), clock(b.VerifiedAt), b.SecondsAlive, saved)
}

// verdict prints the checks that failed, and how many passed.
func (d *demo) verdict(checks []Step) {
	d.say("")
	failed, paint := 0, d.cfg.Style.Green
	for _, s := range checks {
		if s.Verdict == Fail {
			failed, paint = failed+1, d.cfg.Style.Red
			d.say("%s %s: %s", d.cfg.Style.Red("FAILED:"), s.Name, render.Clean(s.Detail))
		}
	}
	d.say("%s %d/%d passed", paint("Checks:"), len(checks)-failed, len(checks))
}

// next prints two commands to continue with.
func (d *demo) next() {
	again := d.again()
	d.say("\n%s", d.cfg.Style.Bold("Next:"))
	d.say("  %s dev\n      keeps everything running, and shows this very run in the Temporal Web UI: %s", again, d.report.URL)
	how := "--script " + d.script()
	if d.cfg.Agent == task.AgentClaude {
		how = "--agent claude"
	}
	d.say("  %s run %q %s --repo <path> --wait\n      does the same in your own repository, while omoi dev runs", again, d.report.Program.text(), how)
}

// again is the beginning of a command line that uses the same installation.
func (d *demo) again() string {
	if home, err := os.UserHomeDir(); err == nil && d.cfg.Home == filepath.Join(home, ".omoi") {
		return d.cfg.Program
	}
	return "OMOI_HOME=" + d.cfg.Home + " " + d.cfg.Program
}
