package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// introduced says who works.
func (d *demo) introduced() string {
	if d.Agent == task.AgentClaude {
		return "The agent is Claude Code, with the model that it is set to. That costs what the model costs."
	}
	return "The agent is scripted: it follows a list of steps and has no model. Everything else is real."
}

// execution is what the task is told beside its text. The scripted agent gets its script; Claude
// Code gets nothing, and one run is enough for a task as small as this.
func (d *demo) execution(p program) (json.RawMessage, error) {
	if d.Agent == task.AgentClaude {
		return json.RawMessage(`{"continuous":false}`), nil
	}
	script, err := p.script()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(d.place.script, script, 0o600); err != nil {
		return nil, fmt.Errorf("keep the script: %w", err)
	}
	return json.Marshal(map[string]json.RawMessage{"script": script})
}

// printed are the numbers that the program printed.
func (r *report) printed() (plain, pretty string) {
	if r.Task.Agent != task.AgentClaude {
		return r.outputs()
	}
	for _, e := range r.Events {
		var d struct {
			Result string `json:"result"`
		}
		if e.Type != "agent.tool_result" || json.Unmarshal(e.Data, &d) != nil {
			continue
		}
		if strings.Contains(d.Result, expected()) {
			plain = expected()
		}
		if strings.Contains(d.Result, grouped(expected())) {
			pretty = grouped(expected())
		}
	}
	return plain, pretty
}

// claudesFacts are what holds whichever way a model goes about the task.
func (r *report) claudesFacts() []fact {
	plain, pretty := r.printed()
	events, whole := r.sequence()
	tools, completed := r.count(task.EventAgentToolUse), r.count(task.EventAgentCompleted)
	return []fact{
		{"the task is completed", string(r.Task.Status), r.Task.Status == task.StatusCompleted},
		{"the program printed C(50,25)", plain, plain == expected()},
		{"and again with thousands separators", pretty, pretty == grouped(expected())},
		{"the branch of the remote holds the program", text(r.Task.Branch), r.Source != ""},
		{"the diff shows it", fmt.Sprintf("%d lines", strings.Count(r.Diff, "\n")), strings.Contains(r.Diff, r.Program.file)},
		{"there is a pull request record", text(r.Task.PullURL), r.Pull},
		{"events are complete", events, whole},
		{"tools were used", strconv.Itoa(tools), tools > 0},
		{"file edits came with diffs", strconv.Itoa(r.edits()), r.edits() > 0},
		{"1 completed", strconv.Itoa(completed), completed == 1},
		{"every sandbox is verified gone", r.receipt(), len(r.Sandboxes) > 0 && allVerified(r.Sandboxes)},
		{"a history in Temporal", strconv.FormatInt(r.History, 10) + " events", r.History > 0},
	}
}
