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
func (s *Step) readVerdict(arg json.RawMessage) error {
	err := fields{"passed": &s.Passed, "command": &s.Command, "feedback": &s.Text, "recommendations": &s.List}.read(arg)
	if err == nil && (s.Passed == nil) == (s.Command == "") {
		err = errors.New(`give either "passed" or "command"`)
	}
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
