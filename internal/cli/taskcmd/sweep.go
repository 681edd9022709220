package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	everyOther = "unknown"        // every installation but the server's own
	youngBox   = 30 * time.Minute // one that may still be on its way into somebody's work
)

// sweep removes sandboxes of an installation that is lost.
type sweep struct {
	*session

	installation string
	providers    []string
	dryRun, yes  bool
	force        bool

	api  *client.Client
	ours string
}

func (s *session) sandboxPrune() *cobra.Command {
	w := &sweep{session: s}
	cmd := s.verb("prune", "Delete sandboxes of a lost installation; without --installation, list them", NoArgs, w.run)
	cmd.Long = `Remove sandboxes of an installation that is lost, with its database, say. It asks the providers of this machine, with
its settings and keys. Without --installation it lists whose sandboxes there are. Work in them is not saved.

Spared unless --force is given: a sandbox whose agent still runs, and one that is younger than 30 minutes. Another
installation may be at work there. Of this installation only those are swept of which the server knows nothing: the
others are the reaper's.`
	cmd.Flags().StringVar(&w.installation, "installation", "", "the `id` of the lost installation; unknown: every one but the server's own")
	cmd.Flags().StringSliceVar(&w.providers, "provider", nil, "only sandboxes of this provider (default: all of this server)")
	cmd.Flags().BoolVar(&w.dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&w.yes, "yes", false, "do it; without it they are listed, and nothing is removed")
	cmd.Flags().BoolVar(&w.force, "force", false, "also those that may be in use")
	return cmd
}

// swept is a sandbox that was found and what became of it.
type swept struct {
	Provider     string    `json:"provider"`
	SandboxID    string    `json:"sandbox_id"`
	Installation string    `json:"installation"`
	TaskID       string    `json:"task_id"`
	CreatedAt    time.Time `json:"created_at"`
	Outcome      string    `json:"outcome"`

	box  sandbox.Sandbox
	from sandbox.Provider
}

func (w *sweep) run(ctx context.Context, api *client.Client, _ []string) error {
	w.api = api
	own, err := w.api.Installation(ctx)
	if err != nil {
		return err
	}
	w.ours = own.ID
	found, blind, err := w.survey(ctx)
	if err != nil {
		return err
	}
	if w.installation == "" {
		return w.list(found, blind)
	}
	var meant []swept
	for _, one := range found {
		if one.Installation == w.installation || w.installation == everyOther && one.Installation != w.ours {
			meant = append(meant, one)
		}
	}
	return w.remove(ctx, meant, blind)
}

// survey asks every provider that can tell; blind are those that could not be asked.
func (w *sweep) survey(ctx context.Context) (found []swept, blind []string, err error) {
	names := w.providers
	if len(names) == 0 {
		info, err := w.api.Info(ctx)
		if err != nil {
			return nil, nil, err
		}
		names = slices.DeleteFunc(info.Sandboxes, func(name string) bool { return name == task.ProviderExternal })
	}
	for _, name := range names {
		boxes, provider, err := w.ask(ctx, name)
		if err != nil {
			w.hint("%s was not looked at: %s", name, render.OneLine(task.MessageOf(err), 300))
			blind = append(blind, name)
		}
		for _, box := range boxes {
			found = append(found, swept{
				Provider: name, SandboxID: box.Labels.SandboxID, Installation: box.Labels.Installation, TaskID: box.Labels.TaskID,
				CreatedAt: box.CreatedAt, box: box, from: provider,
			})
		}
	}
	return found, blind, nil
}

func (w *sweep) ask(ctx context.Context, name string) ([]sandbox.Sandbox, sandbox.Provider, error) {
	if w.Provider == nil {
		return nil, nil, task.Errorf(task.CodeInvalid, "This program can open no sandbox provider.")
	}
	p, err := w.Provider(name)
	if err != nil {
		return nil, nil, err
	}
	if all, ok := p.(sandbox.Surveyor); ok {
		boxes, err := all.Survey(ctx)
		return boxes, p, err
	}
	if w.installation == "" || w.installation == everyOther {
		return nil, p, task.Errorf(task.CodeInvalid, "it lists the sandboxes of one installation only; name it with --installation")
	}
	boxes, err := p.List(ctx, w.installation)
	return boxes, p, err
}

// list counts by installation.
func (w *sweep) list(found []swept, blind []string) error {
	if w.json {
		return w.printJSON(nonNil(found))
	}
	counts, oldest := map[string]int{}, map[string]time.Time{}
	var order []string
	for _, one := range found {
		if counts[one.Installation]++; counts[one.Installation] == 1 {
			order = append(order, one.Installation)
		}
		if at := oldest[one.Installation]; at.IsZero() || one.CreatedAt.Before(at) {
			oldest[one.Installation] = one.CreatedAt
		}
	}
	if len(order) == 0 {
		w.hint("There is no sandbox of any installation%s.", elsewhere(blind))
		return nil
	}
	rows := [][]string{{"INSTALLATION", "WHOSE", "SANDBOXES", "OLDEST"}}
	for _, id := range order {
		whose := "not this server's"
		if id == w.ours {
			whose = "this server's"
		}
		at := oldest[id]
		rows = append(rows, []string{render.OneLine(id, 60), whose, strconv.Itoa(counts[id]), moment(&at)})
	}
	w.table(rows)
	w.hint("Is one of them lost? omoi sandbox prune --installation <id> --dry-run")
	return nil
}

// elsewhere is where a list does not reach.
func elsewhere(blind []string) string {
	if len(blind) == 0 {
		return ""
	}
	return " but perhaps of " + strings.Join(blind, ", ")
}

func nonNil(found []swept) []swept {
	if found == nil {
		return []swept{}
	}
	return found
}

// notAsked is a failure of its own: what was not looked at may cost money.
func notAsked(blind []string) error {
	if len(blind) == 0 {
		return nil
	}
	return exit.With(exit.Failed, nil) // it has been said which
}

func (w *sweep) remove(ctx context.Context, meant []swept, blind []string) error {
	left, todo := 0, 0
	for n := range meant {
		one := &meant[n]
		spared, err := w.spare(ctx, *one)
		switch {
		case err != nil:
			one.Outcome = "spared: " + task.MessageOf(err)
			left++
		case spared != "":
			one.Outcome = "spared: " + spared
		case w.dryRun || !w.yes:
			one.Outcome = "would be removed"
			todo++
		default:
			if one.Outcome = "gone"; w.end(ctx, one) != nil {
				left++
			}
		}
	}
	if err := w.showSwept(meant); err != nil {
		return err
	}
	switch {
	case left > 0:
		return exit.With(exit.Failed, fmt.Errorf("%s could not be deleted. Next: run the same command again", boxesOf(left)))
	case todo > 0 && w.dryRun:
		w.hint("Nothing was removed. Next: the same with --yes, and without --dry-run")
	case todo > 0:
		return exit.With(exit.NeedsYou, fmt.Errorf("this removes %s; work in them is not saved. Say so with --yes", boxesOf(todo)))
	}
	return notAsked(blind)
}

// spare says why a sandbox is left alone.
func (w *sweep) spare(ctx context.Context, one swept) (why string, err error) {
	if one.Installation == w.ours {
		_, err := w.api.Sandbox(ctx, one.SandboxID)
		switch {
		case err == nil:
			return "this server knows it, and its reaper sees to it", nil
		case task.CodeOf(err) != task.CodeNotFound:
			return "", err
		}
	}
	if w.force {
		return "", nil
	}
	if time.Since(one.CreatedAt) < youngBox {
		return "younger than 30 minutes", nil
	}
	seen, err := one.from.Inspect(ctx, one.box.Labels)
	switch {
	case err != nil:
		return "", err
	case seen.Agent == sandbox.StateAlive:
		return "its agent runs", nil
	case seen.State == sandbox.StateUnknown:
		return "it cannot be asked", nil
	}
	return "", nil
}

// end deletes a sandbox and looks until it is gone.
func (w *sweep) end(ctx context.Context, one *swept) error {
	const patience = 2 * time.Minute
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		err := one.from.Delete(ctx, one.box.Labels)
		if err == nil || task.CodeOf(err) == task.CodeNotFound {
			var seen sandbox.Inspection
			if seen, err = one.from.Inspect(ctx, one.box.Labels); err == nil && seen.State == sandbox.StateGone {
				return nil
			}
		}
		if paused := wait.For(ctx, time.Second); paused != nil || err != nil {
			one.Outcome = "not seen to be gone"
			if err != nil {
				one.Outcome = "not removed: " + task.MessageOf(err)
			}
			return task.Errorf(task.CodeUnavailable, "%s", one.Outcome)
		}
	}
}

func (w *sweep) showSwept(meant []swept) error {
	if w.json {
		return w.printJSON(nonNil(meant))
	}
	if len(meant) == 0 {
		w.hint("There is no sandbox of installation %s.", render.OneLine(w.installation, 60))
		return nil
	}
	rows := [][]string{{"SANDBOX", "PROVIDER", "INSTALLATION", "CREATED", "OUTCOME"}}
	for _, one := range meant {
		rows = append(rows, []string{
			render.OneLine(one.SandboxID, 40), one.Provider, render.OneLine(one.Installation, 40), moment(&one.CreatedAt), render.OneLine(one.Outcome, 120),
		})
	}
	w.table(rows)
	return nil
}
