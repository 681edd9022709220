package conductor

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// pair is two agents that may be duplicates, with the result of their comparison.
type pair struct {
	link supervise.Link // by indexes into the organization's agents
	row  Duplicate
	old  bool // answered by a model in an earlier cycle
}

type pairs []pair

// same returns the links between duplicates.
func (all pairs) same() []supervise.Link {
	var links []supervise.Link
	for _, p := range all {
		if p.row.Same {
			links = append(links, p.link)
		}
	}
	return links
}

// rows returns the pairs to store: duplicates, and pairs that a model has now found different.
func (all pairs) rows() []Duplicate {
	var rows []Duplicate
	for _, p := range all {
		if p.row.Same || p.row.Source == SourceModel && !p.old {
			rows = append(rows, p.row)
		}
	}
	return rows
}

// likely is the minimum similarity of a pair that a model compares; perWork bounds the pairs of each task.
const (
	likely  = 0.05
	perWork = 3
)

// compare finds duplicates in each project, by text and, if configured, by a model.
func (c *Conductor) compare(ctx context.Context, organizationID string, found []ActiveAgent, model supervise.Comparer) (pairs, error) {
	least, each := supervise.SimilarityThreshold, 1
	if model != nil {
		least, each = likely, perWork
	}
	all := byWords(found, least, each)
	if len(all) == 0 {
		return nil, nil
	}
	if err := c.remember(ctx, organizationID, found, all); err != nil {
		return nil, err
	}
	if model != nil {
		c.ask(ctx, model, found, all)
	}
	return all, nil
}

// byWords compares the work descriptions in each project.
func byWords(found []ActiveAgent, least float64, each int) pairs {
	projects := map[string][]int{}
	for n, f := range found {
		projects[f.ProjectID] = append(projects[f.ProjectID], n)
	}
	var all pairs
	for _, places := range projects {
		works := make([]supervise.Work, len(places))
		for n, at := range places {
			works[n] = supervise.WorkOf(found[at].Title, found[at].Description, found[at].Files...)
		}
		for _, l := range supervise.Links(works, least, each) {
			l.A, l.B = places[l.A], places[l.B]
			all = append(all, pair{link: l, row: rowOf(found[l.A], found[l.B], l.Similarity)})
		}
	}
	slices.SortFunc(all, func(a, b pair) int { return supervise.CompareLinks(a.link, b.link) })
	return all
}

func rowOf(a, b ActiveAgent, likeness float64) Duplicate {
	return Duplicate{
		TaskID: a.TaskID, OtherID: b.TaskID, SandboxID: a.SandboxID, OtherBox: b.SandboxID, Same: likeness >= supervise.SimilarityThreshold,
		Source: SourceText, Similarity: likeness, Resources: resources(a.Files, b.Files),
	}
}

// resources returns the files that both agents have changed.
func resources(a, b []string) json.RawMessage {
	files := slices.DeleteFunc(slices.Clone(a), func(file string) bool { return !slices.Contains(b, file) })
	if len(files) == 0 {
		return nil
	}
	raw, err := json.Marshal(map[string][]string{"files": files})
	if err != nil {
		return nil // strings always encode
	}
	return raw
}

// remember applies earlier answers of a model, which stay valid because the descriptions of running tasks do not change.
func (c *Conductor) remember(ctx context.Context, organizationID string, found []ActiveAgent, all pairs) error {
	ids := make([]string, len(found))
	for n, f := range found {
		ids[n] = f.TaskID
	}
	said, err := c.deps.Store.Compared(ctx, organizationID, ids)
	if err != nil {
		return err
	}
	known := make(map[[2]string]Duplicate, len(said))
	for _, d := range said {
		known[keyOf(d)] = d
	}
	for n := range all {
		p := &all[n]
		if d, ok := known[keyOf(p.row)]; ok {
			p.old, p.row.Same, p.row.Source, p.row.Similarity, p.row.Work = true, d.Same, d.Source, d.Similarity, d.Work
			p.link.Similarity = d.Similarity
		}
	}
	return nil
}

func keyOf(d Duplicate) [2]string {
	return [2]string{min(d.TaskID, d.OtherID), max(d.TaskID, d.OtherID)}
}

// ask asks the model about the most similar pairs without an answer. If the model fails or is not sure, the result of the
// text comparison stays.
func (c *Conductor) ask(ctx context.Context, model supervise.Comparer, found []ActiveAgent, all pairs) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(c.cfg.Parallel)
	left := maxAsked
	for n := range all {
		if all[n].old || left == 0 {
			continue
		}
		left--
		group.Go(func() error {
			if err := c.askOne(ctx, model, found, &all[n]); err != nil {
				c.log.WarnContext(ctx, "compare tasks failed, retrying in the next cycle", slog.String("task_id", all[n].row.TaskID), slog.String("other_task_id", all[n].row.OtherID), slog.String("error", err.Error()))
				cancel() // the budget is spent, or the model is down: the next cycle asks again
			}
			return nil
		})
	}
	_ = group.Wait() // returns no error
}

func (c *Conductor) askOne(ctx context.Context, model supervise.Comparer, found []ActiveAgent, p *pair) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the text comparison stands
	}
	said, _, err := model.Compare(ctx, toldOf(found[p.link.A]), toldOf(found[p.link.B]))
	if err != nil {
		return err
	}
	if same, sure := said.Says(supervise.DefaultSettings().Confidence); sure {
		p.row.Same, p.row.Source, p.row.Similarity, p.row.Work = same, SourceModel, said.Similarity, redact.Scrub(said.Work, nil)
		p.link.Similarity = said.Similarity
	}
	return nil
}

// toldOf returns the work description of an agent without credentials that users wrote into it.
func toldOf(f ActiveAgent) supervise.WorkText {
	return supervise.WorkText{
		Title: redact.Scrub(f.Title, nil), Description: redact.Scrub(f.Description, nil), Phase: f.Phase, Focus: f.Focus, Files: f.Files,
	}
}
