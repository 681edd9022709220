package task

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Modes of an agent: what it is there for, and so what counts as the end of its work.
const (
	ModeExploration    = "exploration"
	ModeImplementation = "implementation"
	ModeValidation     = "validation"
)

// KindValidation is the kind of the attempts that judge the work of others.
const KindValidation = "validation"

// DefaultRounds is how often work is validated at most where nothing else is set.
const DefaultRounds = 3

// Validator is the agent that judges the work of a task.
type Validator struct {
	Agent   string          `json:"agent,omitempty" doc:"Agent runtime of the validator. Default: that of the task."`
	Script  json.RawMessage `json:"script,omitempty" doc:"Steps of a scripted validator, an object {\"steps\": [...]}. Default: none."`
	Command []string        `json:"command,omitempty" doc:"Program and arguments of a validator of the agent runtime command. Default: none."`
	Rounds  int             `json:"rounds,omitempty" doc:"Maximum number of validation rounds. Default, and 0: validation.max_rounds."`
}

// Validation is a verdict on the work of a task: the end of a round.
type Validation struct {
	Round           int             `json:"round" doc:"Number of the validation round that the verdict ended, from 1."`
	SandboxID       string          `json:"sandbox_id" doc:"Sandbox of the validator. Empty: a user or a program outside gave the verdict."`
	Attempt         int             `json:"attempt" doc:"Attempt of the validator; for a verdict from outside the attempt that was judged. 0: none."`
	By              string          `json:"given_by" doc:"Who gave the verdict, as sender of a command."`
	Passed          bool            `json:"passed" doc:"True: the work is published. False: a revision follows, or the task fails after its last round."`
	Feedback        string          `json:"feedback" doc:"What is missing or wrong, given to the next agent. May be empty."`
	Recommendations []string        `json:"recommendations" nullable:"false" doc:"Proposed changes, one each."`
	Evidence        json.RawMessage `json:"evidence,omitempty" doc:"Object that the validator sent with the verdict, for example tests_passed. Left out: none."`
	CreatedAt       time.Time       `json:"created_at" doc:"When the verdict was recorded."`
}

// Words tell of the round, as "round 2 of 3: the validator said: ...".
func (r Validation) Words(rounds int) string {
	said := "said no"
	if r.Passed {
		said = "accepted the work"
	}
	words := RoundWords(r.Round, rounds) + ": " + r.who() + " " + said
	if r.Feedback != "" {
		words = Sentence(words, r.Feedback)
	}
	return words
}

func (r Validation) who() string {
	if r.SandboxID != "" {
		return "the validator"
	}
	return "a person"
}

// RoundWords counts a round. A task that was begun again may have more of them than it was to have.
func RoundWords(round, rounds int) string {
	if rounds == 0 {
		return fmt.Sprintf("round %d", round)
	}
	return fmt.Sprintf("round %d of %d", round, max(round, rounds))
}

// accept is what follows success: the work is published, or handed to a validator first.
func accept(s State) (State, Effects) {
	if s.Rounds == 0 {
		return publish(s)
	}
	s.Stage, s.Blocked = StageSubmit, BlockedNone
	return s, Effects{Action: ActionValidate, Status: s.Status, Leads: leads(s), Receipt: ReceiptCarriedOut}
}

// decideHandedIn begins the validation of work that is on its branch.
func decideHandedIn(s State) (State, Effects) {
	if s.Stage != StageSubmit {
		return s, ignore(s, ReceiptRefused)
	}
	s.Stage = StageValidate
	return begin(s, StatusPendingValidation, ClassNone)
}

// decideVerdict judges the work. Who does it may not judge it where a validator is asked for; a
// person may, at any time.
func decideVerdict(s State, f Fact) (State, Effects) {
	switch {
	case s.Stage == StagePublish:
		return s, ignore(s, ReceiptTooLate)
	case f.SandboxID != "" && s.Rounds > 0 && s.Stage != StageValidate:
		return s, ignore(s, ReceiptRefused)
	case f.OK:
		s.Round++
		return publish(s)
	case s.lastRound(), s.Attempts >= MaxAttempts:
		s.Round++
		return finish(s, StatusFailed, ClassAgentError)
	case s.Status == StatusPending && !s.judgeable(), !CanMove(s.Status, StatusNeedsRevision):
		return s, ignore(s, ReceiptRefused)
	}
	s.Round++
	s.Revisions++
	s.Stage = StageWork
	return begin(s, StatusNeedsRevision, ClassNone)
}

// judgeable reports whether a pending task has work to revise: its attempt is starting, or a user reviews it.
func (s State) judgeable() bool {
	return s.SandboxID != "" || s.Blocked == BlockedReview
}

// decideValidatorLimit keeps the work, which is done and on its branch, for a user to review.
func decideValidatorLimit(s State, f Fact) (State, Effects) {
	if s.Stage != StageValidate {
		return s, ignore(s, ReceiptTooLate)
	}
	return park(s, BlockedReview, cmp.Or(f.Class, ClassStopped))
}

// lastRound reports whether a no is the end. Where no validator is asked for, verdicts come from
// outside and begin so many revisions; where one is, the last of its rounds begins none, since
// nobody would look at that.
func (s State) lastRound() bool {
	if s.Rounds > 0 {
		return s.Round+1 >= s.Rounds
	}
	return s.Revisions >= MaxRevisions
}

// waits is where a task stands between attempts: for one that works, or for one that validates.
func (s State) waits() Status {
	if s.Stage == StageValidate {
		return StatusPendingValidation
	}
	return StatusPending
}

// Sentence joins a beginning and an optional reason, with one full stop at the end.
func Sentence(beginning, reason string) string {
	reason = strings.TrimRight(strings.TrimSpace(reason), ".")
	if reason == "" {
		return beginning + "."
	}
	return beginning + ": " + reason + "."
}

// Deref returns what p points to, the zero value where it is nil.
func Deref[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
