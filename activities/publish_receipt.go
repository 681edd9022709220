package activities

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// boxLines say what is known of each sandbox by now: the last one is deleted only after its work is out.
func boxLines(receipt task.SandboxReceipt) string {
	var lines []string
	for _, b := range receipt.Sandboxes {
		lines = append(lines, fmt.Sprintf("- `%s` (%s, attempt %d): %s", b.ID, b.Provider, b.Attempt, goneWords(b)))
	}
	if receipt.Unverified > 0 {
		lines = append(lines, "", "The receipt of what was not gone yet: `omoi receipt "+receipt.TaskID+"`")
	}
	return strings.Join(lines, "\n")
}

func goneWords(b task.Sandbox) string {
	switch {
	case !b.Machine():
		return "no machine of omoi's"
	case b.VerifiedAt != nil:
		return "deleted, verified gone at " + b.VerifiedAt.UTC().Format(time.RFC3339)
	case b.State == task.SandboxLost:
		return "lost with its machine"
	case b.GoneAt != nil:
		return "deleted, seen to be gone at " + b.GoneAt.UTC().Format(time.RFC3339)
	}
	return "there when this was written; it is deleted now that its work is out"
}

// receiptBlock is what machines read: JSON in a comment. A comment cannot end in it, since JSON is written without ">".
func receiptBlock(work task.Work, story task.Story, files []changedFile) string {
	type box struct {
		ID       string     `json:"id"`
		Provider string     `json:"provider"`
		Attempt  int        `json:"attempt"`
		State    string     `json:"state"`
		Gone     *time.Time `json:"gone_at"`
		Verified *time.Time `json:"verified_at"`
		Seconds  float64    `json:"seconds_alive"`
	}
	boxes := []box{}
	for _, b := range story.Receipt.Sandboxes {
		boxes = append(boxes, box{b.ID, b.Provider, b.Attempt, string(b.State), b.GoneAt, b.VerifiedAt, b.SecondsAlive})
	}
	text, err := json.Marshal(map[string]any{
		"version": 1, "task_id": work.TaskID, "ticket_id": work.TicketID, "branch": work.Branch, "base": work.Base, "agent": work.Agent,
		"attempts": work.Attempt, "files": shown(files), "files_changed": len(files),
		"test_command": work.Execution.TestCommand, "tests_passed": story.TestsPassed, "interventions": story.Spoken,
		"cost_usd": story.Receipt.CostUSD, "sandbox_costs": story.Receipt.Costs, "sandboxes": boxes,
		"validation_rounds": story.Task.Rounds, "validations": reviewStubs(story.Task.Reviews),
	})
	if err != nil { // numbers and texts only: nothing here can fail to marshal
		return ""
	}
	return "<!-- omoi:receipt " + string(text) + " -->\n"
}
