package supervise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/shellcmd"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

const namedFiles = 3

// part is the accepted or the proposed part of the task contract, and how a finding names it.
type part struct {
	taskcontract.Contract

	name       string
	confidence float64
}

// parts returns the accepted part first. What is only proposed leads to a message at most, since it binds nobody.
func (t *history) parts() []part {
	const accepted, proposed = 0.9, 0.65
	return []part{{t.Contract.Accepted, "the task contract", accepted}, {t.Contract.Proposed, "the proposed task contract", proposed}}
}

// testsMayChange reports whether the task contract allows to change tests.
func (t *history) testsMayChange() bool {
	known := cmp.Or(t.Contract.Accepted.TestsMayChange, t.Contract.Proposed.TestsMayChange)
	return known != nil && *known
}

// outside matches edits of files that the task contract does not allow. Reverted edits and files that tools write do not
// count.
func outside(t *history, s Settings) *Finding {
	for _, c := range t.parts() {
		if len(c.AllowedPaths) == 0 {
			continue
		}
		which := "outside of what " + c.name + " allows (" + strings.Join(c.AllowedPaths, ", ") + ")"
		if f := edits(t, s, c.confidence, which, func(e *Event) bool { return !taskcontract.Covers(c.AllowedPaths, e.Path) }); f != nil {
			return f
		}
	}
	return nil
}

// constraint matches edits and commands that the task contract forbids.
func constraint(t *history, s Settings) *Finding {
	for _, c := range t.parts() {
		if f := cmp.Or(forbidden(t, c), edits(t, s, c.confidence, "that "+c.name+" forbids to change", func(e *Event) bool { return c.forbids(t, e) })); f != nil {
			return f
		}
	}
	return nil
}

// forbids reports whether the contract forbids an edit. The agent may add tests, and change its own.
func (c part) forbids(t *history, e *Event) bool {
	return c.ForbidsChange(e.Path, func() bool { return e.Edit.judges && !t.created(e.Path) }) != ""
}

// created reports whether the agent created a file.
func (t *history) created(file string) bool {
	return slices.ContainsFunc(t.Events, func(e Event) bool { return e.Edit != nil && e.Path == file && e.Edit.Change == "created" })
}

// edits matches edits that are wrong. A validator may change files to try the work.
func edits(t *history, s Settings, confidence float64, which string, wrong func(*Event) bool) *Finding {
	if t.Mode == task.ModeValidation {
		return nil
	}
	var files []string
	var seen []int64
	for i := range t.Events {
		e := &t.Events[i]
		if e.Edit == nil || t.allowed[e.Call] || !t.left(e.Path) || !wrong(e) || taskcontract.Covers(s.Ignored, e.Path) {
			continue
		}
		seen = append(seen, e.Sequence)
		if !slices.Contains(files, e.Path) {
			files = append(files, e.Path)
		}
	}
	if len(files) == 0 {
		return nil
	}
	list := strings.Join(files[:min(len(files), namedFiles)], ", ")
	return &Finding{
		Why:        fmt.Sprintf("It has changed %s %s: %s.", task.Count(len(files), "file"), which, list),
		Advice:     fmt.Sprintf("You have changed files %s: %s. Undo that, or say why the task cannot be done without it.", which, list),
		Confidence: confidence, Evidence: seen[max(0, len(seen)-6):],
	}
}

// neverRan reports whether omoi refused a call before it ran. A result without an error contradicts that.
func (t *history) neverRan(st *step) bool {
	return t.refused[st.use.Call] && (st.result == nil || st.result.Failed)
}

// forbidden matches the newest command that the contract forbids.
func forbidden(t *history, c part) *Finding {
	for _, st := range slices.Backward(t.steps) {
		name := shellcmd.OneOf(st.use.commands, c.ForbiddenCommands...)
		if name == "" || t.allowed[st.use.Call] || t.neverRan(st) {
			continue
		}
		return &Finding{
			Why:        fmt.Sprintf("It ran %q, which %s forbids.", name, c.name),
			Advice:     fmt.Sprintf("Do not run %q again: %s forbids it. Say what it has changed.", name, c.name),
			Confidence: c.confidence, Evidence: evidence([]*step{st}, 1),
		}
	}
	return nil
}
