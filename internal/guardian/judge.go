package guardian

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// pageOf is the number of sandboxes that are read at once.
const pageOf = 25

// Analyze analyzes the sandboxes of a range after from, each once in a cycle, carries out the planned interventions, and
// calls note with its progress.
func (g *Guardian) Analyze(ctx context.Context, s contract.Range, from contract.CycleProgress, note func(contract.CycleProgress)) (contract.CycleProgress, error) {
	sum, after := from, cmp.Or(from.Upto, s.After)
	var unknown []Watched
	for {
		page, err := g.deps.Store.Watched(ctx, WatchQuery{CycleID: s.CycleID, After: after, Upto: s.Upto, Limit: pageOf})
		if err != nil {
			return sum, err
		}
		if len(page) > 0 {
			if err := g.judgePage(ctx, s.CycleID, page, &sum); err != nil {
				return sum, err
			}
			unknown = append(unknown, unread(page)...)
			after = page[len(page)-1].SandboxID
			sum.Upto = after
			note(sum)
		}
		if len(page) < pageOf {
			break
		}
	}
	acted, err := g.carryOut(ctx, s)
	sum.Interventions += acted
	if len(unknown) > 0 {
		g.propose(ctx, g.models.Of(s.CycleID), unknown)
	}
	return sum, err
}

// judgePage reads the events of a page of sandboxes in one query and analyzes each sandbox.
func (g *Guardian) judgePage(ctx context.Context, cycleID string, page []Watched, sum *contract.CycleProgress) error {
	due := make([]Watched, 0, len(page))
	for _, w := range page {
		switch {
		case w.InCycle:
			sum.Analyzed++ // by an earlier try
		case w.LastJudged >= 0 && w.LastJudged < g.cfg.Fresh:
			sum.Fresh++
		default:
			due = append(due, w)
		}
	}
	if len(due) == 0 {
		return nil
	}
	events, err := g.deps.Store.WatchedEvents(ctx, due, NewestEvents)
	if err != nil {
		return err
	}
	model := g.models.Of(cycleID)
	var judged, failed atomic.Int64
	g.each(model, due, func(w Watched) {
		if _, _, err := g.judgeOne(ctx, cycleID, w, events[w.SandboxID], model); err != nil {
			g.log.WarnContext(ctx, "analyze agent failed, retrying in the next cycle", slog.String("sandbox_id", w.SandboxID), slog.String("error", err.Error()))
			failed.Add(1)
			return
		}
		judged.Add(1)
	})
	sum.Analyzed += int(judged.Load())
	sum.Failed += int(failed.Load())
	return ctx.Err()
}

// each calls fn for each sandbox, in parallel if there is a model.
func (g *Guardian) each(model supervise.Model, all []Watched, fn func(Watched)) {
	var group errgroup.Group
	group.SetLimit(1)
	if model != nil {
		group.SetLimit(g.cfg.Asked)
	}
	for _, w := range all {
		group.Go(func() error {
			fn(w)
			return nil
		})
	}
	_ = group.Wait() // returns no error
}

// judgeOne analyzes one sandbox and stores the analysis with its planned intervention.
func (g *Guardian) judgeOne(ctx context.Context, cycleID string, w Watched, events []event.Event, model supervise.Model) (Analysis, Intervention, error) {
	subject := g.subject(w, events)
	asking, cancel := inTime(ctx)
	defer cancel()
	analysis := supervise.Analyze(asking, subject, g.cfg.Rules, model)
	j, err := g.record(cycleID, w, subject, analysis)
	if err != nil {
		return j, Intervention{}, err
	}
	iv := g.intervention(w, j, analysis)
	planned, saved, err := g.deps.Store.SaveAnalysis(ctx, j, iv, func(past []PastIntervention) (PlannedIntervention, bool) {
		step := g.cfg.Ladder.Step(analysis.Confidence, analysis.SteeringType == supervise.Emergency, outlivesInterrupt(w), w.Replacements, past)
		return step, analysis.Recommendation != ""
	})
	if err == nil && saved && g.deps.Counter != nil {
		g.deps.Counter.Judged(j.Verdict, j.SpokenBy)
		if planned.ID != "" {
			g.deps.Counter.Intervened(planned.Level, planned.Shadow)
		}
	}
	return j, planned, err
}

// inTime bounds a model call. The rest of the time is for storing the analysis by rules if the model does not answer.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	until, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	const most, part = 5 * time.Second, 4
	return context.WithDeadline(ctx, until.Add(-min(time.Until(until)/part, most)))
}

// subject returns the input of package supervise for an attempt. Credentials in the texts of users are removed, because the
// analysis is stored and a model reads the texts.
func (g *Guardian) subject(w Watched, events []event.Event) supervise.Subject {
	var execution task.Execution
	_ = json.Unmarshal(w.Execution, &execution) // another form counts as empty
	w.Title, w.Description = redact.Scrub(w.Title, nil), redact.Scrub(w.Description, nil)
	agreed := taskcontract.Of(w.Contract, w.Execution, w.Settings).Scrubbed()
	s := supervise.Subject{
		TaskID: w.TaskID, SandboxID: w.SandboxID, ProjectID: w.ProjectID, Attempt: w.Attempt,
		Title: w.Title, Description: w.Description, TaskType: w.TaskType, Mode: w.Mode, Phase: w.PhaseID,
		TestCommand: agreed.Accepted.TestCommand, WaitsForMessages: execution.Waits(),
		Contract: agreed,
		Age:      w.Age, CostUSD: w.CostUSD, Tokens: w.Tokens, BudgetUSD: w.Budget.USD, Counts: w.Counts,
		Said: hidden(w.Said),
	}
	s.Read(events, w.At)
	return s
}

func hidden(said []supervise.Said) []supervise.Said {
	out := make([]supervise.Said, 0, len(said))
	for _, s := range said {
		out = append(out, supervise.Said{ID: s.ID, Text: redact.Scrub(s.Text, nil), Allows: s.Allows})
	}
	return out
}

// record returns the analysis in its stored form. It names the events, which are stored and do not change.
func (g *Guardian) record(cycleID string, w Watched, s supervise.Subject, a supervise.Analysis) (Analysis, error) {
	s.Events = nil
	j := Analysis{
		ID: task.NewID(), CycleID: cycleID, SandboxID: w.SandboxID, OrganizationID: w.OrganizationID, TaskID: w.TaskID, Attempt: w.Attempt,
		SpokenBy: string(a.SpokenBy), Verdict: string(a.Verdict), AlignmentScore: a.AlignmentScore, NeedsSteering: a.NeedsSteering,
		SteeringType: a.SteeringType, CurrentFocus: a.CurrentFocus, Confidence: a.Confidence,
		FirstSeen: a.Seen.First, LastSeen: a.Seen.Last, JudgedAt: w.At,
	}
	for _, part := range []struct {
		out *json.RawMessage
		of  any
	}{{&j.Analysis, a}, {&j.Subject, s}, {&j.Rules, g.cfg.Rules}} {
		raw, err := json.Marshal(part.of)
		if err != nil {
			return j, fmt.Errorf("write the judgement of sandbox %s: %w", w.SandboxID, err)
		}
		*part.out = storable(raw)
	}
	return j, nil
}
