package guardian

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// propose asks the model of a cycle for the contracts of tasks that have none. Tasks run meanwhile, and an error leaves
// everything unknown.
func (g *Guardian) propose(ctx context.Context, model supervise.Model, all []Watched) {
	proposer, ok := model.(supervise.Proposer)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, proposalTime)
	defer cancel()
	g.each(model, all, func(w Watched) {
		if ctx.Err() != nil {
			return
		}
		if err := g.proposeOne(ctx, proposer, w); err != nil && !errors.Is(err, supervise.ErrBudget) {
			g.log.WarnContext(ctx, "propose task contract failed, retrying in the next cycle", slog.String("task_id", w.TaskID), slog.String("error", err.Error()))
		}
	})
}

// proposalTime is for all proposals of a cycle, since the next cycle waits for them. It asks for the rest.
const proposalTime = 30 * time.Second

// proposeOne stores what the model proposes. An invalid answer is stored as a proposal of nothing, so that the model is
// not asked again.
func (g *Guardian) proposeOne(ctx context.Context, model supervise.Proposer, w Watched) error {
	p, err := model.Propose(ctx, supervise.TaskText{
		Title: redact.Scrub(w.Title, nil), Description: redact.Scrub(w.Description, nil), TaskType: w.TaskType, Mode: w.Mode,
	})
	if err != nil && !errors.Is(err, supervise.ErrAnswer) {
		return err
	}
	g.log.InfoContext(ctx, "task contract proposed", slog.String("task_id", w.TaskID), slog.Int("calls", p.Use.Calls), slog.Float64("cost_usd", p.Use.CostUSD))
	return g.deps.Store.ProposeContract(context.WithoutCancel(ctx), w.TaskID, p.Model, p.Contract)
}

// unread returns the sandboxes of a page whose tasks have no contract. A validator has that of the task.
func unread(page []Watched) (list []Watched) {
	for _, w := range page {
		if w.Contract == nil && w.Mode != task.ModeValidation {
			list = append(list, w)
		}
	}
	return list
}
