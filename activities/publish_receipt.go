package activities

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

// boxLines say what is known of each sandbox by now: the last one is deleted only after its work is out.
func boxLines(story receipt.PullRequestData) string {
	var lines, receipts []string
	for n, one := range story.All() {
		round := ""
		if n > 0 {
			round = fmt.Sprintf(" in round %d", n)
		}
		for _, b := range one.Receipt.Sandboxes {
			lines = append(lines, fmt.Sprintf("- `%s` (%s, attempt %d%s): %s", b.ID, b.Provider, b.Attempt, round, goneWords(b)))
		}
		if one.Receipt.Unverified > 0 {
			receipts = append(receipts, "`omoi receipt "+one.Receipt.TaskID+"`")
		}
	}
	lines, left := lastBoxes(lines)
	if left > 0 {
		lines = append([]string{fmt.Sprintf("- %d before these", left)}, lines...)
	}
	if len(receipts) > 0 {
		lines = append(lines, "", "The receipt of what was not gone yet: "+strings.Join(receipts, ", "))
	}
	return strings.Join(lines, "\n")
}

// lastBoxes are those that a text of bounded size has room for, and how many come before them.
func lastBoxes[T any](all []T) (newest []T, left int) {
	left = max(len(all)-maxPullBoxes, 0)
	return all[left:], left
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
func receiptBlock(work task.Work, story receipt.PullRequestData, files []changedFile) string {
	type box struct {
		ID       string     `json:"id"`
		Task     string     `json:"task_id"`
		Provider string     `json:"provider"`
		Attempt  int        `json:"attempt"`
		State    string     `json:"state"`
		Gone     *time.Time `json:"gone_at"`
		Verified *time.Time `json:"verified_at"`
		Seconds  float64    `json:"seconds_alive"`
	}
	sandboxes, tasks, sum := []box{}, []string{}, story.Sum()
	for _, one := range story.Earlier {
		tasks = append(tasks, one.Task.ID)
	}
	newest, left := lastBoxes(sum.Receipt.Sandboxes)
	for _, b := range newest {
		sandboxes = append(sandboxes, box{b.ID, b.TaskID, b.Provider, b.Attempt, string(b.State), b.GoneAt, b.VerifiedAt, b.SecondsAlive})
	}
	text, err := json.Marshal(map[string]any{
		"version": 1, "task_id": work.TaskID, "ticket_id": work.TicketID, "branch": work.Branch, "base": work.Base, "agent": work.Agent,
		"earlier_task_ids": tasks, "attempts": attemptsOf(work, story), "files": shown(files), "files_changed": len(files),
		"test_command": work.Execution.TestCommand, "tests_passed": story.TestsPassed, "tests_said": story.TestsSaid, "changed_nothing": story.ChangedNothing, "interventions": append([]receipt.Spoken{}, sum.Spoken...),
		"cost_usd": sum.Receipt.CostUSD, "cost_unknown": sum.Receipt.CostUnknown, "sandbox_costs": sum.Receipt.Costs, "sandboxes": sandboxes, "sandboxes_left_out": left,
		"validation_rounds": story.Task.Rounds, "validations": reviewStubs(story.Task.Reviews),
	})
	if err != nil { // numbers and texts only: nothing here can fail to marshal
		return ""
	}
	return "<!-- omoi:receipt " + string(text) + " -->\n"
}
