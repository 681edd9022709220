package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// senderCLI is the sender of a command that arrived as a signal without a row.
const senderCLI = "temporal cli"

// LoadCommand returns a command. A command without an ID came from the temporal CLI and gets a row, the same one for
// the same run, ordinal and kind. A command that is settled or unknown is returned as settled. The feedback of a failed
// verdict or a replacement is stored, and the result names it.
func (s *Store) LoadCommand(ctx context.Context, in contract.LoadCommandInput, runID string) (contract.LoadedCommand, error) {
	out, err := txResult(ctx, s, func(q *db.Queries) (contract.LoadedCommand, error) { return takeCommand(ctx, q, in, runID) })
	return out, translate("load a command of task "+in.TaskID, err)
}

func takeCommand(ctx context.Context, q *db.Queries, in contract.LoadCommandInput, runID string) (contract.LoadedCommand, error) {
	unknown := contract.LoadedCommand{ID: in.Command.ID, Kind: in.Command.Kind, Settled: true}
	if in.Command.ID == "" {
		if !takeable(in.Command.Kind) {
			return unknown, nil
		}
		in.Command.ID = task.DerivedID("command", in.TaskID, runID, strconv.FormatInt(in.Ordinal, 10), in.Command.Kind)
		if err := addCommand(ctx, q, in); err != nil {
			return contract.LoadedCommand{}, err
		}
	}
	if !uuidForm.MatchString(in.Command.ID) {
		return unknown, nil
	}
	row, found, err := maybe(q.TaskCommand(ctx, in.Command.ID, in.TaskID))
	if !found {
		return unknown, err
	}
	return readCommand(ctx, q, row)
}

// takeable reports whether a running task accepts commands of this kind.
func takeable(kind string) bool {
	return slices.Contains([]string{
		contract.CommandCancel, contract.CommandFail, contract.CommandComplete, contract.CommandVerdict, contract.CommandRetry,
		contract.CommandReplace, contract.CommandSuspend,
	}, kind)
}

func addCommand(ctx context.Context, q *db.Queries, in contract.LoadCommandInput) error {
	return q.AddCommand(ctx, db.AddCommandParams{
		ID: in.Command.ID, TaskID: in.TaskID, Kind: in.Command.Kind, Sender: senderCLI,
		Args: jsonOf(map[string]string{"reason": storable(in.Command.Reason)}),
	})
}

func readCommand(ctx context.Context, q *db.Queries, row db.Command) (contract.LoadedCommand, error) {
	args := readObject(row.Args)
	out := contract.LoadedCommand{
		ID: row.ID, Kind: row.Kind, Reason: reasonOf(row.Kind, args), OK: saysOK(row),
		Settled: task.Receipt(row.State) != task.ReceiptAccepted, FeedbackID: args.text("feedback_id"),
		EndReason: endReasonOf(row.Kind, args), Checkpoint: args.text("checkpoint"),
	}
	replaces := row.Kind == contract.CommandReplace
	if replaces {
		out.SandboxID = args.text("sandbox_id")
	}
	if row.Kind == contract.CommandVerdict {
		var err error
		out.From = args.text("sandbox_id")
		if out.SandboxID, err = attemptOf(ctx, q, row.TaskID, args.text("sandbox_id")); err != nil {
			return out, err
		}
	}
	revises := row.Kind == contract.CommandVerdict && !out.OK
	if !replaces && !revises || out.Settled || out.FeedbackID != "" {
		return out, nil
	}
	var err error
	out.FeedbackID, err = keepFeedback(ctx, q, row)
	return out, err
}

// keepFeedback stores the feedback of a validator or the guardian, and adds its ID to the command.
func keepFeedback(ctx context.Context, q *db.Queries, row db.Command) (string, error) {
	text := feedbackOf(readObject(row.Args))
	if text == "" {
		return "", nil
	}
	id := task.DerivedID(textFeedback, row.ID)
	err := saveText(ctx, q, db.InsertTextParams{ID: id, TaskID: &row.TaskID, Kind: textFeedback, Content: text})
	if err != nil {
		return "", err
	}
	return id, q.AmendCommand(ctx, jsonOf(map[string]string{"feedback_id": id}), row.ID)
}

// endReasonOf returns the reason for which omoi suspends a task; zero for commands of users.
func endReasonOf(kind string, args object) task.Reason {
	switch kind {
	case contract.CommandBudget:
		return task.ParseReason(args.text("reason"))
	case contract.CommandPause:
		return task.Reason{Code: task.ReasonProjectPaused}
	}
	return task.Reason{}
}

func reasonOf(kind string, args object) string {
	if kind == contract.CommandBudget {
		return explain.Spent(endReasonOf(kind, args))
	}
	for _, key := range []string{"reason", "error_message"} {
		if s := args.text(key); s != "" {
			return s
		}
	}
	return ""
}

// feedbackOf returns a validator's feedback with its recommendations as a text for the next agent.
func feedbackOf(args object) string {
	lines := []string{args.text("feedback")}
	if lines[0] == "" {
		lines[0] = args.text("reason")
	}
	var recommendations []string
	_ = json.Unmarshal(args["recommendations"], &recommendations) // none if the value is not a list of strings
	for _, r := range recommendations {
		lines = append(lines, "- "+r)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
