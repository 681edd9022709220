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

// Settings configures a [Model]. Model and one of APIKey and AuthToken are required.
type Settings struct {
	APIKey    string
	AuthToken string // bearer token, used if APIKey is empty
	BaseURL   string // empty: https://api.anthropic.com
	Model     string
	MaxTokens int64         // of one answer
	Retries   int           // maximum retries of a failed request
	Repairs   int           // maximum requests to correct an invalid answer
	Timeout   time.Duration // of one analysis with all its requests
	Lines     int           // maximum lines of the trajectory in the prompt
	// USD per million tokens; 0: unknown.
	InputPrice, OutputPrice float64
}

// Defaults returns the defaults of docs/SUPERVISION.md, without a key.
func Defaults() Settings {
	return Settings{MaxTokens: 1500, Retries: 3, Repairs: 2, Timeout: 2 * time.Minute, Lines: 150}
}

// Model analyzes agents with a language model.
type Model struct {
	settings Settings
	client   *http.Client
	budget   *supervise.Budget
}

var _ supervise.Model = (*Model)(nil)

// New returns a model. New reads no environment variables, because their keys belong to the agents.
func New(s Settings) (*Model, error) {
	if s.Model == "" || s.APIKey == "" && s.AuthToken == "" {
		return nil, errors.New("a supervision model needs a name and a key. Next: set monitoring.model and anthropic.api_key")
	}
	s.BaseURL = cmp.Or(s.BaseURL, defaultURL)
	// a redirect would send the key to another host
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Model{settings: s, client: &http.Client{CheckRedirect: stay}, budget: supervise.NewBudget(0, 0)}, nil
}

// Within returns a copy of the model that uses the budget b, and returns [supervise.ErrBudget] when b is used up.
func (m *Model) Within(b *supervise.Budget) *Model {
	bounded := *m
	bounded.budget = b
	return &bounded
}

// Judge implements [supervise.Model].
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

// ask sends a request if the budget allows it.
func (m *Model) ask(ctx context.Context, r request, take func(*reply) error) (use supervise.ModelUse, err error) {
	err = m.budget.Spend(func() (supervise.ModelUse, error) {
		use, err = m.converse(ctx, r, take)
		return use, err
	})
	return use, err
}

// converse sends a request until take accepts the answer. A rejected answer goes back to the model with the reason, at
// most Settings.Repairs times.
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
			return use, fmt.Errorf("%w: %w", supervise.ErrAnswer, wrong)
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

// sentBackTo returns the message that rejects an answer and asks for another call of the tool.
func sentBackTo(tool string, answer *reply, wrong error) message {
	text := fmt.Sprintf("The answer was rejected: %s. Call %s again with all fields.", wrong, tool)
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

// refused returns an error without the body of the endpoint, which can contain anything.
func refused(err error) error {
	if status, ok := errors.AsType[statusError](err); ok {
		return status
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the model did not answer in time")
	}
	return fmt.Errorf("call the model: %w", err)
}
