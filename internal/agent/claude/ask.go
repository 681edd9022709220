package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
)

// askUser is the variable that says what the program may ask a user.
const askUser = "ASK_USER"

// Values of ASK_USER. The default is askQuestions.
const (
	askNever       = "never"
	askQuestions   = "questions"   // calls of AskUserQuestion
	askPermissions = "permissions" // those, and calls that need a permission
)

// askTool is the program's tool for questions.
const askTool = "AskUserQuestion"

// checkAsk returns an error for a value of ASK_USER that is not one of the three.
func checkAsk(vars variables) error {
	if v := vars[askUser]; v != "" && !slices.Contains([]string{askNever, askQuestions, askPermissions}, v) {
		return task.Invalid("env", "Invalid value %q of %s: expected never, questions or permissions.", v, askUser)
	}
	return nil
}

// asks returns what the program may ask. A validator asks nothing: its verdict is awaited.
func asks(env agent.Env, vars variables) string {
	if env.Config.Validation != nil || env.Config.Mode == task.ModeValidation {
		return askNever
	}
	return cmp.Or(vars[askUser], askQuestions)
}

// request is a control request of the program: it asks whether a tool may be called.
type request struct {
	Subtype string          `json:"subtype"`
	Tool    string          `json:"tool_name"`
	Input   json.RawMessage `json:"input"`
}

// questions is the input of AskUserQuestion.
type questions struct {
	Questions []struct {
		Question string `json:"question"`
		Options  []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"options"`
	} `json:"questions"`
}

// pending is a control request that waits for a user.
type pending struct {
	id string
	request

	asked questions
}

// requested answers a control request at once, or reports it as a question to a user.
func (t *talk) requested(l *line) {
	p := &pending{id: l.RequestID, request: *l.Request}
	may := asks(t.Env, t.Vars)
	switch {
	case p.Subtype != "can_use_tool":
		return
	case p.Tool == askTool && may != askNever && json.Unmarshal(p.Input, &p.asked) == nil && len(p.asked.Questions) > 0,
		p.Tool != askTool && may == askPermissions:
		t.asking = append(t.asking, p)
		if len(t.asking) == 1 {
			t.ask()
		}
	default:
		t.decide(p, false, "This tool is not allowed in this task, and no user can allow it. Go on without it.")
	}
}

// ask reports the first pending request.
func (t *talk) ask() { t.Env.Asks(t.asking[0].question()) }

// question returns the request as a question to a user. The questions of one call have one answer.
func (p *pending) question() agent.Question {
	if p.Tool != askTool {
		return agent.Question{
			Kind: task.QuestionPermission, Options: []string{allow, deny},
			Text: fmt.Sprintf("May I call %s with this input? %s", p.Tool, textcut.First(string(p.Input), resultBytes)),
		}
	}
	all, q := p.asked.Questions, agent.Question{}
	for n, one := range all {
		if len(all) > 1 {
			q.Text += fmt.Sprintf("%d. ", n+1)
		}
		q.Text += one.Question + "\n"
		for _, o := range one.Options {
			q.Text += "- " + o.Label + ": " + o.Description + "\n"
			if len(all) == 1 {
				q.Options = append(q.Options, o.Label)
			}
		}
	}
	q.Text = strings.TrimSpace(q.Text)
	return q
}

// Answers that a permission request proposes.
const (
	allow = "Allow"
	deny  = "Deny"
)

// answered answers the pending request with a message, and reports whether the message is an answer.
func (t *talk) answered(m inbox.Message) bool {
	if len(t.asking) == 0 || !agent.Answers(m) || m.Allows != "" {
		return false
	}
	p := t.asking[0]
	t.asking = t.asking[1:]
	yes := p.Tool == askTool || strings.EqualFold(strings.TrimSpace(m.Content), allow)
	t.decide(p, yes, m.Content)
	t.Env.Inbox.Used(m.ID)
	t.rec.replies(m.ID)
	t.Env.Doing.SetStatus(reporter.StatusRunning)
	if len(t.asking) > 0 {
		t.ask()
	}
	return true
}

// decide allows or refuses a call. said is the answer to questions, or the reason of a refusal.
func (t *talk) decide(p *pending, yes bool, said string) {
	answer := map[string]any{"behavior": "deny", "message": said}
	if yes {
		answer = map[string]any{"behavior": "allow", "updatedInput": p.answeredInput(said)}
	}
	err := t.prog.send(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": p.id, "response": answer,
	}})
	if err != nil {
		t.Env.Log.Warn("write answer to claude code failed, the next attempt repeats it", slog.Any("error", err))
	}
}

// answeredInput returns the input of the call, with the answer to each question.
func (p *pending) answeredInput(said string) any {
	if p.Tool != askTool {
		return p.Input
	}
	input, answers := map[string]any{}, map[string]string{}
	_ = json.Unmarshal(p.Input, &input) // it was decoded before
	for _, q := range p.asked.Questions {
		answers[q.Question] = said
	}
	input["answers"] = answers
	return input
}
