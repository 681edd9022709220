package postgres

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/digest"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Default cooldown if the provider names no reset time, and default interval between tasks that resume after a
// cooldown.
const (
	limitWait  = 5 * time.Minute
	limitApart = 2 * time.Second
)

// startCooldown starts the cooldown of the credential of an attempt that reached the rate limit of its model provider.
// Until the reset, admission admits no task with that credential. An agent with a credential of its own blocks no other
// task.
func (w *projecting) startCooldown(ctx context.Context) error {
	if w.p.Ended == nil || w.p.Ended.Class != task.ClassProviderLimit || w.last == nil {
		return nil
	}
	data, found, err := maybe(w.q.NewestFailure(ctx, w.last.Attempt.SandboxID, event.Types(event.Failure)))
	if err != nil || !found && w.last.Attempt.AssignedAt == nil {
		return err // nil: no agent ran, so the Git host set the limit
	}
	end, pause := event.Read[event.End](data), w.cfg.Settings.LimitWait
	if end.ReasonCode == string(task.ReasonServerFull) { // no limit of a credential
		return w.noteFull(ctx, time.Now().Add(pause))
	}
	reset := digest.ResetAt(end, time.Now())
	name := w.last.Attempt.Credential
	if name == "" { // an attempt of an older build
		var chosen credential.Choice
		chosen, err = chooseCredential(ctx, w.q, w.row)
		name = chosen.Name
	}
	if err == nil && credential.IsShared(name) {
		err = w.holdOthers(ctx, name, reset, pause)
	}
	if err != nil {
		return err
	}
	return w.noteCooldown(ctx, name, reset, pause)
}

// noteFull records in the task when omoi tries the server again.
func (w *projecting) noteFull(ctx context.Context, until time.Time) error {
	if w.p.Blocked != task.BlockedProviderLimit || w.queued() {
		return nil
	}
	return w.q.NoteCooldown(ctx, task.Reason{Code: task.ReasonServerFull, Until: &until}.Stored(), w.row.ID)
}

// holdOthers starts the cooldown of a named credential.
func (w *projecting) holdOthers(ctx context.Context, name string, reset time.Time, pause time.Duration) error {
	if err := w.q.LockAdmission(ctx, w.row.OrganizationID); err != nil {
		return err
	}
	return w.q.StartCooldown(ctx, db.StartCooldownParams{
		OrganizationID: w.row.OrganizationID, Credential: name, TaskID: &w.row.ID,
		Reset: timeOr(reset), Pause: pause, Stagger: cmp.Or(w.cfg.LimitApart, limitApart),
	})
}

// noteCooldown records in the task when the cooldown ends, or that another credential takes over. The next projection
// clears the reason.
func (w *projecting) noteCooldown(ctx context.Context, used string, reset time.Time, pause time.Duration) error {
	if w.p.Blocked != task.BlockedProviderLimit || w.queued() {
		return nil
	}
	why := task.Reason{Code: task.ReasonLimitReset, Until: &reset}
	if reset.IsZero() {
		why.Code, reset = task.ReasonLimitUnknown, time.Now().Add(pause)
	}
	switch next, err := chooseCredential(ctx, w.q, w.row); {
	case err != nil:
		return err
	case next.Name == used || !slices.Contains(next.All, used):
	case !next.Limited():
		why = task.Reason{Code: task.ReasonTakeover}
	case next.Until.After(time.Now()) && next.Until.Before(reset):
		why = task.Reason{Code: task.ReasonCooldown, Until: &next.Until}
	}
	return w.q.NoteCooldown(ctx, why.Stored(), w.row.ID)
}

// CheckCooldowns runs admission for organizations whose cooldown ended or may admit its next task. Suspended tasks
// resume if their credential works again or was replaced, or if another one can take over.
func (s *Store) CheckCooldowns(ctx context.Context) error {
	if err := s.q.ProveAnswered(ctx, event.Types(event.Answered), event.Types(event.Completion)); err != nil {
		return translate("end cooldowns of credentials that work again", err)
	}
	if err := s.resumeSuspended(ctx); err != nil {
		return translate("resume tasks that a rate limit suspended", err)
	}
	due, err := s.q.CooldownsDue(ctx)
	if err != nil {
		return translate("list due cooldowns", err)
	}
	return s.admitOrganizations(ctx, due)
}

// resumeSuspended resumes tasks that reached the limit of a credential. It has answered since, was replaced, or another
// one of the same owner and kind has no cooldown.
func (s *Store) resumeSuspended(ctx context.Context) error {
	rows, err := s.q.SuspendedOnCredentials(ctx)
	if err != nil {
		return err
	}
	chosen, err := s.suspendedChoices(ctx, rows)
	if err != nil {
		return err
	}
	var proven, replaced, free []string
	for _, r := range rows {
		switch now := chosen[r.ID]; {
		case now.Name == r.Used && r.Proven:
			proven = append(proven, r.ID)
		case now.Name == r.Used || !credential.IsStored(now.Name):
		case !slices.Contains(now.All, r.Used):
			replaced = append(replaced, r.ID)
		case !now.Limited():
			free = append(free, r.ID)
		}
	}
	return errors.Join(
		s.resume(ctx, proven, "its credential works again"),
		s.resume(ctx, replaced, "its credential was replaced"),
		s.resume(ctx, free, "another credential of the same owner is not rate limited"),
	)
}

// suspendedChoices returns the credentials that suspended tasks would use now, by task ID.
func (s *Store) suspendedChoices(ctx context.Context, rows []db.SuspendedOnCredentialsRow) (map[string]credential.Choice, error) {
	tasks, all := map[string][]db.Task{}, map[string]credential.Choice{}
	for _, r := range rows {
		tasks[r.OrganizationID] = append(tasks[r.OrganizationID],
			db.Task{ID: r.ID, UserID: r.UserID, ProjectID: r.ProjectID, Agent: r.Agent, ExecutionConfig: r.ExecutionConfig})
	}
	for organizationID, of := range tasks {
		chosen, err := chooseCredentials(ctx, s.q, organizationID, of)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, chosen)
	}
	return all, nil
}

// resume retries those of the tasks that are still suspended.
func (s *Store) resume(ctx context.Context, ids []string, reason string) error {
	if len(ids) == 0 {
		return nil
	}
	return s.wrote(ctx, s.q.ResumeSuspended(ctx, db.ResumeSuspendedParams{Reason: reason, Sender: sender, Ids: ids}))
}

// ProveCredential implements [credential.Store].
func (s *Store) ProveCredential(ctx context.Context, organizationID, id, kind string) error {
	in := db.ProveCredentialParams{OrganizationID: organizationID}
	if id != "" {
		in.OfStored = new(credential.OfStored(id))
	} else {
		in.Names = []string{credential.OfInstallation + credential.Model, credential.OfInstallation + kind}
	}
	return translate("end the cooldown of credential "+kind, s.q.ProveCredential(ctx, in))
}
