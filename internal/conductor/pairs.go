package conductor

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// pairs holds the compared pairs by the indexes of their agents, the older one first.
type pairs map[[2]int]Duplicate

// same returns the links between duplicates.
func (all pairs) same() []supervise.Link {
	var links []supervise.Link
	for at, d := range all {
		if d.Same {
			links = append(links, supervise.Link{A: at[0], B: at[1], Similarity: d.Similarity})
		}
	}
	slices.SortFunc(links, supervise.CompareLinks)
	return links
}

// rows returns the pairs to store, with the files that both agents have changed: duplicates, and pairs that a model has now
// found different.
func (all pairs) rows(found []ActiveAgent) []Duplicate {
	var rows []Duplicate
	for at, d := range all {
		if d.Same || d.ID == "" {
			d.Resources = resources(found[at[0]].Files, found[at[1]].Files)
			rows = append(rows, d)
		}
	}
	slices.SortFunc(rows, func(a, b Duplicate) int {
		return cmp.Or(cmp.Compare(a.TaskID, b.TaskID), cmp.Compare(a.OtherID, b.OtherID))
	})
	return rows
}

// question is a task, and the older tasks of its project with which it was not compared.
type question struct {
	of   int
	open []int
}

// compare finds duplicates in each project: equal and nearly equal texts, and what a model finds, if one is configured.
func (c *Conductor) compare(ctx context.Context, organizationID string, found []ActiveAgent, model supervise.Finder) (pairs, error) {
	known, err := c.known(ctx, organizationID, found)
	if err != nil {
		return nil, err
	}
	projects := map[string][]int{}
	for n, f := range found {
		projects[f.ProjectID] = append(projects[f.ProjectID], n)
	}
	all := pairs{}
	var due []question
	for _, places := range projects {
		all.addTexts(found, places)
		due = append(due, all.addKnown(found, places, known)...)
	}
	if model != nil {
		c.ask(ctx, model, found, all, due)
	}
	return all, nil
}

// addTexts adds equal and nearly equal texts of one project. Tasks of one comparison have equal texts on purpose.
func (all pairs) addTexts(found []ActiveAgent, places []int) {
	works := make([]supervise.Work, len(places))
	for n, at := range places {
		works[n] = supervise.WorkOf(found[at].Title, found[at].Description)
	}
	for _, l := range supervise.Links(works) {
		if found[places[l.A]].Compared(&found[places[l.B]].Agent) {
			continue
		}
		all.add(found, places[l.A], places[l.B], Duplicate{Same: true, Source: SourceText, Similarity: l.Similarity})
	}
}

// addKnown adds the answers that a model gave about the tasks of one project, and returns the questions that remain. What
// the texts decided is no question.
func (all pairs) addKnown(found []ActiveAgent, places []int, known map[[2]string]Duplicate) (due []question) {
	for n, of := range places {
		q := question{of: of}
		for _, at := range olderOf(found, places[:n], of, known) {
			if d, ok := known[keyOf(found[at].TaskID, found[of].TaskID)]; ok {
				all.add(found, at, of, d)
			} else if _, ok := all[[2]int{at, of}]; !ok && !found[at].Compared(&found[of].Agent) {
				q.open = append(q.open, at)
			}
		}
		if len(q.open) > 0 {
			due = append(due, q)
		}
	}
	return due
}

// olderOf returns the older tasks with which a task is compared: the newest ones. If there may be more than a question holds,
// the oldest known answer bounds them, because each task that ends would add an older one.
func olderOf(found []ActiveAgent, older []int, of int, known map[[2]string]Duplicate) []int {
	if len(older) < supervise.MostTitles {
		return older
	}
	older = older[len(older)-supervise.MostTitles:]
	first := slices.IndexFunc(older, func(at int) bool {
		_, ok := known[keyOf(found[at].TaskID, found[of].TaskID)]
		return ok
	})
	return older[max(0, first):]
}

// add adds a pair with its tasks and sandboxes.
func (all pairs) add(found []ActiveAgent, at, of int, d Duplicate) {
	a, b := found[at], found[of]
	d.TaskID, d.OtherID, d.SandboxID, d.OtherBox = a.TaskID, b.TaskID, a.SandboxID, b.SandboxID
	all[[2]int{at, of}] = d
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

// known returns the stored answers of a model, which stay valid because the texts of running tasks do not change.
func (c *Conductor) known(ctx context.Context, organizationID string, found []ActiveAgent) (map[[2]string]Duplicate, error) {
	ids := make([]string, len(found))
	for n, f := range found {
		ids[n] = f.TaskID
	}
	said, err := c.deps.Store.Compared(ctx, organizationID, ids)
	known := make(map[[2]string]Duplicate, len(said))
	for _, d := range said {
		known[keyOf(d.TaskID, d.OtherID)] = d
	}
	return known, err
}

func keyOf(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// ask asks the model once about each task. If the model fails, the next cycle asks again.
func (c *Conductor) ask(ctx context.Context, model supervise.Finder, found []ActiveAgent, all pairs, due []question) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(c.cfg.Parallel)
	for _, q := range due[:min(len(due), maxAsked)] {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil // the next cycle asks
			}
			matches, _, err := model.FindDuplicates(ctx, textOf(found[q.of]), titlesOf(found, q.open))
			if err != nil {
				c.log.WarnContext(ctx, "find duplicates failed, retrying in the next cycle", slog.String("task_id", found[q.of].TaskID), slog.String("error", err.Error()))
				cancel() // the budget is spent, or the model is down
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			all.answer(found, q, matches)
			return nil
		})
	}
	_ = group.Wait() // returns no error
}

// answer adds what a model said of a task. A task that the model did not name is different work.
func (all pairs) answer(found []ActiveAgent, q question, matches []supervise.Match) {
	for _, at := range q.open {
		all.add(found, at, q.of, Duplicate{Source: SourceModel})
	}
	for _, m := range matches {
		all.add(found, q.open[m.At], q.of, Duplicate{Same: m.Sure(), Source: SourceModel, Similarity: m.Similarity, Work: redact.Scrub(m.Work, nil)})
	}
}

// textOf returns the text of a task without credentials that users wrote into it.
func textOf(f ActiveAgent) supervise.WorkText {
	return supervise.WorkText{Title: redact.Scrub(f.Title, nil), Description: redact.Scrub(f.Description, nil)}
}

func titlesOf(found []ActiveAgent, places []int) []string {
	list := make([]string, len(places))
	for n, at := range places {
		list[n] = redact.Scrub(found[at].Title, nil)
	}
	return list
}
