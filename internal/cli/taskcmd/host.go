package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

func newHost(s *session) *cobra.Command {
	return noun("host", "List hosts, and mark a host as lost",
		listVerb(s, "List the hosts that hold sandboxes", (*client.Client).Hosts, s.hostTable), s.hostMarkLost())
}

func (s *session) hostTable(hosts []client.Host) {
	heading := "HOST|NAME|STATE|LAST SEEN|RUNNING|UNVERIFIED|LOST"
	list(s, hosts, "No host has reported yet. Next: omoi worker", heading, func(h client.Host) []string {
		return []string{
			render.OneLine(h.ID, 60), render.OneLine(h.Name, 40), s.hostState(h), moment(&h.SeenAt),
			strconv.Itoa(h.Running), strconv.Itoa(h.Unverified), strconv.Itoa(h.Lost),
		}
	})
	forgotten := func(h client.Host) bool { return !h.Online && h.LostAt == nil && h.Running+h.Unverified > 0 }
	if h := slices.IndexFunc(hosts, forgotten); h >= 0 {
		s.hint("Sandboxes of an offline host are cleaned up after its worker starts again. Next: omoi worker on that host, or if it is lost, omoi host mark-lost %s",
			render.OneLine(hosts[h].ID, 60))
	}
}

func (s *session) hostState(h client.Host) string {
	switch {
	case h.LostAt != nil:
		return s.style().Red("lost")
	case h.Online:
		return s.style().Green("online")
	}
	return s.style().Yellow("offline")
}

func (s *session) hostMarkLost() *cobra.Command {
	var yes bool
	cmd := s.verb("mark-lost <host>", "Mark a host and its sandboxes as permanently lost",
		exactly(1, "the ID or name of a host, or 4 or more characters of the ID"),
		about(hostOf, func(ctx context.Context, api *client.Client, host client.Host) error {
			return s.markLost(ctx, api, host, yes)
		}))
	cmd.ValidArgsFunction = completion(s, (*client.Client).Hosts, func(h client.Host) (string, string) { return render.Clean(h.ID), h.Name })
	cmd.Flags().BoolVar(&yes, "yes", false, "mark the host as lost")
	return cmd
}

func hostOf(ctx context.Context, api *client.Client, ref string) (client.Host, error) {
	hosts, err := api.Hosts(ctx)
	if err != nil {
		return client.Host{}, err
	}
	return kind[client.Host]{
		noun: "host", list: "omoi host list", id: func(h client.Host) string { return h.ID }, name: func(h client.Host) string { return h.Name },
	}.pick(hosts, ref)
}

func (s *session) markLost(ctx context.Context, api *client.Client, host client.Host, yes bool) error {
	id := render.OneLine(host.ID, 60)
	switch {
	case host.Online:
		return task.Errorf(task.CodeConflict, "host %s is online. Next: stop its worker", id)
	case !yes:
		return exit.With(exit.NeedsYou, fmt.Errorf("host %s would be marked as lost, with its sandboxes (%d running, %d unverified): unsaved work is lost, "+
			"and running tasks start their next attempt. Next: repeat the command with --yes", id, host.Running, host.Unverified))
	}
	lost, err := api.LoseHost(ctx, host.ID)
	return s.answer(lost, err, func() {
		s.say("Marked host %s as lost, with %s.", id, task.Count(lost.Lost, "sandbox"))
		s.hint("If the host returns, its worker deletes the sandboxes that still exist.")
	})
}
