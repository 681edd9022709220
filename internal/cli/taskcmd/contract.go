package taskcmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

func newContract(s *session) *cobra.Command {
	file, accept := "", false
	cmd := s.taskVerb("contract <task>", "Show or set what a task may change and run", func(ctx context.Context, api *client.Client, t client.Task) error {
		c, err := s.changeContract(ctx, api, t, file, accept)
		return s.answer(c, err, func() {
			s.showContract(c)
			if file != "" || accept {
				s.hint("Contract stored. The next attempt gets it; a running agent is not told. Next: omoi send %s \"<what has changed>\"", render.Name(t.Key, t.ID))
			}
		})
	})
	cmd.Long = `Show the task contract (docs/CONTRACTS.md): which paths may change, which commands must not run, whether tests may change,
whether a change is wanted, and which command shows that the task is done. What the contract leaves out is unknown.`
	cmd.Flags().StringVar(&file, "set", "", "replace the contract of an open task by that in a YAML `file`; - is standard input")
	cmd.Flags().BoolVar(&accept, "accept", false, "accept what a model proposed")
	cmd.MarkFlagsMutuallyExclusive("set", "accept")
	return cmd
}

// changeContract reads the contract of a task, replaces it by that of a file, or accepts the proposed one.
func (s *session) changeContract(ctx context.Context, api *client.Client, t client.Task, file string, accept bool) (client.TaskContract, error) {
	if file != "" {
		text, err := s.readContract(file)
		if err != nil {
			return client.TaskContract{}, err
		}
		return api.SetTaskContract(ctx, t.ID, client.SetContractRequest{Contract: text})
	}
	c, err := api.TaskContract(ctx, t.ID)
	if err != nil || !accept {
		return c, err
	}
	newest := c.Newest()
	if newest == nil || c.Proposed.YAML() == "" {
		return c, exit.Usagef("no model has proposed a contract for task %s that is not accepted", render.Name(t.Key, t.ID))
	}
	return api.SetTaskContract(ctx, t.ID, client.SetContractRequest{Contract: c.Text, Version: &newest.Number})
}

// readContract reads a task contract from a file.
func (s *session) readContract(file string) (string, error) {
	raw, err := s.read("the task contract", file)
	if err != nil {
		return "", err
	}
	if _, err := taskcontract.Parse(string(raw)); err != nil {
		return "", exit.Usagef("%s is not a valid task contract: %v", file, err)
	}
	return string(raw), nil
}

func (s *session) showContract(c client.TaskContract) {
	s.row("Contract", contractOrigin(c.Newest()))
	s.showInForce(c.InForce)
}

// contractOrigin returns who wrote the newest version.
func contractOrigin(v *taskcontract.Version) string {
	switch {
	case v == nil:
		return "from execution_config and the project"
	case v.Author == taskcontract.ByUser:
		return render.Clean("by "+v.Name) + ", " + render.Elapsed(time.Since(v.CreatedAt)) + " ago"
	case v.Accepted:
		return render.Clean("by model "+v.Name) + ", accepted by the project"
	}
	return render.Clean("proposed by model "+v.Name) + "; not accepted"
}

func (s *session) showInForce(f taskcontract.InForce) {
	s.indented(f.Accepted.YAML())
	if text := f.Proposed.YAML(); text != "" {
		s.say("  proposed:")
		s.indented(text)
	}
	if unknown := f.Unknown(); len(unknown) > 0 {
		s.say("  unknown: %s", strings.Join(unknown, ", "))
	}
}

func (s *session) indented(text string) {
	s.lineByLine(text, func(line string) string { return "  " + render.Clean(line) })
}
