package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

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
	client   anthropic.Client
}

var _ supervise.Model = (*Model)(nil)

// New makes a model of settings. Of the environment nothing is taken: its keys are the agents'.
func New(s Settings) (*Model, error) {
	if s.Model == "" || s.APIKey == "" && s.AuthToken == "" {
		return nil, errors.New("a model that judges needs a name and a key; set monitoring.model and anthropic.api_key")
	}
	options := []option.RequestOption{option.WithoutEnvironmentDefaults(), option.WithMaxRetries(s.Retries)}
	if s.APIKey != "" {
		options = append(options, option.WithAPIKey(s.APIKey))
	} else {
		options = append(options, option.WithAuthToken(s.AuthToken))
	}
	if s.BaseURL != "" {
		options = append(options, option.WithBaseURL(s.BaseURL))
	}
	return &Model{settings: s, client: anthropic.NewClient(options...)}, nil
}

// Judge asks for an opinion.
func (m *Model) Judge(ctx context.Context, s supervise.Subject, rules supervise.Analysis) (supervise.Analysis, error) {
	question := m.asking(system, prompt(&s, &rules, m.settings.Lines), tool())
	use, err := m.ask(ctx, question, func(answer *anthropic.Message) error {
		opinion, wrong := opinionOf(answer, &s)
		if wrong == nil {
			rules.Model = opinion
		}
		return wrong
	})
	rules.Use = rules.Use.Plus(use)
	return rules, err
}

// ask asks until take has no objection to the answer. One that does not have the form is sent
// back with what is wrong about it.
func (m *Model) ask(ctx context.Context, params anthropic.MessageNewParams, take func(*anthropic.Message) error) (use supervise.ModelUse, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.settings.Timeout)
	defer cancel()
	for tried := 0; ; tried++ {
		answer, err := m.client.Messages.New(ctx, params)
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
		params.Messages = append(params.Messages, answer.ToParam(), sentBackTo(params.ToolChoice.OfTool.Name, answer, wrong))
	}
}

func (m *Model) asking(system, prompt string, tool *anthropic.ToolParam) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: m.settings.Model, MaxTokens: m.settings.MaxTokens,
		System:     []anthropic.TextBlockParam{{Text: system}},
		Messages:   []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
		Tools:      []anthropic.ToolUnionParam{{OfTool: tool}},
		ToolChoice: anthropic.ToolChoiceParamOfTool(tool.Name),
	}
}

// sentBackTo tells what is wrong about an answer, and which tool takes a better one.
func sentBackTo(tool string, answer *anthropic.Message, wrong error) anthropic.MessageParam {
	text := fmt.Sprintf("This was not taken: %s. Call %s again with all of it.", wrong, tool)
	for _, block := range answer.Content {
		if block.Type == "tool_use" {
			return anthropic.NewUserMessage(anthropic.NewToolResultBlock(block.ID, text, true))
		}
	}
	return anthropic.NewUserMessage(anthropic.NewTextBlock(text))
}

func (m *Model) bill(use *supervise.ModelUse, paid anthropic.Usage) {
	input := paid.InputTokens + paid.CacheReadInputTokens + paid.CacheCreationInputTokens
	use.InputTokens += input
	use.OutputTokens += paid.OutputTokens
	const million = 1e6
	use.CostUSD += (float64(input)*m.settings.InputPrice + float64(paid.OutputTokens)*m.settings.OutputPrice) / million
}

// refused says in short why the endpoint gave no answer; its own words may hold anything.
func refused(err error) error {
	if problem, ok := errors.AsType[*anthropic.Error](err); ok {
		return fmt.Errorf("the model endpoint answered %d", problem.StatusCode)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the model did not answer in time")
	}
	return fmt.Errorf("ask the model: %w", err)
}
