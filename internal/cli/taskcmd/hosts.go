package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func newHosts(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hosts",
		Short: "List the machines that hold sandboxes; declare one lost that will not come back",
		Args:  NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return s.hosts(cmd.Context()) },
	}
	cmd.AddCommand(s.hostsLost())
	return cmd
}

func (s *session) hosts(ctx context.Context) error {
	hosts, err := s.allHosts(ctx)
	switch {
	case err != nil:
		return err
	case s.json:
		return s.printJSON(hosts)
	case len(hosts) == 0:
		s.hint("No machine has reported yet. Next: omoi worker")
		return nil
	}
	rows := [][]string{{"HOST", "NAME", "STATE", "LAST SEEN", "LIVE", "NOT VERIFIED GONE", "LOST"}}
	for _, h := range hosts {
		rows = append(rows, []string{
			render.OneLine(h.ID, 60), render.OneLine(h.Name, 40), s.hostState(h), moment(&h.SeenAt),
			strconv.Itoa(h.Live), strconv.Itoa(h.Unverified), strconv.Itoa(h.Lost),
		})
	}
	s.say("%s", strings.TrimRight(s.style().Table(rows), "\n"))
	if h := slices.IndexFunc(hosts, forgotten); h >= 0 {
		s.hint("Start the worker of a machine that is silent again, and its sandboxes are cleaned up. One that will not come back: omoi hosts lost %s",
			render.OneLine(hosts[h].ID, 60))
	}
	return nil
}

// forgotten is a machine that holds something and neither reports nor was declared lost.
func forgotten(h client.Host) bool { return !h.Beats && h.LostAt == nil && h.Live+h.Unverified > 0 }

func (s *session) hostState(h client.Host) string {
	switch {
	case h.LostAt != nil:
		return s.style().Red("lost")
	case h.Beats:
		return s.style().Green("here")
	}
	return s.style().Yellow("silent")
}

func (s *session) allHosts(ctx context.Context) ([]client.Host, error) {
	api, err := s.api()
	if err != nil {
		return nil, err
	}
	return api.Hosts(ctx)
}

func (s *session) hostsLost() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "lost <host>",
		Short: "Give up a machine that will not come back, and all sandboxes on it",
		Args:  exactly(1, "the id or name of a host, or 4 or more characters of the id's beginning or end"),
		RunE: func(cmd *cobra.Command, args []string) error {
			hosts, err := s.allHosts(cmd.Context())
			if err != nil {
				return err
			}
			host, err := findHost(hosts, args[0])
			if err != nil {
				return err
			}
			return s.loseHost(cmd.Context(), host, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is done")
	return cmd
}

func (s *session) loseHost(ctx context.Context, host client.Host, yes bool) error {
	id := render.OneLine(host.ID, 60)
	switch {
	case host.Beats:
		return task.Errorf(task.CodeConflict, "the host %s is not lost: it reports. Stop its worker first if it is not to come back", id)
	case !yes:
		return exit.With(exit.NeedsYou, fmt.Errorf("this gives up the host %s with its sandboxes (%d live, %d not verified gone): work that is not saved is lost, "+
			"and tasks that live there begin another attempt; say so with --yes", id, host.Live, host.Unverified))
	}
	api, err := s.api()
	if err != nil {
		return err
	}
	lost, err := api.LoseHost(ctx, host.ID)
	switch {
	case err != nil:
		return err
	case s.json:
		return s.printJSON(lost)
	}
	s.say("%s  is declared lost. Sandboxes lost with it: %d", id, lost.Lost)
	s.hint("Should it come back, its worker cleans up what is still there.")
	return nil
}

// findHost resolves what a person typed for a machine.
func findHost(hosts []client.Host, ref string) (client.Host, error) {
	var found []client.Host
	for _, h := range hosts {
		if h.ID == ref {
			return h, nil
		}
		part := len(ref) >= minFragment && partOf(h.ID, ref)
		if part || (ref != "" && h.Name == ref) {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 0:
		return client.Host{}, task.Errorf(task.CodeNotFound, "No host is called %q, nor does the id of one begin or end so. Next: omoi hosts", ref)
	case 1:
		return found[0], nil
	}
	return client.Host{}, exit.Usagef("%q fits %d hosts; give more of the id (omoi hosts lists them)", ref, len(found))
}
