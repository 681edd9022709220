package continuous

import (
	"context"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
)

// VerdictForm tells a validator how to end its last message.
const VerdictForm = `End your last message with your verdict, on a line of its own: "VERDICT: PASSED" if the work does what was asked, or "VERDICT: FAILED" if it does not. ` +
	`Above a verdict that it failed say what is missing or wrong, in words with which another agent can mend it: it is given them, and nothing else of what you said.`

// reminders is the maximum number of reminders to a validator without a verdict.
const reminders = 2

var verdictLine = regexp.MustCompile(`(?i)^[\s*_#>` + "`" + `]*VERDICT:?[\s*_` + "`" + `]*(PASSED|FAILED)[\s*_.` + "`" + `]*$`)

// verdict gives the verdict that ends the turn's last message, if it is to give one. Where there is
// none the agent is asked for it; nothing that it says otherwise is taken for one.
func (d *Driver) verdict(ctx context.Context, end *Turn) (*Step, error) {
	if d.Env.Config.Validation == nil || !d.Prompted {
		return nil, nil //nolint:nilnil // no verdict is expected
	}
	if v, ok := verdictOf(end.Said); ok {
		return nil, d.Env.Give(ctx, v)
	}
	if d.reminded >= reminders {
		return nil, nil //nolint:nilnil // the caller handles a missing verdict
	}
	d.reminded++
	return &Step{Text: "Your verdict is missing. " + VerdictForm}, nil
}

// verdictOf reads the last line of a message that says anything.
func verdictOf(text string) (agent.Verdict, bool) {
	text = strings.TrimSpace(text)
	at := strings.LastIndexByte(text, '\n') + 1
	said := verdictLine.FindStringSubmatch(text[at:])
	if said == nil {
		return agent.Verdict{}, false
	}
	return agent.Verdict{Passed: strings.EqualFold(said[1], "PASSED"), Feedback: strings.TrimSpace(text[:at])}, true
}
