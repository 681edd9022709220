package postgres

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// guardianName is the name of the guardian in messages and events, as in OmoiOS.
const guardianName = "intelligent_guardian"

// Planned returns the planned interventions in sandboxes with IDs above after and up to upto.
func (s *Store) Planned(ctx context.Context, after, upto string) ([]guardian.Intervention, error) {
	rows, err := s.q.PlannedInterventions(ctx, after, upto)
	return mapAll(rows, interventionOf), translate("read planned interventions", err)
}

// CarryOut executes a planned intervention and settles it in one transaction, so that a repeated call, a withdrawal or
// an expiry sees all or nothing. An intervention that cannot be executed is settled as rejected.
func (s *Store) CarryOut(ctx context.Context, iv guardian.Intervention) (guardian.Intervention, error) {
	err := s.inTx(ctx, func(q *db.Queries) error {
		found, err := q.LockIntervention(ctx, iv.ID)
		if err != nil {
			return err
		}
		if iv = interventionOf(found); iv.State != guardian.InterventionPlanned {
			return nil
		}
		iv.State = guardian.InterventionSent
		if err = takeStep(ctx, q, &iv); err != nil {
			if !final(err) {
				return err
			}
			iv.State, iv.Reason = guardian.InterventionRejected, task.MessageOf(err)
		}
		return s.settleIntervention(ctx, q, iv)
	})
	return iv, translate("execute intervention "+iv.ID, err)
}

func takeStep(ctx context.Context, q *db.Queries, iv *guardian.Intervention) error {
	if iv.Level == guardian.LevelReplace {
		asked, err := askReplace(ctx, q, *iv)
		iv.CommandID, iv.CommandState = asked.Command.ID, string(asked.Command.State)
		return err
	}
	return tell(ctx, q, iv)
}

// tell sends the content of an intervention as a message.
func tell(ctx context.Context, q *db.Queries, iv *guardian.Intervention) error {
	hash := sha256.Sum256([]byte(iv.Content))
	m := ingest.NewMessage{
		SandboxID: iv.SandboxID, Kind: ingest.MessageNudge, Content: iv.Content, SenderKind: ingest.SenderGuardian, SenderID: guardianName,
		Once: ingest.MessageKey{Scope: "guardian:" + iv.SandboxID, Key: iv.ID, BodyHash: hash[:]},
	}
	if iv.Level == guardian.LevelInterrupt {
		m.Kind = ingest.MessageInterrupt
	}
	if err := checkMessage(&m); err != nil {
		return err
	}
	stored, refusal, err := putMessage(ctx, q, m)
	if err != nil {
		return err
	}
	iv.MessageID, iv.MessageState = stored.ID, messageNames().named(stored.State)
	if refusal != "" {
		return ingest.Refused(refusal, message(stored))
	}
	if iv.Level != guardian.LevelInterrupt {
		return nil
	}
	// An interrupt stops the agent until another message arrives, so the content follows as a message.
	m.Kind = ingest.MessageNudge
	m.Once.Key += afterInterrupt
	_, _, err = putMessage(ctx, q, m)
	return err
}

const afterInterrupt = ":go-on" // the query WithdrawMessage uses the value too

// final reports whether a retry would return the same error.
func final(err error) bool {
	return slices.Contains([]task.Code{task.CodeConflict, task.CodeGone, task.CodeNotFound, task.CodeExhausted, task.CodeInvalid}, task.CodeOf(err))
}

func (s *Store) settleIntervention(ctx context.Context, q *db.Queries, iv guardian.Intervention) error {
	reason := ""
	if iv.State != guardian.InterventionSent {
		reason = storable(iv.Reason)
	}
	n, err := q.SettleIntervention(ctx, db.SettleInterventionParams{
		ID: iv.ID, State: interventionNames().stored(iv.State), Reason: reason, MessageID: orNull(iv.MessageID), CommandID: orNull(iv.CommandID), Was: guardian.InterventionPlanned,
	})
	if err == nil && n > 0 {
		err = tellSteering(ctx, q, iv)
	}
	return translate("settle intervention "+iv.ID, err)
}

// tellSteering writes the bus event of an intervention.
func tellSteering(ctx context.Context, q *db.Queries, iv guardian.Intervention) error {
	return q.TellSteering(ctx, db.TellSteeringParams{
		OrganizationID: &iv.OrganizationID, EventType: "guardian.steering.intervention", EntityType: "agent", EntityID: iv.SandboxID,
		Payload: jsonOf(map[string]any{
			"intervention_id": iv.ID, "task_id": iv.TaskID, "sandbox_id": iv.SandboxID, "level": iv.Level, "steering_type": iv.SteeringType,
			"state": iv.State, "actor_type": ingest.SenderGuardian, "actor_id": guardianName,
		}),
	})
}

// askReplace adds the command that ends the attempt and starts the next one.
func askReplace(ctx context.Context, q *db.Queries, iv guardian.Intervention) (task.CommandResult, error) {
	asked, _, err := askTask(ctx, q, task.CommandRequest{
		OrganizationID: iv.OrganizationID, TaskID: iv.TaskID, Kind: task.CommandReplace, SandboxID: iv.SandboxID,
		Reason: "replaced by the guardian", Sender: ingest.SenderGuardian, Args: jsonOf(map[string]string{
			"reason": "replaced by the guardian", "feedback": iv.Content, "sandbox_id": iv.SandboxID, "intervention_id": iv.ID,
		}),
	})
	return asked, err
}

func interventionOf(r db.Intervention) guardian.Intervention {
	return guardian.Intervention{
		ID: r.ID, AnalysisID: r.AnalysisID, OrganizationID: r.OrganizationID, TaskID: r.TaskID, SandboxID: r.SandboxID,
		Attempt: r.Attempt, Level: guardian.Level(r.Level), SteeringType: r.SteeringType, Content: r.Content, Confidence: r.Confidence,
		Shadow: r.Shadow, State: interventionNames().named(r.State), Reason: r.Reason, MessageID: task.Deref(r.MessageID), CommandID: task.Deref(r.CommandID),
		PlannedAt: r.PlannedAt.UTC(), SettledAt: r.SettledAt,
	}
}

// Withdraw withdraws an intervention that was not executed, or whose message was not delivered. Otherwise Withdraw
// returns [task.CodeConflict] with the reason.
func (s *Store) Withdraw(ctx context.Context, organizationID, id, by string) (guardian.Intervention, error) {
	out, err := txResult(ctx, s, func(q *db.Queries) (out guardian.Intervention, err error) {
		rows, err := q.Interventions(ctx, db.InterventionsParams{OrganizationID: organizationID, ID: &id, MaxRows: 1})
		if err != nil {
			return out, err
		}
		if len(rows) == 0 {
			return out, task.Errorf(task.CodeNotFound, "Unknown intervention %s.", id)
		}
		out = withReceipts(rows[0])
		reason := "withdrawn by " + by
		if out.State == guardian.InterventionSent && out.MessageID != "" {
			n, err := q.WithdrawMessage(ctx, storable(reason), out.MessageID)
			if err != nil {
				return out, err
			}
			if n == 0 {
				return out, task.Errorf(task.CodeConflict, "Cannot withdraw the intervention: its message is %s. Next: omoi send", out.MessageState).WithKind(task.KindInvalidState)
			}
		} else if out.State != guardian.InterventionPlanned {
			return out, task.Errorf(task.CodeConflict, "Cannot withdraw the intervention: %s is %s.", out.Level, out.State).WithKind(task.KindInvalidState)
		}
		n, err := q.SettleIntervention(ctx, db.SettleInterventionParams{ID: id, State: guardian.InterventionWithdrawn, Reason: storable(reason), Was: out.State})
		if err == nil && n == 0 {
			err = task.Errorf(task.CodeConflict, "Cannot withdraw the intervention: it is being executed.").WithKind(task.KindInvalidState)
		}
		out.State, out.Reason = guardian.InterventionWithdrawn, out.Reason+"; "+reason
		return out, err
	})
	return out, translate("withdraw intervention "+id, err)
}
