package supervise

import (
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// DiagnosisModel names the cause of failures by understanding them. It answers Use also beside an error.
type DiagnosisModel interface {
	Diagnose(ctx context.Context, c DiagnosisInput, rules explain.Diagnosis) (Conclusion, error)
}

// Conclusion is what a model said of failures.
type Conclusion struct {
	Model      string
	Cause      string
	Proposal   string
	Advice     string
	Evidence   []explain.Evidence
	Confidence float64
	Use        ModelUse
}

// Understood reports whether a model is worth asking: the class of other failures names their cause.
func Understood(d explain.Diagnosis) bool {
	return d.FailureClass == task.ClassAgentError || d.FailureClass == task.ClassStopped
}

// Conclude adds what a model said to what the rules said. One that is not sure or failed leaves that as it is, and
// what a rule found it never takes back: it has read what the agents wrote.
func Conclude(d explain.Diagnosis, c Conclusion, err error, settings Settings) explain.Diagnosis {
	switch {
	case err != nil:
		d.Trouble = cut(fmt.Sprintf("The model did not diagnose: %s", err), maxText)
		return d
	case c.Confidence < settings.Confidence:
		d.Trouble = fmt.Sprintf("The model %s was not sure (%.2f).", c.Model, c.Confidence)
		return d
	}
	cause := plainCause(c.Cause)
	if d.Confidence > sureByGuess && d.Cause != "" {
		cause = strings.TrimSpace(d.Cause + " " + cause)
	}
	d.SpokenBy, d.Model, d.Cause, d.Confidence = string(ByModel), c.Model, cause, max(d.Confidence, c.Confidence)
	d.Proposal, d.Advice = plainCause(c.Proposal), plainCause(c.Advice)
	d.Evidence = append(c.Evidence, d.Evidence...)
	d.Evidence = firstSigns(d.Evidence)
	return d
}

// firstSigns keeps each event once.
func firstSigns(all []explain.Evidence) []explain.Evidence {
	known := map[string]bool{}
	out := []explain.Evidence{}
	for _, s := range all {
		key := fmt.Sprint(s.SandboxID, ":", s.Sequence)
		if !known[key] && len(out) < signsOfAll {
			known[key] = true
			out = append(out, s)
		}
	}
	return out
}
