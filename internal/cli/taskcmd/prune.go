package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// youngBox is the age below which prune keeps a sandbox: another installation may be creating it.
const youngBox = 30 * time.Minute

// swept is a sandbox of a provider with the outcome of prune.
type swept struct {
	Provider     string    `json:"provider"`
	SandboxID    string    `json:"sandbox_id"`
	Installation string    `json:"installation"`
	TaskID       string    `json:"task_id"`
	CreatedAt    time.Time `json:"created_at"`
	Outcome      string    `json:"outcome"`

	labels sandbox.Labels
	from   sandbox.Provider
}

func (s *session) sandboxPrune() *cobra.Command {
	var installation string
	var yes, force bool
	cmd := s.verb("prune", "Delete sandboxes of a lost installation", NoArgs,
		func(ctx context.Context, api *client.Client, _ []string) error {
			own, err := api.Installation(ctx)
			if err != nil {
				return err
			}
			if installation == own.ID {
				return exit.Usagef("cannot prune installation %s: it belongs to this server, whose reaper deletes orphans by itself. Next: name a lost installation, or delete one sandbox: omoi sandbox cleanup", render.OneLine(installation, 60))
			}
			found, blind, err := s.survey(ctx, api, installation)
			if err != nil {
				return err
			}
			return s.prune(ctx, found, blind, installation != "" && yes, force)
		})
	cmd.Long = `Delete sandboxes of an installation that is lost, for example with its database. The command asks the providers of this
machine, with its settings and keys. Without --installation it lists the sandboxes of all installations, and without --yes
it deletes nothing. Work in the sandboxes is not saved.

Without --force the command keeps a sandbox whose agent is running, and a sandbox that is younger than 30 minutes.`
	cmd.Flags().StringVar(&installation, "installation", "", "`ID` of the lost installation (default: list the sandboxes of all)")
	cmd.Flags().BoolVar(&yes, "yes", false, "delete the sandboxes")
	cmd.Flags().BoolVar(&force, "force", false, "also delete sandboxes that may be in use")
	return cmd
}

// survey lists the sandboxes at all providers of the server, of one installation or of all. blind reports that a
// provider did not answer.
func (s *session) survey(ctx context.Context, api *client.Client, installation string) (found []swept, blind bool, err error) {
	info, err := api.Info(ctx)
	if err != nil {
		return nil, false, err
	}
	found = []swept{}
	for _, name := range slices.DeleteFunc(info.Sandboxes, func(name string) bool { return !task.ProviderOf(name).Machine }) {
		var boxes []sandbox.Sandbox
		provider, err := s.Provider(name)
		if err == nil {
			boxes, err = provider.Survey(ctx)
		}
		if err != nil {
			s.note("Cannot list the sandboxes of provider %s: %s", name, render.OneLine(task.MessageOf(err), 300))
			blind = true
		}
		for _, b := range boxes {
			if installation == "" || b.Labels.Installation == installation {
				found = append(found, swept{
					Provider: name, SandboxID: b.Labels.SandboxID, Installation: b.Labels.Installation, TaskID: b.Labels.TaskID,
					CreatedAt: b.CreatedAt, Outcome: "found", labels: b.Labels, from: provider,
				})
			}
		}
	}
	return found, blind, nil
}

// prune deletes sandboxes if remove is set, and prints them with their outcomes.
func (s *session) prune(ctx context.Context, found []swept, blind, remove, force bool) error {
	failed := 0
	rows := [][]string{{"SANDBOX", "PROVIDER", "INSTALLATION", "CREATED", "OUTCOME"}}
	for n := range found {
		one := &found[n]
		if remove {
			one.Outcome = "deleted"
			if why, err := one.end(ctx, force); err != nil {
				one.Outcome = "not deleted: " + task.MessageOf(err)
				failed++
			} else if why != "" {
				one.Outcome = "kept: " + why
			}
		}
		rows = append(rows, []string{
			render.OneLine(one.SandboxID, 40), one.Provider, render.OneLine(one.Installation, 40), moment(&one.CreatedAt), render.OneLine(one.Outcome, 120),
		})
	}
	if err := s.answer(found, nil, func() { s.table(rows) }); err != nil {
		return err
	}
	switch {
	case failed > 0:
		return exit.With(exit.Failed, fmt.Errorf("%s could not be deleted. Next: repeat the command", task.Count(failed, "sandbox")))
	case blind && remove: // sandboxes of this provider may still cost money
		return exit.With(exit.Failed, nil)
	case !remove && len(found) > 0:
		s.hint("Nothing was deleted. Next: omoi sandbox prune --installation <id> --yes")
	}
	return nil
}

// end deletes a sandbox and waits until the provider no longer has it. If the sandbox may be in use, end keeps it and
// returns why.
func (one *swept) end(ctx context.Context, force bool) (spared string, err error) {
	const patience = 2 * time.Minute
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	seen, err := one.from.Inspect(ctx, one.labels)
	switch {
	case err != nil:
		return "", err
	case force:
	case time.Since(one.CreatedAt) < youngBox:
		return "younger than 30 minutes", nil
	case seen.Agent == sandbox.StateAlive:
		return "its agent is running", nil
	case seen.State == sandbox.StateUnknown:
		return "its state is unknown", nil
	}
	for seen.State != sandbox.StateGone {
		if err := one.from.Delete(ctx, one.labels); err != nil && task.CodeOf(err) != task.CodeNotFound {
			return "", err
		}
		if seen, err = one.from.Inspect(ctx, one.labels); err != nil {
			return "", err
		}
		if seen.State != sandbox.StateGone && wait.For(ctx, time.Second) != nil {
			return "", task.Errorf(task.CodeUnavailable, "its deletion was not verified in time")
		}
	}
	return "", nil
}
