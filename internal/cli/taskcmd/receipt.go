package taskcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

func newReceipt(s *session) *cobra.Command {
	cmd := s.taskVerb("receipt <task>", "Show a task's deletion receipt: sandbox lifetimes, cost, verification", s.taskReceipt)
	cmd.Long = `Show a task's deletion receipt: when each of its sandboxes was requested, created, adopted, deleted and verified as
deleted, its lifetime and its cost. The settings price.* (docs/CONFIGURATION.md) hold the prices of the providers. Right
after the end of a task the command waits up to 30 seconds for its cleanup.

Exit code 1 if the task has ended and the deletion of one of its sandboxes is not verified. At a provider where a lost
create may appear late, as at Daytona, the second absence check runs minutes after the first one; the receipt says when.`
	return cmd
}

func (s *session) taskReceipt(ctx context.Context, api *client.Client, t client.Task) error {
	r, err := s.settledReceipt(ctx, api, t)
	err = s.answer(r, err, func() { s.showReceipt(r) })
	if err == nil && r.Status.Final() && r.Unverified > 0 {
		return exit.With(exit.Failed, nil)
	}
	return err
}

// cleanupWait is how long after the end of a task the command waits for its cleanup. cleanupPause is the time between
// two requests.
const (
	cleanupWait  = 30 * time.Second
	cleanupPause = 300 * time.Millisecond
)

// settledReceipt returns the receipt of a task. Shortly after the end of the task it waits for the second absence
// check, if that is due within [cleanupWait].
func (s *session) settledReceipt(ctx context.Context, api *client.Client, t client.Task) (client.TaskReceipt, error) {
	for asked := time.Now(); ; {
		r, err := api.Receipt(ctx, t.ID)
		if err != nil || !r.Status.Final() || r.Unverified == 0 || t.CompletedAt == nil {
			return r, err
		}
		until := t.CompletedAt.Add(cleanupWait)
		late := r.VerificationDueAt != nil && r.VerificationDueAt.After(until) || time.Now().After(until) || time.Since(asked) > cleanupWait
		if late || wait.For(ctx, cleanupPause) != nil {
			return r, nil //nolint:nilerr // an interrupted wait leaves the receipt as it is
		}
	}
}

func (s *session) showReceipt(r client.TaskReceipt) {
	style := s.style()
	s.say("%s  %s  %s", style.Bold(strings.TrimSpace(r.TaskKey+"  "+r.TaskID)), style.Status(r.Status), render.OneLine(r.Title, 80))
	for _, b := range r.Sandboxes {
		s.say("")
		s.showStub(b)
	}
	if len(r.AccessSessions) > 0 {
		s.say("")
	}
	for _, v := range r.AccessSessions {
		s.say("Session    %s by %s in %s: %s %s%s", v.StartedAt.Local().Format(time.DateTime), render.OneLine(v.User, 60), render.Short(v.SandboxID),
			v.Kind, render.OneLine(v.Summary, 120), suffix(", ", render.OneLine(v.Outcome, 120)))
	}
	for _, v := range r.Reviews {
		s.say("Validated  %s  %s", v.CreatedAt.Local().Format(time.DateTime), render.OneLine(v.Words(r.Rounds), 300))
	}
	for _, v := range r.TestRepeats {
		s.say("Tests      %s  attempt %d, by omoi in sandbox %s: %s", v.At.Local().Format(time.DateTime), v.Attempt, render.Short(v.SandboxID), render.OneLine(v.Words(), 400))
	}
	s.say("\nAll        %s, lifetime %s%s", task.Count(len(r.Sandboxes), "sandbox"), alive(r.SecondsAlive), suffix(", ", costs(r)))
	switch {
	case r.Verified:
		s.say("Verified   %s", style.Green(allVerified(len(r.Sandboxes))))
	case r.Unverified == 0:
		s.say("Verified   %s", style.Yellow("nothing to verify: omoi created no sandbox for this task"))
	case r.Status.Final() && secondCheck(r) != "":
		s.say("Verified   %s", style.Yellow("not yet: deleted, and "+secondCheck(r)))
	case r.Status.Final():
		s.say("Verified   %s", style.Red(fmt.Sprintf("no: the deletion of %s is not verified", task.Count(r.Unverified, "sandbox"))))
		s.hint("The cleanup is still running. Next: omoi host list")
	default:
		s.say("Verified   %s", style.Yellow("not yet: the task is open"))
	}
}

// secondCheck renders when the second absence check runs; empty if its time is unknown or long past.
func secondCheck(r client.TaskReceipt) string {
	if r.VerificationDueAt == nil || time.Since(*r.VerificationDueAt) > time.Minute {
		return ""
	}
	return "the second absence check runs at about " + r.VerificationDueAt.Local().Format(time.TimeOnly)
}

// showStub prints the times of one sandbox.
func (s *session) showStub(b client.Sandbox) {
	s.say("Sandbox    %s  attempt %d, %s, %s", b.ID, b.Attempt, b.Provider, s.state(b.State))
	if b.SeenAgain() {
		s.say("  %-14s%s", "reappeared", b.AdoptedAt.Local().Format(time.DateTime+".000")+", after its deletion had been verified")
		b.AdoptedAt = nil
	}
	for _, line := range []struct {
		word string
		at   *time.Time
	}{
		{"requested", &b.CreatedAt},
		{"created", b.ProviderCreatedAt},
		{"adopted", b.AdoptedAt},
		{"agent started", b.StartedAt},
		{"deleted", b.DeletedAt},
		{"absent", b.GoneAt},
		{"verified", b.VerifiedAt},
	} {
		if line.at != nil {
			s.say("  %-14s%s", line.word, line.at.Local().Format(time.DateTime+".000"))
		}
	}
	s.say("  %-14s%s%s", "lifetime", lifetime(b), suffix(", ", costOf(b)))
	if b.Transport != "" {
		s.say("  %-14s%s", "transport", reports(b))
	}
	s.say("  %-14s%s", "salvage", saved(b.Salvage))
}

// lifetime renders the lifetime of a sandbox.
func lifetime(b client.Sandbox) string {
	switch {
	case b.ProviderCreatedAt != nil || b.StartedAt != nil || !b.Machine():
		return alive(b.SecondsAlive)
	case b.GoneAt != nil:
		return "never created"
	}
	return "not created yet"
}

// reports renders the transport of events, and whether the last events are lost.
func reports(b client.Sandbox) string {
	text := "push (the agent calls the API)"
	if b.Transport == task.TransportPull {
		text = "pull (a worker reads the events)"
	}
	if b.EventsIncomplete {
		text += ", incomplete: the last events are lost"
	}
	return text
}

func alive(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond).String()
}

func costOf(b client.Sandbox) string {
	if b.Cost == nil {
		return ""
	}
	return money(b.Cost.Amount, b.Cost.Currency)
}

// costs renders the sums of a receipt, with the number of sandboxes without a price.
func costs(r client.TaskReceipt) string {
	var parts []string
	for _, sum := range r.Costs {
		parts = append(parts, money(sum.Amount, sum.Currency))
	}
	if r.SandboxesWithoutPrice > 0 && len(parts) > 0 {
		parts = append(parts, fmt.Sprintf("%d without a price", r.SandboxesWithoutPrice))
	}
	switch {
	case r.CostUSD == nil:
		parts = append(parts, "models: unknown")
	case r.CostUnknown:
		parts = append(parts, "models "+money(*r.CostUSD, "USD")+" + unknown")
	case *r.CostUSD > 0:
		parts = append(parts, "models "+money(*r.CostUSD, "USD"))
	}
	return strings.Join(parts, ", ")
}

func money(amount float64, currency string) string {
	if amount != 0 && amount < 0.01 {
		return fmt.Sprintf("%.6f %s", amount, currency)
	}
	return fmt.Sprintf("%.2f %s", amount, currency)
}

// allVerified renders that the deletion of n sandboxes is verified.
func allVerified(n int) string {
	if n == 1 {
		return "1 sandbox verified deleted"
	}
	return fmt.Sprintf("all %d sandboxes verified deleted", n)
}

// suffix returns the separator and the text; empty if the text is empty.
func suffix(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}
