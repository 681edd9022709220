// Package ingest stores the events of sandboxes and relays to Temporal what workflows must know of them.
//
// [Intake] stores events: many requests share one transaction (group commit), a response is sent only after the commit,
// and acknowledged events have sequences without gaps in their sandbox. Acknowledged events are neither lost nor stored
// twice:
//
//   - a numbered batch ([Intake.Batch]) is compared with its sender's watermark;
//   - a single event ([Intake.Single]) with a key returns the event that was stored first with this key;
//   - a single event without a key is stored each time that it arrives, except agent.completed, which legacy workers
//     repeat without an ID: it is stored once in [RepeatWindow].
//
// [Relay] sends signals to Temporal, per task and not per event: it leases the task's relay row and sends what is due
// in a fixed order, start, commands, admission, and then one digest of all events since the last one. The database
// decides what is due, so any number of processes may run a relay. A relay that dies only loses its lease.
//
// Errors of Intake: [task.CodeInvalid] with the field, [task.CodeNotFound] for an unknown sandbox, [task.CodeGone] an
// hour after its deletion was verified, [task.CodeConflict] for a gap ([AcknowledgedOf] returns the watermark), and
// [task.CodeUnavailable] when the queue is full or the database is unavailable: resend the same request after a second.
//
// Both have a Run method that works until its context ends and then finishes what it has begun. Their stores
// ([IntakeStore], [RelayStore]) are implemented by package postgres, like the readers of events and the messages to
// agents.
//
// After each commit Intake notifies live.Sandbox(id) and, if the sandbox has a task, live.Task(id). The sender of a
// message notifies live.Messages(sandbox id). The database notifies the relay of an accepted task or command.
package ingest
