package supervise

import (
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// Confidence of the rules in a cause.
const (
	sureByClass  = 0.9 // the failure class names the cause
	sureBySame   = 0.8 // all attempts failed with the same error
	sureByGuess  = 0.5 // the newest error is the likely cause
	sureOfNobody = 0
)

// conclude sets the likely cause, the next step, the command and the confidence.
func (d *diagnoser) conclude(out *explain.Diagnosis) {
	out.Command, out.Confidence = explain.FailureNext(d.Task, out.FailureClass, d.endReason(), d.same), sureByClass
	if d.endReason().OfSetup() {
		out.Cause, out.Proposal = "The setup step failed before an agent began.", "Mend the setup step, or give it more time, then retry."
		return
	}
	if d.endReason().Code == task.ReasonInterrupted {
		d.interrupted(out)
		return
	}
	if d.endReason().Code == task.ReasonNoVerdict {
		out.Cause = "The validator ended without a verdict; the work itself was not judged."
		out.Proposal = "Correct the validator, then retry."
		return
	}
	switch out.FailureClass {
	case task.ClassAgentError:
		d.agents(out)
	case task.ClassInfrastructure:
		out.Cause = "The sandbox or its provider died or could not be made; the agent's work is not the reason."
		out.Proposal = "See whether the provider and the machine work, then retry."
	case task.ClassResources:
		out.Cause = "Memory or disk of the sandbox did not suffice."
		out.Proposal = "Let the task do less at a time, or raise sandbox.memory_gb and sandbox.disk_gb, then retry."
		out.Advice = "Attempts before this one ran out of memory or disk. Work on less at a time: build and test in parts, and delete what is large and not needed."
		out.Notice = explain.NoticePending
	case task.ClassProviderLimit:
		out.Cause = "The provider of the model refuses more for now."
		out.Proposal = "Wait for the limit's reset, or give the task another credential; a retry tries once."
	case task.ClassStopped:
		out.Cause = "It met a limit that a person set: time, rounds or revisions."
		out.Proposal = "Split the task, or raise the limit that the reason names, then retry."
		out.Advice = "Attempts before this one were stopped at a limit: " + d.reason() + ". Commit early what works, and leave out what was not asked for."
		out.Notice = explain.NoticePending
	case task.ClassInvalidInput:
		out.Cause = "The task cannot work as it was given."
		out.Proposal = "Correct what the reason names in a new task."
	case task.ClassCredentials:
		out.Cause = "A credential is missing, or its provider refuses it."
		out.Proposal = "Mend the credential, then retry."
	case task.ClassPublish:
		out.Cause = "The work is done; its branch or pull request was refused."
		out.Proposal = "Mend what the reason names at the repository's host, then retry: what is there is published without new work where that can be."
	case task.ClassTerminated:
		out.Cause = "Somebody ended the task's workflow from outside."
		out.Proposal = "Retry it if that was not meant to be its end."
	case task.ClassNone, task.ClassBudget, task.ClassReported:
		out.Proposal, out.Confidence = "Look at what happened, then retry.", sureOfNobody
	}
}

// interrupted describes an attempt that ended because of an interrupt message.
func (d *diagnoser) interrupted(out *explain.Diagnosis) {
	by := ""
	if n := len(d.streak); n > 0 {
		by = explain.ByWhom(d.streak[n-1].InterruptedBy)
	}
	out.Cause = "It was interrupted" + by + ", and was not told in time how to go on."
	out.Proposal = "Retry it, and say with omoi send what it should do otherwise."
	out.Advice = "The attempt before this one was interrupted" + by + ". Its work is on the branch: do not repeat what it was stopped for."
	out.Notice = explain.NoticePending
}

// agents describes a failure of the class agent_error.
func (d *diagnoser) agents(out *explain.Diagnosis) {
	out.Notice = explain.NoticePending
	out.Proposal = "Look at what it tried, and say what it lacks in the description of a new task, or with omoi send after a retry."
	if task.RuntimeOf(d.Task.Agent).Input == task.InputCommand {
		out.Proposal = "Look at what it printed, and mend what it works with, then retry; another command needs a new task."
	}
	switch {
	case d.finding != nil:
		out.Cause, out.Confidence, out.Advice = d.finding.Why, d.finding.Confidence, d.finding.Advice
	case d.blocker != "":
		out.Cause, out.Confidence = "An error that it did not overcome: "+plainText(d.blocker, maxReason)+".", sureByGuess
		out.Advice = "Attempts before this one did not overcome this error: " + plainText(d.blocker, maxReason) + ". Find its cause before you change more, or say what you need."
	default:
		out.Confidence = sureByGuess
		if len(out.Evidence) > 0 && out.Evidence[0].Failure && out.Evidence[0].Message != "" {
			out.Cause = "The last thing that failed said: " + plainText(out.Evidence[0].Message, maxReason) + "."
		}
		out.Advice = "Attempts before this one ended with: " + d.reason() + ". Do something else than they did, or say what you need."
	}
	if d.same {
		out.Confidence = max(out.Confidence, sureBySame)
		out.Proposal = "Another attempt would most likely fail in the same way: change the task, its environment or its credentials first."
	}
	out.Cause, out.Advice = plainCause(out.Cause), plainCause(out.Advice)
}

// plainCause returns text as one sentence of at most maxCause bytes plus the full stop, without secrets.
func plainCause(text string) string {
	if text == "" {
		return ""
	}
	return plainText(text, maxCause) + "."
}

// DiagnosisModel finds the cause of failures with a language model. Conclusion.Use is set with an error too.
type DiagnosisModel interface {
	Diagnose(ctx context.Context, c DiagnosisInput, rules explain.Diagnosis) (Conclusion, error)
}

// Conclusion is the diagnosis that a model returned.
type Conclusion struct {
	Model      string
	Cause      string
	Proposal   string
	Advice     string
	Evidence   []explain.Evidence
	Confidence float64
	Use        ModelUse
}

// Understood reports whether a model can add to the diagnosis d: other failure classes already name their cause.
func Understood(d explain.Diagnosis) bool {
	return d.FailureClass == task.ClassAgentError || d.FailureClass == task.ClassStopped
}

// Conclude adds the conclusion of a model to the diagnosis of the rules. If the model failed or is not confident, only
// ModelError changes. The model cannot remove what a rule found, because the model reads text that the agents wrote.
func Conclude(d explain.Diagnosis, c Conclusion, err error, settings Settings) explain.Diagnosis {
	switch {
	case err != nil:
		d.ModelError = cut(fmt.Sprintf("The model did not diagnose: %s", err), maxText)
		return d
	case c.Confidence < settings.Confidence:
		d.ModelError = fmt.Sprintf("The model %s was not sure (%.2f).", c.Model, c.Confidence)
		return d
	}
	cause := plainCause(c.Cause)
	if d.Confidence > sureByGuess && d.Cause != "" {
		cause = strings.TrimSpace(d.Cause + " " + cause)
	}
	d.Source, d.Model, d.Cause, d.Confidence = string(ByModel), c.Model, cause, max(d.Confidence, c.Confidence)
	d.Proposal, d.Advice = plainCause(c.Proposal), plainCause(c.Advice)
	d.Evidence = append(c.Evidence, d.Evidence...)
	d.Evidence = firstSigns(d.Evidence)
	return d
}

// firstSigns returns the first signsOfAll distinct events.
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
