package postgres

import (
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// eventSandbox holds what ingest reads of a locked sandbox row, and the new values.
type eventSandbox struct {
	id        string
	month     time.Time
	taskID    *string
	head      int64
	was       int64 // last sequence when the plan was made
	spoolID   *string
	spoolMark int64
	ended     bool // the attempt has ended: events are late
	over      bool // deleted for so long that events are rejected

	stored, duplicates int
	milestone, worked  bool
}

// relays reports whether new events of the sandbox go to the relay.
func (s *eventSandbox) relays() bool { return s.taskID != nil && !s.ended && s.stored > 0 }

// settled returns the row after the commit.
func (s *eventSandbox) settled() eventSandbox {
	return eventSandbox{
		id: s.id, month: s.month, taskID: s.taskID, head: s.head, was: s.head, spoolID: s.spoolID, spoolMark: s.spoolMark,
	}
}

type senderID struct{ sandbox, spool string }

type keyID struct{ sandbox, key string }

type keyedEvent struct {
	sequence int64
	at       time.Time
}

// eventRow is an event with its sequence.
type eventRow struct {
	sandbox  *eventSandbox
	sequence int64
	key      string // idempotency key of a single event; empty: none
	event    ingest.Event
}

// eventPlan decides what one transaction stores. A plan is made of locked or remembered rows and does not access the
// database.
type eventPlan struct {
	now       time.Time // time of the database after the locks; zero: start of the transaction
	moved     time.Time // start of the transaction that stored the plan, by the database
	sandboxes map[string]*eventSandbox
	marks     map[senderID]int64 // watermarks of all spools but the first
	keys      map[keyID]keyedEvent

	rows     []eventRow
	large    []eventRow // rows with parts that are stored separately
	newMarks map[senderID]int64
	worn     []keyID // expired keys, which a later event uses again
}

func newEventPlan(requests []ingest.Request) *eventPlan {
	most := 0
	for _, r := range requests {
		most += len(r.Events)
	}
	return &eventPlan{
		rows:      make([]eventRow, 0, most),
		sandboxes: map[string]*eventSandbox{}, marks: map[senderID]int64{}, keys: map[keyID]keyedEvent{},
		newMarks: map[senderID]int64{},
	}
}

// take plans a whole request or rejects it.
func (p *eventPlan) take(r ingest.Request) ingest.Outcome {
	s, known := p.sandboxes[r.SandboxID]
	switch {
	case !known:
		return ingest.Outcome{Err: task.Errorf(task.CodeNotFound, "Unknown sandbox %s.", r.SandboxID)}
	case s.over:
		return ingest.Outcome{Err: task.Errorf(task.CodeGone, "Sandbox %s is deleted.", r.SandboxID).WithKind(task.KindSandboxDeleted)}
	case r.SpoolID != "":
		return p.takeBatch(s, r)
	case r.Key != "":
		return p.takeKeyed(s, r)
	}
	return p.outcome(s, "", r.Events)
}

func (p *eventPlan) takeBatch(s *eventSandbox, r ingest.Request) ingest.Outcome {
	mark := p.mark(s, r.SpoolID)
	if r.First > mark+1 {
		return ingest.Outcome{Err: ingest.Gap(mark, r.First)}
	}
	known := min(int(mark+1-r.First), len(r.Events))
	fresh := r.Events[known:]
	out := p.outcome(s, "", fresh)
	out.Duplicates, s.duplicates = known, s.duplicates+known
	out.Mark = mark + int64(len(fresh))
	if len(fresh) > 0 {
		p.setMark(s, r.SpoolID, out.Mark)
	}
	return out
}

func (p *eventPlan) takeKeyed(s *eventSandbox, r ingest.Request) ingest.Outcome {
	id := keyID{s.id, r.Key}
	known, ok := p.keys[id]
	switch {
	case ok && !ingest.Repeats(r.Key, p.now.Sub(known.at)):
		p.worn = append(p.worn, id)
	case ok:
		s.duplicates++
		return ingest.Outcome{Sequence: known.sequence, CreatedAt: known.at, Duplicates: 1, TaskID: task.Deref(s.taskID)}
	}
	out := p.outcome(s, r.Key, r.Events)
	p.keys[id] = keyedEvent{sequence: out.Sequence, at: p.now}
	return out
}

// outcome assigns the next sequences to events; key applies to a single event.
func (p *eventPlan) outcome(s *eventSandbox, key string, fresh []ingest.Event) ingest.Outcome {
	milestone := false
	for _, e := range fresh {
		s.head++
		s.stored++
		milestone = milestone || event.ClassOf(e.Type) == event.ClassMilestone
		s.worked = s.worked || event.Is(e.Type, event.Work)
		p.rows = append(p.rows, eventRow{sandbox: s, sequence: s.head, key: key, event: e})
		if e.Large != nil {
			p.large = append(p.large, p.rows[len(p.rows)-1])
		}
	}
	s.milestone = s.milestone || milestone
	return ingest.Outcome{
		Sequence: s.head, CreatedAt: p.now, Stored: len(fresh), Late: s.ended,
		Milestone: milestone && s.relays(), TaskID: task.Deref(s.taskID),
	}
}

// mark returns the watermark of a spool. The row of the sandbox holds the first spool, event_spools the later ones.
func (p *eventPlan) mark(s *eventSandbox, spool string) int64 {
	if s.spoolID == nil {
		return 0
	}
	if *s.spoolID == spool {
		return s.spoolMark
	}
	return p.marks[senderID{s.id, spool}]
}

func (p *eventPlan) setMark(s *eventSandbox, spool string, mark int64) {
	if s.spoolID == nil {
		s.spoolID = &spool
	}
	if *s.spoolID == spool {
		s.spoolMark = mark
		return
	}
	p.marks[senderID{s.id, spool}] = mark
	p.newMarks[senderID{s.id, spool}] = mark
}
