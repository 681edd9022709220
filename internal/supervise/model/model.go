package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/omoi-dev/omoi/internal/supervise"
)

// Settings say which model is asked, and how.
type Settings struct {
	APIKey    string
	AuthToken string // instead of the key, as a bearer token
	BaseURL   string // empty: Anthropic's
	Model     string
	MaxTokens int64         // of one answer
	Retries   int           // of a request that the endpoint cannot take now
	Repairs   int           // of an answer that does not have the form
	Timeout   time.Duration // of one judgement with all its requests
	Lines     int           // of the trajectory that are shown
	// Dollars for a million tokens; 0: not known.
	InputPrice, OutputPrice float64
}

// Defaults are those of docs/SUPERVISION.md, without a key.
func Defaults() Settings {
	return Settings{MaxTokens: 1500, Retries: 3, Repairs: 2, Timeout: 2 * time.Minute, Lines: 150}
}

// Model is a language model that judges.
type Model struct {
	settings Settings
	client   *http.Client
	budget   *supervise.Budget
}

var _ supervise.Model = (*Model)(nil)

// New makes a model of settings. Of the environment nothing is taken: its keys are the agents'.
func New(s Settings) (*Model, error) {
	if s.Model == "" || s.APIKey == "" && s.AuthToken == "" {
		return nil, errors.New("a model that judges needs a name and a key; set monitoring.model and anthropic.api_key")
	}
	s.BaseURL = cmp.Or(s.BaseURL, defaultURL)
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a redirect would take the key along
	return &Model{settings: s, client: &http.Client{CheckRedirect: stay}, budget: supervise.NewBudget(0, 0)}, nil
}

// Within is the model, to be asked while the budget lasts; then it fails with [supervise.ErrBudget].
func (m *Model) Within(b *supervise.Budget) *Model {
	bounded := *m
	bounded.budget = b
	return &bounded
}

// Judge asks for an opinion.
func (m *Model) Judge(ctx context.Context, s supervise.Subject, rules supervise.Analysis) (supervise.Analysis, error) {
	question := m.asking(system, prompt(&s, &rules, m.settings.Lines), analysisForm())
	use, err := m.ask(ctx, question, func(answer *reply) error {
		opinion, wrong := opinionOf(answer, &s)
		if wrong == nil {
			rules.Model = opinion
		}
		return wrong
	})
	rules.Use = rules.Use.Plus(use)
	return rules, err
}

// ask asks while the budget lasts.
func (m *Model) ask(ctx context.Context, r request, take func(*reply) error) (use supervise.ModelUse, err error) {
	err = m.budget.Spend(func() (supervise.ModelUse, error) {
		use, err = m.converse(ctx, r, take)
		return use, err
	})
	return use, err
}

// converse asks until take has no objection to the answer. One that does not have the form is sent
// back with what is wrong about it.
func (m *Model) converse(ctx context.Context, r request, take func(*reply) error) (use supervise.ModelUse, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.settings.Timeout)
	defer cancel()
	for tried := 0; ; tried++ {
		answer, err := m.send(ctx, r)
		use.Calls++
		if err != nil {
			return use, refused(err)
		}
		m.bill(&use, answer.Usage)
		wrong := take(answer)
		if wrong == nil {
			return use, nil
		}
		if tried >= m.settings.Repairs {
			return use, fmt.Errorf("its answer has not the form that was asked for: %w", wrong)
		}
		r.Messages = append(r.Messages, message{Role: "assistant", Content: answer.Content}, sentBackTo(r.ToolChoice.Name, answer, wrong))
	}
}

func (m *Model) asking(system, prompt string, form tool) request {
	return request{
		Model: m.settings.Model, MaxTokens: m.settings.MaxTokens,
		System:   []block{{Type: "text", Text: system}},
		Messages: []message{userMessage(block{Type: "text", Text: prompt})},
		Tools:    []tool{form}, ToolChoice: choice{Type: "tool", Name: form.Name},
	}
}

// sentBackTo tells what is wrong about an answer, and which tool takes a better one.
func sentBackTo(tool string, answer *reply, wrong error) message {
	text := fmt.Sprintf("This was not taken: %s. Call %s again with all of it.", wrong, tool)
	for _, call := range answer.calls() {
		return userMessage(block{Type: "tool_result", ToolUseID: call.ID, Content: text, IsError: true})
	}
	return userMessage(block{Type: "text", Text: text})
}

func (m *Model) bill(use *supervise.ModelUse, paid usage) {
	input := paid.Input + paid.CacheRead + paid.CacheCreation
	use.InputTokens += input
	use.OutputTokens += paid.Output
	const million = 1e6
	use.CostUSD += (float64(input)*m.settings.InputPrice + float64(paid.Output)*m.settings.OutputPrice) / million
}

// refused says in short why the endpoint gave no answer; its own words may hold anything.
func refused(err error) error {
	if status, ok := errors.AsType[statusError](err); ok {
		return status
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the model did not answer in time")
	}
	return fmt.Errorf("ask the model: %w", err)
}
