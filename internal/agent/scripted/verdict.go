package scripted

import (
	"context"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

// verdict gives it. A command that was stopped says nothing.
func (r *run) verdict(ctx context.Context, s Step) error {
	v := agent.Verdict{Feedback: s.Feedback, Recommendations: s.List}
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
