package scripted

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

// readVerdict reads a step that gives a verdict: that the work passed or not, or a command whose exit
// code says so.
func readVerdict(s *Step, arg json.RawMessage) error {
	var a struct {
		Passed          *bool    `json:"passed"`
		Command         string   `json:"command"`
		Feedback        string   `json:"feedback"`
		Recommendations []string `json:"recommendations"`
	}
	err := strict(arg, &a)
	if err == nil && (a.Passed == nil) == (a.Command == "") {
		err = errors.New(`give either "passed" or "command"`)
	}
	s.Passed, s.Command, s.Text, s.List = a.Passed, a.Command, a.Feedback, a.Recommendations
	return err
}

// verdict gives it. A command that was stopped says nothing.
func (r *run) verdict(ctx context.Context, s Step) error {
	v := agent.Verdict{Feedback: s.Text, Recommendations: s.List}
	if s.Passed != nil {
		v.Passed = *s.Passed
	} else {
		output, ok, err := r.shell(ctx, s.Command, 0)
		if err != nil {
			return err
		}
		v.Passed, v.Evidence = ok, map[string]any{"command": s.Command, "output": textcut.First(output, 2000)}
	}
	return r.env.Give(ctx, v)
}
