package notice

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/task"
)

// Message is what a notice says.
type Message struct {
	Title     string      `json:"title"`
	Text      string      `json:"text"` // what happened
	Next      string      `json:"next"` // the command of the next step
	URL       string      `json:"url"`  // of the task on the page
	TaskID    string      `json:"task_id,omitempty"`
	TaskKey   string      `json:"task_key,omitempty"`
	ProjectID string      `json:"project_id,omitempty"`
	Status    task.Status `json:"status,omitempty"`
}

// Facts are what the database notes of a task for a notice, in the transaction of the change.
type Facts struct {
	TaskID      string             `json:"task_id"`
	Key         string             `json:"key"`
	Title       string             `json:"title"`
	ProjectID   string             `json:"project_id"`
	Status      task.Status        `json:"status"`
	Blocked     task.BlockedReason `json:"blocked"`
	Class       task.FailureClass  `json:"class"`
	EndReason   *task.Reason       `json:"end_reason"`
	QueueReason *task.Reason       `json:"queue_reason"`
	Error       *string            `json:"error"`
	Attempt     int                `json:"attempt"`
	Provider    string             `json:"provider"`
	PullRequest *string            `json:"pull_request"`
	Question    *Question          `json:"question"` // nil: the agent asks nothing
	Reason      *task.Reason       `json:"reason"`   // the budget that is nearly used up; nil: none
	Alert       string             `json:"alert"`    // empty: the notice is about a task
	At          time.Time          `json:"at"`
}

// Question is what the agent of a task asks.
type Question struct {
	Text    string   `json:"text"`
	Options []string `json:"options"`
}

// ParseFacts reads the stored body of a notice.
func ParseFacts(body string) (f Facts, err error) { return f, json.Unmarshal([]byte(body), &f) }

// Message returns the notice of an event. Values with the form of a credential are removed.
func (f Facts) Message(event, pageURL string) Message {
	pageURL = strings.TrimRight(pageURL, "/")
	if event == Alert {
		return Message{Title: "omoi needs its operator", Text: clean(f.Alert, mostText), Next: "omoi sandbox list", URL: pageURL + "/fleet"}
	}
	text, next := f.explained(event)
	return Message{
		Title: clean(f.Key+" "+headline(event)+": "+f.Title, mostTitle), Text: clean(text, mostText), Next: next,
		URL: pageURL + "/tasks/" + f.TaskID, TaskID: f.TaskID, TaskKey: f.Key, ProjectID: f.ProjectID, Status: f.Status,
	}
}

func headline(event string) string {
	switch event {
	case Started:
		return "started"
	case NeedsYou:
		return "needs you"
	case Done:
		return "is done"
	case Failed:
		return "failed"
	case BudgetNear:
		return "has used most of a budget"
	case LimitReached:
		return "waits at a limit"
	}
	return event
}

// explained returns what happened and the command of the next step.
func (f Facts) explained(event string) (text, next string) {
	if event == NeedsYou && f.Question != nil {
		return f.Question.said(), "omoi answer " + f.Key + ` "<answer>"`
	}
	if event == NeedsYou && f.Status == task.StatusRunning {
		return "The agent waits for a message.", "omoi send " + f.Key + ` "<text>"`
	}
	if event == BudgetNear {
		return "Four fifths of the budget are used: " + explain.Amount(task.Deref(f.Reason)) + ". At the limit its work is saved, and the task waits.", "omoi budget " + f.Key
	}
	if event == Started {
		return "The first attempt is running in a sandbox of the provider " + f.Provider + ".", "omoi logs -f " + f.Key
	}
	e := explain.Explain(explain.WhyFacts{Task: f.task(), At: f.At})
	if event == Done && f.PullRequest != nil {
		e.Why = strings.TrimSpace(e.Why + "\nPull request: " + redact.URL(*f.PullRequest))
	}
	return e.Why, e.Next
}

// said returns a question with its options, which stay also if the text is too long for a notice.
func (q Question) said() string {
	text := "The agent asks: " + clean(q.Text, mostQuestion)
	if len(q.Options) > 0 {
		text += "\nProposed answers: " + strings.Join(q.Options, "; ")
	}
	return text
}

// task returns the task as far as the facts tell. Commands name a task by its key.
func (f Facts) task() task.Task {
	return task.Task{
		ID: f.Key, Key: f.Key, ProjectID: f.ProjectID, Title: f.Title, Status: f.Status, Blocked: f.Blocked, FailureClass: f.Class,
		EndReason: task.Deref(f.EndReason), QueueReason: task.Deref(f.QueueReason), ErrorMessage: f.Error, AttemptCount: f.Attempt, Provider: f.Provider,
		PullURL: f.PullRequest,
	}
}

const (
	mostTitle    = 200
	mostQuestion = 1000
	mostText     = 1500
)

// clean returns a text without what has the form of a credential, cut to most characters.
func clean(text string, most int) string {
	runes := []rune(strings.TrimSpace(strings.ToValidUTF8(redact.Scrub(text, nil), "?")))
	if len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return string(runes)
}
