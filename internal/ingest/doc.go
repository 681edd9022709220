// Package ingest takes the events of sandboxes in and passes on to Temporal what the
// workflows must know of them.
//
// [Intake] is the way in: many requests share one transaction (group commit), an answer
// is given only after the commit, and what was answered is numbered contiguously for
// its sandbox. Nothing that is acknowledged is lost or stored twice:
//
//   - a numbered batch ([Intake.Batch]) is checked against its sender's mark;
//   - a single event ([Intake.Single]) with a key of its own answers the event that it made
//     the first time;
//   - a single event without a key is stored each time that it comes; agent.completed, which
//     old workers repeat and cannot name, once in [RepeatWindow].
//
// [Relay] is the way out. Its unit is the task, not the event: it leases the task's relay
// row and sends what waits in one order, start, commands, admission, and then one digest
// of all events since the last. The database decides what is due, so that any number of
// processes may run a relay; a relay that dies loses its lease and nothing else.
//
// Errors of the intake: [task.CodeInvalid] (the field says what), [task.CodeNotFound] for an unknown
// sandbox, [task.CodeGone] an hour after it is verified gone, [task.CodeConflict] for a gap
// ([AcknowledgedOf] has the mark), [task.CodeUnavailable] when the queue is full or the database
// is away: the same request is to be sent again after a second.
//
// Both have a Run method that works until its context ends and then finishes what it
// has begun. The store behind them is declared here ([IntakeStore], [RelayStore]) and is
// implemented by package postgres, as are the readers of events and the messages to agents.
//
// After each commit the live bus is woken under live.Sandbox(id), and under live.Task(id)
// where the sandbox has a task; whoever accepts a message wakes live.Messages(sandbox id).
// Of an accepted task or command the database notifies the relay.
package ingest
